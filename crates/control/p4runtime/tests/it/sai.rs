//! Annotations of SAI's P4 programs: translated types, constraints on entries and actions, references. What a controller writes is
//! what it reads; what violates a rule changes nothing.

use std::collections::BTreeMap;

use hopwright_dataplane::memory::MemoryPort;
use hopwright_dataplane::{EngineKind, SwitchBuilder, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_p4runtime::client::{Names, Written};
use hopwright_p4runtime::proto::v1;
use hopwright_p4runtime::{Access, Options, Server};
use hopwright_p4runtime::{Device, EnginePolicy, Failure, Packets, Program};
use proptest::prelude::*;
use tokio::runtime::Runtime;
use tonic::Code;
use v1::entity::Entity;
use v1::p4_data::Data;
use v1::packet_replication_engine_entry::Type as Copies;
use v1::replica::PortKind;
use v1::stream_message_response::Update;
use v1::update::Type;

use crate::ids::{Controller, message};

const SOURCE: &str = include_str!("../../../../../tests/p4runtime/sai.p4");

fn program(source: &str) -> Result<Program, String> {
    let compiled = compile_text("sai.p4", source, &Default::default(), true);
    Program::from_compiled(&compiled, source.as_bytes().to_vec().into()).map_err(|f| f.message)
}

fn device(source: &str) -> Device {
    let program = program(source).unwrap();
    let vdp = VirtualDataPlane::new(program.pipeline.clone(), EngineKind::Interp).unwrap();
    let mut builder = SwitchBuilder::new(vdp).cpu_port(510);
    for (number, name) in [(1, "Ethernet0"), (2, "Ethernet4")] {
        builder = builder.port(number, Box::new(MemoryPort::new(name).0));
    }
    let (switch, mut worker) = builder.build().unwrap();
    std::thread::spawn(move || worker.run());
    Device::new(1, switch.default_tenant().clone(), EnginePolicy::Interp).with_program(program)
}

/// A device, and what P4Info says of its program.
struct Sai {
    device: Device,
    names: Names,
}

impl Sai {
    fn new() -> Sai {
        Sai::with(SOURCE)
    }

    fn with(source: &str) -> Sai {
        let device = device(source);
        let info = device.running_since(None).unwrap().unwrap().info;
        Sai { device, names: Names::new(info) }
    }

    fn entry(&self, table: &str, text: &str) -> v1::TableEntry {
        let table = self.names.table(table).unwrap();
        self.names.entry(table, &Written::parse(&[text.to_string()]).unwrap()).unwrap()
    }

    fn write(&self, kind: Type, entity: Entity) -> Result<(), Failure> {
        self.all(&[(kind, entity)]).remove(0)
    }

    /// A batch, all or nothing.
    fn all(&self, updates: &[(Type, Entity)]) -> Vec<Result<(), Failure>> {
        let write = |(kind, entity): &(Type, Entity)| {
            let entity = Some(v1::Entity { entity: Some(entity.clone()) });
            v1::Update { r#type: *kind as i32, entity }
        };
        let writes: Vec<v1::Update> = updates.iter().map(write).collect();
        self.device.write_messages(&writes, Packets::MeetParts).unwrap()
    }

    fn insert(&self, table: &str, text: &str) -> Result<(), Failure> {
        self.write(Type::Insert, Entity::TableEntry(self.entry(table, text)))
    }

    fn delete(&self, table: &str, text: &str) -> Result<(), Failure> {
        self.write(Type::Delete, Entity::TableEntry(self.entry(table, text)))
    }

    fn read(&self, asked: Entity) -> Vec<Entity> {
        self.device.read_entity(&asked).unwrap()
    }

    /// All entries of a table, as text.
    fn entries(&self, table: &str) -> Vec<String> {
        let table_id = self.names.table(table).unwrap().preamble.as_ref().unwrap().id;
        let found = self.read(Entity::TableEntry(v1::TableEntry { table_id, ..Default::default() }));
        let text = |found| match found {
            Entity::TableEntry(entry) => self.names.entry_text(&entry).to_string(),
            other => panic!("{other:?}"),
        };
        found.into_iter().map(text).collect()
    }

    /// A route and all that it needs.
    fn route(&self) {
        self.insert("vrf_table", "vrf_id=red => no_action").unwrap();
        self.insert(
            "router_interface_table",
            "router_interface_id=rif-1 => set_port_and_src_mac(port=Ethernet4, src_mac=2)",
        )
        .unwrap();
        self.insert("neighbor_table", "router_interface_id=rif-1 neighbor_id=10.0.0.2 => set_dst_mac(dst_mac=3)")
            .unwrap();
        self.insert(
            "nexthop_table",
            "nexthop_id=hop-1 => set_ip_nexthop(router_interface_id=rif-1, neighbor_id=10.0.0.2)",
        )
        .unwrap();
        self.insert("ipv4_table", "vrf_id=red ipv4_dst=10.0.0.0/8 => set_nexthop_id(nexthop_id=hop-1)").unwrap();
    }
}

fn fails(result: Result<(), Failure>, code: Code, says: &str) {
    let failure = result.unwrap_err();
    assert_eq!(failure.code, code, "{}", failure.message);
    assert!(failure.message.contains(says), "{}", failure.message);
}

#[test]
fn names_are_read_as_they_were_written() {
    let sai = Sai::new();
    sai.route();
    assert_eq!(sai.entries("ipv4_table"), ["vrf_id=red ipv4_dst=10.0.0.0/8 => set_nexthop_id(nexthop_id=hop-1)"]);
    assert_eq!(
        sai.entries("router_interface_table"),
        ["router_interface_id=rif-1 => set_port_and_src_mac(port=Ethernet4, src_mac=00:00:00:00:00:02)"]
    );
    // Filters are translated, too; a name that nothing has selects nothing.
    let asked = sai.entry("ipv4_table", "vrf_id=red ipv4_dst=10.0.0.0/8 => set_nexthop_id(nexthop_id=hop-1)");
    assert_eq!(sai.read(Entity::TableEntry(asked.clone())), [Entity::TableEntry(asked)]);
    let other = sai.entry("vrf_table", "vrf_id=blue => no_action");
    assert_eq!(sai.read(Entity::TableEntry(v1::TableEntry { action: None, ..other })), []);
    // The data plane has numbers: of a port its own.
    let control = sai.device.tenant().vdp();
    let at = control.pipeline().tables.iter().position(|t| t.name.ends_with("router_interface_table")).unwrap();
    let entries = control.control()[hopwright_ir::TableId(at as u32)].entries();
    assert_eq!(entries[0].action.args[0], 2u32.into());
    let wrong = "router_interface_id=rif-2 => set_port_and_src_mac(port=Ethernet9, src_mac=2)";
    fails(sai.insert("router_interface_table", wrong), Code::InvalidArgument, "there are Ethernet0, Ethernet4");
    // By number, which has a name.
    let by_number = "router_interface_id=rif-2 => set_port_and_src_mac(port=1, src_mac=2)";
    sai.insert("router_interface_table", by_number).unwrap();
    assert!(sai.entries("router_interface_table")[1].contains("port=Ethernet0"));
}

#[test]
fn wide_numbers_get_narrow_ones() {
    let sai = Sai::new();
    for (at, class) in [0u32, 5, 255, 70_000, u32::MAX].into_iter().enumerate() {
        let text = format!("class={class} priority={} => drop", at + 11);
        sai.insert("acl_table", &text).unwrap();
    }
    let mut seen = sai.entries("acl_table");
    seen.sort();
    let classes: Vec<&str> =
        seen.iter().map(|e| e.split("class=").nth(1).unwrap().split(' ').next().unwrap()).collect();
    assert_eq!(classes.len(), 5);
    for class in ["0", "5", "255", "70000", "4294967295"] {
        assert!(classes.contains(&class), "{seen:?}");
    }
}

#[test]
fn constraints_are_enforced() {
    let sai = Sai::new();
    let mut default = sai.entry("vrf_table", "vrf_id=x => no_action");
    let Some(v1::field_match::FieldMatchType::Exact(exact)) = &mut default.r#match[0].field_match_type else {
        panic!()
    };
    exact.value = Default::default();
    let says = "@entry_restriction forbids this: `vrf_id != 0` is false with vrf_id = \"\" (0x0)";
    fails(sai.write(Type::Insert, Entity::TableEntry(default)), Code::InvalidArgument, says);
    for (text, says) in [
        (
            "dst_ip=10.0.0.0&&&0xff000000 priority=1 => drop",
            "`dst_ip::mask != 0 -> ether_type == 0x0800` is false with dst_ip = 0xa000000 &&& 0xff000000, ether_type = 0x0 &&& 0x0; all of it: ",
        ),
        ("in_port=511 priority=1 => drop", "`in_port != '511'` is false"),
        ("class=70000 priority=10 => drop", "`class == 70000 -> ::priority > 10` is false with class = 0x11170"),
    ] {
        fails(sai.insert("acl_table", text), Code::InvalidArgument, says);
    }
    assert_eq!(sai.entries("acl_table"), [] as [&str; 0]);
    sai.insert("acl_table", "dst_ip=10.0.0.0&&&0xff000000 ether_type=0x0800&&&0xffff priority=1 => drop").unwrap();
    sai.insert("acl_table", "class=70000 priority=11 => drop").unwrap();
    // Actions, inserted and modified.
    sai.insert("vrf_table", "vrf_id=red => no_action").unwrap();
    let none = "vrf_id=red ipv4_dst=224.0.0.0/8 => set_multicast_group_id(multicast_group_id=0)";
    let says =
        "action `Routing.set_multicast_group_id`: @action_restriction forbids this: `multicast_group_id != 0` is false";
    fails(sai.insert("ipv4_table", none), Code::InvalidArgument, says);
    sai.insert("ipv4_table", "vrf_id=red ipv4_dst=224.0.0.0/8 => drop").unwrap();
    fails(sai.write(Type::Modify, Entity::TableEntry(sai.entry("ipv4_table", none))), Code::InvalidArgument, says);
    assert_eq!(sai.entries("ipv4_table"), ["vrf_id=red ipv4_dst=224.0.0.0/8 => drop()"]);
}

#[test]
fn references_are_kept() {
    let sai = Sai::new();
    let route = "vrf_id=red ipv4_dst=10.0.0.0/8 => set_nexthop_id(nexthop_id=hop-1)";
    let none = "there is no entry of `Routing.vrf_table` with vrf_id = \"red\"; there are none";
    fails(sai.insert("ipv4_table", route), Code::InvalidArgument, none);
    sai.insert("vrf_table", "vrf_id=red => no_action").unwrap();
    fails(sai.insert("ipv4_table", route), Code::InvalidArgument, "nexthop_id = \"hop-1\"");
    fails(
        sai.insert("ipv4_table", "vrf_id=blue ipv4_dst=1.0.0.0/8 => drop"),
        Code::InvalidArgument,
        "there are \"red\"",
    );
    // The program's own VRF is there without an entry.
    let mut default = sai.entry("ipv4_table", "vrf_id=red ipv4_dst=9.0.0.0/8 => drop");
    let Some(v1::field_match::FieldMatchType::Exact(exact)) = &mut default.r#match[0].field_match_type else {
        panic!()
    };
    exact.value = Default::default();
    sai.write(Type::Insert, Entity::TableEntry(default.clone())).unwrap();
    sai.write(Type::Delete, Entity::TableEntry(default)).unwrap();
    sai.delete("vrf_table", "vrf_id=red => no_action").unwrap();
    sai.route();
    // All that one action says of a table is of one entry there.
    sai.insert(
        "router_interface_table",
        "router_interface_id=rif-2 => set_port_and_src_mac(port=Ethernet0, src_mac=2)",
    )
    .unwrap();
    let apart = "nexthop_id=hop-2 => set_ip_nexthop(router_interface_id=rif-2, neighbor_id=10.0.0.2)";
    fails(
        sai.insert("nexthop_table", apart),
        Code::InvalidArgument,
        "router_interface_id = \"rif-2\", neighbor_id = 0xa000002",
    );
    // What is referred to stays, in the order of a batch.
    let used = [
        ("vrf_table", "vrf_id=red => no_action"),
        ("router_interface_table", "router_interface_id=rif-1 => set_port_and_src_mac(port=1, src_mac=2)"),
        ("neighbor_table", "router_interface_id=rif-1 neighbor_id=10.0.0.2 => set_dst_mac(dst_mac=3)"),
        ("nexthop_table", "nexthop_id=hop-1 => set_ip_nexthop(router_interface_id=rif-1, neighbor_id=10.0.0.2)"),
    ];
    for (table, text) in used {
        fails(sai.delete(table, text), Code::FailedPrecondition, "this entry is in use");
    }
    let removed = |(table, text): &(&str, &str)| (Type::Delete, Entity::TableEntry(sai.entry(table, text)));
    let batch: Vec<_> = [("ipv4_table", route)].iter().chain(used.iter().rev()).map(removed).collect();
    let failed = sai.all(&batch);
    assert_eq!(failed.iter().filter(|r| r.as_ref().is_err_and(|f| f.code == Code::FailedPrecondition)).count(), 0);
    assert!(failed.iter().all(Result::is_ok), "{failed:?}");
    // A batch that is undone counts nothing.
    sai.insert("vrf_table", "vrf_id=red => no_action").unwrap();
    let batch = [
        (Type::Insert, Entity::TableEntry(sai.entry("ipv4_table", "vrf_id=red ipv4_dst=1.0.0.0/8 => drop"))),
        (Type::Delete, Entity::TableEntry(sai.entry("vrf_table", "vrf_id=red => no_action"))),
    ];
    let codes: Vec<Code> = sai.all(&batch).into_iter().map(|r| r.unwrap_err().code).collect();
    assert_eq!(codes, [Code::Aborted, Code::FailedPrecondition]);
    sai.delete("vrf_table", "vrf_id=red => no_action").unwrap();
}

fn group(id: u32, ports: &[&str]) -> Entity {
    let replica = |(instance, port): (u32, &&str)| v1::Replica {
        instance,
        port_kind: Some(PortKind::Port(port.as_bytes().to_vec().into())),
        ..Default::default()
    };
    let replicas = (1..).zip(ports).map(replica).collect();
    let entry = v1::MulticastGroupEntry { multicast_group_id: id, replicas, ..Default::default() };
    let r#type = Some(Copies::MulticastGroupEntry(entry));
    Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type })
}

#[test]
fn multicast_groups_have_named_ports_and_are_referred_to() {
    let sai = Sai::new();
    sai.insert("vrf_table", "vrf_id=red => no_action").unwrap();
    let route = "vrf_id=red ipv4_dst=224.0.0.0/8 => set_multicast_group_id(multicast_group_id=7)";
    fails(sai.insert("ipv4_table", route), Code::InvalidArgument, "there is no multicast group 7");
    fails(sai.write(Type::Insert, group(7, &["Ethernet1"])), Code::InvalidArgument, "there are Ethernet0, Ethernet4");
    sai.write(Type::Insert, group(7, &["Ethernet0", "Ethernet4"])).unwrap();
    assert_eq!(sai.read(group(7, &[])), [group(7, &["Ethernet0", "Ethernet4"])]);
    let replicas = sai.device.tenant().vdp().control().multicast_group(7).unwrap();
    assert_eq!(replicas.iter().map(|r| r.port).collect::<Vec<_>>(), [1, 2]);
    sai.insert("ipv4_table", route).unwrap();
    fails(sai.write(Type::Delete, group(7, &[])), Code::FailedPrecondition, "multicast group 7 is in use");
    sai.delete("ipv4_table", route).unwrap();
    sai.write(Type::Delete, group(7, &[])).unwrap();
}

/// The multicast router interfaces of SAI's programs.
const REPLICAS: &str = "
control Leave(inout headers_t hdr, inout local_metadata_t meta, inout standard_metadata_t standard) {
    port_id_t port = (port_id_t)standard.egress_port;
    action passthrough() {}
    table multicast_router_interface_table {
        key = {
            port : exact @name(\"port\") @referenced_by(builtin::multicast_group_table, replica.port);
            standard.egress_rid : exact @name(\"instance\") @referenced_by(builtin::multicast_group_table, replica.instance);
        }
        actions = { passthrough; }
    }
    apply { multicast_router_interface_table.apply(); }
}";

#[test]
fn replicas_refer_to_router_interfaces() {
    let no_egress = "control Leave(inout headers_t hdr, inout local_metadata_t meta, inout standard_metadata_t standard) { apply {} }";
    assert!(SOURCE.contains(no_egress));
    let source = SOURCE.replace(no_egress, REPLICAS);
    let sai = Sai::with(&source);
    let interface = |port: &str, instance: u32| format!("port={port} instance={instance} => passthrough");
    sai.insert("multicast_router_interface_table", &interface("Ethernet0", 1)).unwrap();
    let both = group(7, &["Ethernet0", "Ethernet4"]);
    fails(sai.write(Type::Insert, both.clone()), Code::InvalidArgument, "@referenced_by: there is no entry");
    assert_eq!(sai.read(group(7, &[])), []);
    sai.insert("multicast_router_interface_table", &interface("Ethernet4", 2)).unwrap();
    sai.write(Type::Insert, both).unwrap();
    let second = interface("Ethernet4", 2);
    fails(sai.delete("multicast_router_interface_table", &second), Code::FailedPrecondition, "in use: 1 references");
    sai.write(Type::Modify, group(7, &["Ethernet0"])).unwrap();
    sai.delete("multicast_router_interface_table", &second).unwrap();
    sai.write(Type::Delete, group(7, &[])).unwrap();
    sai.delete("multicast_router_interface_table", &interface("Ethernet0", 1)).unwrap();

    let wrong = source.replace("replica.port", "replica.color");
    assert!(program(&wrong).err().unwrap().contains("others have @refers_to"));
}

/// Filters are compared as numbers: however many zeros are in front, and without what a prefix cuts off.
#[test]
fn filters_of_reads_need_not_be_canonical() {
    let sai = Sai::new();
    sai.route();
    let table = "router_interface_table";
    let entry = sai.entry(table, "router_interface_id=rif-1 => set_port_and_src_mac(port=Ethernet4, src_mac=2)");
    let action = |mac: &[u8]| {
        let mut action = entry.action.clone();
        let Some(v1::table_action::Type::Action(call)) = action.as_mut().unwrap().r#type.as_mut() else { panic!() };
        call.params.iter_mut().find(|p| p.value[..] == [2]).unwrap().value = mac.to_vec().into();
        action
    };
    let of_table = v1::TableEntry { table_id: entry.table_id, ..Default::default() };
    for (mac, found) in [(&[2][..], 1), (&[0, 0, 0, 0, 0, 2], 1), (&[0, 0, 0, 0, 0, 0, 0, 2], 1), (&[0, 3], 0)] {
        let asked = v1::TableEntry { action: action(mac), ..of_table.clone() };
        assert_eq!(sai.read(Entity::TableEntry(asked)).len(), found, "{mac:?}");
    }
    let mut route = sai.entry("ipv4_table", "vrf_id=red ipv4_dst=10.0.0.0/8 => drop");
    route.action = None;
    for field in &mut route.r#match {
        if let Some(v1::field_match::FieldMatchType::Lpm(lpm)) = &mut field.field_match_type {
            lpm.value = vec![0, 10, 1, 2, 3].into();
        }
    }
    assert_eq!(sai.read(Entity::TableEntry(route)).len(), 1);
}

/// Values are given again when nothing uses them, and refused when all are in use.
#[test]
fn values_do_not_run_out_while_few_are_in_use() {
    let sai = Sai::new();
    sai.route();
    let hop = |n: u32| format!("nexthop_id=h{n} => set_ip_nexthop(router_interface_id=rif-1, neighbor_id=10.0.0.2)");
    for n in 0..100 {
        sai.insert("nexthop_table", &hop(n)).unwrap();
        if n >= 10 {
            sai.delete("nexthop_table", &hop(n - 10)).unwrap();
        }
    }
    let before = sai.entries("nexthop_table");
    assert_eq!(before.len(), 11);
    // One more is what the register has: zero.
    for n in 100..104 {
        sai.insert("nexthop_table", &hop(n)).unwrap();
    }
    fails(
        sai.insert("nexthop_table", &hop(104)),
        Code::ResourceExhausted,
        "all values of `nexthop_id_t`, which has 4 bits",
    );
    // A batch that is undone takes no value, and gives back those it freed.
    let of = |kind, n| (kind, Entity::TableEntry(sai.entry("nexthop_table", &hop(n))));
    let there = sai.entries("nexthop_table");
    let batch = [of(Type::Delete, 103), of(Type::Insert, 106), of(Type::Insert, 107)];
    assert!(sai.all(&batch).iter().all(Result::is_err));
    assert_eq!(sai.entries("nexthop_table"), there);
}

#[test]
fn sets_members_registers_and_value_sets_are_translated() {
    let sai = Sai::new();
    sai.route();
    let profile = sai.names.info().action_profiles[0].preamble.as_ref().unwrap().id;
    let info = sai.names.info();
    let action_id = info.actions.iter().find(|a| a.preamble.as_ref().unwrap().alias == "set_nexthop_id").unwrap();
    let action_id = action_id.preamble.as_ref().unwrap().id;
    let member = |name: &str| {
        let params = vec![v1::action::Param { param_id: 1, value: name.as_bytes().to_vec().into() }];
        let action = Some(v1::Action { action_id, params });
        Entity::ActionProfileMember(v1::ActionProfileMember { action_profile_id: profile, member_id: 1, action })
    };
    fails(sai.write(Type::Insert, member("hop-2")), Code::InvalidArgument, "there are \"hop-1\"");
    sai.write(Type::Insert, member("hop-1")).unwrap();
    assert_eq!(sai.read(Entity::ActionProfileMember(Default::default())), [member("hop-1")]);
    sai.delete("ipv4_table", "vrf_id=red ipv4_dst=10.0.0.0/8 => drop").unwrap();
    let hop = "nexthop_id=hop-1 => set_ip_nexthop(router_interface_id=rif-1, neighbor_id=10.0.0.2)";
    fails(
        sai.delete("nexthop_table", hop),
        Code::FailedPrecondition,
        "in use: 1 references (@refers_to) to the entry of `Routing.nexthop_table`",
    );
    let set = |name: &str, weight| {
        let params = vec![v1::action::Param { param_id: 1, value: name.as_bytes().to_vec().into() }];
        let action = Some(v1::Action { action_id, params });
        v1::ActionProfileAction { action, weight, ..Default::default() }
    };
    let mut entry = sai.entry("ipv4_table", "vrf_id=red ipv4_dst=10.0.0.0/8 => drop");
    entry.table_id = sai.names.table("wcmp_table").unwrap().preamble.as_ref().unwrap().id;
    entry.r#match.truncate(1);
    let actions = v1::ActionProfileActionSet { action_profile_actions: vec![set("hop-1", 1)], ..Default::default() };
    entry.action = Some(v1::TableAction { r#type: Some(v1::table_action::Type::ActionProfileActionSet(actions)) });
    sai.write(Type::Insert, Entity::TableEntry(entry.clone())).unwrap();
    let asked = v1::TableEntry { table_id: entry.table_id, ..Default::default() };
    assert_eq!(sai.read(Entity::TableEntry(asked)), [Entity::TableEntry(entry)]);

    let register_id = info.registers[0].preamble.as_ref().unwrap().id;
    let cell = |data: &[u8]| {
        let data = Some(v1::P4Data { data: Some(Data::Bitstring(data.to_vec().into())) });
        Entity::RegisterEntry(v1::RegisterEntry { register_id, index: Some(v1::Index { index: 1 }), data })
    };
    sai.write(Type::Modify, cell(b"hop-1")).unwrap();
    assert_eq!(sai.read(cell(b"0")), [cell(b"hop-1")]);

    let value_set_id = info.value_sets[0].preamble.as_ref().unwrap().id;
    assert_eq!(info.value_sets[0].r#match[0].bitwidth, 32);
    let exact = v1::field_match::Exact { value: vec![1, 0, 0].into() };
    let field_match_type = Some(v1::field_match::FieldMatchType::Exact(exact));
    let members = vec![v1::ValueSetMember { r#match: vec![v1::FieldMatch { field_id: 1, field_match_type }] }];
    let set = Entity::ValueSetEntry(v1::ValueSetEntry { value_set_id, members });
    sai.write(Type::Modify, set.clone()).unwrap();
    assert_eq!(sai.read(Entity::ValueSetEntry(Default::default())), [set]);
}

/// Packets and digests have names of ports and VRFs, both ways.
#[test]
fn packets_and_digests_are_translated() {
    let sai = Sai::new();
    sai.insert("vrf_table", "vrf_id=red => no_action").unwrap();
    sai.insert("acl_table", "ether_type=0x1234&&&0xffff priority=1 => trap").unwrap();
    let digest_id = sai.names.info().digests[0].preamble.as_ref().unwrap().id;
    let entry = v1::DigestEntry { digest_id, config: Some(Default::default()) };
    sai.write(Type::Insert, Entity::DigestEntry(entry)).unwrap();
    let options = Options { address: "127.0.0.1:0".parse().unwrap(), tls: None, access: Access::Everybody };
    let server = Server::start(&options, [sai.device]).unwrap();
    let injector = server.devices()[0].tenant().injector();
    Runtime::new().unwrap().block_on(async {
        let mut controller = Controller::new(server.address()).await;
        let mut frame = vec![0u8; 60];
        frame[12..14].copy_from_slice(&[0x12, 0x34]);
        injector.packet_out(2, &frame).unwrap();
        let (mut packet, mut digest) = (None, None);
        while packet.is_none() || digest.is_none() {
            match controller.next().await {
                Update::Packet(found) => packet = Some(found),
                Update::Digest(found) => digest = Some(found),
                other => panic!("{other:?}"),
            }
        }
        let metadata: BTreeMap<u32, Vec<u8>> =
            packet.unwrap().metadata.into_iter().map(|m| (m.metadata_id, m.value.to_vec())).collect();
        assert_eq!((metadata[&1].as_slice(), metadata[&3].as_slice()), (&b"Ethernet4"[..], &b""[..]));
        let data = |b: &[u8]| v1::P4Data { data: Some(Data::Bitstring(b.to_vec().into())) };
        let members = vec![data(b"Ethernet4"), data(&[0])];
        assert_eq!(digest.unwrap().data, [v1::P4Data { data: Some(Data::Struct(v1::P4StructLike { members })) }]);

        for (port, ok) in [("Ethernet0", true), ("1", true), ("Ethernet7", false)] {
            let metadata = vec![v1::PacketMetadata { metadata_id: 1, value: port.as_bytes().to_vec().into() }];
            let out = v1::PacketOut { payload: frame.clone().into(), metadata };
            controller.to.send(message(v1::stream_message_request::Update::Packet(out))).await.unwrap();
            if !ok {
                let Update::Error(error) = controller.next().await else { panic!() };
                assert!(error.message.contains("there are Ethernet0, Ethernet4"), "{}", error.message);
            }
        }
    });
}

#[test]
fn wrong_annotations_are_refused_with_their_place() {
    for (from, to, says) in [
        (
            "vrf_id != 0;",
            "vrf_id != 0 0;",
            "table `Routing.vrf_table`: @entry_restriction, line 3, column 21: `0` has no meaning here",
        ),
        ("vrf_id != 0;", "vrf != 0;", "there is no match field `vrf`; there are vrf_id"),
        (
            "multicast_group_id != 0;",
            "::priority != 0;",
            "action `Routing.set_multicast_group_id`: @action_restriction, line 3, column 11",
        ),
        (
            "@refers_to(nexthop_table, nexthop_id) nexthop_id_t",
            "@refers_to(hops, id) nexthop_id_t",
            "there is no table `hops`; there are",
        ),
        (
            "@refers_to(nexthop_table, nexthop_id) nexthop_id_t",
            "@refers_to(nexthop_table, id) nexthop_id_t",
            "no match field `id`; there are nexthop_id",
        ),
        (
            "@refers_to(nexthop_table, nexthop_id) nexthop_id_t",
            "@refers_to(ipv4_table, ipv4_dst) nexthop_id_t",
            "is matched as",
        ),
        (
            "@refers_to(nexthop_table, nexthop_id) nexthop_id_t",
            "@refers_to(nexthop_table) nexthop_id_t",
            "does not name a table and its match field",
        ),
        ("{ {\"\", 0}, }", "{ {\"\", 1024}, }", "type `vrf_id_t`: @p4runtime_translation_mappings takes pairs"),
    ] {
        assert!(SOURCE.contains(from), "{from}");
        let Err(message) = program(&SOURCE.replacen(from, to, 1)) else { panic!("{to} is accepted") };
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn an_unknown_name_is_reported_with_the_known_ones() {
    let sai = Sai::new();
    let mut entry = sai.entry("vrf_table", "vrf_id=red => no_action");
    let id = entry.table_id;
    entry.table_id ^= 1;
    let says = format!("the nearest is `Routing.vrf_table` ({id:#x}); there are ");
    fails(sai.write(Type::Insert, Entity::TableEntry(entry.clone())), Code::NotFound, &says);
    entry.table_id = id;
    entry.r#match[0].field_id = 9;
    fails(sai.write(Type::Insert, Entity::TableEntry(entry.clone())), Code::InvalidArgument, "there are vrf_id (0x1)");
    entry.r#match[0].field_id = 1;
    let Some(v1::table_action::Type::Action(action)) = &mut entry.action.as_mut().unwrap().r#type else { panic!() };
    action.action_id ^= 1;
    fails(
        sai.write(Type::Insert, Entity::TableEntry(entry)),
        Code::InvalidArgument,
        "there are Routing.no_action (0x1",
    );
    let digest = Entity::DigestEntry(v1::DigestEntry { digest_id: 0x1700_0001, config: Some(Default::default()) });
    fails(sai.write(Type::Insert, digest), Code::NotFound, "learned_t");
    let register = Entity::RegisterEntry(v1::RegisterEntry { register_id: 0x1600_0001, ..Default::default() });
    fails(sai.write(Type::Modify, register), Code::NotFound, "Routing.preferred");
}

/// Entries keep their names when the program is replaced and they fit; what violates the new program's rules goes.
#[test]
fn a_new_program_takes_over_names() {
    let sai = Sai::new();
    sai.route();
    let source = SOURCE.replace("// 0 is no group.", "// A comment.").replacen(
        "vrf_id != 0;",
        "vrf_id != 0; vrf_id != 'blue';",
        1,
    );
    sai.insert("vrf_table", "vrf_id=blue => no_action").unwrap();
    sai.insert("ipv4_table", "vrf_id=blue ipv4_dst=10.0.0.0/8 => set_nexthop_id(nexthop_id=hop-1)").unwrap();
    let before = sai.entries("nexthop_table");
    let options = Options { address: "127.0.0.1:0".parse().unwrap(), tls: None, access: Access::Everybody };
    let names = Names::new(sai.names.info().clone());
    let server = Server::start(&options, [sai.device]).unwrap();
    Runtime::new().unwrap().block_on(async {
        let mut controller = Controller::new(server.address()).await;
        let config =
            v1::ForwardingPipelineConfig { p4_device_config: source.into_bytes().into(), ..Default::default() };
        let request = v1::SetForwardingPipelineConfigRequest {
            device_id: 1,
            election_id: Some(v1::Uint128 { high: 0, low: 1 }),
            action: v1::set_forwarding_pipeline_config_request::Action::ReconcileAndCommit as i32,
            config: Some(config),
            ..Default::default()
        };
        controller.stub.set_forwarding_pipeline_config(request).await.unwrap();
        let all = controller.read(Entity::TableEntry(v1::TableEntry::default())).await;
        let text = |entity| match entity {
            Entity::TableEntry(entry) => names.entry_text(&entry).to_string(),
            other => panic!("{other:?}"),
        };
        let all: Vec<String> = all.into_iter().map(text).collect();
        assert!(before.iter().all(|entry| all.contains(entry)), "{all:#?}");
        assert!(
            all.iter().any(|e| e.contains("vrf_id=red ipv4_dst")) && !all.iter().any(|e| e.contains("blue")),
            "{all:#?}"
        );
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    /// Controller, data plane, controller: any names come back, whatever else was written and removed.
    #[test]
    fn any_names_come_back(names in proptest::collection::vec(("[a-z0-9]{1,6}|[0-9]{1,4}", any::<bool>()), 1..40)) {
        let sai = Sai::new();
        let mut there = std::collections::BTreeSet::new();
        for (name, remove) in names {
            let text = format!("vrf_id={name} => no_action");
            if sai.insert("vrf_table", &text).is_ok() {
                prop_assert!(there.insert(name.clone()));
            } else {
                prop_assert!(there.contains(&name) || name == "0");
            }
            if remove && there.remove(&name) {
                sai.delete("vrf_table", &text).unwrap();
            }
            let mut seen = sai.entries("vrf_table");
            seen.sort();
            let mut expected: Vec<String> = there.iter().map(|name| format!("vrf_id={name} => no_action()")).collect();
            expected.sort();
            prop_assert_eq!(seen, expected);
        }
    }
}
