//! Whatever text comes, analysis ends with diagnostics and not with a panic.

use hopwright_sema::analyse;
use hopwright_syntax::{Options, SourceMap, parse_text};
use proptest::prelude::*;

/// A program that uses most of the language.
const PROGRAM: &str = include_str!("../programs/language.p4");

/// Words to throw in.
const WORDS: &[&str] = &[
    "bit<8>",
    "bit<0>",
    "int<1>",
    "int",
    "varbit<32>",
    "bool",
    "string",
    "error",
    "void",
    "tuple<bit<8>>",
    "list<bit<8>>",
    "headers_t",
    "ethernet_t",
    "H",
    "hdr",
    "meta",
    "hdr.ethernet",
    "hdr.labels",
    "next",
    "last",
    "lastIndex",
    "size",
    "apply",
    "isValid()",
    "setInvalid",
    "1",
    "-1",
    "0",
    "8w255",
    "4s7",
    "99999999999999999999999999",
    "\"s\"",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "+",
    "-",
    "*",
    "/",
    "%",
    "|+|",
    "<<",
    ">>",
    "&&",
    "||",
    "==",
    "!=",
    "++",
    "&&&",
    "..",
    "?",
    ":",
    ";",
    ",",
    ".",
    "=",
    "{#}",
    "...",
    "_",
    "default",
    "in",
    "out",
    "inout",
    "const",
    "action",
    "table",
    "key",
    "actions",
    "entries",
    "exact",
    "lpm",
    "ternary",
    "control",
    "parser",
    "state",
    "start",
    "transition",
    "select",
    "accept",
    "header",
    "struct",
    "header_union",
    "enum",
    "typedef",
    "type",
    "extern",
    "package",
    "switch",
    "if",
    "else",
    "for",
    "return",
    "exit",
    "break",
    "main",
    "V1Switch",
    "register<bit<32>>",
    "counter",
    "packet",
    "extract",
    "lookahead<bit<8>>",
    "emit",
    "this",
    "abstract",
    "value_set<bit<8>>(4)",
    "@name(\"x\")",
    "@optional",
];

fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() || c == '_' || c == '#' {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            out.push(std::mem::take(&mut word));
        }
        out.push(c.to_string());
    }
    out.push(word);
    out
}

fn check(text: &str) {
    let mut sources = SourceMap::new();
    let (program, _) = parse_text(&mut sources, "fuzz.p4", text, &Options { no_disk: true, ..Options::default() });
    // What could be read is analysed, also when something could not be.
    let analysis = analyse(&program, "fuzz");
    assert_eq!(analysis.program.is_none(), analysis.diagnostics.has_errors());
    for d in &analysis.diagnostics {
        assert!(d.span().is_some(), "{} has no place", d.message);
    }
}

#[derive(Clone, Debug)]
enum Change {
    Delete(prop::sample::Index, usize),
    Insert(prop::sample::Index, &'static str),
    Replace(prop::sample::Index, &'static str),
    Copy(prop::sample::Index, prop::sample::Index, usize),
    Swap(prop::sample::Index, prop::sample::Index),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    let word = || prop::sample::select(WORDS);
    prop_oneof![
        (at(), 1..6usize).prop_map(|(i, n)| Change::Delete(i, n)),
        (at(), word()).prop_map(|(i, w)| Change::Insert(i, w)),
        (at(), word()).prop_map(|(i, w)| Change::Replace(i, w)),
        (at(), at(), 1..30usize).prop_map(|(i, j, n)| Change::Copy(i, j, n)),
        (at(), at()).prop_map(|(i, j)| Change::Swap(i, j)),
    ]
}

fn changed(changes: &[Change]) -> String {
    let mut t = tokens(PROGRAM);
    for c in changes {
        let len = t.len();
        match c {
            Change::Delete(i, n) => {
                let i = i.index(len);
                t.drain(i..(i + n).min(len - 1).max(i));
            }
            Change::Insert(i, w) => t.insert(i.index(len), format!(" {w} ")),
            Change::Replace(i, w) => {
                // Words for words, so that more of the results can be parsed.
                let start = i.index(len);
                let at = (start..len).find(|k| t[*k].chars().all(char::is_alphanumeric)).unwrap_or(start);
                t[at] = (*w).to_string();
            }
            Change::Copy(i, j, n) => {
                let i = i.index(len);
                let piece: Vec<String> = t[i..(i + n).min(len)].to_vec();
                let j = j.index(len);
                t.splice(j..j, piece);
            }
            Change::Swap(i, j) => {
                let (i, j) = (i.index(len), j.index(len));
                t.swap(i, j);
            }
        }
    }
    t.concat()
}

/// A hundred cases each, unless `PROPTEST_CASES` says otherwise.
fn config() -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() { config } else { ProptestConfig { cases: 100, ..config } }
}

#[test]
fn the_program_itself_is_right() {
    let mut sources = SourceMap::new();
    let (program, syntax) = parse_text(&mut sources, "language.p4", PROGRAM, &Options::default());
    assert!(!syntax.has_errors());
    let analysis = analyse(&program, "language");
    let messages: Vec<_> = analysis.diagnostics.iter().map(|d| &d.message).collect();
    assert!(analysis.program.is_some() && messages.is_empty(), "{messages:?}");
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn changed_programs_never_panic(changes in prop::collection::vec(change(), 1..12)) {
        check(&changed(&changes));
    }

    #[test]
    fn token_soup_never_panics(words in prop::collection::vec(prop::sample::select(WORDS), 0..200)) {
        check(&format!("#include <v1model.p4>\n{}", words.join(" ")));
    }

    #[test]
    fn wrong_statements_never_panic(words in prop::collection::vec(prop::sample::select(WORDS), 1..12)) {
        let text = format!(
            "#include <v1model.p4>\nheader H {{ bit<8> a; varbit<32> v; }}\nstruct S {{ H h; H[3] hs; bit<16> n; }}\n\
             control c(inout S hdr, inout bit<8> meta, packet_in packet) {{ apply {{ {}; }} }}",
            words.join(" ")
        );
        check(&text);
    }

    #[test]
    fn wrong_expressions_never_panic(words in prop::collection::vec(prop::sample::select(WORDS), 1..9)) {
        check(&format!("#include <core.p4>\nheader H {{ bit<8> a; }}\nconst bit<8> x = {};", words.join(" ")));
    }
}
