use hopwright_ir::{MatchForm, MatchValue, bits};
use num_bigint::BigUint;
use proptest::prelude::*;

use super::*;

fn subjects() -> Vec<Subject> {
    let of = |name: &str, form, width, text| Subject { name: name.into(), form, width, text };
    vec![
        of("exact", Some(MatchForm::Value), 8, None),
        of("hdr.ipv4.dst", Some(MatchForm::Mask), 32, None),
        of("lpm", Some(MatchForm::Prefix), 32, None),
        of("range", Some(MatchForm::Range), 16, None),
        of("optional", Some(MatchForm::ValueOrAny), 1, None),
        of("vrf", Some(MatchForm::Value), 10, Some(3)),
        of("param", None, 16, None),
        of("named", None, 10, Some(3)),
    ]
}

fn parse(text: &str) -> Result<Constraint, Misread> {
    let all = subjects();
    Constraint::parse(text, Subjects { what: "match field", all: &all, priority: true })
}

fn fault(text: &str) -> (usize, String) {
    let misread = parse(text).unwrap_err();
    (misread.at, misread.fault.to_string())
}

/// exact 7, dst 10.0.0.0 &&& 255.0.0.0, lpm 10/8, range 5..9, optional anything, vrf "red" (1023), param 300, named 5; priority 10.
fn violated(text: &str) -> Option<String> {
    let number = |n: u32| BigUint::from(n);
    let values = [
        MatchValue::Exact(number(7)),
        MatchValue::Ternary { value: number(10 << 24), mask: number(255 << 24) },
        MatchValue::Lpm { value: number(10 << 24), prefix_len: 8 },
        MatchValue::Range { lo: number(5), hi: number(9) },
        MatchValue::Optional(None),
        MatchValue::Exact(bits::mask(10)),
        MatchValue::Exact(number(300)),
        MatchValue::Exact(number(5)),
    ];
    let find = |ty, text: &str| (ty == 3 && text == "red").then(|| bits::mask(10));
    let entry = Entry { values: &values, priority: 10, find: &find };
    parse(text).unwrap_or_else(|misread| panic!("{text}: {misread:?}")).violated(&entry).map(|(part, _)| part)
}

#[test]
fn conditions_are_true_or_false() {
    for text in [
        "true",
        "exact == 7",
        "exact::value < 0x8 && exact <= 0d7 && exact >= 0b111 && exact > 0o6",
        "hdr.ipv4.dst::mask == 0xff000000; hdr.ipv4.dst::value == ipv4('10.0.0.0');",
        "hdr.ipv4.dst != 10",
        "lpm::prefix_length <= 8 && lpm != ipv4('10.0.0.0')",
        "-lpm::prefix_length == -8 && --1 == 1",
        "range::low == 5 && range::high == 9 && range != 5",
        "optional::mask == 0 && optional != 1 && optional != 0",
        "optional::mask != -1",
        "exact::value == 263 && exact::value == -249",
        "::priority < 0x7fffffff && ::priority == 10",
        "vrf == 'red' && vrf != 'blue' && vrf != '' && vrf != 0 && vrf::value == 'red'",
        "named != 'red' && named != 'blue' && named == 5",
        "param == 300 && param != 44",
        "mac('00:00:00:00:00:05') < ipv6('::6')",
        "exact == 8 -> false",
        "exact == 8 || exact == 9 || exact == 7 -> lpm::prefix_length == 8",
        "!(exact == 8) && !!true == true",
        "true == (exact == 7)",
        "(exact == 8; true) || (exact == 7; lpm::prefix_length == 8)",
        "/* a ; b */ exact == 7; // exact == 8;\n lpm::prefix_length == 8 // the end",
    ] {
        assert_eq!(violated(text), None, "{text}");
    }
    for (text, part) in [
        ("false", "false"),
        ("exact == 7 && exact == 8 && exact == 9", "exact == 8"),
        ("exact == 7;\n  // a reason\n  exact == 7 ->\n     range::low  == 6;", "exact == 7 -> range::low == 6"),
        ("(exact == 7 && (exact != 7))", "(exact != 7)"),
        ("!(exact == 7)", "!(exact == 7)"),
        ("optional == 0", "optional == 0"),
        ("vrf == 'blue'", "vrf == 'blue'"),
        ("vrf != 'red'", "vrf != 'red'"),
    ] {
        assert_eq!(violated(text).as_deref(), Some(part), "{text}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, at, says) in [
        ("", 0, "a condition is missing here"),
        ("exact", 0, "a condition is expected, not an exact match"),
        ("exact == 7 == 7", 11, "need parentheses"),
        ("true -> true -> true", 13, "need parentheses"),
        ("foo.bar.baz == 2", 0, "no match field `foo.bar.baz`; there are exact, hdr.ipv4.dst"),
        ("exact == 0b2", 9, "`0b2` is no number"),
        ("exact == 12a", 9, "`12a` is no number"),
        ("exact::mask == 0", 7, "an exact match has no `::mask`; there are ::value"),
        ("7 :: value == 0", 5, "a number has no `::value`"),
        ("::unknown > 10", 2, "no attribute `unknown`; there are priority"),
        ("optional > 10", 0, "an optional match has no order"),
        ("!1", 1, "a condition is expected, not a number"),
        ("-false == 0", 1, "a number is expected, not a condition"),
        ("exact == hdr.ipv4.dst", 0, "an exact match does not compare with a match with a mask"),
        ("exact == 'red'", 0, "its values are no strings"),
        ("vrf < 'red'", 0, "a string has no order"),
        ("'a' == 'b'", 0, "does not compare"),
        ("exact == 7 lpm", 11, "`lpm` has no meaning here"),
        ("exact == 'x", 9, "a string is not closed"),
        ("true /* x", 5, "a comment is not closed"),
        ("exact == ipv4('1.2.3')", 14, "`1.2.3` is no ipv4 address"),
        ("mac('1:2:3:4:5:6') == 1", 4, "no mac address"),
        ("(true", 5, "`)` is missing"),
        ("(true; )", 7, "`)` has no meaning here"),
        ("exact in (1, 2)", 6, "`in` has no meaning here"),
        ("exact == 7 # x", 11, "`#` has no meaning here"),
    ] {
        let (place, message) = fault(text);
        assert!(message.contains(says), "{text}: {message}");
        assert_eq!(place, at, "{text}: {message}");
    }
    assert!(fault(&format!("{}true{}", "(".repeat(100_000), ")".repeat(100_000))).1.contains("inside each other"));
    assert!(fault(&"!".repeat(100_000)).1.contains("inside each other"));
    assert!(parse(&vec!["true"; 100_000].join(" && ")).is_ok());
    assert_eq!(position("ab\ncé d", 7), (2, 4));
}

fn words() -> impl Strategy<Value = String> {
    let words = [
        "exact",
        "hdr",
        ".",
        "ipv4",
        "dst",
        "lpm",
        "range",
        "vrf",
        "param",
        "::",
        "value",
        "mask",
        "prefix_length",
        "low",
        "priority",
        "==",
        "!=",
        "<",
        ">=",
        "&&",
        "||",
        "->",
        ";",
        "!",
        "-",
        "(",
        ")",
        "true",
        "false",
        "7",
        "0xff",
        "'red'",
        "'",
        "mac",
        "('00:00:00:00:00:05')",
        "//",
        "/*",
        "*/",
        "\n",
        "é",
        "\u{0}",
    ];
    proptest::collection::vec(proptest::sample::select(words.to_vec()), 0..40).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any text is read or refused, and what is read can be evaluated.
    #[test]
    fn any_text_is_read_or_refused(text in prop_oneof![words(), "\\PC{0,60}", any::<String>()]) {
        match parse(&text) {
            Ok(_) => drop(violated(&text)),
            Err(misread) => {
                prop_assert!(misread.at <= text.len());
                let (line, column) = position(&text, misread.at);
                prop_assert!(line >= 1 && column >= 1 && !misread.fault.to_string().is_empty());
            }
        }
    }

    /// Comparisons of exact values are those of numbers.
    #[test]
    fn numbers_compare(a in 0u32..256, b in 0u32..256) {
        let all = subjects();
        for (op, holds) in [("==", a == b), ("!=", a != b), ("<", a < b), ("<=", a <= b), (">", a > b), (">=", a >= b)] {
            let text = format!("exact {op} {b}");
            let constraint = Constraint::parse(&text, Subjects { what: "field", all: &all, priority: false }).unwrap();
            let values = [MatchValue::Exact(a.into())];
            let entry = Entry { values: &values, priority: 0, find: &|_, _| None };
            prop_assert_eq!(constraint.violated(&entry).is_none(), holds, "{} {}", a, text);
        }
    }
}
