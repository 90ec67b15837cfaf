//! Programs and packet tests of a checkout such as p4c's: how many compile, and how many packet tests pass with both engines.
//!
//! `HOPWRIGHT_SAMPLES` is a folder with `NAME.p4`, and `NAME.stf` beside some, in itself and in folders below. Without it there is
//! nothing to do. Programs whose name begins with `HOPWRIGHT_SAMPLES_PREFIX` are tried, with the macros of
//! `HOPWRIGHT_SAMPLES_DEFINE` (`NAME=VALUE`, with blanks between) and includes from `HOPWRIGHT_SAMPLES_INCLUDE`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::machine::{machine, text};
use hopwright_dataplane::{EngineKind, FrameSize, VirtualDataPlane};
use hopwright_driver::{Options, compile_file};
use hopwright_ir::Pipeline;
use hopwright_stf::DataPlaneEngine;

fn compile(program: &Path) -> Result<Arc<Pipeline>, String> {
    let mut options = Options::default();
    for define in std::env::var("HOPWRIGHT_SAMPLES_DEFINE").unwrap_or_default().split_whitespace() {
        options.define(define);
    }
    options.include_paths.extend(std::env::var_os("HOPWRIGHT_SAMPLES_INCLUDE").map(PathBuf::from));
    let compiled = compile_file(program, &options, true);
    let first = compiled.diagnostics.has_errors().then(|| compiled.report(false));
    let line = first.iter().flat_map(|r| r.lines()).find(|l| l.starts_with("error")).unwrap_or("no pipeline");
    let pipeline = Arc::new(compiled.pipeline.ok_or_else(|| line.to_string())?);
    machine(pipeline.clone())?;
    Ok(pipeline)
}

fn passes(program: &Path, pipeline: &Arc<Pipeline>) -> Result<(), String> {
    let script = std::fs::read_to_string(program.with_extension("stf")).map_err(text)?;
    let script = hopwright_stf::parse("script", &script).map_err(|e| format!("{e:?}"))?;
    let interpreted = VirtualDataPlane::new(pipeline.clone(), EngineKind::Interp).map_err(text)?;
    let interpreter = DataPlaneEngine::new(interpreted, FrameSize::JUMBO).map_err(text)?;
    for (mut engine, name) in [(interpreter, "interpreter"), (machine(pipeline.clone())?, "machine code")] {
        let report = hopwright_stf::run(&script, &mut engine).map_err(|e| format!("{name}: {e:?}"))?;
        if !report.passed() {
            return Err(format!("{name}: {report:?}"));
        }
    }
    Ok(())
}

/// Whether a file has a `main`: others are included by programs.
fn is_program(path: &Path) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| text.contains(") main;"))
}

#[test]
fn samples_of_a_checkout() {
    let Some(folder) = std::env::var_os("HOPWRIGHT_SAMPLES") else { return };
    let prefix = std::env::var("HOPWRIGHT_SAMPLES_PREFIX").unwrap_or_default();
    let name = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let (mut programs, mut folders) = (Vec::new(), vec![PathBuf::from(folder)]);
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "p4")
                && name(&path).starts_with(&prefix)
                && is_program(&path)
            {
                programs.push(path);
            }
        }
    }
    programs.sort();
    let (mut compiled, mut tests, mut passed) = (0, 0, 0);
    for program in &programs {
        match compile(program) {
            Ok(pipeline) => {
                compiled += 1;
                if program.with_extension("stf").exists() {
                    tests += 1;
                    match passes(program, &pipeline) {
                        Ok(()) => passed += 1,
                        Err(why) => println!("packet test {}: {why}", name(program)),
                    }
                }
            }
            Err(why) => println!("program {}: {why}", name(program)),
        }
    }
    println!("{compiled} of {} programs compile; {passed} of {tests} packet tests pass", programs.len());
    assert!(!programs.is_empty());
}
