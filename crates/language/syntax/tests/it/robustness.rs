//! No input makes the parser panic, overflow the stack or run away.

use hopwright_syntax::ast::Program;
use hopwright_syntax::{Options, SourceMap, parse_text, render};
use proptest::prelude::*;

/// Parses anything, and renders what there is to say about it.
fn survive(text: &str) -> (Program, usize) {
    let options = Options { no_disk: true, ..Options::default() };
    let mut sources = SourceMap::new();
    let (program, diagnostics) = parse_text(&mut sources, "any", text, &options);
    render::render(&diagnostics, &sources, false);
    render::to_json(&diagnostics, &sources);
    (program, diagnostics.error_count())
}

const WORDS: &[&str] = &[
    "abstract",
    "action",
    "actions",
    "apply",
    "bool",
    "bit",
    "break",
    "const",
    "continue",
    "control",
    "default",
    "else",
    "entries",
    "enum",
    "error",
    "exit",
    "extern",
    "false",
    "for",
    "header",
    "header_union",
    "if",
    "in",
    "inout",
    "int",
    "key",
    "list",
    "match_kind",
    "out",
    "package",
    "parser",
    "priority",
    "return",
    "select",
    "state",
    "string",
    "struct",
    "switch",
    "table",
    "this",
    "transition",
    "true",
    "tuple",
    "type",
    "typedef",
    "value_set",
    "varbit",
    "void",
    "_",
    "a",
    "b",
    "T",
    "start",
    "8w1",
    "0x",
    "3",
    "\"s\"",
    "|+|=",
    "&&&",
    "...",
    "<<=",
    ">>=",
    "{#}",
    "..",
    "<<",
    "&&",
    "==",
    "++",
    "+=",
    "+:",
    "##",
    "#",
    "+",
    "-",
    "*",
    "|",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    "!",
    ":",
    ",",
    "?",
    ".",
    "=",
    ";",
    "@",
    "\n",
    "\n#if ",
    "\n#else\n",
    "\n#endif\n",
    "\n#define a ",
    "\n#define b(a) ",
    "\n#include <core.p4>\n",
    "\n#line 1\n",
    "defined",
    "@pragma",
    "/*",
    "//",
    "\\",
];

/// Programs to take apart.
const SEEDS: &[&str] = &[
    include_str!("../../../../../p4/include/core.p4"),
    include_str!("../../../../../p4/include/v1model.p4"),
    "#define W(x) bit<x>\n#if defined(W) && 1\n\
     parser P(packet_in b, out H h)(bool c) { value_set<bit<8>>(4) vs; state start { b.extract(h.e);\
     transition select(h.t, b.lookahead<W(8)>()) { (0x800, _): ip; (1 &&& 3, 2 .. 4): a; default: accept; } } }\n\
     #endif\ncontrol C(inout H h) { action a(bit<8> x) { h.x = (bit<8>) x ++ 4w3; }\
     table t { key = { h.x[3:0] : exact @name(\"x\"); } actions = { a; @defaultonly NoAction(); }\
     const entries = { priority = 3 : (1 &&& 2, _) : a(1); } size = 4; }\
     apply { if (t.apply().hit) { for (bit<8> i in 0 .. 3) { h.x |+|= i; } } else switch (h.x) { 1: 2: { exit; } } } }",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_characters(text in "\\PC{0,200}") {
        survive(&text);
    }

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        survive(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn token_soup(words in prop::collection::vec(prop::sample::select(WORDS), 0..150)) {
        survive(&words.join(" "));
    }

    #[test]
    fn glued_token_soup(words in prop::collection::vec(prop::sample::select(WORDS), 0..60)) {
        survive(&words.concat());
    }

    #[test]
    fn programs_with_pieces_moved(
        seed in prop::sample::select(SEEDS),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..30, prop::sample::select(WORDS)), 1..8),
    ) {
        let mut text = seed.to_string();
        for (at, len, word) in edits {
            let mut start = at.index(text.len() + 1);
            while !text.is_char_boundary(start) { start -= 1; }
            let mut end = (start + len).min(text.len());
            while !text.is_char_boundary(end) { end -= 1; }
            text.replace_range(start..end.max(start), word);
        }
        survive(&text);
    }
}

#[test]
fn truncated_programs() {
    for seed in SEEDS {
        for end in (0..seed.len()).step_by(7) {
            if seed.is_char_boundary(end) {
                survive(&seed[..end]);
            }
        }
    }
}

#[test]
fn deep_nesting_is_refused_not_overflowed() {
    let deep = |open: &str, middle: &str, close: &str| {
        let n = 20_000;
        open.repeat(n) + middle + &close.repeat(n)
    };
    let in_const = |e: String| format!("const int X = {e};");
    let in_apply = |s: String| format!("control C() {{ apply {{ {s} }} }}");
    let cases = [
        in_const(deep("(", "1", ")")),
        in_const(deep("!", "1", "")),
        in_const(deep("- ", "1", "")),
        in_const(deep("f(", "1", ")")),
        in_const(deep("a[", "1", "]")),
        in_const(deep("{", "1", "}")),
        in_const(deep("{a=", "1", "}")),
        in_const(deep("(bit<8>)", "1", "")),
        in_const(deep("(bit<(", "1", ")>) 1")),
        in_const(deep("c ? 1 : ", "1", "")),
        in_const(deep("c ? ", "1", " : 1")),
        in_const(deep("a < b == ", "1", "")),
        in_const(deep("a.f<bit<", "8", ">>(x)")),
        in_const(deep("1 + ", "1", "")),
        in_const(deep("", "a", ".b")),
        in_const(deep("", "a", "()")),
        in_const(deep("", "a", "[1]")),
        format!("typedef {} T;", deep("list<", "bool", ">")),
        format!("typedef {} T;", deep("tuple<bool, ", "bool", ">")),
        format!("typedef {} T;", deep("", "bool", "[1]")),
        in_apply(deep("{", "", "}")),
        in_apply(deep("if (a) {", "", "}")),
        in_apply(deep("if (a) ", ";", "")),
        in_apply(deep("if (a) ; else ", ";", "")),
        in_apply(deep("if (a) { } else { ", ";", "}")),
        in_apply(deep("for (;a;) ", ";", "")),
        in_apply(deep("switch (a) { a: {", "", "}}")),
        deep("@a(", "", ")"),
        deep("@a[b=", "1", "]"),
        deep("E() e = { ", "", "};"),
        format!("#if {}\n#endif\n", deep("(", "1", ")")),
        format!("#if {}\n#endif\n", deep("1 ? 1 : ", "1", "")),
        format!("#if {}\n#endif\n", deep("!", "1", "")),
        "#if 1\n".repeat(20_000),
        "#if 0\n".repeat(20_000),
    ];
    for text in &cases {
        let (program, errors) = survive(text);
        let shown = &text[..text.len().min(60)];
        // What was kept can be walked and dropped recursively.
        drop(program.clone());
        drop(program);
        if shown.starts_with("@a(") {
            continue;
        }
        assert!(errors > 0, "accepted: {shown}");
    }
}

#[test]
fn ordinary_depth_is_accepted() {
    let cases = [
        format!("const int X = {}1{};", "(".repeat(500), ")".repeat(500)),
        format!("const int X = {}1{};", "(1 + ".repeat(300), ")".repeat(300)),
        format!("const int X = 0{};", " + 1".repeat(1000)),
        format!("control C() {{ apply {{ {} ; }} }}", "if (a) { x(); } else ".repeat(900)),
        format!("control C() {{ apply {{ {} ; {} }} }}", "if (a) {".repeat(300), "}".repeat(300)),
    ];
    for text in &cases {
        assert_eq!(survive(text).1, 0, "{}", &text[..60]);
    }
}
