//! `hopwright rtl`.

use std::path::Path;
use std::sync::Arc;

use hopwright_ir::Pipeline;
use hopwright_offload::Recorded;
use hopwright_rtl::report::Report;
use hopwright_rtl::{Hardware, Target, simulation};

use crate::cli::rtl::{ReportFormat, RtlArgs};
use crate::commands::stf;
use crate::engine;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::{compile, hardware, written};

/// Compiles a program to SystemVerilog.
pub(crate) fn run(args: &RtlArgs) -> Result<(), Failure> {
    let pipeline = compile::pipeline(&args.source)?;
    let refused = |refusals: Vec<_>| hardware::refused_by_hardware(&pipeline, &refusals);
    if args.ir {
        print!("{}", hopwright_rtl::convert(&pipeline).map_err(refused)?.text(&pipeline));
        return Ok(());
    }
    let board = args.board.as_deref().map(hardware::board).transpose()?;
    let mut target = match &board {
        Some(board) => board.target(),
        None => target(&args.target)?,
    };
    target.gap = args.gap;
    let _progress = Progress::start(|| "compiling hardware".into());
    let hardware = hopwright_rtl::compile(&pipeline, &target).map_err(refused)?;
    if let Some(format) = args.report {
        let report = Report::of(&pipeline, &hardware);
        match format {
            ReportFormat::Text => print!("{}", report.text()),
            ReportFormat::Json => println!("{}", serde_json::to_string_pretty(&report).map_err(Failure::message)?),
            ReportFormat::Html => print!("{}", report.html()),
        }
        return Ok(());
    }
    if args.simulation {
        let program = simulation::build(&hardware, &simulation::cache(), None).map_err(Failure::message)?;
        println!("{}", program.display());
        return Ok(());
    }
    let files = match &board {
        Some(board) => board.files(&hardware, &pipeline.name),
        None => {
            let mut files = [hardware.files(&pipeline.name), hardware.testbench(&pipeline.name)].concat();
            files.push(("simulation/entries".into(), entries(&pipeline, &hardware, args.entries.as_deref())?));
            files
        }
    };
    written::write(&args.output, &files)?;
    let bits = hardware.schedule.register_bits(&hardware.core.design);
    println!("{} stages, {bits} bits from stage to stage", hardware.schedule.stages);
    Ok(())
}

fn target(name: &str) -> Result<Target, Failure> {
    Target::by_name(name).ok_or_else(|| {
        let names: Vec<String> = Target::all().into_iter().map(|t| t.name).collect();
        Failure::message(format!("no target `{name}`; there are {}", names.join(", ")))
    })
}

/// What the testbench writes to the registers first: the default actions and entries of the program, and those of a file.
fn entries(pipeline: &Arc<Pipeline>, design: &Hardware, file: Option<&Path>) -> Result<String, Failure> {
    let (vdp, recorded) =
        Recorded::of(pipeline, design.clone()).map_err(|error| hardware::not_offloaded(pipeline, &error))?;
    if let Some(file) = file {
        stf::configure(file, &mut engine::one_by_one(vdp)?)?;
    }
    Ok(recorded.text())
}
