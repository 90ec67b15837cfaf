//! The `hopwright` command: dispatches to one module per command.

// Its macros are those of all modules below.
#[macro_use]
mod output;

mod cli;
mod commands;
mod compile;
mod completion;
mod engine;
mod failure;
mod features;
#[cfg(feature = "rtl")]
mod hardware;
mod logging;
// A small command has nothing that takes long.
#[cfg_attr(not(feature = "bench"), allow(dead_code))]
mod progress;
#[cfg(feature = "rtl")]
mod written;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use failure::Failure;
use logging::{Console, Logging};

fn main() -> ExitCode {
    #[cfg(feature = "bmv2")]
    if let Some((name, arguments)) = commands::bmv2::called_as(std::env::args_os()) {
        return commands::bmv2::run(name, arguments);
    }
    completion::answer();
    let cli = Cli::try_parse().unwrap_or_else(|error| features::explain(&error).unwrap_or(error).exit());
    #[cfg(feature = "bmv2")]
    if let Command::As(args) = &cli.command {
        return commands::bmv2::run(args.name, args.arguments.clone());
    }
    let console = match &cli.command {
        #[cfg(feature = "scion")]
        Command::Scion(args) => commands::scion::console(args),
        #[cfg(feature = "rina")]
        Command::Rina(args) => commands::rina::console(args),
        _ => Console::default(),
    };
    let logging = Logging::start(console);
    match run(cli.command, logging) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Reported) => ExitCode::FAILURE,
        Err(Failure::Error(error)) => {
            eprintln!("hopwright: {}", Failure::text(&error));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command, logging: Logging) -> Result<(), Failure> {
    // Only routers change it while they run.
    let _ = &logging;
    match command {
        Command::Check(args) => commands::check::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        #[cfg(feature = "fmt")]
        Command::Fmt(args) => commands::fmt::run(&args),
        Command::Preprocess(args) => commands::preprocess::run(&args),
        Command::Ir(args) => commands::ir::run(&args),
        #[cfg(feature = "lsp")]
        Command::Lsp(args) => commands::lsp::run(&args),
        #[cfg(feature = "jit")]
        Command::Asm(args) => commands::asm::run(&args),
        #[cfg(feature = "fit")]
        Command::Fit(args) => commands::fit::run(&args),
        #[cfg(feature = "jit")]
        Command::TraceIr(args) => commands::trace_ir::run(&args),
        #[cfg(feature = "profile")]
        Command::Profile(args) => commands::profile::run(&args),
        Command::Graph(args) => commands::graph::run(&args),
        #[cfg(feature = "rtl")]
        Command::Rtl(args) => commands::rtl::run(&args),
        #[cfg(feature = "p4runtime")]
        Command::P4info(args) => commands::p4info::run(&args),
        #[cfg(feature = "p4runtime")]
        Command::Bundle(args) => commands::p4info::bundle(&args),
        Command::Stf(args) => match &args.counterexample {
            Some(folder) => commands::counterexample::find(&args, folder),
            None => commands::stf::run(&args),
        },
        #[cfg(feature = "testgen")]
        Command::Testgen(args) => commands::testgen::run(&args),
        Command::Run(args) => commands::run::run(&args),
        // Has been run above, with a log of its own.
        #[cfg(feature = "bmv2")]
        Command::As(_) => Ok(()),
        #[cfg(feature = "switch")]
        Command::Switch(args) => commands::switch::run(&args),
        #[cfg(feature = "switch")]
        Command::Tenant(args) => commands::tenant::run(&args),
        #[cfg(feature = "openflow")]
        Command::Openflow(args) => commands::openflow::run(&args),
        #[cfg(feature = "p4runtime")]
        Command::Table(args) => commands::control::table::run(&args),
        #[cfg(feature = "p4runtime")]
        Command::Counter(args) => commands::control::cells::counter(&args),
        #[cfg(feature = "p4runtime")]
        Command::Register(args) => commands::control::cells::register(&args),
        #[cfg(feature = "p4runtime")]
        Command::Meter(args) => commands::control::meter::run(&args),
        #[cfg(feature = "p4runtime")]
        Command::Trace(args) => commands::control::trace::run(&args),
        #[cfg(feature = "page")]
        Command::Playground(args) => commands::playground::run(&args),
        Command::Replay(args) => commands::replay::run(&args),
        #[cfg(feature = "epic")]
        Command::Epic(command) => commands::epic::run(&command),
        #[cfg(feature = "ip")]
        Command::Ip(args) => commands::ip::run(&args),
        #[cfg(feature = "rina")]
        Command::Rina(args) => commands::rina::run(&args, logging),
        #[cfg(feature = "scion")]
        Command::Scion(args) => commands::scion::run(&args, logging),
        #[cfg(feature = "bench")]
        Command::Bench(args) => commands::bench::run(&args.command),
        Command::Completion { shell } => {
            let mut script = Vec::new();
            completion::write(shell, &mut script)?;
            print!("{}", String::from_utf8_lossy(&script));
            Ok(())
        }
        Command::Man { folder } => commands::man::run(&folder),
    }
}
