//! `hopwright rtl`.

use std::path::Path;

use hopwright_rtl::report::Report;
use hopwright_rtl::{Target, simulation};

use crate::cli::rtl::{ReportFormat, RtlArgs};
use crate::compile;
use crate::failure::Failure;
use crate::hardware;

/// Compiles a program to SystemVerilog.
pub(crate) fn run(args: &RtlArgs) -> Result<(), Failure> {
    let pipeline = compile::pipeline(&args.source)?;
    let refused = |refusals: Vec<_>| hardware::refused_by_hardware(&pipeline, &refusals);
    if args.ir {
        print!("{}", hopwright_rtl::convert(&pipeline).map_err(refused)?.text(&pipeline));
        return Ok(());
    }
    let mut target = Target::by_name(&args.target).ok_or_else(|| {
        let names: Vec<String> = Target::all().into_iter().map(|t| t.name).collect();
        Failure::message(format!("no target `{}`; there are {}", args.target, names.join(", ")))
    })?;
    target.gap = args.gap;
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
    std::fs::create_dir_all(&args.output).map_err(|e| Failure::message(format!("{}: {e}", args.output.display())))?;
    for (name, text) in hardware.files(&pipeline.name) {
        write(&args.output.join(name), &text)?;
    }
    let bits = hardware.schedule.register_bits(&hardware.core.design);
    println!("{} stages, {bits} bits from stage to stage", hardware.schedule.stages);
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|e| Failure::message(format!("{}: {e}", path.display())))?;
    println!("{}", path.display());
    Ok(())
}
