//! Every packet test in `tests/stf` passes with the reference, but for those that it refuses or contradicts. The environment
//! variable `HOPWRIGHT_STF` selects some by name, with blanks between.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use hopwright_driver::compile_file;
use hopwright_reference::{Reference, Unsupported};
use hopwright_stf::ReferenceEngine;

/// The tests that the reference refuses, and a word of its reason.
const REFUSED: &[(&str, &str)] = &[("tna_direct_objects", "extern `DirectLpf`"), ("tna_filters", "extern `Lpf`")];

/// Tests that expect what the specification does not say, and why the reference does otherwise.
const CONTRADICTED: &[(&str, &str)] = &[
    ("growth_beyond_headroom", "a packet has room for all its headers: buffers are the data plane's"),
    ("psa_growth", "the same"),
];

/// What became of a test.
#[derive(Debug)]
#[expect(dead_code, reason = "printed")]
pub(crate) enum Outcome {
    Passed,
    Failed(String),
    Refused(Vec<Unsupported>),
}

pub(crate) fn outcome(program: &Path) -> Outcome {
    let compiled = compile_file(program, &Default::default(), false);
    let report = compiled.report(false);
    let (Some(pipeline), Some(typed)) = (compiled.pipeline, compiled.typed) else {
        return Outcome::Failed(format!("does not compile: {report}"));
    };
    let reference = match Reference::new(Rc::new(typed), compiled.sources) {
        Ok(reference) => reference,
        Err(unsupported) => return Outcome::Refused(unsupported),
    };
    let file = program.with_extension("stf");
    let script = std::fs::read_to_string(&file).unwrap();
    let script = match hopwright_stf::parse(&file.display().to_string(), &script) {
        Ok(script) => script,
        Err(errors) => return Outcome::Failed(format!("{errors:?}")),
    };
    let mut engine = ReferenceEngine::new(Arc::new(pipeline), reference);
    match hopwright_stf::run(&script, &mut engine) {
        Ok(report) if report.passed() => Outcome::Passed,
        Ok(report) => {
            let lines = report.failures.iter().map(ToString::to_string).chain(report.notes);
            Outcome::Failed(lines.collect::<Vec<_>>().join("\n"))
        }
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

#[test]
fn packet_tests_pass_with_the_reference() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/stf");
    let mut names: Vec<String> = match std::env::var("HOPWRIGHT_STF") {
        Ok(names) => names.split_whitespace().map(str::to_string).collect(),
        Err(_) => std::fs::read_dir(&folder)
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".stf").map(str::to_string))
            .collect(),
    };
    names.sort();
    let mut failed = Vec::new();
    for name in &names {
        let refused = REFUSED.iter().find(|(refused, _)| refused == name).map(|(_, reason)| *reason);
        let contradicted = CONTRADICTED.iter().any(|(contradicted, _)| contradicted == name);
        match (outcome(&folder.join(format!("{name}.p4"))), refused) {
            (Outcome::Passed, None) if !contradicted => {}
            (Outcome::Failed(_), None) if contradicted => {}
            (Outcome::Refused(found), Some(reason)) if found.iter().any(|u| u.what.contains(reason)) => {}
            (outcome, _) => failed.push(format!("{name}: {outcome:?}")),
        }
    }
    assert!(failed.is_empty(), "{} of {} tests\n{}", failed.len(), names.len(), failed.join("\n\n"));
}
