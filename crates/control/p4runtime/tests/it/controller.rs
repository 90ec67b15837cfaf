//! A controller against the server: it makes the switch equal to what its owner writes, whoever restarts.

use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use hopwright_dataplane::{Difference, EngineKind, EntrySpec, SwitchBuilder, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_p4runtime::client::{
    Client, ClientOptions, Controller, ControllerOptions, Mastership, PipelinePolicy, Written,
};
use hopwright_p4runtime::proto::v1;
use hopwright_p4runtime::{Access, Device, EnginePolicy, Options, Program, Replica, Server};
use v1::entity::Entity;
use v1::update::Type;

use crate::client::{SOURCE, entries};

const CPU: u32 = 510;
const PATIENCE: Duration = Duration::from_secs(60);
const TABLES: [&str; 2] = ["l2", "ipv4_lpm"];

fn program() -> Program {
    let compiled = compile_text("basic.p4", SOURCE, &Default::default(), true);
    Program::from_compiled(&compiled, SOURCE.as_bytes().into()).unwrap()
}

/// A switch that runs the program already, or has another one.
fn switch(address: SocketAddr, with_program: bool) -> Server {
    let start = || {
        let program = program();
        let vdp = VirtualDataPlane::new(program.pipeline.clone(), EngineKind::Jit).unwrap();
        let (switch, mut worker) = SwitchBuilder::new(vdp).cpu_port(CPU).build().unwrap();
        std::thread::spawn(move || worker.run());
        let device = Device::new(1, switch.default_tenant().clone(), EnginePolicy::Jit);
        let device = if with_program { device.with_program(program) } else { device };
        Server::start(&Options { address, tls: None, access: Access::Everybody }, [device]).ok()
    };
    // The address may be another server's for a while.
    wait_for(start, "the server")
}

/// A controller, and the packets it receives.
struct Owner {
    controller: Controller,
    replica: Arc<Replica>,
    packets: mpsc::Receiver<Vec<u8>>,
}

impl Owner {
    fn new(address: SocketAddr, election_id: u128, pipeline: PipelinePolicy) -> Owner {
        Owner::patient(address, election_id, pipeline, Duration::ZERO)
    }

    /// One that leaves entries of another one alone at first.
    fn patient(address: SocketAddr, election_id: u128, pipeline: PipelinePolicy, hold: Duration) -> Owner {
        let replica = Arc::new(Replica::new(program(), &TABLES).unwrap());
        let server = address.to_string();
        let options = ControllerOptions { server, device: 1, election_id, tls: None, pipeline, hold };
        let (to, packets) = mpsc::channel();
        let controller = Controller::start(options, replica.clone(), move |packet| drop(to.send(packet))).unwrap();
        Owner { controller, replica, packets }
    }

    /// Routes to these networks.
    fn write(&self, networks: &[(u32, u32)]) {
        let entry = |(network, port): &(u32, u32)| {
            let entry = EntrySpec::new("ipv4_lpm", "forward").lpm(*network, 16);
            entry.arg(0x0200_0000_0011u64).arg(*port)
        };
        let wanted: Vec<EntrySpec> = networks.iter().map(entry).collect();
        let control = self.replica.control();
        Difference::between(control, &TABLES, &wanted).unwrap().apply(control).unwrap();
        self.controller.update().unwrap();
    }

    fn wait_for(&self, mastership: Mastership) {
        wait_for(|| (self.controller.mastership() == mastership).then_some(()), "the election");
    }
}

fn wait_for<T>(mut condition: impl FnMut() -> Option<T>, what: &str) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn client(address: SocketAddr) -> Option<Client> {
    Client::connect(ClientOptions { server: address.to_string(), device: 1, tls: None, force: false }).ok()
}

fn entry(client: &Client, text: &str) -> Entity {
    let table = client.names().table("ipv4_lpm").unwrap();
    Entity::TableEntry(client.names().entry(table, &Written::parse(&[text.to_string()]).unwrap()).unwrap())
}

/// Waits until the switch has these routes and no others.
fn has(address: SocketAddr, networks: &[(&str, u32)]) {
    let text = |(network, port): &(&str, u32)| {
        format!("hdr.ipv4.dst={network}/16 => forward(dst=02:00:00:00:00:11, port={port})")
    };
    let wanted: Vec<String> = networks.iter().map(text).collect();
    wait_for(
        || {
            let mut found = entries(&mut client(address)?);
            found.sort();
            (found == wanted).then_some(())
        },
        &format!("{wanted:?}"),
    );
}

#[test]
fn the_switch_becomes_what_is_written() {
    let server = switch("127.0.0.1:0".parse().unwrap(), true);
    let address = server.address();
    let mut other = client(address).unwrap();
    let stale = ["dst=10.9.0.0/16 drop", "dst=10.1.0.0/16 drop"].map(|text| entry(&other, text));
    other.write(Type::Insert, stale.into()).unwrap();

    let owner = Owner::new(address, 1, PipelinePolicy::Check);
    owner.wait_for(Mastership::Primary);
    assert_eq!(entries(&mut other).len(), 2, "nothing is taken away before the owner has written something");
    owner.write(&[(0x0a01_0000, 1), (0x0a02_0000, 2)]);
    has(address, &[("10.1.0.0", 1), ("10.2.0.0", 2)]);
    owner.write(&[(0x0a02_0000, 3)]);
    has(address, &[("10.2.0.0", 3)]);

    // What is sent to the CPU port comes back with the program's header.
    let packet = [&[0xff, 0], [0x5a; 60].as_slice()].concat();
    assert!(owner.controller.packet_out(&packet));
    let got = owner.packets.recv_timeout(PATIENCE).unwrap();
    assert_eq!((got.len(), &got[2..]), (62, &packet[2..]));
    assert_eq!(got[0], 0xff, "the CPU port it came from: {got:?}");
    drop(owner);
    has(address, &[]);
}

#[test]
fn a_switch_that_restarts_is_written_anew() {
    let server = switch("127.0.0.1:0".parse().unwrap(), false);
    let address = server.address();
    let owner = Owner::new(address, 1, PipelinePolicy::Push);
    owner.write(&[(0x0a01_0000, 1)]);
    has(address, &[("10.1.0.0", 1)]);
    drop(server);
    owner.wait_for(Mastership::Unreachable);
    assert!(!owner.controller.packet_out(&[0; 64]), "packets of now are none of later");
    owner.write(&[(0x0a02_0000, 2)]);
    let _server = switch(address, false);
    has(address, &[("10.2.0.0", 2)]);
    owner.wait_for(Mastership::Primary);
}

#[test]
fn entries_are_left_alone_until_they_are_wanted_again() {
    let server = switch("127.0.0.1:0".parse().unwrap(), true);
    let address = server.address();
    let mut other = client(address).unwrap();
    let before = ["dst=10.1.0.0/16 drop", "dst=10.2.0.0/16 drop"].map(|text| entry(&other, text));
    other.write(Type::Insert, before.into()).unwrap();
    let owner = Owner::patient(address, 1, PipelinePolicy::Check, Duration::from_secs(3600));
    owner.wait_for(Mastership::Primary);
    for wanted in [&[][..], &[(0x0a01_0000, 1)], &[(0x0a03_0000, 3), (0x0a01_0000, 1)]] {
        owner.write(wanted);
        std::thread::sleep(Duration::from_millis(50));
        assert!(entries(&mut other).iter().all(|entry| entry.ends_with("drop()")));
    }
    owner.write(&[(0x0a01_0000, 1), (0x0a02_0000, 2), (0x0a03_0000, 3)]);
    has(address, &[("10.1.0.0", 1), ("10.2.0.0", 2), ("10.3.0.0", 3)]);
    drop(owner);
    has(address, &[]);

    // Or for some time.
    let before = entry(&other, "dst=10.9.0.0/16 drop");
    other.write(Type::Insert, vec![before]).unwrap();
    let owner = Owner::patient(address, 1, PipelinePolicy::Check, Duration::from_millis(300));
    owner.write(&[(0x0a01_0000, 1)]);
    has(address, &[("10.1.0.0", 1)]);
}

#[test]
fn a_standby_takes_over() {
    let server = switch("127.0.0.1:0".parse().unwrap(), false);
    let address = server.address();
    let one = Owner::new(address, 1, PipelinePolicy::Push);
    one.write(&[(0x0a01_0000, 1)]);
    has(address, &[("10.1.0.0", 1)]);
    let two = Owner::new(address, 1, PipelinePolicy::Push);
    two.write(&[(0x0a02_0000, 2)]);
    two.wait_for(Mastership::Standby);
    assert_eq!(one.controller.mastership(), Mastership::Primary);
    drop(one);
    two.wait_for(Mastership::Primary);
    has(address, &[("10.2.0.0", 2)]);
    // One with a higher id takes over at once, and the other stands by.
    let three = Owner::new(address, 100, PipelinePolicy::Push);
    three.write(&[(0x0a03_0000, 3)]);
    three.wait_for(Mastership::Primary);
    two.wait_for(Mastership::Standby);
    has(address, &[("10.3.0.0", 3)]);
    drop(three);
    two.wait_for(Mastership::Primary);
    has(address, &[("10.2.0.0", 2)]);
}

#[test]
fn another_program_is_refused_if_it_is_to_be_checked() {
    let server = switch("127.0.0.1:0".parse().unwrap(), false);
    let owner = Owner::new(server.address(), 1, PipelinePolicy::Check);
    owner.write(&[(0x0a01_0000, 1)]);
    let refused = || owner.controller.failure().filter(|failure| failure.contains("has no program"));
    wait_for(refused, "the refusal");
    assert_ne!(owner.controller.mastership(), Mastership::Primary);
    assert!(client(server.address()).is_none(), "it has no program");
}
