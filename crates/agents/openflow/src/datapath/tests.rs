//! Flows and groups in the program's tables.

use std::sync::Arc;

use hopwright_dataplane::{EngineKind, Executor, FrameSize, Pool};

use super::*;
use crate::codec::field::IPV4;
use crate::codec::request::{Band, BandKind, Bucket, GroupCommand, GroupMod, MeterCommand, MeterMod, meter_flag};
use crate::codec::{Field, GROUP_ALL, GROUP_ANY, METER_ALL};

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
    let flags = flow_flag::SEND_REMOVED;
    FlowMod { flags, ..FlowMod::new(command, priority, matching, actions.to_vec()) }
}

fn output(port: u32) -> Action {
    Action::Output { port, max_len: 0 }
}

fn bucket(weight: u16, actions: Vec<Action>) -> Bucket {
    Bucket { weight, watch_port: port::ANY, watch_group: GROUP_ANY, actions }
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
        let to = |port: u32| bucket(1, vec![Action::Set(Field::EthDst, 5), output(port)]);
        let buckets = vec![to(1), to(port::FLOOD)];
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
    let bucket = bucket(2, vec![output(3)]);
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
    let bucket = |port: u32| bucket(1, vec![Action::Set(Field::EthDst, 5), output(port)]);
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

fn group(command: GroupCommand, kind: GroupKind, group: u32, buckets: Vec<Bucket>) -> GroupMod {
    GroupMod { command, kind, group, buckets }
}

#[test]
fn groups_lead_to_groups_but_not_in_a_circle() {
    use GroupCommand::{Add, Delete, Modify};
    use GroupKind::{All, Select};
    let mut datapath = datapath();
    let through = |group: u32| vec![bucket(1, vec![Action::Group(group)])];
    datapath.group_mod(&group(Add, All, 1, vec![bucket(0, vec![output(1), output(2)])])).unwrap();
    datapath.group_mod(&group(Add, Select, 2, through(1))).unwrap();
    datapath.group_mod(&group(Add, All, 3, through(2))).unwrap();
    datapath.flow_mod(&flow(ADD, 5, &[], &[Action::Group(3)])).unwrap();
    let views = datapath.group_views(GROUP_ALL);
    assert_eq!(views.iter().map(|view| view.flows).collect::<Vec<_>>(), [1, 1, 1]);
    let before = seen(&datapath);
    assert_eq!(datapath.group_mod(&group(Modify, All, 1, through(3))).err(), Some(Refusal::GROUP_LOOP));
    assert_eq!(datapath.group_mod(&group(Add, All, 4, through(4))).err(), Some(Refusal::GROUP_LOOP));
    assert_eq!(datapath.group_mod(&group(Add, All, 4, through(9))).err(), Some(Refusal::ACTION_GROUP));
    assert_eq!(datapath.group_mod(&group(Delete, All, 1, Vec::new())).err(), Some(Refusal::GROUP_CHAINED));
    assert_eq!(seen(&datapath), before);
    // A packet cannot have more copies than outputs of a group of groups.
    for number in 10..14 {
        let list = vec![bucket(0, vec![Action::Group(number - 1); 100])];
        let first = vec![bucket(0, vec![output(1); 100])];
        let buckets = if number == 10 { first } else { list };
        let refused = datapath.group_mod(&group(Add, All, number, buckets)).err();
        assert_eq!(
            refused,
            (number > 10).then_some(if number == 11 { Refusal::ACTION_TOO_MANY } else { Refusal::ACTION_GROUP })
        );
    }
    assert_eq!(datapath.group_mod(&group(Delete, All, GROUP_ALL, Vec::new())).unwrap().len(), 1);
    assert_eq!(datapath.shared_entries(), 0);
}

#[test]
fn meters_go_with_their_flows_and_change_under_them() {
    let mut datapath = datapath();
    let request = |command, flags, bands: Vec<Band>| MeterMod { command, flags, meter: 7, bands };
    let drop = |rate: u32| Band { kind: BandKind::Drop, rate, burst: 0 };
    let add = |flags, bands| request(MeterCommand::Add, flags, bands);
    let mut metered = flow(ADD, 5, &[], &[output(1)]);
    metered.instructions.meter = Some(7);
    assert_eq!(datapath.flow_mod(&metered).err(), Some(Refusal::METER_UNKNOWN));
    let both = meter_flag::KBPS | meter_flag::PKTPS;
    assert_eq!(datapath.meter_mod(&add(both, vec![drop(1)])).err(), Some(Refusal::METER_FLAGS));
    assert_eq!(datapath.meter_mod(&add(1, vec![drop(0)])).err(), Some(Refusal::METER_RATE));
    assert_eq!(datapath.meter_mod(&add(1, vec![drop(1); 3])).err(), Some(Refusal::METER_OUT_OF_BANDS));
    let remark = Band { kind: BandKind::Remark(1), rate: 5, burst: 0 };
    datapath.meter_mod(&add(meter_flag::PKTPS, vec![drop(9), remark])).unwrap();
    assert_eq!(datapath.meter_mod(&add(1, vec![drop(1)])).err(), Some(Refusal::METER_EXISTS));
    datapath.flow_mod(&metered).unwrap();
    let before = seen(&datapath).2;
    // Bytes instead of packets: another meter of the program, under the same flow.
    datapath.meter_mod(&request(MeterCommand::Modify, meter_flag::KBPS, vec![drop(9)])).unwrap();
    assert_eq!(seen(&datapath).2, before - 1);
    assert_eq!(datapath.meter_views(METER_ALL).unwrap()[0].flows, 1);
    assert_eq!(datapath.meter_mod(&request(MeterCommand::Delete, 0, Vec::new())).unwrap().len(), 1);
    assert_eq!((datapath.flow_count(), datapath.shared_entries()), (0, 0));
}

#[test]
fn packets_leave_with_the_priority_of_their_queue() {
    let pipeline = Arc::new(crate::compile().pipeline.expect("the program compiles"));
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let vdp = VirtualDataPlane::new(pipeline.clone(), engine).expect("the program runs");
        let mut datapath = Datapath::new(&vdp).expect("the program has the tables");
        datapath.flow_mod(&flow(ADD, 5, &[], &[Action::SetQueue(5), output(2)])).unwrap();
        let mut executor = Executor::new(vdp);
        let mut pool = Pool::new(4, FrameSize::JUMBO).unwrap();
        let mut frame = pool.take_filled(&[2; 60]).unwrap();
        frame.set_ingress_port(1);
        executor.process_batch(std::slice::from_mut(&mut frame), 1);
        assert_eq!((frame.egress_port(), frame.priority()), (2, 5), "{engine:?}");
    }
}
