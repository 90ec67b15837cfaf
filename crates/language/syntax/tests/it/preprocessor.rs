//! The preprocessor, seen through the constants it lets through.

use std::sync::Arc;

use hopwright_syntax::{Options, SourceMap, parse, parse_text, render};

use crate::{constant, constant_in, diagnose, diagnose_with};

#[test]
fn object_macros_expand_once_each() {
    assert_eq!(constant("#define A B + A\n#define B 1\nconst int X = A;"), "(+ 1 A)");
    assert_eq!(constant("#define A 1\n#undef A\nconst int X = A;"), "A");
    assert_eq!(constant("#define A(x) x\nconst int X = A;"), "A");
    assert_eq!(constant("#define LONG 1 + \\\n 2\nconst int X = LONG;"), "(+ 1 2)");
    assert_eq!(constant("#define decl const int X\ndecl = 5;"), "5");
}

#[test]
fn function_macros_take_arguments() {
    let max = "#define MAX(a, b) ((a) > (b) ? (a) : (b))\n";
    assert_eq!(constant(&format!("{max}const int X = MAX(p + 1, q);")), "(? (> (+ p 1) q) (+ p 1) q)");
    assert_eq!(
        constant(&format!("{max}const int X = MAX(MAX(1, 2), f(3, 4));")),
        "(? (> (? (> 1 2) 1 2) (call f 3 4)) (? (> 1 2) 1 2) (call f 3 4))"
    );
    assert_eq!(constant(&format!("{max}const int X = MAX(1,\n  2\n);")), "(? (> 1 2) 1 2)");
    assert_eq!(constant("#define Z() 7\nconst int X = Z();"), "7");
    assert_eq!(constant("#define F(...) f(0, __VA_ARGS__)\nconst int X = F(1, 2);"), "(call f 0 1 2)");
    // The C standard leaves open whether this is `2*9*g` or `2*f(9)`; compilers choose the former.
    assert_eq!(constant("#define f(a) a*g\n#define g(a) f(a)\nconst int X = f(2)(9);"), "(* (* 2 9) g)");
}

#[test]
fn stringizing_and_pasting() {
    assert_eq!(constant("#define S(x) #x\nconst int X = S(a + \"q\"  b);"), r#""a + \\\"q\\\" b""#);
    assert_eq!(constant("#define P(a, b) a##b\nconst int X = P(x, 1);"), "x1");
    assert_eq!(constant("#define P(a, b) a ## b\nconst int X = P(8w0x, ff);"), "8w255");
    assert_eq!(constant("#define P(a, b) a##b\nconst int X = P(,y) + P(z,);"), "(+ y z)");
    assert_eq!(constant("#define N 3\n#define P(a) v##a\nconst int X = P(N);"), "vN");
}

#[test]
fn conditionals_evaluate_expressions() {
    let choose = |condition: &str| {
        constant(&format!(
            "#define ONE 1\n#define TWO (ONE + 1)\n#if {condition}\nconst int X = 1;\n#else\nconst int X = 0;\n#endif\n"
        ))
    };
    for yes in [
        "1",
        "TWO == 2",
        "defined(ONE) && !defined(THREE)",
        "defined ONE",
        "UNKNOWN == 0",
        "1 ? 1 : 0",
        "(1 << 4) - 1 == 15 && 0x1F >> 1 == 15",
        "-1 < 0",
        "10 % 4 * 2 == 4",
        "(6 & 3 | 8) == 10 && (5 ^ 1) == 4",
        "~0 == -1",
        "20200408UL >= 20180101",
        "010 == 8",
        "ONE /* yes */ // no",
    ] {
        assert_eq!(choose(yes), "1", "{yes}");
    }
    for no in ["0", "ONE > TWO", "defined(THREE)", "!1", "1 - 1", "0 || 0"] {
        assert_eq!(choose(no), "0", "{no}");
    }
}

#[test]
fn the_first_true_branch_is_taken() {
    let text = "#if A == 1\nconst int X = 1;\n#elif A == 2\nconst int X = 2;\n#elif 1\n\
                const int X = 3;\n#else\nconst int X = 4;\n#endif\n";
    assert_eq!(constant(&format!("#define A 1\n{text}")), "1");
    assert_eq!(constant(&format!("#define A 2\n{text}")), "2");
    assert_eq!(constant(text), "3");
    let nested = "#ifdef NO\n#if 1\nconst int X = 1;\n#else\n#error no\n#endif\n#else\nconst int X = 2;\n#endif\n";
    assert_eq!(constant(nested), "2");
}

#[test]
fn skipped_text_need_not_be_p4() {
    assert_eq!(
        constant(
            "#if 0\ndon't \"mind `this\n#include <nowhere>\n#bogus\n8w0xzz /* # endif\n#endif */\n#endif\nconst int X = 1;"
        ),
        "1"
    );
}

#[test]
fn lines_and_files_are_known() {
    assert_eq!(constant("\n\nconst int X = __LINE__;"), "3");
    assert_eq!(constant("const int X = __FILE__;"), "\"test.p4\"");
    assert_eq!(constant("#line 40 \"b.p4\"\nconst int X = __LINE__;"), "40");
    assert_eq!(constant("# 7 \"b.p4\" 2\nconst int X = __FILE__;"), "\"b.p4\"");
    assert_eq!(constant("#ifdef __HOPWRIGHT__\nconst int X = __P4_16__;\n#endif"), "1");
    // "Mmm dd yyyy" and "hh:mm:ss", quotes included.
    assert_eq!(constant("const int X = __DATE__;").len(), 13);
    assert_eq!(constant("const int X = __TIME__;").len(), 10);
    let text = diagnose("#line 100 \"other.p4\"\nconst int X = ;\n");
    assert!(text.contains("--> other.p4:100:15"), "{text}");
}

#[test]
fn command_line_macros_apply_in_order() {
    let mut options = Options::default();
    options.define("A");
    options.define("B=2 + A");
    options.define("F(x)=x * 3");
    options.define("GONE");
    options.undefine("GONE");
    let mut sources = SourceMap::new();
    let text = "#ifdef GONE\n#error\n#endif\nconst int X = B + F(4);";
    let (program, diagnostics) = parse_text(&mut sources, "t", text, &options);
    assert!(diagnostics.is_empty());
    assert_eq!(constant_in(&program), "(+ (+ 2 1) (* 4 3))");
}

#[test]
fn buffers_are_read_instead_of_files() {
    let root = std::env::temp_dir().join(format!("hopwright-syntax-buffers-{}", std::process::id()));
    std::fs::create_dir_all(root.join("sub")).unwrap();
    std::fs::write(root.join("main.p4"), "#include \"sub/../saved.p4\"\nconst int X = A;\n").unwrap();
    std::fs::write(root.join("saved.p4"), "#define A 1\n").unwrap();
    let mut options = Options::default();
    let value = |options: &Options| {
        let mut sources = SourceMap::new();
        let (program, diagnostics) = parse(&mut sources, &root.join("main.p4"), options);
        assert!(diagnostics.is_empty(), "{}", render::render(&diagnostics, &sources, false));
        constant_in(&program)
    };
    assert_eq!(value(&options), "1");
    options.buffers.insert(&root.join("saved.p4"), "#define A 2\n".into());
    assert_eq!(value(&options), "2");
    // A file that has never been saved.
    options.buffers.insert(&root.join("main.p4"), "#include \"new.p4\"\nconst int X = A;\n".into());
    options.buffers.insert(&root.join("new.p4"), "#define A 3\n".into());
    assert_eq!(value(&options), "3");
    options.buffers.remove(&root.join("main.p4"));
    options.buffers.remove(&root.join("saved.p4"));
    assert_eq!(value(&options), "1");
    std::fs::remove_dir_all(&root).unwrap();
}

#[test]
fn includes_are_searched_in_order() {
    let root = std::env::temp_dir().join(format!("hopwright-syntax-{}", std::process::id()));
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    };
    write("src/a.p4", "#define A 1\n#include \"sub/b.p4\"\n");
    write("src/sub/b.p4", "#pragma once\n#include \"c.p4\"\nconst int B = 0;\n");
    write("src/sub/c.p4", "#define C 3\n");
    write("inc/a.p4", "#define A 10\n");
    write("inc/core.p4", "#define CORE 5\n");
    let main = write(
        "src/main.p4",
        "#include \"a.p4\"\n#include \"sub/b.p4\"\n#define NAME <core.p4>\n#include NAME\n\
         #include <mine.p4>\nconst int X = A + C + CORE + MINE;\n",
    );
    let angled = write("src/angled.p4", "#include <a.p4>\nconst int X = A;\n");
    let options = Options {
        include_paths: vec![root.join("inc")],
        embedded: vec![("mine.p4".into(), Arc::from("#define MINE 7\n"))],
        ..Options::default()
    };
    let value = |path| {
        let mut sources = SourceMap::new();
        let (program, diagnostics) = parse(&mut sources, path, &options);
        assert!(diagnostics.is_empty(), "{}", render::render(&diagnostics, &sources, false));
        constant_in(&program)
    };
    let found = (value(&main), value(&angled));
    let missing = parse(&mut SourceMap::new(), &root.join("none.p4"), &options).1;
    std::fs::remove_dir_all(&root).unwrap();
    assert_eq!(found.0, "(+ (+ (+ 1 3) 5) 7)");
    assert_eq!(found.1, "10");
    assert_eq!(missing.iter().next().unwrap().code, "E0001");
}

/// Options with include files in memory only.
fn memory(files: &[(&str, &str)]) -> Options {
    Options {
        embedded: files.iter().map(|(name, text)| (name.to_string(), Arc::from(*text))).collect(),
        no_disk: true,
        ..Options::default()
    }
}

#[test]
fn errors_in_includes_show_how_they_came_in() {
    let options = memory(&[("outer.p4", "\n#include <inner.p4>\n"), ("inner.p4", "const bit<8> Y = ;\n")]);
    assert_eq!(
        diagnose_with("#include <outer.p4>\n", &options),
        "\
error[E0110]: expected an expression, found `;`
 --> <inner.p4>:1:18
  |
1 | const bit<8> Y = ;
  |                  ^ expected an expression
  |
  = note: included from <outer.p4>:2
  = note: included from test.p4:1

"
    );
}

#[test]
fn endless_includes_and_expansions_are_stopped() {
    let options = memory(&[("loop.p4", "#include <loop.p4>\n")]);
    let text = diagnose_with("#include <loop.p4>\n", &options);
    assert!(text.contains("include files nested more than 100 deep"), "{}", &text[..300]);

    let double = "#include <self.p4>\n#include <self.p4>\n";
    let text = diagnose_with(double, &memory(&[("self.p4", double)]));
    assert!(text.contains("error[E0002]"));

    let mut bomb = String::from("#define M0 x x x x\n");
    for i in 1..20 {
        bomb += &format!("#define M{i} M{p} M{p} M{p} M{p}\n", p = i - 1);
    }
    let text = diagnose(&format!("{bomb}const int X = M19;\n"));
    assert!(text.contains("macros expand to more than"), "{}", &text[..300]);

    let calls = "f(".repeat(5000) + &")".repeat(5000);
    let text = diagnose(&format!("#define f(x) x\nconst int X = {calls};\n"));
    assert!(text.contains("macro calls are nested too deeply"), "{}", &text[..300]);
}

#[test]
fn mistakes_in_directives_are_explained() {
    for (text, message) in [
        ("#if 1\n", "error[E0004]: unterminated conditional"),
        ("#endif\n", "error[E0005]: `#endif` without `#if`"),
        ("#else\n", "error[E0005]: `#else` without `#if`"),
        ("#if 0\n#else\n#else\n#endif\n", "error[E0005]: `#else` after `#else`"),
        ("#if\n#endif\n", "error[E0007]: the condition ends where a value is expected"),
        ("#if 1 / 0\n#endif\n", "error[E0007]: division by zero"),
        ("#if 1 2\n#endif\n", "error[E0007]: the number `2` is not expected in a condition"),
        ("#if (1\n#endif\n", "error[E0007]: expected `)`"),
        ("#if defined\n#endif\n", "error[E0007]: `defined` needs the name of a macro"),
        ("#ifdef 1\n#endif\n", "error[E0003]: expected the name of a macro after `#ifdef`"),
        ("#define 1\n", "error[E0003]: expected a name after `#define`"),
        ("#define f(a, a) a\n", "error[E0003]: parameter `a` is there twice"),
        ("#define f(1) a\n", "error[E0003]: expected a macro parameter"),
        ("#define a ## b\n", "error[E0006]: `##` needs something on both sides"),
        ("#define f(a) a\nconst int X = f(1, 2);\n", "error[E0006]: macro `f` takes 1 argument, but this call has 2"),
        ("#define f(a) a\nconst int X = f(1;\n", "error[E0006]: unterminated call of macro `f`"),
        ("#define A 1\n#define A 2\n", "warning[W0011]: macro `A` is redefined"),
        ("#error stop right here\n", "error[E0008]: #error stop right here"),
        ("#warning look out\n", "warning[W0012]: #warning look out"),
        ("#include\n", "error[E0003]: `#include` needs a file name"),
        ("#include <nowhere.p4>\n", "error[E0001]: include file `nowhere.p4` not found"),
        ("#bogus\n", "warning[W0013]: `#bogus` is no preprocessor directive"),
        ("#line x\n", "error[E0003]: `#line` needs a line number"),
        ("/* no end", "error[E0101]: unterminated comment"),
        ("const string X = \"no end;\n", "error[E0101]: unterminated string"),
    ] {
        let shown = diagnose(text);
        assert!(shown.starts_with(message), "{text:?} gave\n{shown}");
    }
}

#[test]
fn repeating_a_definition_is_no_news() {
    assert_eq!(diagnose("#define A (1 + 2)\n#define A (1+2)\n"), "");
}

#[test]
fn what_makes_no_token_stays_two() {
    assert_eq!(constant("#define J(a, b) a##b\nconst int X = 3 J(+, ~) 1;"), "(+ 3 (~ 1))");
}

#[test]
fn lines_that_are_no_directives_are_ignored() {
    assert_eq!(constant("# TODO: it's \"unfinished\n#\nconst int X = 1;"), "1");
    for line in
        ["## it's \"unfinished", "##", "##text", "####### title #######", "  ## indented", "## continued \\\n line"]
    {
        assert_eq!(crate::diagnose(&format!("{line}\nconst int X = 1;\n{line}\n")), "", "{line}");
    }
    assert_eq!(constant("#if 0\n##if 1\n## endif\nconst int X = 2;\n#endif\nconst int X = 1;"), "1");
    let first = |text: &str| crate::diagnose(text).lines().next().unwrap_or("").to_string();
    assert_eq!(first("#todo\n"), "warning[W0013]: `#todo` is no preprocessor directive");
    assert_eq!(first("# inlcude <core.p4>\n"), "error[E0003]: unknown preprocessor directive `#inlcude`");
    assert_eq!(first("#endfi\n"), "error[E0003]: unknown preprocessor directive `#endfi`");
}

#[test]
fn blanks_behind_a_backslash_do_not_end_a_line() {
    for blanks in ["", " ", "  ", "\t", " \t ", "\r", " \r"] {
        assert_eq!(constant(&format!("#define LONG 1 + \\{blanks}\n 2\nconst int X = LONG;")), "(+ 1 2)");
        assert_eq!(constant(&format!("#if 1 && \\{blanks}\n 0\n#else\nconst int X = 1;\n#endif")), "1");
        assert_eq!(constant(&format!("# text \\{blanks}\n more text\nconst int X = 1;")), "1");
        assert_eq!(
            diagnose(&format!("#error one \\{blanks}\n two")).lines().next(),
            Some("error[E0008]: #error one  two")
        );
    }
    assert_eq!(constant("#define TWO_PA\\\nRTS 1\\\n2\nconst int X = TWO_\\  \nPA\\\nRTS;"), "12");
    assert_eq!(constant("#define ONE \\\n1\nconst int X = ONE\\\n;"), "1");
    assert!(diagnose("const int X = 1 \\ + 2;").starts_with("error[E0111]: expected `;` after a constant"));
}
