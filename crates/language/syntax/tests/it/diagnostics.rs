//! Diagnostics as people and programs see them.

use hopwright_syntax::ast::DeclKind;
use hopwright_syntax::{Options, SourceMap, parse_text, render};

use crate::diagnose;

/// The first lines of all errors.
fn headlines(text: &str) -> Vec<String> {
    diagnose(text).lines().filter(|l| l.starts_with("error") || l.starts_with("warning")).map(str::to_string).collect()
}

#[test]
fn independent_errors_are_all_reported_in_one_run() {
    let text = "\
header h_t { bit<8> a
  bit<16> b; }
struct S { h_t h; bit<8 x; }
control C(inout S s) {
    action drop() { mark_to_drop(meta; }
    table t {
        key = { s.h.a exact; s.x : lpm; }
        actions = { drop, NoAction; }
        default_action = NoAction()
        size = 1024;
    }
    apply {
        if (s.h.a = 5) { t.apply(); }
        bit<8> y = s.h.a +;
        i++;
        while (true) { }
        y = 8w0xZZ;
        y = {1, a = 2};
        switch (y) { case 1: { } default: { } }
    }
}
parser P(packet_in b out S s) { state start { transition accept; } }
bit<8> x = 5;
control D() { apply { }
";
    assert_eq!(
        headlines(text),
        [
            "error[E0111]: expected `;` after a field, found the keyword `bit`",
            "error[E0110]: expected `>` after the width, found `x`",
            "error[E0110]: expected `,` or `)` after an argument, found `;`",
            "error[E0110]: expected `:` and a match kind after a key, found `exact`",
            "error[E0111]: expected `;` after an action, found `,`",
            "error[E0111]: expected `;` after the property `default_action`, found `size`",
            "error[E0110]: expected `)`, found `=`",
            "error[E0110]: expected an expression, found `;`",
            "error[E0115]: P4 has no `++` that increments",
            "error[E0115]: P4 has no `while` loop",
            "error[E0102]: `8w0xZZ` is not a number",
            "error[E0110]: expected `,` or `}` after an element, found `=`",
            "error[E0115]: P4 has no `case`",
            "error[E0110]: expected `,` or `)` after a parameter, found the keyword `out`",
            "error[E0118]: a variable cannot be declared at top level",
            "error[E0113]: missing `}`",
        ]
    );
}

#[test]
fn carets_stand_under_what_is_wrong() {
    assert_eq!(
        diagnose("const bit<8> ä = (1 + * 2);\n"),
        "\
error[E0110]: expected the name of a constant, found the character `ä`
 --> test.p4:1:14
  |
1 | const bit<8> ä = (1 + * 2);
  |              ^ expected the name of a constant

"
    );
    assert_eq!(
        diagnose("// ü\nconst bit<8> A = (1 + 2;\n"),
        "\
error[E0110]: expected `)`, found `;`
 --> test.p4:2:24
  |
2 | const bit<8> A = (1 + 2;
  |                  -     ^ expected `)`
  |                  |
  |                  to close this

"
    );
    assert_eq!(
        diagnose("const bit<8> A = 1\nconst bit<8> B = 2;\n"),
        "\
error[E0111]: expected `;` after a constant, found the keyword `const`
 --> test.p4:1:19
  |
1 | const bit<8> A = 1
  |                   ^ add `;` here
2 | const bit<8> B = 2;
  | ----- unexpected

"
    );
}

#[test]
fn help_says_what_to_write() {
    assert_eq!(
        diagnose("control C() { table action { } apply { } }\n"),
        "\
error[E0110]: expected the name of a table, found the keyword `action`
 --> test.p4:1:21
  |
1 | control C() { table action { } apply { } }
  |                     ^^^^^^ expected the name of a table
  |
  = help: `action` is a reserved word of P4 and cannot be used as a name

"
    );
    assert_eq!(
        diagnose("control C() { apply { f; } }\n"),
        "\
error[E0110]: `f` alone is not a statement
 --> test.p4:1:23
  |
1 | control C() { apply { f; } }
  |                       ^ expected an assignment or a call
  |
  = help: to call it, write `f()`; a table is applied by `f.apply()`

"
    );
}

#[test]
fn errors_in_macros_name_the_macro() {
    assert_eq!(
        diagnose("#define TWICE(x) x x\nconst int X = TWICE(1);\n"),
        "\
error[E0111]: expected `;` after a constant, found the number `1`
 --> test.p4:2:21
  |
2 | const int X = TWICE(1);
  |                     ^ expected `;`

"
    );
    assert_eq!(
        diagnose("#define BAD 1 +\nconst int X = BAD;\nconst int Y = 2 BAD;\n"),
        "\
error[E0110]: expected an expression, found `;`
 --> test.p4:2:18
  |
2 | const int X = BAD;
  |                  ^ expected an expression

error[E0111]: expected `;` after a constant, found the number `1`
 --> test.p4:3:17
  |
3 | const int Y = 2 BAD;
  |                 ^^^ expected `;`
  |
  = note: the number `1` is in the expansion of macro `BAD`

"
    );
}

#[test]
fn placement_of_declarations_is_checked() {
    for (text, message) in [
        ("control C() { }", "control `C` has no `apply` block"),
        ("control C() { apply { } apply { } }", "a control has only one `apply` block"),
        ("control C() { apply { } bit<8> x; }", "a control's declarations must stand before its `apply` block"),
        ("parser P() { }", "parser `P` has no states"),
        ("parser P() { state start { } bit<8> x; }", "a parser's declarations must stand before its states"),
        ("parser P() { state start { transition accept; x = 1; } }", "a state ends with its transition"),
        ("parser P() { state start { switch (x) { } } }", "`switch` cannot be used in a parser state"),
        ("parser P() { state start { exit; } }", "`exit` cannot be used in a parser state"),
        ("control C() { apply { @a x = 1; } }", "annotations cannot stand before this statement"),
        ("extern T { T(); } control C() { apply { T() t; } }", "an instance cannot be declared inside a block"),
        ("control C() { apply { if (a) bit<8> x; } }", "a declaration cannot be the branch of a statement"),
        ("extern E { f(); }", "method `f` has no return type"),
        ("enum E { A = 1 }", "a member of this enum cannot have a value"),
        ("struct S { void x; }", "`void` cannot be used here"),
        ("table t { }", "`table` cannot stand at top level"),
        ("}", "unexpected `}`"),
        ("const bit<8> X = bit<8>(1);", "expected an expression, found the type `bit`"),
        ("const bit<8> X = _;", "expected an expression, found the keyword `_`"),
    ] {
        let shown = headlines(text);
        assert!(shown.len() == 1 && shown[0].ends_with(message), "{text:?} gave {shown:#?}");
    }
}

#[test]
fn recovery_keeps_what_is_right() {
    let text = "const int A = ;\nconst int B = 2;\nheader H { bit<8 x; }\nstruct S { bit<8> y; }\n";
    let mut sources = SourceMap::new();
    let (program, diagnostics) = parse_text(&mut sources, "t", text, &Options::default());
    assert_eq!(diagnostics.error_count(), 2);
    let names: Vec<_> = program.decls.iter().filter_map(|d| d.kind.name()).map(|n| n.as_str()).collect();
    assert_eq!(names, ["B", "H", "S"]);
}

#[test]
fn an_error_in_a_parameter_leaves_the_body() {
    for params in [
        "packet_in, out h_t h",
        "packet_in b out h_t h",
        "packet_in b, out h_t h, ",
        "packet_in b, (out h_t) h",
        "bit<(8 x",
    ] {
        for (close, whole) in [(")", true), ("", !params.contains('('))] {
            let text = format!(
                "control C({params}{close} {{ action a() {{}} action b() {{}} apply {{}} }}\nstruct S {{ bit<8> y; }}\n"
            );
            let mut sources = SourceMap::new();
            let (program, diagnostics) = parse_text(&mut sources, "t", &text, &Options::default());
            assert!(diagnostics.has_errors(), "{text}");
            let names: Vec<_> = program.decls.iter().filter_map(|d| d.kind.name()).map(|n| n.as_str()).collect();
            assert_eq!(names.last(), Some(&"S"), "{text}");
            if whole {
                assert_eq!((diagnostics.error_count(), names.len()), (1, 2), "{text}");
                let DeclKind::Control(control) = &program.decls[0].kind else { panic!("{text}") };
                assert_eq!(control.locals.len(), 2, "{text}");
            }
        }
    }
}

#[test]
fn too_many_errors_end_the_run() {
    let text = "const int X = ;\n".repeat(1000);
    let shown = headlines(&text);
    assert_eq!(shown.len(), 51);
    assert_eq!(shown[50], "error[E0119]: gave up after 50 syntax errors");
}

#[test]
fn json_has_the_same_places() {
    let mut sources = SourceMap::new();
    let (_, diagnostics) = parse_text(&mut sources, "t.p4", "const int X = (1;\n", &Options::default());
    assert_eq!(
        render::to_json(&diagnostics, &sources),
        serde_json::json!([{
            "severity": "error",
            "code": "E0110",
            "message": "expected `)`, found `;`",
            "labels": [
                {"file": "t.p4", "line": 1, "column": 17, "end_line": 1, "end_column": 18,
                 "primary": true, "message": "expected `)`"},
                {"file": "t.p4", "line": 1, "column": 15, "end_line": 1, "end_column": 16,
                 "primary": false, "message": "to close this"},
            ],
            "included_from": [],
            "notes": [],
            "help": null,
        }])
    );
}

#[test]
fn very_long_lines_are_named_but_not_shown() {
    let text = format!("const int X = 1{} + ;\n", " + 1".repeat(300) + &" ".repeat(20_000));
    assert_eq!(diagnose(&text), "error[E0110]: expected an expression, found `;`\n--> test.p4:1:21219\n\n");
}

#[test]
fn a_comma_at_the_end_of_a_list_is_named() {
    for (text, message) in [
        ("bit<8> f(in bit<8> a, in bit<8> b,) { return a; }", "expected a parameter after `,`, found `)`"),
        ("control C(inout S s,)(bit<8> n,) { apply { } }", "expected a parameter after `,`, found `)`"),
        ("control C() { apply { f(1,); } }", "expected an argument after `,`, found `)`"),
        ("bit<8> f<T, U,>(in T t) { return 1; }", "expected a type parameter after `,`, found `>`"),
    ] {
        let found = headlines(text);
        assert!(found.iter().all(|line| line.starts_with("error[E0110]: expected ")), "{text}: {found:?}");
        assert_eq!(found.first().map(String::as_str), Some(&*format!("error[E0110]: {message}")), "{text}");
        assert!(diagnose(text).contains("nothing follows this comma"), "{}", diagnose(text));
    }
}

#[test]
fn a_transition_inside_a_statement_is_told_of_select() {
    for body in [
        "if (x) transition a;",
        "if (x) { transition a; } else { transition b; }",
        "{ transition select(x) { 1: a; } }",
    ] {
        let text = format!("parser P(packet_in p) {{ state start {{ {body} }} state a {{ transition accept; }} }}");
        let shown = diagnose(&text);
        let title = "error[E0118]: a transition stands at the end of a state, not in another statement";
        assert!(headlines(&text).iter().all(|line| line == title), "{shown}");
        assert!(shown.contains("transition select (condition)"), "{shown}");
    }
}
