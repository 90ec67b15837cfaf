//! The `hopwright` command: dispatches to one module per command.

// Its macros are those of all modules below.
#[macro_use]
mod output;

mod cli;
mod commands;
mod compile;
mod engine;
mod failure;
mod logging;
mod signals;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use hopwright_scion::config::Console;

use cli::{BenchCommand, Cli, Command};
use failure::Failure;
use logging::Logging;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let console = match &cli.command {
        Command::Scion(args) => commands::scion::console(args),
        Command::Rina(args) => commands::rina::console(args),
        _ => Console::default(),
    };
    let logging = Logging::start(&console);
    let result = match cli.command {
        Command::Check(args) => commands::check::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Ir(args) => commands::ir::run(&args),
        Command::Asm(args) => commands::asm::run(&args),
        Command::Fit(args) => commands::fit::run(&args),
        Command::TraceIr(args) => commands::trace_ir::run(&args),
        Command::Graph(args) => commands::graph::run(&args),
        Command::Rtl(args) => commands::rtl::run(&args),
        Command::P4info(args) => commands::p4info::run(&args),
        Command::Bundle(args) => commands::p4info::bundle(&args),
        Command::Stf(args) => commands::stf::run(&args),
        Command::Run(args) => commands::run::run(&args),
        Command::Switch(args) => commands::switch::run(&args),
        Command::Tenant(args) => commands::tenant::run(&args),
        Command::Openflow(args) => commands::openflow::run(&args),
        Command::Table(args) => commands::control::table::run(&args),
        Command::Counter(args) => commands::control::cells::counter(&args),
        Command::Register(args) => commands::control::cells::register(&args),
        Command::Meter(args) => commands::control::meter::run(&args),
        Command::Trace(args) => commands::control::trace::run(&args),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Epic(command) => commands::epic::run(&command),
        Command::Ip(args) => commands::ip::run(&args),
        Command::Rina(args) => commands::rina::run(&args, logging),
        Command::Scion(args) => commands::scion::run(&args, logging),
        Command::Bench(args) => match args.command {
            BenchCommand::Programs(args) => commands::bench::programs::run_benchmark(&args),
            BenchCommand::Forwarder(args) => commands::bench::forwarder::run_benchmark(&args),
            BenchCommand::Tenants(args) => commands::bench::tenants::run_benchmark(&args),
            BenchCommand::Updates(args) => commands::bench::updates::run_benchmark(&args),
            BenchCommand::Epic(args) => commands::bench::epic::run_benchmark(&args),
            BenchCommand::Scion(args) => commands::bench::scion::run_benchmark(&args),
        },
        Command::Completion { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "hopwright", &mut script);
            print!("{}", String::from_utf8_lossy(&script));
            Ok(())
        }
        Command::Man { folder } => commands::man::run(&folder),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Reported) => ExitCode::FAILURE,
        Err(Failure::Error(error)) => {
            eprintln!("hopwright: {}", Failure::text(&error));
            ExitCode::FAILURE
        }
    }
}
