//! `hopwright profile`: where a program's time goes, by P4 line and by table.
//!
//! The packets run as machine code with traces of their paths, as in a switch that has run for some seconds. The kernel samples the
//! thread meanwhile ([`sampler`]), the line tables of the code lead from addresses to the program ([`places`]), and [`report`] adds up.

mod places;
mod replay;
mod report;
#[cfg(feature = "page")]
mod running;
mod sampler;

use std::time::{Duration, Instant};

use hopwright_dataplane::Executor;

use crate::cli::profile::ProfileArgs;
use crate::cli::program::EngineChoice;
use crate::commands::stf;
use crate::commands::trace_ir;
use crate::compile;
use crate::engine::{data_plane, one_by_one};
use crate::failure::Failure;
use crate::progress::Progress;
use places::Places;
use replay::Replay;
use report::Report;
#[cfg(feature = "page")]
pub(crate) use running::of_running;
use sampler::Sampler;

/// Packets whose paths are profiled before traces are compiled.
const LEARNED: usize = 1024;

/// Prints the profile.
pub(crate) fn run(args: &ProfileArgs) -> Result<(), Failure> {
    let pipeline = compile::pipeline(&args.source)?;
    let received = trace_ir::read(&args.packets, args.learning.port)?;
    let vdp = data_plane(&pipeline, EngineChoice::Jit)?;
    if let Some(entries) = &args.learning.entries {
        stf::configure(entries, &mut one_by_one(vdp.clone())?)?;
    }
    let mut sampler = Sampler::new()?;
    let duration = args.duration;
    let measuring = Progress::start(move || format!("measuring for {duration} s"));
    let mut replay = Replay::new(Executor::new(vdp.clone()), &received)?;
    vdp.start_profiling(LEARNED).map_err(Failure::message)?;
    while vdp.is_profiling() && replay.packets() < LEARNED as u64 {
        replay.pass()?;
    }
    vdp.respecialise_without(&args.learning.without).map_err(Failure::message)?;
    // The first pass of new code waits for memory.
    replay.pass()?;
    replay.reset();
    let until = Instant::now() + Duration::from_secs_f64(args.duration.clamp(0.0, 3600.0));
    sampler.start()?;
    loop {
        replay.pass()?;
        sampler.collect();
        if Instant::now() >= until {
            break;
        }
    }
    let samples = sampler.finish()?;
    drop(measuring);
    let report = Report::new(&pipeline, &Places::of(&pipeline), &vdp.code_map(), &samples, &replay.ran());
    if let Some(file) = &args.flame {
        report.write_flame_graph(file)?;
    }
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => print!("{}", report.text(args.lines)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hopwright_dataplane::{EngineKind, VirtualDataPlane};
    use hopwright_driver::compile_text;
    use hopwright_ir::Pipeline;
    use serde_json::Value;

    use super::*;
    use crate::commands::trace_ir::Received;

    /// A program with a line that takes most of its time, in an action of a table.
    const SLOW: &str = "#include <core.p4>
#include <v1model.p4>
header data_t { bit<512> bits; bit<32> sum; }
struct headers_t { data_t data; }
struct metadata_t { bit<32> sum; }
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.data); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action sum() {
        hash(meta.sum, HashAlgorithm.crc32, 32w0, { hdr.data.bits, hdr.data.bits, hdr.data.bits, hdr.data.bits }, 64w0x100000000);
    }
    table sums {
        key = { hdr.data.sum: exact; }
        actions = { sum; }
        default_action = sum();
    }
    apply {
        std.egress_spec = 1;
        sums.apply();
        hdr.data.sum = meta.sum;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

    fn pipeline() -> Arc<Pipeline> {
        let compiled = compile_text("slow.p4", SLOW, &Default::default(), true);
        Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics)))
    }

    #[test]
    fn the_slowest_line_is_found_with_its_action_and_table() {
        let pipeline = pipeline();
        let vdp = VirtualDataPlane::new(pipeline.clone(), EngineKind::Jit).unwrap();
        let received: Vec<Received> = (0..64u8).map(|n| Received { now_us: 1, port: 1, bytes: vec![n; 80] }).collect();
        let mut replay = Replay::new(Executor::new(vdp.clone()), &received).unwrap();
        let mut sampler = match Sampler::new() {
            Ok(sampler) => sampler,
            Err(why) => return eprintln!("not tested: {}", why.reason()),
        };
        vdp.start_profiling(LEARNED).unwrap();
        while vdp.is_profiling() && replay.packets() < LEARNED as u64 {
            replay.pass().unwrap();
        }
        vdp.respecialise().unwrap();
        replay.reset();
        sampler.start().unwrap();
        // As long as it takes: the machine may do something else meanwhile.
        while sampler.moments.len() < 1000 {
            replay.pass().unwrap();
            sampler.collect();
        }
        let samples = sampler.finish().unwrap();
        let report = Report::new(&pipeline, &Places::of(&pipeline), &vdp.code_map(), &samples, &replay.ran());
        let json: Value = serde_json::to_value(&report).unwrap();
        let top = &json["lines"][0];
        assert!(top["text"].as_str().unwrap().starts_with("hash(meta.sum"), "{json:#}");
        // Of the time in which the program ran: the machine may do something else meanwhile.
        assert!(top["samples"].as_u64().unwrap() * 2 > json["samples"].as_u64().unwrap(), "{json:#}");
        assert_eq!(json["tables"][0]["table"], "I.sums");
        assert!(json["tables"][0]["actions_ns"].as_f64() >= top["ns"].as_f64(), "{json:#}");
        assert_eq!((&json["forwarded"], &json["faults"]), (&json["packets"], &0.into()));
        let text = report.text(1);
        assert!(text.contains("slow.p4:12  hash(meta.sum") && text.contains("I.sums"), "{text}");
        let file = std::env::temp_dir().join(format!("hopwright-flame-{}.svg", std::process::id()));
        report.write_flame_graph(&file).unwrap();
        let svg = std::fs::read_to_string(&file);
        std::fs::remove_file(&file).unwrap();
        assert!(svg.unwrap().contains("action I.sum "), "the flame graph has no frame of the action");
    }

    #[test]
    fn places_belong_to_states_tables_actions_and_blocks() {
        let pipeline = pipeline();
        let places = Places::of(&pipeline);
        let owner = |text: &str| {
            let start = SLOW.find(text).unwrap() as u32;
            let file = pipeline.ingress.span.file;
            places.owner(hopwright_ir::Span::new(file, start, start + text.len() as u32)).frames.join(" / ")
        };
        assert_eq!(owner("packet.extract(hdr.data);"), "parser / state start");
        assert_eq!(owner("sums.apply();"), "ingress / table I.sums");
        assert_eq!(owner("hash(meta.sum"), "ingress / table I.sums / action I.sum");
        assert_eq!(owner("std.egress_spec"), "ingress");
        assert_eq!(owner("packet.emit(hdr)"), "deparser");
        assert_eq!(owner("header data_t"), "");
    }
}
