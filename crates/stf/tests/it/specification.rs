//! The packet tests in `tests/spec` pass with the reference, but for those that it refuses. The environment variable
//! `HOPWRIGHT_STF` selects some by name, with blanks between.

use std::path::Path;

use crate::reference::{Outcome, outcome};

/// The tests that the reference refuses, and a word of its reason.
const REFUSED: &[(&str, &str)] = &[("07_02_10_02_01_abstract", "package `Switch`")];

#[test]
fn examples_of_the_specification_pass_with_the_reference() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/spec");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".stf").map(str::to_string))
        .collect();
    assert!(!names.is_empty());
    if let Ok(selected) = std::env::var("HOPWRIGHT_STF") {
        names.retain(|name| selected.split_whitespace().any(|one| one == name));
    }
    names.sort();
    let mut failed = Vec::new();
    for name in &names {
        let refused = REFUSED.iter().find(|(refused, _)| refused == name).map(|(_, reason)| *reason);
        match (outcome(&folder.join(format!("{name}.p4"))), refused) {
            (Outcome::Passed, None) => {}
            (Outcome::Refused(found), Some(reason)) if found.iter().any(|u| u.what.contains(reason)) => {}
            (outcome, _) => failed.push(format!("{name}: {outcome:?}")),
        }
    }
    assert!(failed.is_empty(), "{} of {} tests\n{}", failed.len(), names.len(), failed.join("\n\n"));
}
