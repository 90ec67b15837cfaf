//! Programs as hardware.

use hopwright::VerilogError;

use crate::{L2, program};

#[test]
fn a_program_is_compiled_to_verilog() {
    let error = hopwright::compile(L2).unwrap().verilog("no such chip").unwrap_err();
    let VerilogError::UnknownTarget { known, .. } = error else { panic!("{error}") };
    let files = hopwright::compile(L2).unwrap().verilog(&known[0]).unwrap();
    let top = files.iter().find(|file| file.name == "program.sv").unwrap();
    assert!(top.text.contains("module"), "{}", top.text);
    assert!(files.iter().any(|file| file.name == "program.json"));
    // Hardware has no random numbers.
    let text = program("", "random(h.frame.value, 0, 9); s.egress_spec = 1;");
    match hopwright::compile(&text).unwrap().verilog(&known[0]) {
        Err(VerilogError::Refused(refusals)) => assert!(refusals[0].message.starts_with("program.p4:"), "{refusals:?}"),
        other => panic!("{other:?}"),
    }
}
