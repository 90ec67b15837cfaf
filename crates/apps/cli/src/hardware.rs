//! Programs as hardware, simulated or on a board.

use std::path::Path;
use std::sync::Arc;

use hopwright_dataplane::{BuildError, VirtualDataPlane};
use hopwright_ir::Pipeline;
use hopwright_offload::{BoardDesign, OffloadError, SimulatedDesign};
use hopwright_rtl::{Board, Refusal, Target};
use hopwright_syntax::{Diagnostic, render};

use crate::cli::rtl::DeviceArgs;
use crate::compile::{color, refused};
use crate::failure::Failure;

/// What simulations stand for.
pub(crate) fn default_target() -> Target {
    Target::by_name(hopwright_offload::DEFAULT_TARGET).expect("the default is a target")
}

/// A data plane whose program runs as simulated hardware.
pub(crate) fn simulated(pipeline: &Arc<Pipeline>) -> Result<Arc<VirtualDataPlane>, OffloadError> {
    hopwright_offload::simulated(pipeline, &default_target())
}

/// The same; what is refused is one error.
pub(crate) fn hardware(pipeline: &Arc<Pipeline>) -> Result<Arc<VirtualDataPlane>, BuildError> {
    VirtualDataPlane::offloaded(pipeline.clone(), Box::new(chip(pipeline)?))
}

/// A simulated chip with this program.
pub(crate) fn chip(pipeline: &Arc<Pipeline>) -> Result<SimulatedDesign, BuildError> {
    SimulatedDesign::start(pipeline, &default_target(), None).map_err(|error| match error {
        OffloadError::Build(error) => error,
        OffloadError::Refused(refusals) => {
            let reports: Vec<String> = refusals.iter().map(|r| r.report(&pipeline.sources)).collect();
            BuildError::Program(reports.join("\n"))
        }
        other => BuildError::Program(other.to_string()),
    })
}

/// A data plane whose program a board runs.
pub(crate) fn on_board(
    pipeline: &Arc<Pipeline>,
    device: &str,
    args: &DeviceArgs,
) -> Result<Arc<VirtualDataPlane>, Failure> {
    let Some(address) = device.strip_prefix("etherbone:") else {
        return Err(Failure::message(format!("`--device {device}`: etherbone:ADDRESS is expected")));
    };
    let mut target = board(args.board.as_deref().unwrap_or_default())?.target();
    target.gap = args.gap;
    let design = BoardDesign::connect(pipeline, &target, address).map_err(|error| not_offloaded(pipeline, &error))?;
    VirtualDataPlane::offloaded(pipeline.clone(), Box::new(design)).map_err(Failure::message)
}

/// The board of this name, or that a file describes.
pub(crate) fn board(name: &str) -> Result<Board, Failure> {
    if let Some(board) = Board::by_name(name) {
        return Ok(board);
    }
    if Path::new(name).extension().is_none() {
        let names: Vec<String> = Board::all().into_iter().map(|b| b.name).collect();
        return Err(Failure::message(format!(
            "no board `{name}`; there are {}, or name a TOML file",
            names.join(", ")
        )));
    }
    let failed = |error: &dyn std::fmt::Display| Failure::message(format!("{name}: {error}"));
    let text = std::fs::read_to_string(name).map_err(|e| failed(&e))?;
    Board::parse(&text).map_err(|e| failed(&e))
}

/// Prints what hardware cannot do, at its places in the program.
pub(crate) fn refused_by_hardware(pipeline: &Pipeline, refusals: &[Refusal]) -> Failure {
    for Refusal { capability, span, message } in refusals {
        let title = format!("hardware has no {}: {message}", capability.words());
        let diagnostic =
            Diagnostic::error("E0601", title).at(*span, "").note(format!("capability `{}`", capability.name()));
        eprintln!("{}", render::render_one(&diagnostic, &pipeline.sources, color()).trim_end());
    }
    Failure::Reported
}

/// Says why a program does not run as simulated hardware.
pub(crate) fn not_offloaded(pipeline: &Pipeline, error: &OffloadError) -> Failure {
    match error {
        OffloadError::Refused(refusals) => refused_by_hardware(pipeline, refusals),
        OffloadError::Build(error) => refused(pipeline, error),
        other => Failure::message(other),
    }
}
