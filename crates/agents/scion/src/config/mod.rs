//! `router.toml`, the reference router's configuration file, and `hopwright.toml` beside it, with settings that the
//! reference would refuse.
//!
//! Keys, defaults and checks of `router.toml` are those of the reference (`router/config`, `private/env`, `pkg/log`).
//! Unknown keys are errors, unless the operator asks for leniency.

pub mod check;
mod durations;
pub mod keys;
pub mod layout;
pub mod links;
mod queues;
mod reload;
pub mod topology;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hopwright_dataplane::MAX_BATCH;
use hopwright_host::files;
use hopwright_ports::PortChoice;
use serde::de::{Deserializer, Error as _};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use crate::config::layout::Layout;
use crate::config::topology::Topology;
#[cfg(test)]
use durations::parse_duration;
pub(crate) use durations::{duration, duration_text};
pub use queues::Queues;
pub use reload::ReloadSettings;

/// Longest `router.toml` or `hopwright.toml`, in bytes.
const LONGEST_TOML: usize = 1 << 20;

/// A sample `router.toml` with every key, as `sample config` prints it.
pub const SAMPLE: &str = include_str!("sample_router.toml");

/// A sample `hopwright.toml` with every key, as `sample hopwright` prints it.
pub const HOPWRIGHT_SAMPLE: &str = include_str!("sample_hopwright.toml");

/// Name of the file with Hopwright's own settings, in the directory of `router.toml`.
pub const HOPWRIGHT_FILE: &str = "hopwright.toml";

/// Where Hopwright's own settings for a `router.toml` are.
pub fn hopwright_file(router_toml: &Path) -> PathBuf {
    router_toml.with_file_name(HOPWRIGHT_FILE)
}

/// `router.toml`, and `hopwright.toml` if there is one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// `[general]`
    pub general: General,
    /// `[features]`
    #[serde(skip_serializing_if = "is_default")]
    pub features: Features,
    /// `[log]`
    pub log: Log,
    /// `[metrics]`
    pub metrics: Metrics,
    /// `[api]`
    pub api: Api,
    /// `[router]`
    pub router: Router,
    /// `hopwright.toml`
    pub hopwright: Hopwright,
    /// Where [`Config::hopwright`] was read, if not from `router.toml`.
    #[serde(skip)]
    pub hopwright_file: Option<PathBuf>,
    /// Keys in the files that have no meaning.
    #[serde(skip)]
    pub unknown_keys: Vec<UnknownKey>,
    /// Settings are in a table `[hopwright]` of `router.toml`.
    #[serde(skip)]
    pub has_hopwright_table: bool,
    /// Unknown keys are warnings, not errors.
    #[serde(skip)]
    pub lenient: bool,
}

/// A key that has no meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// The file it is in.
    pub file: PathBuf,
    /// The key with the tables around it: `router.bfd.disabled`.
    pub key: String,
    /// What may have been meant.
    pub hint: Option<String>,
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: unknown key", self.file.display(), self.key)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

/// `hopwright.toml`: what the reference does not have. A table `[hopwright]` in `router.toml` is read as well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hopwright {
    /// How packets are received and sent: `auto`, `af_xdp` or `af_packet`.
    #[serde(deserialize_with = "port_choice", serialize_with = "port_choice_text")]
    pub ports: PortChoice,
    /// Microseconds that the kernel polls an AF_XDP device in a receive call; 0: it does not.
    pub busy_poll_us: u32,
    /// One worker for each of these CPUs, kept there; empty: one worker, anywhere.
    pub cpus: Vec<usize>,
    /// Microseconds a worker may rest between rounds so that packets come in batches; `None`: only where so many come that
    /// they wait less than they would without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest_us: Option<u32>,
    /// Packets a worker takes from a device at a time, at most: 1 to [`MAX_BATCH`].
    pub batch: usize,
    /// The pipes that the program runs in.
    pub layout: Layout,
    /// Path type Hummingbird, an experiment.
    pub hummingbird: bool,
    /// Packets to an address of the router must come by the device that has it.
    pub strict_arrival: bool,
    /// Which ports of hosts packets are delivered to.
    pub dispatched_ports: DispatchedPorts,
    /// The keys that SCMP messages are authenticated with.
    pub scmp_authentication: Authentication,
    /// Who answers for punted packets.
    pub slow_path: SlowPathBy,
    /// With [`SlowPathBy::Tap`]: name of the network namespace of the TAP devices; empty: `general.id` and `-slow`.
    pub slow_path_netns: String,
    /// `[scmp]`
    pub scmp: crate::scmp::limit::Limit,
    /// `[queues]`: egress queues of devices, by name.
    pub queues: BTreeMap<String, Queues>,
    /// `[reload]`
    pub reload: ReloadSettings,
}

impl Default for Hopwright {
    fn default() -> Hopwright {
        Hopwright {
            ports: PortChoice::Auto,
            busy_poll_us: 0,
            cpus: Vec::new(),
            rest_us: None,
            batch: MAX_BATCH,
            layout: Layout::default(),
            hummingbird: false,
            strict_arrival: false,
            dispatched_ports: DispatchedPorts::default(),
            scmp_authentication: Default::default(),
            slow_path: SlowPathBy::default(),
            slow_path_netns: String::new(),
            scmp: Default::default(),
            queues: BTreeMap::new(),
            reload: Default::default(),
        }
    }
}

/// Which ports of hosts packets are delivered to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DispatchedPorts {
    /// All of them, as the reference router does.
    #[default]
    Reference,
    /// Those of the AS's `dispatched_ports`; packets to others go to the dispatcher's port, 30041. The reference's design
    /// document says so, and its router compares the port with the range in a way that never holds.
    Specification,
}

/// The keys that SCMP messages are authenticated with: `scmp_authentication` of `hopwright.toml`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Authentication {
    /// Those of the reference router, all zero, with `features.experimental_scmp_authentication`; else there is no authentication.
    #[default]
    Reference,
    /// DRKeys, derived from the AS's master key.
    Drkey,
}

/// Who answers for punted packets, and runs BFD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlowPathBy {
    /// This router.
    #[default]
    Own,
    /// Another router, behind TAP devices.
    Tap,
}

/// `[general]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct General {
    /// Which border router of the topology this is.
    pub id: String,
    /// Where `topology.json` and `keys/` are; empty: the working directory.
    #[serde(skip_serializing_if = "no_path")]
    pub config_dir: PathBuf,
}

/// `[features]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Features {
    /// No meaning for a router.
    pub appropriate_digest_algorithm: bool,
    /// Authenticate SCMP messages with a dummy key.
    pub experimental_scmp_authentication: bool,
}

/// `[log]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Log {
    /// `[log.console]`
    pub console: Console,
}

/// `[log.console]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Console {
    /// `debug`, `info` or `error`.
    pub level: String,
    /// `human` or `json`.
    pub format: String,
    /// Accepted, without effect.
    pub stacktrace_level: String,
    /// Accepted, without effect.
    #[serde(skip_serializing_if = "is_default")]
    pub disable_caller: bool,
}

impl Default for Console {
    fn default() -> Console {
        Console { level: "info".into(), format: "human".into(), stacktrace_level: "none".into(), disable_caller: false }
    }
}

/// `[metrics]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metrics {
    /// Address of the metrics endpoint; empty: none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prometheus: String,
}

/// `[api]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Api {
    /// Address of the management API; empty: none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub addr: String,
}

/// `[router]`. Buffer sizes and processor counts are the reference's; a data plane that needs none ignores them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Router {
    /// Bytes; 0: the system's default.
    #[serde(skip_serializing_if = "is_default")]
    pub receive_buffer_size: i64,
    /// Bytes; 0: the system's default.
    #[serde(skip_serializing_if = "is_default")]
    pub send_buffer_size: i64,
    /// 0: as many as fit the machine.
    #[serde(skip_serializing_if = "is_default")]
    pub num_processors: i64,
    /// At least 1; 0: the default of 1.
    pub num_slow_processors: i64,
    /// At least 1; 0: the default of 256.
    pub batch_size: i64,
    /// `[router.bfd]`
    pub bfd: Bfd,
    /// Overrides the topology's `dispatched_ports`, together with the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispatched_port_start: Option<i64>,
    /// Last port of the range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispatched_port_end: Option<i64>,
}

impl Default for Router {
    fn default() -> Router {
        Router {
            receive_buffer_size: 0,
            send_buffer_size: 0,
            num_processors: 0,
            num_slow_processors: 1,
            batch_size: 256,
            bfd: Bfd::default(),
            dispatched_port_start: None,
            dispatched_port_end: None,
        }
    }
}

/// `[router.bfd]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bfd {
    /// No sessions, except for links whose own settings enable them.
    #[serde(skip_serializing_if = "is_default")]
    pub disable: bool,
    /// Lost packets after which a link is down.
    pub detect_mult: u8,
    /// How often to send.
    #[serde(deserialize_with = "duration", serialize_with = "duration_text")]
    pub desired_min_tx_interval: Duration,
    /// How often to receive.
    #[serde(deserialize_with = "duration", serialize_with = "duration_text")]
    pub required_min_rx_interval: Duration,
}

impl Default for Bfd {
    fn default() -> Bfd {
        Bfd {
            disable: false,
            detect_mult: 3,
            desired_min_tx_interval: Duration::from_millis(200),
            required_min_rx_interval: Duration::from_millis(200),
        }
    }
}

/// Why a configuration is of no use.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum ConfigError {
    #[error("{}: {source}", file.display())]
    Read { file: PathBuf, source: std::io::Error },
    #[error("{}: {message}", file.display())]
    Toml { file: PathBuf, message: String },
    #[error("{}: {field}: {message}", file.display())]
    Field { file: PathBuf, field: String, message: String },
    #[error("{0}")]
    UnknownKey(UnknownKey),
    #[error("{}: settings are in a table [hopwright] of {}, too: move them here and remove the table",
        hopwright_toml.display(), router_toml.display())]
    Both { hopwright_toml: PathBuf, router_toml: PathBuf },
}

impl Config {
    /// Name of the network namespace with the TAP devices, if another router has the slow path.
    pub fn slow_path_netns(&self) -> Option<String> {
        let named = &self.hopwright.slow_path_netns;
        let name = if named.is_empty() { format!("{}-slow", self.general.id) } else { named.clone() };
        (self.hopwright.slow_path == SlowPathBy::Tap).then_some(name)
    }

    /// The ports of hosts that packets are delivered to, if not all. A range that `router.toml` has replaces that of the
    /// topology. Without one the range is empty.
    pub fn dispatched_ports(&self, topology: &Topology) -> Option<RangeInclusive<u16>> {
        if self.hopwright.dispatched_ports == DispatchedPorts::Reference {
            return None;
        }
        let port = |port: Option<i64>| port.and_then(|port| u16::try_from(port).ok());
        let own = port(self.router.dispatched_port_start).zip(port(self.router.dispatched_port_end));
        let (first, last) = own.or(topology.dispatched_ports).unwrap_or((1, 0));
        Some(first..=last)
    }

    /// What becomes of packets to hosts, by their ports; one line.
    pub fn describe_dispatched_ports(&self, topology: &Topology) -> String {
        match self.dispatched_ports(topology) {
            None => "hosts: every port is delivered to, as by the reference (dispatched_ports = \"reference\")".into(),
            Some(ports) if ports.is_empty() => {
                "hosts: packets to all ports go to 30041: the AS has no dispatched_ports".into()
            }
            Some(ports) => {
                format!(
                    "hosts: ports {} to {} are delivered to; packets to others go to 30041",
                    ports.start(),
                    ports.end()
                )
            }
        }
    }

    /// Reads `router.toml`, and `hopwright.toml` beside it if there is one, and checks what they say. Unknown keys are
    /// collected, not refused.
    pub fn read(file: &Path) -> Result<Config, ConfigError> {
        Config::read_unchecked(file)?.checked(file)
    }

    /// As [`Config::read`]; what is wrong with single values, [`Config::problems`] says.
    pub fn read_unchecked(file: &Path) -> Result<Config, ConfigError> {
        let error = |file: &Path, source| ConfigError::Read { file: file.to_path_buf(), source };
        let text = files::read_text(file, LONGEST_TOML).map_err(|source| error(file, source))?;
        let mut config = Config::parse_unchecked(file, &text)?;
        let beside = hopwright_file(file);
        match files::read_text(&beside, LONGEST_TOML) {
            Ok(_) if config.has_hopwright_table => {
                Err(ConfigError::Both { hopwright_toml: beside, router_toml: file.to_path_buf() })
            }
            Ok(text) => {
                config.add_hopwright(&beside, &text)?;
                Ok(config)
            }
            Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(config),
            Err(source) => Err(error(&beside, source)),
        }
    }

    /// Reads the configuration files and checks them. Unknown keys are errors, or with `lenient` warnings in the log.
    pub fn load(file: &Path, lenient: bool) -> Result<Config, ConfigError> {
        let mut config = Config::read(file)?;
        config.lenient = lenient;
        if let (Some(key), false) = (config.unknown_keys.first(), lenient) {
            return Err(ConfigError::UnknownKey(key.clone()));
        }
        for warning in config.warnings(file) {
            tracing::warn!(event = "config-warning", "{warning}");
        }
        let dir = &config.general.config_dir;
        if !dir.as_os_str().is_empty() && !dir.is_dir() {
            let message = format!("{} is no directory", dir.display());
            let field = "general.config_dir".into();
            return Err(ConfigError::Field { file: file.to_path_buf(), field, message });
        }
        Ok(config)
    }

    /// What works and should be changed all the same.
    pub fn warnings(&self, file: &Path) -> Vec<String> {
        let unknown = self.unknown_keys.iter().filter(|_| self.lenient).map(|key| format!("{key} (ignored)"));
        let table = self.has_hopwright_table.then(|| {
            format!(
                "{}: [hopwright]: the reference router refuses a file with this table; move its keys to {}, without \
                 `hopwright` in front",
                file.display(),
                hopwright_file(file).display()
            )
        });
        unknown.chain(table).collect()
    }

    /// Reads and checks the text of a `router.toml`; `file` is for messages.
    pub fn parse(file: &Path, text: &str) -> Result<Config, ConfigError> {
        Config::parse_unchecked(file, text)?.checked(file)
    }

    fn checked(self, file: &Path) -> Result<Config, ConfigError> {
        match self.problems(file).into_iter().next() {
            Some(problem) => Err(problem),
            None => Ok(self),
        }
    }

    /// Reads the text of a `router.toml`; what is wrong with single values, [`Config::problems`] says.
    pub fn parse_unchecked(file: &Path, text: &str) -> Result<Config, ConfigError> {
        let (mut config, mut unknown_keys) = from_toml::<Config>(file, text)?;
        let tables: toml::Table = text.parse().map_err(|error| in_toml(file, error))?;
        // The reference reads keys in any case.
        if unknown_keys.iter().any(|key| key.bytes().any(|b| b.is_ascii_uppercase())) {
            (config, unknown_keys) = from_toml::<Config>(file, &lower_case(tables.clone()).to_string())?;
        }
        config.has_hopwright_table = tables.contains_key("hopwright");
        config.unknown_keys = unknown_keys.into_iter().map(|key| unknown_key(file, key, SAMPLE)).collect();
        config.default_zeros();
        Ok(config)
    }

    /// Adds the settings of a `hopwright.toml`; `file` is for messages.
    pub fn add_hopwright(&mut self, file: &Path, text: &str) -> Result<(), ConfigError> {
        let (hopwright, unknown_keys) = from_toml::<Hopwright>(file, text)?;
        self.hopwright = hopwright;
        self.hopwright_file = Some(file.to_path_buf());
        self.unknown_keys.extend(unknown_keys.into_iter().map(|key| unknown_key(file, key, HOPWRIGHT_SAMPLE)));
        Ok(())
    }

    /// A zero or an empty text means the default, as for the reference.
    fn default_zeros(&mut self) {
        let default = Config::default();
        fn zero<T: PartialEq + Default>(value: &mut T, default: T) {
            if *value == T::default() {
                *value = default;
            }
        }
        zero(&mut self.log.console.level, default.log.console.level);
        zero(&mut self.log.console.format, default.log.console.format);
        zero(&mut self.log.console.stacktrace_level, default.log.console.stacktrace_level);
        zero(&mut self.router.num_slow_processors, default.router.num_slow_processors);
        zero(&mut self.router.batch_size, default.router.batch_size);
        let (bfd, default) = (&mut self.router.bfd, default.router.bfd);
        zero(&mut bfd.detect_mult, default.detect_mult);
        zero(&mut bfd.desired_min_tx_interval, default.desired_min_tx_interval);
        zero(&mut bfd.required_min_rx_interval, default.required_min_rx_interval);
    }

    /// Every value that makes no sense.
    pub fn problems(&self, file: &Path) -> Vec<ConfigError> {
        let mut problems = Vec::new();
        let mut problem = |field: &str, message| {
            let (file, field) = match (field.strip_prefix("hopwright."), &self.hopwright_file) {
                (Some(own), Some(hopwright_file)) => (hopwright_file.as_path(), own),
                _ => (file, field),
            };
            problems.push(ConfigError::Field { file: file.to_path_buf(), field: field.into(), message });
        };
        if self.general.id.is_empty() {
            problem("general.id", "missing: which border router of the topology is this?".into());
        }
        let console = &self.log.console;
        let levels = ["debug", "info", "warn", "error", "dpanic", "panic", "fatal"];
        for (field, level, none) in [
            ("log.console.level", &console.level, None),
            ("log.console.stacktrace_level", &console.stacktrace_level, Some("none")),
        ] {
            if !levels.iter().chain(&none).any(|known| known.eq_ignore_ascii_case(level)) {
                problem(field, format!("`{level}` is none of debug, info, error"));
            }
        }
        let router = &self.router;
        for (field, value, least) in [
            ("router.receive_buffer_size", router.receive_buffer_size, 0),
            ("router.send_buffer_size", router.send_buffer_size, 0),
            ("router.num_processors", router.num_processors, 0),
            ("router.num_slow_processors", router.num_slow_processors, 1),
            ("router.batch_size", router.batch_size, 1),
        ] {
            if value < least {
                problem(field, format!("{value} is less than {least}"));
            }
        }
        if !(1..=MAX_BATCH).contains(&self.hopwright.batch) {
            problem("hopwright.batch", format!("{} is not in 1 to {MAX_BATCH}", self.hopwright.batch));
        }
        if self.hopwright.dispatched_ports != DispatchedPorts::Reference && self.hopwright.layout != Layout::Plain {
            problem("hopwright.dispatched_ports", format!("not with layout {}", self.hopwright.layout));
        }
        if self.hopwright.scmp_authentication == Authentication::Drkey && self.hopwright.slow_path == SlowPathBy::Tap {
            problem("hopwright.scmp_authentication", "not with slow_path \"tap\": the reference router answers".into());
        }
        if self.hopwright.hummingbird && self.hopwright.layout != Layout::Plain {
            problem("hopwright.hummingbird", format!("not with layout {}", self.hopwright.layout));
        }
        for (device, queues) in &self.hopwright.queues {
            if let Some(wrong) = queues.problem() {
                problem("hopwright.queues", format!("{device}: {wrong}"));
            }
        }
        let ports = 0..=i64::from(u16::MAX);
        let name = self.slow_path_netns().unwrap_or_default();
        if name.starts_with('.') || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
            problem("hopwright.slow_path_netns", format!("`{name}` is no plain name for a network namespace"));
        }
        match (router.dispatched_port_start, router.dispatched_port_end) {
            (None, None) => {}
            (Some(start), Some(end)) => {
                if !ports.contains(&start) {
                    problem("router.dispatched_port_start", format!("{start} is no port"));
                } else if !ports.contains(&end) {
                    problem("router.dispatched_port_end", format!("{end} is no port"));
                } else if start > end {
                    problem("router.dispatched_port_start", format!("{start} is beyond the range's end, {end}"));
                }
            }
            (Some(_), None) => {
                problem("router.dispatched_port_end", "missing: the range has a start only".into());
            }
            (None, Some(_)) => {
                problem("router.dispatched_port_start", "missing: the range has an end only".into());
            }
        }
        problems
    }
}

fn in_toml(file: &Path, error: toml::de::Error) -> ConfigError {
    ConfigError::Toml { file: file.to_path_buf(), message: error.to_string().trim_end().to_string() }
}

/// A table with its keys in lower case. Where two are the same then, one of them stays.
fn lower_case(table: toml::Table) -> toml::Table {
    let lower = |(key, value): (String, toml::Value)| match value {
        toml::Value::Table(inner) => (key.to_ascii_lowercase(), lower_case(inner).into()),
        other => (key.to_ascii_lowercase(), other),
    };
    table.into_iter().map(lower).collect()
}

/// A TOML text as a `T`, and the keys that `T` does not have.
fn from_toml<T: serde::de::DeserializeOwned>(file: &Path, text: &str) -> Result<(T, Vec<String>), ConfigError> {
    let mut unknown_keys = Vec::new();
    let parsed = toml::Deserializer::parse(text).map_err(|error| in_toml(file, error))?;
    let value = serde_ignored::deserialize(parsed, |path| unknown_keys.push(path.to_string()));
    Ok((value.map_err(|error| in_toml(file, error))?, unknown_keys))
}

/// An unknown key with a hint; `sample` is the sample of the file it is in.
fn unknown_key(file: &Path, key: String, sample: &str) -> UnknownKey {
    let in_router_toml = sample == SAMPLE;
    let name = |key: &str| key.rsplit('.').next().unwrap_or_default().to_string();
    let known = sample_keys(sample);
    let distance = |known: &String| {
        let plain = |key: &str| key.to_lowercase().replace('-', "_");
        let between = |a: &str, b: &str| strsim::damerau_levenshtein(&plain(a), &plain(b));
        // The name may be in the wrong table.
        between(&key, known).min(1 + between(&name(&key), &name(known)))
    };
    let closest = known.iter().map(|known| (distance(known), known)).min();
    let own = sample_keys(HOPWRIGHT_SAMPLE).into_iter().find(|own| name(own) == name(&key));
    let hint = match (closest, own) {
        (Some((distance, known)), _) if distance <= 3.min(key.len() / 3) => Some(format!("did you mean `{known}`?")),
        (_, Some(own)) if in_router_toml => Some(format!("`{own}` belongs in {HOPWRIGHT_FILE} beside this file")),
        _ if !in_router_toml && key.starts_with("hopwright") => {
            Some(format!("the keys of {HOPWRIGHT_FILE} have no `hopwright` in front"))
        }
        _ => None,
    };
    UnknownKey { file: file.to_path_buf(), key, hint }
}

/// Every key and table of a sample file, those that are commented out included.
fn sample_keys(sample: &str) -> Vec<String> {
    fn add(table: &toml::Table, front: &str, keys: &mut Vec<String>) {
        for (key, value) in table {
            let key = format!("{front}{key}");
            if let toml::Value::Table(inner) = value {
                add(inner, &format!("{key}."), keys);
            }
            keys.push(key);
        }
    }
    let mut keys = Vec::new();
    // The samples are part of this crate and tested.
    add(&uncommented(sample).parse().unwrap_or_default(), "", &mut keys);
    keys
}

/// A sample with the keys that are commented out.
fn uncommented(sample: &str) -> String {
    let mut text = String::new();
    for line in sample.lines() {
        let setting = line.trim_start().strip_prefix("# ").filter(|rest| {
            let key = rest.split(" = ").next().unwrap_or_default();
            key.len() < rest.len() && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
        });
        text.push_str(setting.unwrap_or(line));
        text.push('\n');
    }
    text
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn no_path(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

fn port_choice_text<S: Serializer>(choice: &PortChoice, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(choice)
}

fn port_choice<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PortChoice, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

#[cfg(test)]
mod tests;
