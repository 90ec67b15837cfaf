//! Programs that copy, repeat and cut packets pass their packet tests with machine code, as they do with the
//! interpreter.

mod machine;

use std::path::Path;
use std::sync::Arc;

use hopwright_driver::compile_text;
use hopwright_ir::interp::Interp;
use machine::{machine, text};

const PROGRAMS: [&str; 16] = [
    "resubmit_and_recirculate",
    "clone",
    "clone_and_multicast",
    "clone_both_ways",
    "clone_egress_chain",
    "clone_field_lists",
    "clone_of_dropped",
    "clone_sessions",
    "multicast",
    "multicast_copies",
    "multicast_nodes",
    "recirculate_drop",
    "recirculate_grows",
    "resubmit_and_clone",
    "resubmit_rounds",
    "truncate_sizes",
];

fn passes(name: &str) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/stf");
    let read = |ending: &str| std::fs::read_to_string(folder.join(format!("{name}.{ending}"))).map_err(text);
    let compiled = compile_text(&format!("{name}.p4"), &read("p4")?, &Default::default(), true);
    let pipeline = Arc::new(compiled.pipeline.ok_or("does not compile")?);
    let script = hopwright_stf::parse("script", &read("stf")?).map_err(|e| format!("{e:?}"))?;
    let mut machine = machine(pipeline.clone())?;
    let report = hopwright_stf::run(&script, &mut machine).map_err(|e| format!("{e:?}"))?;
    if !report.passed() {
        return Err(format!("machine code: {report:?}"));
    }
    if machine.pool.available() != machine.pool.frames() as usize {
        return Err("frames are lost".into());
    }
    let mut interp = Interp::new(pipeline).map_err(text)?;
    let report = hopwright_stf::run(&script, &mut interp).map_err(|e| format!("{e:?}"))?;
    if report.passed() { Ok(()) } else { Err(format!("interpreter: {report:?}")) }
}

#[test]
fn programs_that_copy_packets_mean_the_same_to_machine_code() {
    let failed: Vec<String> =
        PROGRAMS.iter().filter_map(|name| passes(name).err().map(|e| format!("{name}: {e}"))).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
