//! Edits, and the formatting of some lines.

use hopwright_fmt::{Edit, edits, format, range_edits};

const TEXT: &str = "header h {\nbit<8>  a;\n  bit<16> b; }\n\n\n\nconst  bit<8> X=1;\n";

fn apply(text: &str, edits: &[Edit]) -> String {
    let mut result = text.to_string();
    for edit in edits.iter().rev() {
        result.replace_range(edit.range.clone(), &edit.text);
    }
    result
}

#[test]
fn edits_format_a_text() {
    assert_eq!(apply(TEXT, &edits(TEXT).unwrap()), format(TEXT).unwrap());
    assert_eq!(edits(&format(TEXT).unwrap()).unwrap(), []);
}

#[test]
fn edits_are_white_space_only() {
    for edit in edits(TEXT).unwrap() {
        assert!(TEXT[edit.range].trim().is_empty() && edit.text.trim().is_empty());
    }
}

#[test]
fn only_lines_of_the_range_are_formatted() {
    let in_range = apply(TEXT, &range_edits(TEXT, 1..2).unwrap());
    assert_eq!(in_range, "header h {\n    bit<8>  a;\n  bit<16> b; }\n\n\n\nconst  bit<8> X=1;\n");
    let last = apply(TEXT, &range_edits(TEXT, 6..7).unwrap());
    assert_eq!(last, "header h {\nbit<8>  a;\n  bit<16> b; }\n\nconst bit<8> X = 1;\n");
    assert_eq!(range_edits(TEXT, 3..3).unwrap(), []);
    assert_eq!(apply(TEXT, &range_edits(TEXT, 0..usize::MAX).unwrap()), format(TEXT).unwrap());
}
