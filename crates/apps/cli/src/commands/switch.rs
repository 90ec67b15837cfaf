//! `hopwright switch`: a switch with tenants.

use std::sync::mpsc;

use hopwright_switch::{Command, config};

use crate::cli::switch::{SwitchHostArgs, SwitchHostCommand};
use crate::failure::Failure;
use crate::signals;

/// Runs a switch until SIGTERM or SIGINT, with SIGHUP reloading its configuration; or checks a configuration; or prints a sample.
pub(crate) fn run(args: &SwitchHostArgs) -> Result<(), Failure> {
    if let Some(SwitchHostCommand::Sample) = args.command {
        print!("{}", config::SAMPLE);
        return Ok(());
    }
    let Some(file) = &args.config else { return Err(Failure::message("--config is missing")) };
    if args.check {
        hopwright_switch::check(file)?.iter().for_each(|line| println!("{line}"));
        return Ok(());
    }
    let (tell, commands) = mpsc::channel();
    // Fails only when the switch has ended.
    let told = |command: fn() -> Command| {
        let tell = tell.clone();
        move || drop(tell.send(command()))
    };
    signals::handle(told(|| Command::Stop), Some(Box::new(told(|| Command::Reload))))?;
    Ok(hopwright_switch::run(file, &commands, tell)?)
}
