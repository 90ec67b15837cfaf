//! Standard output. These macros replace those of the standard library, which panic once nobody reads: `hopwright … | head`.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::exit;

/// Writes text to standard output. Ends the process if that fails: without an error if it is a pipe whose reader has closed it.
pub(crate) fn write(text: fmt::Arguments<'_>) {
    check(io::stdout().lock().write_fmt(text));
}

/// Writes bytes as [`write`] does text.
#[cfg(feature = "p4runtime")]
pub(crate) fn write_bytes(bytes: &[u8]) {
    check(io::stdout().lock().write_all(bytes));
}

fn check(written: io::Result<()>) {
    match written {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => exit(0),
        Err(error) => {
            eprintln!("hopwright: cannot write to standard output: {error}");
            exit(1);
        }
    }
}

macro_rules! print {
    ($($text:tt)*) => { $crate::output::write(format_args!($($text)*)) };
}

macro_rules! println {
    ($($text:tt)*) => { $crate::output::write(format_args!("{}\n", format_args!($($text)*))) };
}
