//! Programs for Tofino under a controller that has 32 bits for a port, as Stratum's do: which numbers are which ports, and where copies to
//! the CPU go.

use std::time::Duration;

use hopwright_dataplane::memory::{MemoryPort, Wire};
use hopwright_dataplane::{EngineKind, SwitchBuilder, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_p4runtime::client::{Names, Written};
use hopwright_p4runtime::proto::v1;
use hopwright_p4runtime::{Access, Options, Server};
use hopwright_p4runtime::{Device, EnginePolicy, Failure, Packets, Program};
use tokio::runtime::Runtime;
use tonic::Code;
use v1::entity::Entity;
use v1::packet_replication_engine_entry::Type as Copies;
use v1::replica::PortKind;
use v1::stream_message_response::Update;
use v1::update::Type;

use crate::ids::{Controller, message};

const SOURCE: &str = include_str!("tofino.p4");
const CPU: u32 = 320;
/// P4Runtime's number of it.
const SDN_CPU: u32 = 0xffff_fffd;

struct Tofino {
    device: Device,
    names: Names,
    wires: Vec<Wire>,
}

impl Tofino {
    fn new() -> Tofino {
        let compiled = compile_text("tofino.p4", SOURCE, &Default::default(), true);
        let program = Program::from_compiled(&compiled, SOURCE.as_bytes().to_vec().into()).map_err(|f| f.message);
        let program = program.unwrap();
        let vdp = VirtualDataPlane::new(program.pipeline.clone(), EngineKind::Interp).unwrap();
        let mut builder = SwitchBuilder::new(vdp).cpu_port(CPU);
        let mut wires = Vec::new();
        for number in [1, 2] {
            let (port, wire) = MemoryPort::new(format!("port{number}"));
            builder = builder.port(number, Box::new(port));
            wires.push(wire);
        }
        let (switch, mut worker) = builder.build().unwrap();
        std::thread::spawn(move || worker.run());
        let device = Device::new(1, switch.default_tenant().clone(), EnginePolicy::Interp).with_program(program);
        let names = Names::new(device.running_since(None).unwrap().unwrap().info);
        Tofino { device, names, wires }
    }

    fn entry(&self, table: &str, text: &str) -> Entity {
        let table = self.names.table(table).unwrap();
        Entity::TableEntry(self.names.entry(table, &Written::parse(&[text.to_string()]).unwrap()).unwrap())
    }

    fn write(&self, entity: Entity) -> Result<(), Failure> {
        let entity = Some(v1::Entity { entity: Some(entity) });
        let update = v1::Update { r#type: Type::Insert as i32, entity };
        self.device.write_messages(&[update], Packets::MeetParts).unwrap().remove(0)
    }

    fn insert(&self, table: &str, text: &str) -> Result<(), Failure> {
        self.write(self.entry(table, text))
    }

    /// All entries of a table, as a controller reads them.
    fn entries(&self, table: &str) -> Vec<Entity> {
        let table_id = self.names.table(table).unwrap().preamble.as_ref().unwrap().id;
        self.device.read_entity(&Entity::TableEntry(v1::TableEntry { table_id, ..Default::default() })).unwrap()
    }

    fn copies(&self) -> Vec<Entity> {
        let sessions = Copies::CloneSessionEntry(v1::CloneSessionEntry::default());
        let asked = v1::PacketReplicationEngineEntry { r#type: Some(sessions) };
        self.device.read_entity(&Entity::PacketReplicationEngineEntry(asked)).unwrap()
    }

    fn session(&self, id: u32, port: u32) -> Entity {
        let replica = v1::Replica { port_kind: Some(PortKind::EgressPort(port)), ..Default::default() };
        let session = v1::CloneSessionEntry { session_id: id, replicas: vec![replica], ..Default::default() };
        let r#type = Some(Copies::CloneSessionEntry(session));
        Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type })
    }
}

/// Ports have the device's numbers; the recirculation ports and that of the CPU have other ones, too. What a controller writes, it reads.
#[test]
fn ports_of_32_bits_are_those_of_the_device() {
    let tofino = Tofino::new();
    let written = [
        ("ports", "ig_port=1 => forward(port=2)"),
        ("ports", "ig_port=0xffffff01 => forward(port=0xffffff00)"),
        ("ports", "ig_port=0xfffffffd => forward(port=511)"),
        ("acl", "ig_port=0xffffff02&&&0xffffffff op=1&&&0xff priority=2 => mark(seen=1)"),
        ("acl", "ig_port=2&&&0xffffffff priority=1 => mark(seen=2)"),
        ("acl", "ig_port=1&&&0x3 priority=3 => mark(seen=3)"),
    ];
    for (table, text) in written {
        tofino.insert(table, text).unwrap();
    }
    for table in ["ports", "acl"] {
        let found = tofino.entries(table);
        for (_, text) in written.iter().filter(|(of, _)| *of == table) {
            let mut entry = tofino.entry(table, text);
            assert!(found.contains(&entry), "{text}: {found:?}");
            // One entry is read by its key.
            if let Entity::TableEntry(entry) = &mut entry {
                entry.action = None;
            }
            assert_eq!(tofino.device.read_entity(&entry).unwrap().len(), 1, "{text}");
        }
    }
    let session = tofino.session(1, SDN_CPU);
    tofino.write(session.clone()).unwrap();
    assert_eq!(tofino.copies(), [session]);
    // They are the device's ports.
    let model = tofino.device.model().unwrap();
    let model = model.lock();
    let group = model.control().multicast_group(0x8001).unwrap();
    assert_eq!(u32::from(group[0].port), CPU);
}

#[test]
fn numbers_of_no_port_are_refused() {
    let tofino = Tofino::new();
    let says = |failed: Result<(), Failure>, place: &str, number: &str| {
        let failure = failed.unwrap_err();
        let ports = "ports have numbers of 9 bits, or 0xffffff00, 0xffffff01, 0xffffff02, 0xffffff03, 0xfffffffd";
        assert_eq!(
            (failure.code, failure.message.as_str()),
            (Code::OutOfRange, &*format!("`{place}`: there is no port {number}: {ports}"))
        );
    };
    says(tofino.insert("ports", "ig_port=512 => NoAction"), "ig_port", "0x200");
    says(tofino.insert("ports", "ig_port=1 => forward(port=0xffffff04)"), "port", "0xffffff04");
    says(tofino.insert("acl", "ig_port=0xffffff04&&&0xffffffff priority=1 => NoAction"), "ig_port", "0xffffff04");
    says(tofino.write(tofino.session(1, 0xffff_ff04)), "port", "0xffffff04");
    let failure = tofino.insert("acl", "ig_port=0&&&0xffffff00 priority=1 => NoAction").unwrap_err();
    assert!(failure.message.contains("0xffffff00 is no number of 9 bits"), "{}", failure.message);
    assert_eq!((tofino.entries("ports").len(), tofino.entries("acl").len(), tofino.copies().len()), (0, 0, 0));
}

/// Copies to the CPU reach the controller without a session that it would have to write.
#[test]
fn copies_to_the_cpu_reach_the_controller() {
    let tofino = Tofino::new();
    assert_eq!(tofino.copies(), []);
    tofino.insert("acl", "op=7&&&0xff priority=1 => punt").unwrap();
    let options = Options { address: "127.0.0.1:0".parse().unwrap(), tls: None, access: Access::Everybody };
    let server = Server::start(&options, [tofino.device]).unwrap();
    let wires = tofino.wires;
    let runtime = Runtime::new().unwrap();
    let controller = runtime.block_on(async {
        let mut controller = Controller::new(server.address()).await;
        let mut frame = vec![0u8; 60];
        frame[0] = 7;
        wires[1].send(frame.clone());
        let Update::Packet(packet) = controller.next().await else { panic!() };
        let port = v1::PacketMetadata { metadata_id: 1, value: vec![2].into() };
        assert_eq!((packet.metadata.first(), &packet.payload[..]), (Some(&port), &frame[..]));

        let out = |port: u32| {
            let value = port.to_be_bytes().to_vec().into();
            let metadata = vec![v1::PacketMetadata { metadata_id: 1, value }];
            message(v1::stream_message_request::Update::Packet(v1::PacketOut {
                payload: vec![9u8; 60].into(),
                metadata,
            }))
        };
        controller.to.send(out(0xffff_ff10)).await.unwrap();
        let Update::Error(error) = controller.next().await else { panic!() };
        assert!(error.message.contains("there is no port 0xffffff10"), "{}", error.message);
        controller.to.send(out(1)).await.unwrap();
        controller
    });
    assert_eq!(wires[0].wait(Duration::from_secs(60)).unwrap(), [9u8; 60]);
    drop(controller);
}
