//! Flows and groups in the program's tables.

use std::sync::Arc;

use hopwright_dataplane::EngineKind;

use super::*;
use crate::codec::field::IPV4;
use crate::codec::{Field, GROUP_ALL, GROUP_ANY};

fn datapath() -> Datapath {
    let pipeline = crate::compile().pipeline.expect("the program compiles");
    let vdp = VirtualDataPlane::new(Arc::new(pipeline), EngineKind::Jit).expect("the program runs");
    let mut datapath = Datapath::new(&vdp).expect("the program has the tables");
    for number in 1..=3 {
        let name = format!("p{number}");
        datapath.put_port(PortDescription { number, mac: [2; 6], name, config: 0, down: false });
    }
    datapath
}

fn flow(command: FlowCommand, priority: u16, fields: &[(Field, u128)], actions: &[Action]) -> FlowMod {
    let mut matching = Match::default();
    fields.iter().for_each(|(field, value)| matching.add(*field, *value, field.all()));
    FlowMod {
        command,
        table: 0,
        matching,
        priority,
        cookie: 0,
        cookie_mask: 0,
        idle_timeout: 0,
        hard_timeout: 0,
        out_port: port::ANY,
        out_group: GROUP_ANY,
        flags: flow_flag::SEND_REMOVED,
        instructions: Instructions { apply: actions.to_vec(), ..Instructions::default() },
        version: Version::V13,
    }
}

fn output(port: u32) -> Action {
    Action::Output { port, max_len: 0 }
}

const ADD: FlowCommand = FlowCommand::Add;
const DELETE: FlowCommand = FlowCommand::Delete { strict: false };

/// Flows and groups whose outputs are of every shape.
fn fill(datapath: &mut Datapath) {
    let set = Action::Set(Field::EthSrc, 7);
    let push = Action::PushVlan(0x8100);
    let lists: [&[Action]; 7] = [
        &[],
        &[output(1)],
        &[set, output(1)],
        &[output(1), set, output(2)],
        &[push, Action::Set(Field::VlanVid, 0x1001), push, output(port::FLOOD)],
        &[output(port::IN_PORT), output(port::CONTROLLER), output(3)],
        &[Action::Group(1), set, Action::Group(2)],
    ];
    for (number, kind) in [(1, GroupKind::All), (2, GroupKind::Select)] {
        let bucket = |port: u32| Bucket { weight: 1, actions: vec![Action::Set(Field::EthDst, 5), output(port)] };
        let buckets = vec![bucket(1), bucket(port::FLOOD)];
        let request = GroupMod { command: GroupCommand::Add, kind, group: number, buckets };
        assert!(datapath.group_mod(&request).is_ok());
    }
    for (at, actions) in lists.iter().enumerate() {
        let fields = [(Field::InPort, at as u128 + 1)];
        assert!(datapath.flow_mod(&flow(ADD, 5, &fields, actions)).is_ok(), "{actions:?}");
    }
    let mut goto = flow(ADD, 5, &[(Field::InPort, 99)], &[set]);
    goto.instructions.goto = Some(3);
    goto.instructions.metadata = Some((1, 1));
    assert!(datapath.flow_mod(&goto).is_ok());
}

#[test]
fn nothing_is_left_of_flows_and_groups_that_are_gone() {
    let mut datapath = datapath();
    fill(&mut datapath);
    // Changes of ports and groups replace outputs.
    datapath.remove_port(2);
    let bucket = Bucket { weight: 2, actions: vec![output(3)] };
    for (group, kind) in [(1, GroupKind::Select), (2, GroupKind::Indirect)] {
        let request = GroupMod { command: GroupCommand::Modify, kind, group, buckets: vec![bucket.clone()] };
        assert!(datapath.group_mod(&request).is_ok());
    }
    assert!(datapath.packet_out(1, &[Action::Set(Field::EthDst, 1), output(port::ALL)]).unwrap().is_some());
    assert_eq!(datapath.flow_mod(&flow(DELETE, 0, &[], &[])).unwrap().len(), 8);
    datapath.clear();
    assert_eq!(datapath.flow_count(), 0);
    assert_eq!(datapath.shared_entries(), 0);
}

#[test]
fn a_strict_deletion_is_of_one_flow() {
    let mut datapath = datapath();
    let ipv4 = [(Field::EthType, u128::from(IPV4))];
    for priority in [5, 6] {
        datapath.flow_mod(&flow(ADD, priority, &ipv4, &[output(1)])).unwrap();
    }
    let strict = FlowCommand::Delete { strict: true };
    assert_eq!(datapath.flow_mod(&flow(strict, 5, &[], &[])).unwrap().len(), 0);
    assert_eq!(datapath.flow_mod(&flow(strict, 5, &ipv4, &[])).unwrap().len(), 1);
    let mut other_port = flow(DELETE, 0, &[], &[]);
    other_port.out_port = 2;
    assert_eq!(datapath.flow_mod(&other_port).unwrap().len(), 0);
    assert_eq!(datapath.flow_mod(&flow(DELETE, 0, &[], &[])).unwrap().len(), 1);
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let mut datapath = datapath();
    let mut refused = |change: &dyn Fn(&mut FlowMod)| {
        let mut request = flow(ADD, 5, &[], &[output(1)]);
        change(&mut request);
        datapath.flow_mod(&request).err()
    };
    assert_eq!(refused(&|f| f.table = TABLES), Some(Refusal::FLOW_TABLE));
    assert_eq!(refused(&|f| f.table = TABLE_ALL), Some(Refusal::FLOW_TABLE));
    assert_eq!(refused(&|f| f.instructions.goto = Some(0)), Some(Refusal::INSTRUCTION_TABLE));
    assert_eq!(refused(&|f| f.instructions.apply = vec![Action::DecTtl]), Some(Refusal::ACTION_INCONSISTENT));
    assert_eq!(refused(&|f| f.instructions.apply = vec![Action::Group(1)]), Some(Refusal::ACTION_GROUP));
    assert_eq!(refused(&|f| f.instructions.apply = vec![output(0)]), Some(Refusal::ACTION_PORT));
    assert_eq!(datapath.flow_count(), 0);
    assert_eq!(datapath.shared_entries(), 0);
    datapath.flow_mod(&flow(ADD, 5, &[(Field::InPort, 1)], &[])).unwrap();
    let mut overlapping = flow(ADD, 5, &[(Field::EthDst, 1)], &[]);
    overlapping.flags |= flow_flag::CHECK_OVERLAP;
    assert_eq!(datapath.flow_mod(&overlapping).err(), Some(Refusal::FLOW_OVERLAP));
}

/// Flows and groups as controllers read them, and how much of the tables they take.
fn seen(datapath: &Datapath) -> (String, String, usize) {
    let all = FlowFilter {
        table: TABLE_ALL,
        out_port: port::ANY,
        out_group: GROUP_ANY,
        cookie: 0,
        cookie_mask: 0,
        matching: Match::default(),
    };
    let flows = datapath.selected_flows(&all).into_iter().map(|(id, flow)| {
        format!("{id}: {} {:?} {:?} {}\n", flow.priority, flow.matching, flow.instructions, flow.cookie)
    });
    let groups = datapath
        .group_views(GROUP_ALL)
        .into_iter()
        .map(|group| format!("{}: {:?} {:?} {}\n", group.group, group.kind, group.buckets, group.flows));
    (flows.collect(), groups.collect(), datapath.shared_entries())
}

#[test]
fn a_modification_is_of_all_flows_or_none() {
    let mut datapath = datapath();
    let ipv4 = [(Field::EthType, u128::from(IPV4))];
    datapath.flow_mod(&flow(ADD, 5, &ipv4, &[output(1)])).unwrap();
    datapath.flow_mod(&flow(ADD, 5, &[(Field::InPort, 2)], &[output(2)])).unwrap();
    let before = seen(&datapath);
    // Only one of the flows is of IPv4 packets.
    let modify = |actions: &[Action]| flow(FlowCommand::Modify { strict: false }, 0, &[], actions);
    let refused = datapath.flow_mod(&modify(&[Action::Set(Field::Ipv4Src, 7), output(3)]));
    assert_eq!(refused.err(), Some(Refusal::ACTION_INCONSISTENT));
    assert_eq!(seen(&datapath), before);
    datapath.flow_mod(&modify(&[Action::Set(Field::EthSrc, 7), output(3)])).unwrap();
    assert_ne!(seen(&datapath), before);
    datapath.clear();
    assert_eq!(datapath.shared_entries(), 0);
}

#[test]
fn a_group_changes_with_all_its_flows_or_not_at_all() {
    let bucket = |port: u32| Bucket { weight: 1, actions: vec![Action::Set(Field::EthDst, 5), output(port)] };
    let request = |command, kind, buckets| GroupMod { command, kind, group: 1, buckets };
    for kind in [GroupKind::All, GroupKind::Select] {
        let mut datapath = datapath();
        datapath.group_mod(&request(GroupCommand::Add, kind, vec![bucket(1), bucket(2)])).unwrap();
        datapath.flow_mod(&flow(ADD, 5, &[(Field::InPort, 1)], &[Action::Group(1)])).unwrap();
        // A packet takes the group a hundred times.
        datapath.flow_mod(&flow(ADD, 5, &[(Field::InPort, 2)], &[Action::Group(1); 100])).unwrap();
        let before = seen(&datapath);
        let many = request(GroupCommand::Modify, GroupKind::All, vec![bucket(3); 50]);
        assert_eq!(datapath.group_mod(&many).err(), Some(Refusal::GROUP_BUCKETS), "{kind:?}");
        assert_eq!(seen(&datapath), before, "{kind:?}");
        datapath.group_mod(&request(GroupCommand::Modify, GroupKind::Select, vec![bucket(3); 50])).unwrap();
        assert_ne!(seen(&datapath), before, "{kind:?}");
        datapath.clear();
        assert_eq!(datapath.shared_entries(), 0);
    }
}
