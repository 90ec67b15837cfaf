//! Hashes that controllers change.

use hopwright_dataplane::{EngineKind, SwitchBuilder, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_ir::hash_object::Configuration;
use hopwright_p4runtime::{Device, EnginePolicy, Hashes, Program};

const SOURCE: &str = include_str!("../../../../../tests/bfruntime/hashes.p4");

/// A process that hands over names those that the other will not have.
#[test]
fn a_device_names_the_hashes_that_are_not_as_declared() {
    let compiled = compile_text("hashes.p4", SOURCE, &Default::default(), true);
    let program = Program::from_compiled(&compiled, SOURCE.as_bytes().into()).unwrap();
    let vdp = VirtualDataPlane::new(program.pipeline.clone(), EngineKind::Interp).unwrap();
    let (switch, _worker) = SwitchBuilder::new(vdp).build().unwrap();
    let device = Device::new(1, switch.default_tenant().clone(), EnginePolicy::Interp).with_program(program);
    let generation = device.running_since(None).unwrap().unwrap().generation;
    assert!(device.changed_hashes().is_empty());
    let name = compiled.hashes[0].name.clone();
    let rotated = Configuration { rotate: 3, ..Configuration::default() };
    device.configure_hashes(generation, &Hashes::from([(name.clone(), rotated)])).unwrap();
    assert_eq!(device.changed_hashes(), [name]);
    device.configure_hashes(generation, &Hashes::new()).unwrap();
    assert!(device.changed_hashes().is_empty());
}
