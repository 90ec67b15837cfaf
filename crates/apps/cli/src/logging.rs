//! The log: to standard error, for people or as JSON, with a level that can be changed while running.
//!
//! `HOPWRIGHT_LOG` has the last word at the start (`debug`, `hopwright_scion=trace`, …).

use std::io::IsTerminal;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt, reload};

/// How to log.
#[derive(Debug)]
pub(crate) struct Console {
    /// `debug`, `info`, `warn` or `error`.
    pub level: String,
    /// `json`, or anything else for people.
    pub format: String,
}

impl Default for Console {
    fn default() -> Console {
        Console { level: "info".into(), format: "human".into() }
    }
}

/// The log's level.
#[derive(Debug)]
pub(crate) struct Logging {
    #[cfg_attr(not(any(feature = "scion", feature = "rina")), allow(dead_code))]
    console: Console,
    #[cfg_attr(not(any(feature = "scion", feature = "rina")), allow(dead_code))]
    filter: reload::Handle<Targets, Registry>,
}

impl Logging {
    /// Installs the subscriber, once in a process.
    pub(crate) fn start(console: Console) -> Logging {
        let filter = from_environment().unwrap_or_else(|| filter(&console.level));
        let (filter, handle) = reload::Layer::new(filter);
        let registry = tracing_subscriber::registry().with(filter).with(counting::layer());
        let lines = fmt::layer().with_writer(std::io::stderr).with_target(false);
        if console.format.eq_ignore_ascii_case("json") {
            registry.with(lines.json().flatten_event(true)).init();
        } else {
            registry.with(lines.with_ansi(std::io::stderr().is_terminal())).init();
        }
        Logging { console, filter: handle }
    }
}

/// Counts warnings and errors by their event ids, for a router's metrics. The filter above it applies.
#[cfg(any(feature = "scion", feature = "rina"))]
mod counting {
    use std::fmt::Debug;

    use hopwright_host::metrics::count_log_event;
    use tracing::field::{Field, Visit};
    use tracing::{Event, Level, Subscriber};
    use tracing_subscriber::Layer;
    use tracing_subscriber::layer::Context;

    pub(super) fn layer() -> Counting {
        Counting
    }

    pub(super) struct Counting;

    impl<S: Subscriber> Layer<S> for Counting {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            let level = match *event.metadata().level() {
                Level::ERROR => "error",
                Level::WARN => "warn",
                _ => return,
            };
            let mut id = Id::default();
            event.record(&mut id);
            count_log_event(level, id.0);
        }
    }

    /// The field `event`.
    #[derive(Default)]
    struct Id(Option<String>);

    impl Visit for Id {
        fn record_str(&mut self, field: &Field, value: &str) {
            if field.name() == "event" {
                self.0 = Some(value.into());
            }
        }

        fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
    }
}

#[cfg(not(any(feature = "scion", feature = "rina")))]
mod counting {
    pub(super) fn layer() -> tracing_subscriber::layer::Identity {
        tracing_subscriber::layer::Identity::new()
    }
}

/// Libraries log warnings and errors only; the netlink library warns about every kernel newer than itself. The configuration has been
/// checked: every level in it is known.
fn filter(level: &str) -> Targets {
    let (libraries, own) = match level.to_ascii_lowercase().as_str() {
        "debug" => (LevelFilter::WARN, LevelFilter::DEBUG),
        "warn" => (LevelFilter::WARN, LevelFilter::WARN),
        "error" | "crit" | "dpanic" | "panic" | "fatal" => (LevelFilter::ERROR, LevelFilter::ERROR),
        _ => (LevelFilter::WARN, LevelFilter::INFO),
    };
    Targets::new()
        .with_default(libraries)
        .with_target("netlink_packet_route", LevelFilter::ERROR)
        .with_target("hopwright", own)
}

/// What `HOPWRIGHT_LOG` asks for.
fn from_environment() -> Option<Targets> {
    let text = std::env::var("HOPWRIGHT_LOG").ok().filter(|text| !text.is_empty())?;
    // There is no log yet.
    text.parse()
        .map_err(|error| eprintln!("hopwright: HOPWRIGHT_LOG={text}: {error}; expected a level, or TARGET=LEVEL,…"))
        .ok()
}

/// A level that changes while the process runs, over HTTP.
#[cfg(any(feature = "scion", feature = "rina"))]
mod changing {
    use std::sync::{Mutex, PoisonError};

    use hopwright_host::http::{Level, LogLevel};

    use super::{Logging, Registry, Targets, filter, reload};

    #[derive(Debug)]
    struct Changing {
        level: Mutex<Level>,
        filter: reload::Handle<Targets, Registry>,
    }

    impl Logging {
        /// The level, to be changed.
        pub(crate) fn changing(self) -> impl LogLevel + 'static {
            let level = Level::parse(&self.console.level).unwrap_or(Level::Info);
            Changing { level: Mutex::new(level), filter: self.filter }
        }
    }

    impl LogLevel for Changing {
        fn get(&self) -> Level {
            *self.level.lock().unwrap_or_else(PoisonError::into_inner)
        }

        fn set(&self, level: Level) {
            // Fails only without a subscriber.
            if self.filter.reload(filter(&level.to_string())).is_ok() {
                *self.level.lock().unwrap_or_else(PoisonError::into_inner) = level;
            }
        }
    }
}
