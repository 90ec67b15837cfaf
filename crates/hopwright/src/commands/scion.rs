//! `hopwright scion`: the SCION border router.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hopwright_scion::{Options, Setup, config};

use crate::cli::{SampleCommand, ScionArgs, ScionCommand};
use crate::compile;
use crate::failure::Failure;

/// Runs a border router until SIGTERM or SIGINT, or prints a sample.
pub fn run(args: &ScionArgs) -> Result<(), Failure> {
    if let Some(ScionCommand::Sample(SampleCommand::Config)) = args.command {
        print!("{}", config::SAMPLE);
        return Ok(());
    }
    let Some(file) = &args.config else { return Err(Failure::message("--config is missing")) };
    let setup = Setup::load(file)?;
    let options = Options { stats: args.stats.clone(), ..Options::default() };
    let stop = options.stop.clone();
    ctrlc::set_handler(move || stop.store(true, Ordering::Release))?;
    let pipeline = compile::printed(hopwright_scion::program::compile(true))?;
    let stats = hopwright_scion::run(setup, Arc::clone(&pipeline), &options)?;
    tracing::info!(forwarded = stats.packets_forwarded, "router stopped");
    Ok(())
}
