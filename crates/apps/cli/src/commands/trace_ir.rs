//! `hopwright trace-ir`, and the traces that `hopwright asm` shows.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use hopwright_dataplane::trace_ir::eval::{self, Counts, Input};
use hopwright_dataplane::trace_ir::recording::Recording;
use hopwright_dataplane::trace_ir::{TraceIr, text};
use hopwright_dataplane::{Profile, TraceCode, VirtualDataPlane};
use hopwright_ir::Pipeline;
use hopwright_stf::Engine;

use crate::cli::jit::{Learning, TraceIrArgs};
use crate::cli::program::EngineChoice;
use crate::commands::stf;
use crate::compile;
use crate::engine::{data_plane, one_by_one};
use crate::failure::Failure;

/// A packet as it was received.
pub(crate) struct Received {
    pub now_us: u64,
    pub port: u16,
    pub bytes: Vec<u8>,
}

/// What a program learned from packets.
pub(crate) struct Learned {
    /// The program. It lives as long as the code.
    vdp: Arc<VirtualDataPlane>,
    /// The packets' paths.
    profile: Profile,
    /// The code of the most frequent ones, if most packets are on few paths.
    pub code: Option<Arc<TraceCode>>,
}

/// The packets of a packet test, or of a capture. Those of a capture arrive at a port.
pub(crate) fn read(file: &Path, port: u16) -> Result<Vec<Received>, Failure> {
    let packets: Vec<Received> = if file.extension().is_some_and(|extension| extension == "stf") {
        let packets = stf::packets(file)?.into_iter();
        packets.map(|(port, bytes)| Received { now_us: 0, port, bytes }).collect()
    } else {
        let mut input = hopwright_ports::pcap::open(file)?;
        let mut packets = Vec::new();
        while let Some(packet) = input.next_packet() {
            let packet = packet.map_err(|e| Failure::message(format!("{}: {e}", file.display())))?;
            let now_us = packet.timestamp.as_micros() as u64;
            packets.push(Received { now_us, port, bytes: packet.data.into_owned() });
        }
        packets
    };
    if packets.is_empty() {
        return Err(Failure::message(format!("{}: no packets", file.display())));
    }
    Ok(packets)
}

/// Runs packets and compiles traces of their paths.
pub(crate) fn learn(pipeline: &Arc<Pipeline>, packets: &[Received], args: &Learning) -> Result<Learned, Failure> {
    let vdp = data_plane(pipeline, EngineChoice::Jit)?;
    let mut engine = one_by_one(vdp.clone())?;
    if let Some(entries) = &args.entries {
        stf::configure(entries, &mut engine)?;
    }
    vdp.start_profiling(packets.len()).map_err(Failure::message)?;
    for Received { now_us, port, bytes } in packets {
        engine.process(*port, bytes, *now_us).map_err(Failure::message)?;
    }
    let profile = vdp.take_profile().ok_or_else(|| Failure::message("no packets"))?;
    let code = vdp.compile_traces(&profile, &args.without).map_err(Failure::message)?;
    Ok(Learned { vdp, profile, code })
}

/// Counts where packets are in a tree. The interpreter runs them, too, and answers what they ask of tables and externs.
fn count(pipeline: &Arc<Pipeline>, ir: &TraceIr, packets: &[Received], args: &Learning) -> Result<Counts, Failure> {
    let mut engine = one_by_one(data_plane(pipeline, EngineChoice::Interp)?)?;
    if let Some(entries) = &args.entries {
        stf::configure(entries, &mut engine)?;
    }
    let (mut counts, parents) = (Counts::default(), ir.parents());
    for (i, Received { now_us, port, bytes }) in packets.iter().enumerate() {
        let mut recording = Recording::new(pipeline);
        engine.executor.process_observed(bytes, *port, *now_us, &mut recording);
        let input = Input { packet: bytes, port: *port, now_us: *now_us };
        let outcome = eval::run(ir, input, &mut recording);
        let outcome = outcome.map_err(|e| Failure::message(format!("packet {}: {e}", i + 1)))?;
        counts.add(&parents, &outcome);
    }
    Ok(counts)
}

/// Why packets left, the most frequent reason first.
fn reasons(ir: &TraceIr, counts: &Counts) -> String {
    let mut by_reason: BTreeMap<String, u64> = BTreeMap::new();
    for (exit, packets) in &counts.exits {
        *by_reason.entry(ir.reason(*exit)).or_default() += packets;
    }
    let mut sorted: Vec<(String, u64)> = by_reason.into_iter().collect();
    sorted.sort_by_key(|(_, packets)| std::cmp::Reverse(*packets));
    let mut text = String::new();
    for (reason, packets) in sorted {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "; {packets:>8} left: {reason}");
    }
    text
}

/// Prints the traces.
pub(crate) fn run(args: &TraceIrArgs) -> Result<(), Failure> {
    let pipeline = compile::pipeline(&args.source)?;
    let received = read(&args.packets, args.learning.port)?;
    let Learned { vdp, profile, code } = &learn(&pipeline, &received, &args.learning)?;
    let (packets, paths) = (profile.packets(), profile.paths());
    let text = match code.as_ref().and_then(|code| Some((code, vdp.trace_ir(code)?))) {
        _ if args.paths => profile.tree(&pipeline, code.as_deref()),
        Some((code, mut ir)) => {
            args.passes.iter().for_each(|pass| pass.run(&mut ir));
            let counts = count(&pipeline, &ir, &received, &args.learning)?;
            let left: u64 = counts.exits.values().sum();
            let (traces, bytes) = (ir.leaves(), code.code().len());
            let summary = format!(
                "; {packets} packets on {paths} paths; {traces} traces in {bytes} bytes of code; {left} packets left them\n"
            );
            let left_out =
                code.left_out().map_or(String::new(), |error| format!("; paths without code: {}\n", error.message));
            summary + &left_out + &reasons(&ir, &counts) + "\n" + &text::print(&ir, Some(&counts))
        }
        None => {
            return Err(Failure::message(format!(
                "{packets} packets on {paths} paths, and no traces, because too few packets would complete one; --paths prints \
                 the paths"
            )));
        }
    };
    print!("{text}");
    Ok(())
}
