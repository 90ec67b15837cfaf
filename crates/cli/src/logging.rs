//! The log: to standard error, for people or as JSON, with a level that can be changed while running.
//!
//! `HOPWRIGHT_LOG` has the last word at the start (`debug`, `hopwright_scion=trace`, …).

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};

use hopwright_host::http::{Level, LogLevel};
use hopwright_scion::config::Console;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry, fmt, reload};

/// The log's level.
#[derive(Debug)]
pub(crate) struct Logging {
    level: Mutex<Level>,
    filter: reload::Handle<EnvFilter, Registry>,
}

impl Logging {
    /// Installs the subscriber, once in a process.
    pub(crate) fn start(console: &Console) -> Logging {
        // The configuration has been checked: every level in it is known.
        let level = Level::parse(&console.level).unwrap_or(Level::Info);
        let filter = EnvFilter::try_from_env("HOPWRIGHT_LOG").unwrap_or_else(|_| filter(level));
        let (filter, handle) = reload::Layer::new(filter);
        let registry = tracing_subscriber::registry().with(filter);
        let lines = fmt::layer().with_writer(std::io::stderr).with_target(false);
        if console.format.eq_ignore_ascii_case("json") {
            registry.with(lines.json().flatten_event(true)).init();
        } else {
            registry.with(lines.with_ansi(std::io::stderr().is_terminal())).init();
        }
        Logging { level: Mutex::new(level), filter: handle }
    }
}

/// Libraries log warnings and errors only; the netlink library warns about every kernel newer than itself.
fn filter(level: Level) -> EnvFilter {
    EnvFilter::new(match level {
        Level::Debug => "warn,netlink_packet_route=error,hopwright=debug",
        Level::Info => "warn,netlink_packet_route=error,hopwright=info",
        Level::Warn => "warn,netlink_packet_route=error",
        Level::Error => "error",
    })
}

impl LogLevel for Logging {
    fn get(&self) -> Level {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, level: Level) {
        // Fails only without a subscriber.
        if self.filter.reload(filter(level)).is_ok() {
            *self.level.lock().unwrap_or_else(PoisonError::into_inner) = level;
        }
    }
}
