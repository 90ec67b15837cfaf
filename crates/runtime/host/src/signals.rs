//! Signal handling. Handlers run on a thread of their own and may do anything.

use std::io;

use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

/// What is done on signals.
#[allow(missing_debug_implementations)]
pub struct Handlers<S> {
    /// On SIGTERM and SIGINT.
    pub stop: S,
    /// On SIGHUP, which stops without it.
    pub reload: Option<Box<dyn Fn() + Send>>,
    /// On SIGQUIT, which ends the process without it.
    pub dump: Option<Box<dyn Fn() + Send>>,
}

/// Installs handlers: SIGTERM and SIGINT call `stop`; SIGHUP calls `reload` or, without it, `stop`.
///
/// # Errors
/// If the system refuses handlers or a thread.
pub fn handle(stop: impl Fn() + Send + 'static, reload: Option<Box<dyn Fn() + Send>>) -> io::Result<()> {
    handle_all(Handlers { stop, reload, dump: None })
}

/// Installs handlers. SIGUSR1, SIGUSR2 and SIGALRM, which would end the process, do nothing; neither does SIGPIPE, which
/// Rust's runtime ignores.
///
/// # Errors
/// If the system refuses handlers or a thread.
pub fn handle_all(handlers: Handlers<impl Fn() + Send + 'static>) -> io::Result<()> {
    let Handlers { stop, reload, dump } = handlers;
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM])?;
    if dump.is_some() {
        signals.add_signal(SIGQUIT)?;
    }
    let work = move || {
        for signal in signals.forever() {
            match (signal, &reload, &dump) {
                (SIGHUP, Some(reload), _) => reload(),
                (SIGQUIT, _, Some(dump)) => dump(),
                (SIGTERM | SIGINT | SIGHUP, ..) => stop(),
                _ => {}
            }
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(work).map(drop)
}
