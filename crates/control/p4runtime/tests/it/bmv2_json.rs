//! BMv2's JSON as p4c writes it, with and without the P4Info that comes beside it.

use hopwright_p4runtime::proto::config::{P4Info, action_ref::Scope, counter_spec};
use hopwright_p4runtime::proto::v1::ForwardingPipelineConfig;
use hopwright_p4runtime::{Program, p4info};

const ROUTER: &str = include_str!("../../../../../tests/bmv2/json/router.json");

fn push(info: Option<P4Info>) -> Result<Program, String> {
    let p4_device_config = ROUTER.as_bytes().to_vec().into();
    let config = ForwardingPipelineConfig { p4info: info, p4_device_config, cookie: None };
    Program::from_config(&config).map_err(|failure| failure.message)
}

/// What is known without a P4Info.
fn own() -> P4Info {
    push(None).unwrap().config.p4info.unwrap()
}

#[test]
fn without_p4info_objects_have_the_ids_of_their_names() {
    let info = own();
    let table = &info.tables[0];
    let preamble = table.preamble.as_ref().unwrap();
    assert_eq!(
        (preamble.id, preamble.name.as_str(), preamble.alias.as_str()),
        (37375156, "MyIngress.ipv4_lpm", "ipv4_lpm")
    );
    assert_eq!((table.match_fields[0].name.as_str(), table.match_fields[0].bitwidth), ("hdr.ipv4.dstAddr", 32));
    let forward = info.actions.iter().find(|a| a.preamble.as_ref().unwrap().alias == "forward").unwrap();
    let params: Vec<_> = forward.params.iter().map(|p| (p.id, p.name.as_str(), p.bitwidth)).collect();
    assert_eq!(params, [(1, "dstAddr", 48), (2, "port", 9)]);
    assert!(p4info::to_text(&info).unwrap().contains("MyIngress.seen"));
}

#[test]
fn p4info_says_ids_units_and_scopes() {
    let mut info = own();
    let table = &mut info.tables[0];
    table.preamble.as_mut().unwrap().id = 0x0200_0007;
    table.action_refs[2].scope = Scope::DefaultOnly.into();
    info.counters[0].spec.as_mut().unwrap().unit = counter_spec::Unit::Packets.into();
    let program = push(Some(info.clone())).unwrap();
    let lpm = &program.pipeline.tables[0];
    assert_eq!(lpm.id.map(|id| id.0), Some(0x0200_0007));
    assert_eq!(lpm.actions.iter().map(|a| a.default_only).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(program.config.p4info, Some(info));
}

#[test]
fn p4info_of_another_program_is_refused() {
    let refused = |change: fn(&mut P4Info)| {
        let mut info = own();
        change(&mut info);
        push(Some(info)).err().unwrap()
    };
    let found = refused(|info| info.tables[0].preamble.as_mut().unwrap().name = "MyIngress.routes".into());
    assert!(found.contains("the program has no table `MyIngress.routes`"), "{found}");
    let found = refused(|info| info.tables[0].match_fields.clear());
    assert!(found.contains("the match fields of table `MyIngress.ipv4_lpm`"), "{found}");
    let found = refused(|info| info.actions.iter_mut().for_each(|action| action.params.clear()));
    assert!(found.contains("the parameters of action"), "{found}");
}
