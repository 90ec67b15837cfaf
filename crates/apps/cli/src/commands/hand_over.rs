//! Processes that take over from each other.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use hopwright_agent::hand_over::HandOver;

use crate::cli::hand_over::HandOverArgs;
use crate::failure::Failure;

/// What a process that has taken over prints.
const TAKEN_OVER: &str = "taken over";

/// Says that this process has taken over.
fn tell() {
    // Nobody may read it.
    let _ = writeln!(io::stdout(), "{TAKEN_OVER}");
}

/// What a process does.
pub(crate) fn options(args: &HandOverArgs) -> HandOver {
    HandOver { control: args.control.clone(), take_over: args.take_over, taken_over: Some(tell) }
}

/// Starts this command line without `--background`, and returns when that process has taken over.
pub(crate) fn start_in_background() -> Result<(), Failure> {
    let arguments = std::env::args_os().skip(1).filter(|argument| argument != "--background");
    let mut process = Command::new(std::env::current_exe()?);
    process.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
    let mut process = process.spawn()?;
    let mut line = String::new();
    if let Some(output) = process.stdout.take() {
        BufReader::new(output).read_line(&mut line)?;
    }
    if line.trim_end() == TAKEN_OVER {
        return Ok(());
    }
    let status = process.wait()?;
    Err(Failure::message(format!("the new process has not taken over ({status}): the running one goes on")))
}
