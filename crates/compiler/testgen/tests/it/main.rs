//! Tests that are made of programs: what they reach, that the engines agree about them, and the faults they find.

mod faults;
mod programs;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hopwright_dataplane::externs::ExternTypes;
use hopwright_dataplane::{EngineKind, Executable, FrameSize, VirtualDataPlane};
use hopwright_driver::compile_file;
use hopwright_interp::Interp;
use hopwright_ir::Pipeline;
use hopwright_stf::DataPlaneEngine;
use hopwright_syntax::Options as Preprocess;
use hopwright_testgen::{Generated, Options, generate};

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn compiled(file: &Path, optimise: bool) -> Arc<Pipeline> {
    let compiled = compile_file(file, &Preprocess::default(), optimise);
    let report = compiled.report(false);
    Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{report}")))
}

/// Makes tests that all begin with a set-up. Searches end by themselves, so that time does not matter.
fn tests_of(pipeline: &Arc<Pipeline>, set_up: &str, options: &Options) -> (Generated, Vec<String>) {
    let registry = ExternTypes::standard().for_interpreter();
    let script = hopwright_stf::parse("set-up", set_up).unwrap();
    let prepare = || {
        let mut interp = Interp::with_externs(pipeline.clone(), &registry).unwrap();
        hopwright_stf::configure(&script, &mut interp).map(|()| interp)
    };
    let mut texts = Vec::new();
    let mut found = |test: &hopwright_testgen::Test| {
        texts.push(test.to_stf(pipeline, "", set_up));
    };
    let generated = generate(&prepare, options, &mut found).unwrap();
    (generated, texts)
}

fn options() -> Options {
    Options { time: Duration::from_secs(3600), patience: 300, ..Options::default() }
}

/// A program that is ready to run, compiled once for all of its tests.
fn executable(pipeline: &Arc<Pipeline>, kind: EngineKind) -> Executable {
    VirtualDataPlane::new(pipeline.clone(), kind).unwrap_or_else(|error| panic!("{error}")).executable()
}

/// The first thing that is not as the test expects, if anything is.
fn failure(program: &Executable, text: &str) -> Option<String> {
    let script = hopwright_stf::parse("test", text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let vdp = program.data_plane(&ExternTypes::standard()).unwrap_or_else(|error| panic!("{error}"));
    let mut engine = DataPlaneEngine::new(vdp, FrameSize::JUMBO).unwrap();
    match hopwright_stf::run(&script, &mut engine) {
        Err(error) => Some(error.to_string()),
        Ok(report) => report.failures.first().map(ToString::to_string),
    }
}
