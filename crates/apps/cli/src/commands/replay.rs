//! `hopwright replay`.

use std::borrow::Cow;
use std::path::Path;

use hopwright_interp::changed_ranges;
use hopwright_packet_trace::Events;
use hopwright_stf::{Engine as _, Processed};
use pcap_file::pcap::PcapPacket;

use crate::cli::ReplayArgs;
use crate::cli::program::EngineChoice;
use crate::commands::{coverage, stf};
use crate::compile;
use crate::engine::{self, data_plane, one_by_one};
use crate::failure::Failure;

/// The path of a packet as text and as JSON; empty without --trace.
type PacketPath = (String, serde_json::Value);

/// Totals of a replay.
#[derive(Default)]
struct Totals {
    packets: u64,
    sent: u64,
    dropped: u64,
    faults: u64,
}

/// Runs a program on a capture.
pub(crate) fn run(args: &ReplayArgs) -> Result<(), Failure> {
    if !args.coverage.files.is_empty() {
        let mut engine = coverage::engine(&args.source, args.engine)?;
        if let Some(entries) = &args.entries {
            stf::configure(entries, &mut engine)?;
        }
        packets(args, |packet, now_us| {
            let processed = engine.process(args.port, packet, now_us).map_err(Failure::message)?;
            Ok((processed, (String::new(), serde_json::Value::Null)))
        })?;
        return coverage::write(&args.coverage, engine.reached().as_ref());
    }
    if !args.trace {
        let mut engine = engine::of_test(&args.source, args.engine.unwrap_or_default())?;
        if let Some(entries) = &args.entries {
            stf::configure(entries, &mut *engine)?;
        }
        return packets(args, |packet, now_us| {
            let processed = engine.process(args.port, packet, now_us).map_err(Failure::message)?;
            Ok((processed, (String::new(), serde_json::Value::Null)))
        });
    }
    let pipeline = compile::pipeline(&args.source)?;
    let mut engine = one_by_one(data_plane(&pipeline, EngineChoice::Interp)?)?;
    if let Some(entries) = &args.entries {
        stf::configure(entries, &mut engine)?;
    }
    let mut trace = Events::new(&pipeline);
    packets(args, |packet, now_us| {
        let processed = engine.process_observed(args.port, packet, now_us, &mut trace).map_err(Failure::message)?;
        Ok((processed, trace.take()))
    })
}

/// Reads the packets of the capture, and writes and reports what `process` makes of each and how.
fn packets(
    args: &ReplayArgs,
    mut process: impl FnMut(&[u8], u64) -> Result<(Processed, PacketPath), Failure>,
) -> Result<(), Failure> {
    let mut input = hopwright_ports::pcap::open(&args.input)?;
    let mut output = args.output.as_deref().map(hopwright_ports::pcap::create).transpose()?;
    let mut totals = Totals::default();
    while let Some(packet) = input.next_packet() {
        let packet = packet.map_err(|e| damaged(&args.input, totals.packets, &e))?;
        let now_us = packet.timestamp.as_micros() as u64;
        totals.packets += 1;
        let (processed, trace) = process(&packet.data, now_us)?;
        totals.sent += processed.sent.len() as u64;
        totals.dropped += u64::from(processed.sent.is_empty());
        totals.faults += u64::from(processed.fault.is_some());
        report(args, &totals, &packet.data, &processed, &trace);
        if let Some(output) = &mut output {
            for (_, bytes) in &processed.sent {
                let copy = PcapPacket {
                    timestamp: packet.timestamp,
                    orig_len: bytes.len() as u32,
                    data: Cow::Borrowed(bytes),
                };
                output.write_packet(&copy).map_err(Failure::message)?;
            }
        }
    }
    if args.json {
        println!(
            "{}",
            serde_json::json!({ "packets": totals.packets, "sent": totals.sent, "dropped": totals.dropped,
                                "faults": totals.faults })
        );
    } else {
        println!(
            "{} packets in, {} out, {} dropped, {} faults",
            totals.packets, totals.sent, totals.dropped, totals.faults
        );
    }
    Ok(())
}

fn damaged(path: &Path, packets: u64, error: &dyn std::fmt::Display) -> Failure {
    Failure::message(format!("{}: damaged after {packets} packets: {error}", path.display()))
}

fn report(args: &ReplayArgs, totals: &Totals, packet: &[u8], processed: &Processed, (trace, passes): &PacketPath) {
    if args.json {
        let sent: Vec<_> = processed
            .sent
            .iter()
            .map(|(port, bytes)| {
                serde_json::json!({ "port": port, "length": bytes.len(), "change": changed_ranges(packet, bytes) })
            })
            .collect();
        let mut record = serde_json::json!({ "packet": totals.packets, "length": packet.len(), "sent": sent,
                                             "fault": processed.fault, "trace": trace.lines().collect::<Vec<_>>() });
        if args.trace {
            record["port"] = args.port.into();
            record["passes"] = passes.clone();
        }
        println!("{record}");
    } else if args.trace {
        println!("packet {}: {} bytes at port {}", totals.packets, packet.len(), args.port);
        print!("{trace}");
        for (port, bytes) in &processed.sent {
            println!("  out of port {port}: {}", changed_ranges(packet, bytes));
        }
        if let Some(fault) = &processed.fault {
            println!("  fault: {fault}");
        }
    }
}
