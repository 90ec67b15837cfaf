//! `hopwright bench`: measurements in memory, one module per benchmark. [`measure`] times, [`floor`] is the lower bound that
//! results are compared with.
//!
//! A row is printed as soon as it is measured, with columns of fixed width; a library that draws tables would need all rows first.

mod epic;
mod file;
mod floor;
mod forwarder;
mod hardware;
mod measure;
mod plot;
mod programs;
mod scion;
mod single_step;
mod tenants;
mod updates;
mod workload;

use crate::cli::bench::BenchCommand;
use crate::failure::Failure;
use crate::progress::Progress;

/// Runs a benchmark.
pub(crate) fn run(command: &BenchCommand) -> Result<(), Failure> {
    let _progress = Progress::start(|| "measuring".into());
    match command {
        BenchCommand::Programs(args) => programs::run_benchmark(args),
        BenchCommand::File(args) => file::run_benchmark(args),
        BenchCommand::Forwarder(args) => forwarder::run_benchmark(args),
        BenchCommand::Tenants(args) => tenants::run_benchmark(args),
        BenchCommand::Updates(args) => updates::run_benchmark(args),
        BenchCommand::Epic(args) => epic::run_benchmark(args),
        BenchCommand::Scion(args) => scion::run_benchmark(args),
    }
}
