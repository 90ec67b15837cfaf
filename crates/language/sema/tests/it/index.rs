//! The index of names and types, in programs with and without errors.

use hopwright_sema::index::{Form, Index, Target};
use hopwright_sema::{analyse, analyse_indexed};
use hopwright_syntax::{FileId, Options, SourceMap, Span, parse_text};

const TEXT: &str = "\
#include <core.p4>
const bit<8> LIMIT = 8w3 + 4;
enum bit<8> Kind { Low = 1, High = LIMIT }
header h_t { bit<16> f; varbit<32> options; }
struct s_t { h_t[2] stack; h_t one; }
extern void g(in bit<16> x);
extern void g(in bit<16> x, in bit<8> y);
parser P(packet_in b, out s_t s) {
    state start { b.extract(s.stack.next, 32w0); transition select(s.one.f) { 16w1: start; _: other; } }
    state other { transition accept; }
}
control C(inout s_t s, inout Kind k) {
    action a(bit<16> v) { s.one.f = v; }
    table t { key = { s.one.f: exact; } actions = { a; } }
    apply { t.apply(); k = Kind.High; g(x = s.one.f, y = 8w1); g(s.one.f); }
}
";

/// The index of a text, and the place of the `number`th occurrence of a word in it.
fn indexed(text: &str) -> (Index, impl Fn(&str, usize) -> Span) {
    let mut sources = SourceMap::new();
    let (program, _) = parse_text(&mut sources, "t.p4", text, &Options::default());
    let (analysis, index) = analyse_indexed(&program, "t");
    let without = analyse(&program, "t");
    assert_eq!(
        analysis.diagnostics.iter().collect::<Vec<_>>(),
        without.diagnostics.iter().collect::<Vec<_>>(),
        "the index changes no diagnostics"
    );
    let file = sources.files().find(|(_, f)| &**f.name() == "t.p4").map_or(FileId(0), |(id, _)| id);
    let text = text.to_string();
    let place = move |word: &str, number: usize| {
        let bytes = text.as_bytes();
        let is_word = |i: usize| bytes.get(i).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        let whole = |i: &usize| (*i == 0 || !is_word(*i - 1)) && !is_word(*i + word.len());
        let at = text.match_indices(word).map(|(i, _)| i).filter(whole).nth(number).unwrap() as u32;
        Span::new(file, at, at + word.len() as u32)
    };
    (index, place)
}

#[test]
fn names_refer_to_declarations() {
    let (index, place) = indexed(TEXT);
    let declared = |name: Span| match &index.uses[&name] {
        Target::Declaration(at) => *at,
        Target::Member { .. } => panic!("a member"),
    };
    assert_eq!(declared(place("LIMIT", 1)), place("LIMIT", 0));
    assert_eq!(declared(place("h_t", 1)), place("h_t", 0));
    assert_eq!(declared(place("start", 1)), place("start", 0));
    assert_eq!(declared(place("other", 0)), place("other", 1));
    assert_eq!(declared(place("t", 1)), place("t", 0));
    assert_eq!(declared(place("a", 1)), place("a", 0));
    assert_eq!(declared(place("v", 1)), place("v", 0));
    // Of functions with the same name, the one with these parameters; of arguments with names, the parameters.
    assert_eq!(declared(place("g", 2)), place("g", 1));
    assert_eq!(declared(place("g", 3)), place("g", 0));
    assert_eq!(declared(place("y", 1)), place("y", 0));
    let member = |of: &str, name: &str| Target::Member { of: place(of, 0), name: name.into() };
    assert_eq!(index.uses[&place("f", 1)], member("h_t", "f"));
    assert_eq!(index.uses[&place("High", 1)], member("Kind", "High"));
    assert_eq!(index.uses[&place("stack", 1)], member("s_t", "stack"));
}

#[test]
fn declarations_and_expressions_have_types() {
    let (index, place) = indexed(TEXT);
    let limit = &index.types[&place("LIMIT", 0)];
    assert_eq!((limit.ty.text.as_str(), limit.value.as_deref()), ("bit<8>", Some("7")));
    let header = &index.types[&place("h_t", 0)].ty;
    assert_eq!((header.bits, header.max_bits), (Some(16), Some(48)));
    assert!(matches!(header.form, Form::Header));
    let parameter = &index.types[&place("s", 0)].ty;
    let fields: Vec<_> = parameter.fields.iter().map(|(name, ty)| (&**name, ty.text.as_str())).collect();
    assert_eq!((fields, parameter.declaration), (vec![("stack", "h_t[2]"), ("one", "h_t")], Some(place("s_t", 0))));
    assert!(matches!(&parameter.fields[0].1.form, Form::Stack(element) if element.text == "h_t"));
}

#[test]
fn programs_with_errors_have_an_index_of_the_rest() {
    let text = TEXT.replace("k = Kind.High;", "k = Kind.Higher; nothing();").replace("16w1: start", "16w1: begin");
    let (index, place) = indexed(&text);
    assert_eq!(index.uses[&place("f", 1)], Target::Member { of: place("h_t", 0), name: "f".into() });
    assert_eq!(index.uses[&place("g", 3)], Target::Declaration(place("g", 0)));
    assert!(!index.uses.contains_key(&place("nothing", 0)));
}
