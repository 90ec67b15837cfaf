//! Files of commands as updates of P4Runtime.

use std::sync::Arc;

use hopwright_dataplane::{Count, EntryTarget, Rates, Replica, SwitchBuilder, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_p4runtime::{Device, EnginePolicy, Packets, Program};
use hopwright_thrift::{SharedModel, commands};

const SOURCE: &str = include_str!("../../../../../tests/thrift/tables.p4");
const COMMANDS: &str = "
    table_add routes forward 10.0.0.0/8 => 02:00:00:00:00:11 1
    table_add routes drop 10.9.0.0/16 =>
    table_delete routes 1
    table_add acl drop 10.0.0.0&&&0xff000000 0->255 0&&&0 7 => 10
    act_prof_create_member paths send 1
    act_prof_create_member paths send 2
    act_prof_create_group paths
    act_prof_add_member_to_group paths 0 0
    act_prof_add_member_to_group paths 1 0
    table_indirect_add_with_group spread 10.1.2.3 => 0
    table_set_default routes forward 0x33 3
    mc_mgrp_create 1
    mc_node_create 7 1 2
    mc_node_associate 1 0
    mirroring_add 5 3
    mirroring_add_mc 6 1
    register_write last_ttl 3 9
    counter_write by_port 2 5 6
    meter_set_rates by_protocol 1 0.5:3 2:4
";

fn program() -> Program {
    let compiled = compile_text("tables.p4", SOURCE, &Default::default(), true);
    Program::from_compiled(&compiled, SOURCE.as_bytes().into()).unwrap()
}

/// What the commands set, as the data plane has it.
fn check(vdp: &Arc<VirtualDataPlane>, first_member: u32) {
    let control = vdp.control();
    let texts = |table: &str| {
        let table = control.table(table).unwrap();
        table
            .entries()
            .iter()
            .map(|e| format!("{:?} {} {:?}", e.matches, e.priority, e.action.args))
            .collect::<Vec<_>>()
    };
    let routes = texts("routes");
    assert!(routes.len() == 1 && routes[0].contains("prefix_len: 8"), "{routes:?}");
    assert!(texts("acl")[0].contains(&format!(" {} ", i32::MAX - 10)), "{:?}", texts("acl"));
    assert_eq!(control.table("routes").unwrap().default_action().args, [0x33u32.into(), 3u32.into()]);
    let paths = control.profile("paths").unwrap();
    let members: Vec<u32> = paths.members().iter().map(|(id, _)| *id).collect();
    assert_eq!(members, [first_member, first_member + 1]);
    assert!(paths.group(first_member).unwrap().members.keys().eq(&members));
    let spread = control.table("spread").unwrap();
    let target = spread.entries().iter().map(|e| spread.target(&e.matches, e.priority)).collect::<Vec<_>>();
    assert_eq!(target, [Some(EntryTarget::Group(first_member))]);
    let copies = [Replica { rid: 7, port: 1 }, Replica { rid: 7, port: 2 }];
    assert_eq!(control.multicast_group(1).unwrap(), copies);
    let session = |id| {
        let session = control.clone_session(id).unwrap();
        let port = session.port.map(|port| Replica { rid: 0, port });
        let group = session.group.and_then(|group| control.multicast_group(group)).unwrap_or_default();
        port.into_iter().chain(group).collect::<Vec<_>>()
    };
    assert_eq!((session(5), session(6)), (vec![Replica { rid: 0, port: 3 }], copies.to_vec()));
    assert_eq!(control.register("last_ttl").unwrap().read(3).unwrap(), 9u32.into());
    assert_eq!(control.counter("by_port").unwrap().read(2).unwrap(), Count { packets: 5, bytes: 6 });
    let rates = Rates { cir: 500_000, cburst: 3, pir: 2_000_000, pburst: 4 };
    assert_eq!(control.meter("by_protocol").unwrap().rates(1).unwrap(), Some(rates));
}

#[test]
fn commands_are_executed_directly_and_by_p4runtime() {
    let program = program();
    let vdp = program.data_plane(EnginePolicy::Interp).unwrap();
    commands::execute("commands.txt", COMMANDS, &SharedModel::of(vdp.clone())).unwrap();
    check(&vdp, 0);

    let vdp = program.data_plane(EnginePolicy::Interp).unwrap();
    let (switch, _worker) = SwitchBuilder::new(vdp.clone()).build().unwrap();
    let device = Device::new(1, switch.default_tenant().clone(), EnginePolicy::Interp).with_program(program.clone());
    let updates = program.updates_of(|model| commands::execute("commands.txt", COMMANDS, model)).unwrap();
    let results = device.write_messages(&updates, Packets::MeetParts).unwrap();
    assert!(results.iter().all(|result| result.is_ok()), "{results:?}");
    check(&vdp, 1);
}

#[test]
fn a_mistake_is_found_before_anything_is_written() {
    let text = format!("{COMMANDS}\ntable_add hosts send 1 => 600");
    let failure = program().updates_of(|model| commands::execute("commands.txt", &text, model)).unwrap_err();
    let line = text.lines().count();
    assert!(failure.message.starts_with(&format!("commands.txt:{line}: ")), "{}", failure.message);
}
