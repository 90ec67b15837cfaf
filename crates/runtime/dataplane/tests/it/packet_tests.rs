//! Every packet test in `tests/stf` and `tests/spec` passes with machine code and with the interpreter, and programs in
//! `tests/spec` get the diagnostics that they say. The environment variable `HOPWRIGHT_STF` selects some by name, with
//! blanks between.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::machine::{machine, text};
use crate::marks::{Marks, marks};
use hopwright_dataplane::{EngineKind, FrameSize, VirtualDataPlane};
use hopwright_driver::compile_file;
use hopwright_ir::Pipeline;
use hopwright_stf::{DataPlaneEngine, Script};

fn run(script: &Script, engine: &mut DataPlaneEngine, kind: &str) -> Result<(), String> {
    let report = hopwright_stf::run(script, engine).map_err(|e| format!("{kind}: {e:?}"))?;
    if !report.passed() {
        return Err(format!("{kind}: {report:?}"));
    }
    if engine.pool.available() != engine.pool.frames() as usize {
        return Err(format!("{kind}: frames are lost"));
    }
    Ok(())
}

fn passes(program: &Path) -> Result<(), String> {
    let compiled = compile_file(program, &Default::default(), true);
    let report = compiled.report(false);
    both_engines(compiled.pipeline.ok_or(format!("does not compile: {report}"))?, program)
}

/// Runs the packet test beside a program.
fn both_engines(pipeline: Pipeline, program: &Path) -> Result<(), String> {
    let pipeline = Arc::new(pipeline);
    let script = std::fs::read_to_string(program.with_extension("stf")).map_err(text)?;
    let script = hopwright_stf::parse("script", &script).map_err(|e| format!("{e:?}"))?;
    run(&script, &mut machine(pipeline.clone())?, "machine code")?;
    let interpreted = VirtualDataPlane::new(pipeline, EngineKind::Interp).map_err(text)?;
    let mut interpreter = DataPlaneEngine::new(interpreted, FrameSize::JUMBO).map_err(text)?;
    run(&script, &mut interpreter, "interpreter")
}

/// Runs a test for the files of a folder of `tests` with this extension, or for those of them that `HOPWRIGHT_STF` names.
fn for_each(folder: &str, extension: &str, test: fn(&Path) -> Result<(), String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests").join(folder);
    let selected = std::env::var("HOPWRIGHT_STF").ok();
    let selected: Option<Vec<&str>> = selected.as_deref().map(|names| names.split_whitespace().collect());
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|e| e == extension));
    let mut tests: Vec<PathBuf> = files.map(|file| file.with_extension("p4")).collect();
    assert!(!tests.is_empty());
    tests.sort();
    let name = |test: &PathBuf| test.file_stem().unwrap().to_string_lossy().into_owned();
    tests.retain(|test| selected.as_ref().is_none_or(|names| names.contains(&name(test).as_str())));
    let outcome = |file: &PathBuf| Some(format!("{}: {}", name(file), test(file).err()?));
    let failed: Vec<String> = tests.iter().filter_map(outcome).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn packet_tests_pass_with_both_engines() {
    for_each("stf", "stf", passes);
}

fn json_passes(program: &Path) -> Result<(), String> {
    let json = std::fs::read_to_string(program.with_extension("json")).map_err(text)?;
    for optimise in [false, true] {
        both_engines(hopwright_bmv2::read(&json, "program", optimise).map_err(text)?, program)?;
    }
    Ok(())
}

#[test]
fn bmv2_json_passes_with_both_engines() {
    for_each("bmv2/json", "stf", json_passes);
}

#[test]
fn examples_of_the_specification_pass_with_both_engines() {
    for_each("spec", "stf", passes);
}

/// Without a packet test beside it, a program must be refused. Errors come where marks are, and nowhere else; warnings
/// come where marks are, and may come elsewhere.
fn diagnosed(program: &Path) -> Result<(), String> {
    let expected = marks(&std::fs::read_to_string(program).map_err(text)?);
    let compiled = compile_file(program, &Default::default(), true);
    let name = program.file_name().unwrap().to_string_lossy();
    let mut found = Marks::new();
    for d in &compiled.diagnostics {
        let at = compiled.sources.location(d.span().ok_or_else(|| format!("{} has no place", d.message))?);
        let here = at.file.ends_with(&*name);
        let marked = expected.get(&at.line).is_some_and(|codes| codes.iter().any(|code| code == d.code));
        if here && marked || d.code.starts_with('E') {
            found.entry(at.line).or_default().push(d.code.to_string());
        }
    }
    found.values_mut().for_each(|codes| codes.sort());
    if found != expected {
        return Err(format!("the marks say {expected:?}, the compiler {found:?}\n{}", compiled.report(false)));
    }
    if compiled.pipeline.is_some() != program.with_extension("stf").exists() {
        return Err("a program has a packet test unless it is refused".into());
    }
    Ok(())
}

#[test]
fn examples_of_the_specification_get_the_diagnostics_that_they_say() {
    for_each("spec", "p4", diagnosed);
}
