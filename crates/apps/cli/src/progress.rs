//! A sign of life of what takes long: a line on standard error, if that is a terminal, from two seconds on.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What takes less time shows nothing.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two lines.
const PERIOD: Duration = Duration::from_millis(250);
/// The longest line that surely fits.
const COLUMNS: usize = 78;

/// Whether a line is on the terminal, which other output must replace.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// Shows a line until it is dropped.
pub(crate) struct Progress {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Shows what is going on and for how long. Nothing is shown where nobody looks, or if there can be no thread.
    pub(crate) fn start(what: impl Fn() -> String + Send + 'static) -> Progress {
        if !std::io::stderr().is_terminal() {
            return Progress { stop: None, thread: None };
        }
        let (stop, stopped) = mpsc::channel::<()>();
        let begun = Instant::now();
        let show = move || {
            let mut wait = PATIENCE;
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = PERIOD;
                show(&line(&what(), begun.elapsed()));
            }
            clear();
        };
        let thread = std::thread::Builder::new().name("progress".into()).spawn(show).ok();
        Progress { stop: Some(stop), thread }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop.take();
        // The thread does nothing that could fail.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The text of a line.
fn line(what: &str, elapsed: Duration) -> String {
    let mut line: String = what.chars().filter(|c| !c.is_control()).take(COLUMNS - 10).collect();
    // Writing to a string cannot fail.
    let _ = write!(line, " … {} s", elapsed.as_secs());
    line
}

fn show(line: &str) {
    IS_SHOWN.store(true, Ordering::Relaxed);
    // Nobody may be there any more.
    let _ = write!(std::io::stderr().lock(), "\r\x1b[K{line}");
}

/// Takes the line off the terminal, if there is one.
pub(crate) fn clear() {
    if IS_SHOWN.swap(false, Ordering::Relaxed) {
        let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_short_and_has_no_control_characters() {
        let long = "\x1b[31mé".repeat(100);
        let line = line(&long, Duration::from_secs(61));
        assert!(line.chars().count() <= COLUMNS && line.ends_with(" … 61 s"), "{line}");
        assert!(!line.chars().any(char::is_control));
    }
}
