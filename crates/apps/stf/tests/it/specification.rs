//! The packet tests in `tests/spec` pass with the reference. The environment variable
//! `HOPWRIGHT_STF` selects some by name, with blanks between.

use std::path::Path;

use crate::reference::{Outcome, outcome};

#[test]
fn examples_of_the_specification_pass_with_the_reference() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/spec");
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
        match outcome(&folder.join(format!("{name}.p4"))) {
            Outcome::Passed => {}
            outcome => failed.push(format!("{name}: {outcome:?}")),
        }
    }
    assert!(failed.is_empty(), "{} of {} tests\n{}", failed.len(), names.len(), failed.join("\n\n"));
}
