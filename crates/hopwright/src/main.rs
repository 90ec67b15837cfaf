//! The `hopwright` command. Lives here: logging and dispatch; each command has its module.

mod cli;
mod commands;
mod compile;
mod engine;
mod failure;
mod trace;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use cli::{BenchCommand, Cli, Command};
use failure::Failure;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_env("HOPWRIGHT_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false).init();
    let result = match cli.command {
        Command::Check(args) => commands::check::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Ir(args) => commands::ir::run(&args),
        Command::Asm(args) => commands::asm::run(&args),
        Command::Graph(args) => commands::graph::run(&args),
        Command::Stf(args) => commands::stf::run(&args),
        Command::Run(args) => commands::run::run(&args),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Scion(args) => commands::scion::run(&args),
        Command::Bench(args) => match args.command {
            BenchCommand::Scion(args) => commands::bench::scion(&args),
        },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Reported) => ExitCode::FAILURE,
        Err(Failure::Error(error)) => {
            eprintln!("hopwright: {error:#}");
            ExitCode::FAILURE
        }
    }
}
