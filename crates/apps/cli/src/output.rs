//! Standard output. These macros replace those of the standard library, which panic once nobody reads: `hopwright … | head`.

use std::fmt;
use std::io::{self, ErrorKind, Write};
#[cfg(feature = "fmt")]
use std::path::Path;
use std::process::exit;

/// Writes text to standard output. Ends the process if that fails: without an error if it is a pipe whose reader has closed it.
pub(crate) fn write(text: fmt::Arguments<'_>) {
    crate::progress::clear();
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

/// As [`replace`](hopwright_host::files::replace), but the file that a link names is replaced, not the link, and permissions stay.
#[cfg(feature = "fmt")]
pub(crate) fn rewrite(file: &Path, text: &str) -> io::Result<()> {
    let file = std::fs::canonicalize(file)?;
    let metadata = std::fs::metadata(&file)?;
    if !metadata.is_file() {
        return std::fs::write(&file, text);
    }
    let new = file.with_added_extension(format!("{}.new", std::process::id()));
    let written = std::fs::write(&new, text)
        .and_then(|()| std::fs::set_permissions(&new, metadata.permissions()))
        .and_then(|()| std::fs::rename(&new, &file));
    if written.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    written
}

macro_rules! print {
    ($($text:tt)*) => { $crate::output::write(format_args!($($text)*)) };
}

macro_rules! println {
    ($($text:tt)*) => { $crate::output::write(format_args!("{}\n", format_args!($($text)*))) };
}
