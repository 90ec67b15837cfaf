//! `hopwright trace-ir`, and the traces that `hopwright asm` shows.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use hopwright_dataplane::{Profile, TraceCode, VirtualDataPlane};
use hopwright_ir::Pipeline;
use hopwright_stf::Engine;

use crate::cli::{EngineChoice, Learning, TraceIrArgs};
use crate::commands::stf;
use crate::compile;
use crate::engine::{data_plane, one_by_one};
use crate::failure::Failure;

/// What a program learned from packets.
pub(crate) struct Learned {
    /// The program. It lives as long as the code.
    _vdp: Arc<VirtualDataPlane>,
    /// The packets' paths.
    profile: Profile,
    /// The code of the most frequent ones, if most packets are on few paths.
    pub code: Option<TraceCode>,
}

/// Runs the packets of a capture and compiles traces of their paths.
pub(crate) fn learn(pipeline: &Arc<Pipeline>, capture: &Path, args: &Learning) -> Result<Learned, Failure> {
    let vdp = data_plane(pipeline, EngineChoice::Jit)?;
    let mut engine = one_by_one(vdp.clone())?;
    if let Some(entries) = &args.entries {
        stf::configure(entries, &mut engine)?;
    }
    let mut input = hopwright_ports::pcap::open(capture)?;
    let mut packets = Vec::new();
    while let Some(packet) = input.next_packet() {
        let packet = packet.map_err(|e| Failure::message(format!("{}: {e}", capture.display())))?;
        packets.push((packet.timestamp.as_micros() as u64, packet.data.into_owned()));
    }
    vdp.start_profiling(packets.len()).map_err(Failure::message)?;
    for (now_us, packet) in &packets {
        engine.process(args.port, packet, *now_us).map_err(Failure::message)?;
    }
    let profile = vdp.take_profile();
    let profile = profile.ok_or_else(|| Failure::message(format!("{}: no packets", capture.display())))?;
    let code = vdp.compile_traces(&profile, &args.without).map_err(Failure::message)?;
    Ok(Learned { _vdp: vdp, profile, code })
}

/// Prints the paths.
pub(crate) fn run(args: &TraceIrArgs) -> Result<(), Failure> {
    let pipeline = compile::pipeline(&args.source)?;
    let Learned { profile, code, .. } = &learn(&pipeline, &args.packets, &args.learning)?;
    let (packets, paths) = (profile.packets(), profile.paths());
    let summary = match code {
        Some(code) => format!(
            "{packets} packets on {paths} paths; traces of {} paths, {} packets, {} bytes of code\n",
            code.paths().len(),
            profile.covered(code),
            code.code().len()
        ),
        None => format!("{packets} packets on {paths} paths; no traces, because too few packets would complete one\n"),
    };
    let text = summary + &profile.tree(&pipeline, code.as_ref());
    // A reader such as `head` may close the pipe early; that is no error.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    Ok(())
}
