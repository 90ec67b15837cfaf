//! `hopwright bench epic`: the EPIC router in memory, by level, cipher, length of the path and payload.
//!
//! The packet is at the middle hop of its first segment, or with one hop field goes from host to host within the AS. A segment
//! has at most 63 hops; a path of 64 is one of two. Each packet of the working set has authenticators of its own.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hopwright_abi::Verdict;
use hopwright_dataplane::{EngineKind, Executor, FrameSize, Packet, Pool, wall_clock_us};
use hopwright_epic::router::{self, Link, NextHop, Relation, Router};
use hopwright_epic::source::{self, Keys, Message};
use hopwright_epic::{BeaconHop, Cipher, ETHERTYPE, Host, IsdAs, Key, Level, Path, PathSegment, drkey};
use serde::Serialize;

use super::measure::{BATCH, compile_traces, or_dash, passes, run};
use crate::cli::bench::BenchEpicArgs;
use crate::compile;
use crate::failure::Failure;

/// Frames of the working set, which fits the second-level cache.
const FRAMES: u32 = 256;
/// Where the counter lies in a frame with IPv4 hosts.
const COUNTER: usize = 58;
const HOST_PORT: u16 = 9;

/// One measurement.
#[derive(Debug, Serialize)]
struct Record {
    level: u8,
    cipher: &'static str,
    hops: usize,
    payload: usize,
    /// Size of the frame in bytes.
    size: usize,
    duplicate_suppression: bool,
    packets: u64,
    ns_per_packet: f64,
    /// Median of the passes, and the fastest.
    ns_median: f64,
    ns_best: f64,
    cycles_per_packet: Option<f64>,
}

/// What is measured.
#[derive(Clone, Copy)]
struct Case {
    cipher: Cipher,
    level: Level,
    hops: usize,
    payload: usize,
    duplicate_suppression: bool,
}

/// Measures.
pub(crate) fn run_benchmark(args: &BenchEpicArgs) -> Result<(), Failure> {
    let levels: Vec<Level> = args.level.iter().map(|&n| Level::try_from(n)).collect::<Result<_, _>>()?;
    if let Some(wrong) = args.hops.iter().find(|hops| !(1..=64).contains(*hops)) {
        return Err(Failure::message(format!("{wrong} hop fields: a path has 1 to 64")));
    }
    let mut records = Vec::new();
    if !args.json {
        println!("EPIC router in memory, whole frame to whole frame, one core, batches of {BATCH}");
        println!(
            "{:>5} {:>6} {:>5} {:>8} {:>6} {:>10} {:>10} {:>8} {:>8}",
            "level", "cipher", "hops", "payload", "bytes", "duplicates", "ns/packet", "best ns", "cycles"
        );
    }
    for cipher in Cipher::ALL {
        let pipeline = compile::printed(router::compile(cipher))?;
        let vdp = hopwright_dataplane::VirtualDataPlane::new(pipeline.clone(), EngineKind::Jit)
            .map_err(|e| compile::refused(&pipeline, &e))?;
        let mut cases = Vec::new();
        for &level in &levels {
            for &hops in &args.hops {
                let case = |&payload| Case { cipher, level, hops, payload, duplicate_suppression: false };
                cases.extend(args.payload.iter().map(case));
            }
        }
        // At level 0 a packet may have any counter, so that none comes again.
        cases.extend(cases.iter().find(|c| c.level == Level::L0).map(|c| Case { duplicate_suppression: true, ..*c }));
        for case in cases {
            the_router(case.duplicate_suppression).program(vdp.control(), cipher)?;
            let record = measure(&mut Executor::new(vdp.clone()), &case, args.duration)?;
            if !args.json {
                println!(
                    "{:>5} {:>6} {:>5} {:>8} {:>6} {:>10} {:>10.1} {:>8.1} {:>8}",
                    record.level,
                    record.cipher,
                    record.hops,
                    record.payload,
                    record.size,
                    if record.duplicate_suppression { "suppressed" } else { "-" },
                    record.ns_median,
                    record.ns_best,
                    or_dash(record.cycles_per_packet)
                );
            }
            records.push(record);
        }
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&records)?);
    }
    Ok(())
}

fn host(number: u8) -> Host {
    Host(IpAddr::from([10, 0, 0, number]))
}

/// The AS number of a hop; the router's own is 0.
fn ia(number: usize) -> IsdAs {
    IsdAs(0x0001_ff00_0000_0000 + number as u64)
}

fn the_router(suppress_duplicates: bool) -> Router {
    let next_hop = |port| NextHop { port, dst_mac: [2, 0, 0, 0, 1, port as u8], src_mac: [2, 0, 0, 0, 0, port as u8] };
    let link = |interface, relation| Link { interface, relation, next_hop: next_hop(interface) };
    Router {
        ia: ia(0),
        hop_key: [0x42; 16].into(),
        drkey_secret: [0x43; 16].into(),
        min_level: Level::L0,
        suppress_duplicates,
        links: vec![link(1, Relation::Parent), link(2, Relation::Child)],
        hosts: vec![(host(2), next_hop(HOST_PORT))],
    }
}

/// Frames, and the ports by which they come and go.
fn frames(case: &Case, now_us: u64) -> Result<(Vec<Vec<u8>>, u16, u16), Failure> {
    let own = the_router(false);
    let other: Key = [0x44; 16].into();
    let first = if case.hops > 63 { case.hops / 2 } else { case.hops };
    let middle = first / 2;
    let timestamp = (now_us / 1_000_000) as u32;
    let hops: Vec<BeaconHop<'_>> = (0..case.hops)
        .map(|place| BeaconHop {
            ia: if place == middle { ia(0) } else { ia(place + 1) },
            key: if place == middle { &own.hop_key } else { &other },
            ingress: if place == 0 || place == first { 0 } else { 1 },
            egress: if place + 1 == first || place + 1 == case.hops { 0 } else { 2 },
        })
        .collect();
    let segments = [&hops[..first], &hops[first..]].into_iter().filter(|hops| !hops.is_empty());
    let construct = |hops| PathSegment::construct(case.cipher, timestamp - 60, 1, 63, hops);
    let path = Path { cipher: case.cipher, segments: segments.map(construct).collect() };
    let (src, dst) = (hops[0].ia, hops[case.hops - 1].ia);
    let as_host = |secret| drkey::as_host(&drkey::as_as(secret, src), &host(1));
    let mut routers: BTreeMap<IsdAs, Key> = hops.iter().map(|hop| (hop.ia, as_host(&other))).collect();
    routers.insert(ia(0), as_host(&own.drkey_secret));
    let keys = Keys { routers, destination: other.clone() };
    let frame = |counter: u32| {
        let message = Message {
            level: case.level,
            src: (src, host(1)),
            dst: (dst, host(2)),
            timestamp,
            counter,
            next_hdr: 17,
            payload: vec![0x5a; case.payload],
        };
        let mut packet = source::seal(message, &path, Some(&keys)).map_err(Failure::message)?.packet;
        packet.curr_hf = middle as u8;
        for hop in &path.segments[0].hops[..middle] {
            packet.segments[0].info.seg_id ^= u16::from_be_bytes(hop.hop.chain);
        }
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        frame.extend(ETHERTYPE.to_be_bytes());
        frame.extend(packet.encode());
        Ok(frame)
    };
    let frames = (0..FRAMES).map(frame).collect::<Result<_, Failure>>()?;
    let (ingress, egress) =
        if case.hops == 1 { (HOST_PORT, HOST_PORT) } else { (1, if middle + 1 == case.hops { HOST_PORT } else { 2 }) };
    Ok((frames, ingress, egress))
}

fn measure(executor: &mut Executor, case: &Case, duration: f64) -> Result<Record, Failure> {
    let now_us = wall_clock_us();
    let (mut templates, ingress, egress) = frames(case, now_us)?;
    let mut pool = Pool::new(FRAMES, FrameSize::for_mtu(1600))?;
    let mut packets: Vec<Packet> = std::iter::from_fn(|| pool.take()).collect();
    let mut counter = FRAMES;
    let mut renew = |packets: &mut [Packet]| -> Result<(), Failure> {
        for (packet, template) in packets.iter_mut().zip(&mut templates) {
            if case.duplicate_suppression {
                template[COUNTER..COUNTER + 4].copy_from_slice(&counter.to_be_bytes());
                counter += 1;
            }
            if !packet.fill(template) {
                return Err(Failure::message(format!("a frame of {} bytes does not fit", template.len())));
            }
            packet.set_ingress_port(u32::from(ingress));
        }
        Ok(())
    };
    renew(&mut packets)?;
    compile_traces(executor, &mut packets, now_us, &[])?;
    // One pass whose results are checked.
    renew(&mut packets)?;
    run(executor, &mut packets, now_us);
    let forwarded = |p: &&Packet| p.verdict() == Verdict::Forward && p.egress_port() == u32::from(egress);
    let (count, size) = (packets.iter().filter(forwarded).count(), packets[0].bytes().len());
    if count != packets.len() {
        return Err(Failure::message(format!("{count} of {} packets were forwarded", packets.len())));
    }
    let timing = passes(executor, &mut packets, now_us, duration, false, &mut renew)?;
    for packet in packets {
        pool.give(packet);
    }
    Ok(Record {
        level: case.level as u8,
        cipher: match case.cipher {
            Cipher::Aes => "AES",
            Cipher::Sem => "SEM",
        },
        hops: case.hops,
        payload: case.payload,
        size,
        duplicate_suppression: case.duplicate_suppression,
        packets: timing.packets,
        ns_per_packet: timing.ns_mean,
        ns_median: timing.ns_median,
        ns_best: timing.ns_best,
        cycles_per_packet: timing.cycles,
    })
}
