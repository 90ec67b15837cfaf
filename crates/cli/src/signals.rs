//! Signal handling. Handlers run on a thread of their own and may do anything.

use std::io;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Installs handlers: SIGTERM and SIGINT call `stop`; SIGHUP calls `reload` or, without it, `stop`.
pub(crate) fn handle(stop: impl Fn() + Send + 'static, reload: Option<Box<dyn Fn() + Send>>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    let work = move || {
        for signal in signals.forever() {
            match &reload {
                Some(reload) if signal == SIGHUP => reload(),
                _ => stop(),
            }
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(work).map(drop)
}
