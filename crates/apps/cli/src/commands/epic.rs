//! `hopwright epic`: entries for EPIC routers, and hosts that send and receive.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use hopwright_dataplane::{FrameSize, Pool, Port, wall_clock_us};
use hopwright_epic::destination::Receipt;
use hopwright_epic::network::{Endpoint, Network};
use hopwright_epic::receiver::{Arrival, Proof, Reason, Receiver, Settings};
use hopwright_epic::source::{self, Message, Sealed};
use hopwright_epic::{ETHERTYPE, Level, Packet};
use hopwright_ports::AfPacket;

use crate::cli::epic::{EpicCommand, EpicEntriesArgs, EpicHostArgs, EpicReceiveArgs, EpicSendArgs};
use crate::failure::Failure;

/// Protocol number of a receipt: experimental (RFC 3692).
const RECEIPT: u8 = 253;
/// Protocol number of a message: experimental, the other one.
const MESSAGE: u8 = 254;
/// How long the path's segments have existed.
const PATH_AGE_S: u32 = 60;
const ETHERNET_BYTES: usize = 14;

/// Runs a subcommand.
pub(crate) fn run(command: &EpicCommand) -> Result<(), Failure> {
    match command {
        EpicCommand::Entries(args) => entries(args),
        EpicCommand::Send(args) => send(args),
        EpicCommand::Receive(args) => receive(args),
    }
}

fn read(path: &Path) -> Result<Network, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::message(format!("{}: {e}", path.display())))?;
    Network::parse(&text).map_err(|e| Failure::message(format!("{}: {e}", path.display())))
}

fn entries(args: &EpicEntriesArgs) -> Result<(), Failure> {
    let network = read(&args.network)?;
    let text = if args.tofino {
        network.entries_for_tofino(args.ia, wall_clock_us())
    } else {
        network.entries(args.ia, wall_clock_us())
    };
    let text = text.map_err(Failure::message)?;
    print!("{text}");
    Ok(())
}

/// A device that EPIC packets go by.
struct Device {
    port: AfPacket,
    pool: Pool,
}

impl Device {
    fn open(args: &EpicHostArgs) -> Result<Device, Failure> {
        let port = AfPacket::open(&args.device, None).map_err(Failure::message)?;
        Ok(Device { port, pool: Pool::new(1024, FrameSize::JUMBO)? })
    }

    fn send(&mut self, packet: &Packet) -> anyhow::Result<()> {
        let mut frame = vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 9];
        frame.extend(ETHERTYPE.to_be_bytes());
        frame.extend(packet.encode());
        let filled = self.pool.take_filled(&frame).context("the packet is too long")?;
        self.port.transmit(&mut self.pool, &mut vec![filled]);
        Ok(())
    }

    /// What `take` makes of the next EPIC packet that it wants, before the time is over. It gets packets from the SCION header on.
    fn receive<T>(&mut self, until: Instant, mut take: impl FnMut(&[u8]) -> Option<T>) -> Option<T> {
        let mut batch = Vec::new();
        loop {
            self.port.receive(&mut self.pool, &mut batch, 1);
            let none = batch.is_empty();
            for frame in batch.drain(..) {
                let bytes = frame.bytes();
                let epic = bytes.get(12..ETHERNET_BYTES) == Some(&ETHERTYPE.to_be_bytes());
                let taken = if epic { take(&bytes[ETHERNET_BYTES..]) } else { None };
                self.pool.give(frame);
                if taken.is_some() {
                    return taken;
                }
            }
            if Instant::now() >= until {
                return None;
            }
            if none {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
    }
}

fn now_s() -> u32 {
    (wall_clock_us() / 1_000_000) as u32
}

fn seal(
    network: &Network,
    level: Level,
    (src, dst): (Endpoint, Endpoint),
    counter: u32,
    next_hdr: u8,
    payload: Vec<u8>,
) -> anyhow::Result<Sealed> {
    let timestamp = now_s();
    let path = network.path(src.0, dst.0, timestamp - PATH_AGE_S)?;
    let keys = network.keys(src, dst)?;
    let message = Message { level, src, dst, timestamp, counter, next_hdr, payload };
    Ok(source::seal(message, &path, Some(&keys))?)
}

fn send(args: &EpicSendArgs) -> Result<(), Failure> {
    let network = read(&args.host.network)?;
    let level = Level::try_from(args.level)?;
    let (src, dst) = (args.host.host, args.to);
    let keys = network.keys(src, dst)?;
    let mut device = Device::open(&args.host)?;
    let mut failed = 0;
    for counter in 0..args.count {
        let sealed = seal(&network, level, (src, dst), counter, MESSAGE, args.payload.clone().into_bytes())?;
        device.send(&sealed.packet)?;
        if level < Level::L3 {
            println!("sent {counter}");
            continue;
        }
        let until = Instant::now() + Duration::from_secs_f64(args.timeout);
        let verdict = loop {
            let to_source = |bytes: &[u8]| Packet::decode(bytes).ok().filter(|p| (p.dst_ia, p.dst) == src);
            let Some(answer) = device.receive(until, to_source) else { break Err("no receipt".to_string()) };
            let from_there = (answer.src_ia, answer.src) == dst && answer.next_hdr == RECEIPT;
            let receipt = Receipt::decode(&answer.payload).filter(|_| from_there);
            if let Some(receipt) = receipt {
                break sealed.check(&receipt, &keys).map_err(|e| e.to_string());
            }
        };
        match verdict {
            Ok(()) => println!("sent {counter}: confirmed by the destination, all routers have processed it"),
            Err(why) => {
                failed += 1;
                println!("sent {counter}: {why}");
            }
        }
    }
    if failed == 0 { Ok(()) } else { Err(Failure::message(format!("{failed} of {} not confirmed", args.count))) }
}

fn receive(args: &EpicReceiveArgs) -> Result<(), Failure> {
    let network = read(&args.host.network)?;
    let host = args.host.host;
    let mut device = Device::open(&args.host)?;
    let settings = Settings { lifetime_s: args.lifetime, skew_s: args.skew, ..Settings::default() };
    let mut receiver = Receiver::new(host, settings);
    // Both sides know the key that is named after the destination.
    let key = |src: Endpoint| network.keys(src, host).ok().map(|keys| keys.destination);
    let until = Instant::now() + Duration::from_secs_f64(args.timeout);
    println!("receiving");
    let (mut came, mut refused) = (0, 0);
    while came < args.count {
        let Some(arrival) = device.receive(until, |bytes| receiver.receive(bytes, now_s(), key).ok()) else { break };
        came += 1;
        refused += u32::from(arrival.verdict.is_err());
        report(&arrival);
        let receipt_wanted = matches!(arrival.verdict, Ok(Proof::Path) | Err(Reason::Validation));
        if arrival.packet.level == Level::L3 && receipt_wanted {
            let answered = answer(&mut device, &network, host, &arrival);
            answered.unwrap_or_else(|why| println!("no receipt: {why}"));
        }
    }
    let dropped = receiver.dropped().iter().map(|(reason, count)| format!(", {} {count}", reason.name()));
    println!("accepted {}{}", receiver.accepted(), dropped.collect::<String>());
    match (came < args.count, refused) {
        (true, _) => Err(Failure::message(format!("{came} of {} packets came", args.count))),
        (false, 0) => Ok(()),
        (false, _) => Err(Failure::message(format!("{refused} of {} packets refused", args.count))),
    }
}

/// Prints a packet and what it proves.
fn report(Arrival { packet, verdict, .. }: &Arrival) {
    let verdict = match verdict {
        Ok(Proof::Path) => "source, payload and path are right".into(),
        Ok(Proof::Source) => "source and payload are right".into(),
        Ok(Proof::Nothing) => "nothing is proved to the destination".into(),
        Err(reason) => reason.to_string(),
    };
    let (src, level, text) = (packet.src, packet.level as u8, String::from_utf8_lossy(&packet.payload));
    println!("level {level} from {},{} number {} {text:?}: {verdict}", packet.src_ia, src.0, packet.counter);
}

/// Tells the source what has arrived.
fn answer(device: &mut Device, network: &Network, host: Endpoint, arrival: &Arrival) -> anyhow::Result<()> {
    let packet = &arrival.packet;
    let receipt = Receipt::new(packet, &arrival.key).encode();
    let to = (packet.src_ia, packet.src);
    let sealed = seal(network, Level::L2, (host, to), packet.counter, RECEIPT, receipt)?;
    device.send(&sealed.packet)
}
