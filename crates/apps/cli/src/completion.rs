//! Completion in shells. `hopwright completion SHELL` prints a script that calls the command with the words typed so far and
//! `_HOPWRIGHT_COMPLETE=SHELL`; the command prints what may come next and ends. Names of tables and the like are those of the
//! running switch.

#[cfg(feature = "p4runtime")]
pub(crate) mod switch;

use std::io;

use clap::CommandFactory;
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};

use crate::cli::Cli;

/// The variable that asks for completion. No other program sets it, so that commands run with any environment.
const VARIABLE: &str = "_HOPWRIGHT_COMPLETE";
const NAME: &str = "hopwright";

/// If a shell asks what may come next: answers, and ends the process.
pub(crate) fn answer() {
    CompleteEnv::with_factory(Cli::command).var(VARIABLE).complete();
}

/// Writes the script for a shell.
pub(crate) fn write(shell: Shell, to: &mut dyn io::Write) -> io::Result<()> {
    let shells = Shells::builtins();
    let completer = shells.completer(&shell.to_string()).ok_or(io::ErrorKind::Unsupported)?;
    completer.write_registration(VARIABLE, NAME, NAME, NAME, to)?;
    if shell == Shell::Zsh {
        // zsh reads a file from a folder of `fpath` when it is first needed, and expects completions then.
        writeln!(to, "[[ $funcstack[1] != _{NAME} ]] || _clap_dynamic_completer_{NAME}")?;
    }
    Ok(())
}
