//! Match kinds are described twice: `hopwright-sema` checks what entries in programs say, and `hopwright-ir` defines what
//! entries mean. The two descriptions must agree.

use crate::programs::{compile, ingress};
use hopwright_ir::{MatchKind, Precedence, WrittenMatch};

/// The diagnostics of a program with an entry for a key of this kind, which is eight bits wide.
fn diagnostics(kind: MatchKind, entry: &str) -> Vec<&'static str> {
    let name = kind.info().name;
    let top = if kind_of_v1model(kind) { String::new() } else { format!("match_kind {{ {name} }}") };
    let table =
        format!("table t {{ key = {{ hdr.h.a : {name}; }} actions = {{ NoAction; }} entries = {{ {entry} }} }}");
    compile(&ingress(&top, &table, "t.apply();"), true).diagnostics.iter().map(|d| d.code).collect()
}

/// Whether programs need not declare the kind.
fn kind_of_v1model(kind: MatchKind) -> bool {
    ["exact", "lpm", "ternary", "range", "optional", "selector"].contains(&kind.info().name)
}

fn matched() -> impl Iterator<Item = MatchKind> {
    MatchKind::ALL.into_iter().filter(|kind| kind.is_matched())
}

#[test]
fn entries_are_accepted_in_the_forms_that_have_a_meaning() {
    let mask = |value: u32, mask: u32| WrittenMatch::Mask(value.into(), mask.into());
    let sets = [
        ("0x50", WrittenMatch::Value(0x50u32.into())),
        ("_", WrittenMatch::Any),
        ("0x50 &&& 0xf0", mask(0x50, 0xf0)),
        ("0x10 &&& 0x30", mask(0x10, 0x30)),
        ("0x05 &&& 0x0f", mask(0x05, 0x0f)),
        ("0x50 &&& 0xff", mask(0x50, 0xff)),
        ("0x10 .. 0x30", WrittenMatch::Range(0x10u32.into(), 0x30u32.into())),
    ];
    for kind in matched() {
        for (text, written) in &sets {
            let expected: &[&str] = if kind.value(written.clone(), 8).is_ok() { &[] } else { &["E0313"] };
            assert_eq!(diagnostics(kind, &format!("{text} : NoAction();")), expected, "{kind}: {text}");
        }
    }
}

/// With an open key the first entry that matches wins, and not the one that compares more bits.
#[test]
fn exact_keys_are_left_open_only_where_no_bits_are_counted() {
    for kind in matched() {
        let name = kind.info().name;
        let top = if kind_of_v1model(kind) { String::new() } else { format!("match_kind {{ {name} }}") };
        let table = format!(
            "table t {{ key = {{ hdr.h.a : {name}; hdr.h.b : exact; }} actions = {{ NoAction; }}
                        const entries = {{ (0x50, _) : NoAction(); }} }}"
        );
        let found = compile(&ingress(&top, &table, "t.apply();"), true).diagnostics;
        let errors: Vec<_> = found.iter().map(|d| d.code).filter(|code| code.starts_with('E')).collect();
        let expected: &[&str] = if kind.info().precedence == Precedence::MoreBits { &["E0313"] } else { &[] };
        assert_eq!(errors, expected, "{kind}");
    }
}

#[test]
fn entries_have_priorities_where_these_decide() {
    for kind in matched() {
        let expected: &[&str] = if kind.info().precedence == Precedence::Priority { &[] } else { &["E0311"] };
        assert_eq!(diagnostics(kind, "priority = 3 : 0x50 : NoAction();"), expected, "{kind}");
    }
}
