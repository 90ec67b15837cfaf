//! Every packet test in `tests/stf` passes with machine code and with the interpreter. The environment variable
//! `HOPWRIGHT_STF` selects some by name, with blanks between.

use std::path::Path;
use std::sync::Arc;

use crate::machine::{machine, text};
use hopwright_dataplane::{EngineKind, FrameSize, VirtualDataPlane};
use hopwright_driver::compile_file;
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
    let pipeline = Arc::new(compiled.pipeline.ok_or(format!("does not compile: {report}"))?);
    let script = std::fs::read_to_string(program.with_extension("stf")).map_err(text)?;
    let script = hopwright_stf::parse("script", &script).map_err(|e| format!("{e:?}"))?;
    run(&script, &mut machine(pipeline.clone())?, "machine code")?;
    let interpreted = VirtualDataPlane::new(pipeline, EngineKind::Interp).map_err(text)?;
    let mut interpreter = DataPlaneEngine::new(interpreted, FrameSize::JUMBO).map_err(text)?;
    run(&script, &mut interpreter, "interpreter")
}

#[test]
fn packet_tests_pass_with_both_engines() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/stf");
    let names: Vec<String> = match std::env::var("HOPWRIGHT_STF") {
        Ok(names) => names.split_whitespace().map(str::to_string).collect(),
        Err(_) => std::fs::read_dir(&folder)
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".stf").map(str::to_string))
            .collect(),
    };
    assert!(!names.is_empty());
    let failed: Vec<String> = names
        .iter()
        .filter_map(|name| passes(&folder.join(format!("{name}.p4"))).err().map(|e| format!("{name}: {e}")))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
