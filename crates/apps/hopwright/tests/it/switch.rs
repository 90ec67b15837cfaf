//! Switches on ports.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use hopwright::port::{Packet, Pool, Port};
use hopwright::{Entry, MemoryPort, PacketOutError, RunError, dataplane};

use crate::{L2, program};

/// Longer than a busy machine takes.
const PATIENCE: Duration = Duration::from_secs(120);

fn entry(last: u8, port: u16) -> Entry {
    Entry::new("l2", "forward").key("dst", [2, 0, 0, 0, 0, last]).param("port", port)
}

fn packet(last: u8) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, last][..], &[0; 54]].concat()
}

#[test]
fn packets_flow_between_ports_while_tables_change() {
    let (one, wire_one) = MemoryPort::new("one");
    let (two, wire_two) = MemoryPort::new("two");
    let switch = hopwright::compile(L2)
        .unwrap()
        .switch()
        .port(1, one)
        .port(2, two)
        .setup(|control| control.insert(&entry(2, 2)))
        .run()
        .unwrap();
    wire_one.send(packet(2));
    assert_eq!(wire_two.wait(PATIENCE), Some(packet(2)));
    switch.control().insert(&entry(1, 1)).unwrap();
    wire_two.send(packet(1));
    assert_eq!(wire_one.wait(PATIENCE), Some(packet(1)));
    // Past the program.
    switch.transmit(2, b"a whole frame, as it is").unwrap();
    assert_eq!(wire_two.wait(PATIENCE), Some(b"a whole frame, as it is".to_vec()));
    // Packets are counted after they have left.
    let ports = || switch.stats().ports.into_iter().map(|p| (p.name, p.rx_packets, p.tx_packets)).collect::<Vec<_>>();
    let (begun, wanted) = (Instant::now(), [("one".to_string(), 1, 1), ("two".to_string(), 1, 2)]);
    while ports() != wanted && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(ports(), wanted);
    assert_eq!(switch.control().counter("sent", 1).unwrap().packets, 1);
    switch.stop();
}

#[test]
fn a_switch_ends_with_its_ports() {
    let (one, wire) = MemoryPort::new("one");
    let switch = hopwright::compile(L2).unwrap().switch().port(1, one).setup(|c| c.insert(&entry(1, 1))).run().unwrap();
    wire.send(packet(1));
    wire.close();
    switch.wait();
    assert_eq!(wire.receive(), Some(packet(1)));
}

#[test]
fn the_control_plane_gets_and_sends_packets() {
    let text = program("", "if (s.ingress_port == 255) { s.egress_spec = 1; } else { s.egress_spec = 255; }");
    let (one, wire) = MemoryPort::new("one");
    let switch = hopwright::compile(&text).unwrap().switch().port(1, one).cpu_port(255).run().unwrap();
    wire.send([1, 2, 3]);
    let packet = switch.packet_in(PATIENCE).unwrap();
    assert_eq!((packet.port, packet.bytes), (1, vec![1, 2, 3]));
    assert_eq!(switch.packet_in(Duration::ZERO), None);
    switch.packet_out(&[4, 5, 6]).unwrap();
    assert_eq!(wire.wait(PATIENCE), Some(vec![4, 5, 6]));
    drop(switch);

    let (one, _wire) = MemoryPort::new("one");
    let switch = hopwright::compile(&text).unwrap().switch().port(1, one).run().unwrap();
    assert_eq!(switch.packet_out(&[1]), Err(PacketOutError::NoCpuPort));
    assert!(matches!(switch.transmit(1, &[0; 100_000]), Err(PacketOutError::Full(_))));
}

/// A port that reports the worker's thread with each packet.
struct ThreadReporter {
    port: MemoryPort,
    thread: mpsc::Sender<PathBuf>,
}

impl Port for ThreadReporter {
    fn name(&self) -> &str {
        self.port.name()
    }

    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        let received = self.port.receive(pool, batch, limit);
        if received > 0 {
            let thread = std::fs::read_link("/proc/thread-self").unwrap();
            self.thread.send(Path::new("/proc").join(thread)).unwrap();
        }
        received
    }

    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        self.port.transmit(pool, packets)
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.port.poll_fd()
    }
}

#[test]
fn an_idle_switch_sleeps_and_a_packet_wakes_it() {
    let (port, one) = MemoryPort::new("one");
    let (two, wire) = MemoryPort::new("two");
    let (thread, threads) = mpsc::channel();
    let program = hopwright::compile(L2).unwrap();
    let builder = program.switch().port(1, ThreadReporter { port, thread }).port(2, two);
    let switch = builder.setup(|control| control.insert(&entry(2, 2))).run().unwrap();
    one.send(packet(2));
    assert_eq!(wire.wait(PATIENCE), Some(packet(2)));
    let thread = threads.recv_timeout(PATIENCE).unwrap();
    // Nanoseconds on a CPU: the first number of `/proc/…/schedstat`, see proc(5).
    let cpu_ns = || {
        let text = std::fs::read_to_string(thread.join("schedstat")).unwrap();
        text.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    // A worker that polls takes what others leave of a CPU, in each of these times.
    let idle = || {
        let before = cpu_ns();
        std::thread::sleep(Duration::from_millis(500));
        cpu_ns() - before < 10_000_000
    };
    let begun = Instant::now();
    while !idle() {
        assert!(begun.elapsed() < PATIENCE, "the worker does not sleep");
    }
    one.send(packet(2));
    assert_eq!(wire.wait(PATIENCE), Some(packet(2)));
    switch.stop();
}

#[test]
fn what_cannot_run_says_why() {
    let program = hopwright::compile(L2).unwrap();
    let twice = program.switch().port(1, MemoryPort::new("a").0).port(1, MemoryPort::new("b").0).run().unwrap_err();
    assert!(matches!(twice, RunError::Switch(dataplane::SwitchError::PortTwice(1))), "{twice}");
    let setup = program.switch().setup(|control| control.insert(&Entry::new("l3", "drop"))).run().unwrap_err();
    assert!(matches!(setup, RunError::Setup(_)), "{setup}");
    #[cfg(feature = "ports")]
    {
        let missing = program.switch().port(1, hopwright::port::Device::new("no-such-device0")).run().unwrap_err();
        assert!(matches!(missing, RunError::Device(_)), "{missing}");
        assert!(missing.to_string().contains("no-such-device0"), "{missing}");
    }
}
