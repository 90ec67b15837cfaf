//! `router.toml`: the reference router's configuration file.
//!
//! Keys, defaults and checks are those of the reference (`router/config`, `private/env`, `pkg/log`). Keys it does not
//! know are reported, not refused. Does not live here: what stands in the files of `config_dir` ([`crate::topology`],
//! [`crate::keys`]).

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hopwright_dataplane::MAX_BATCH;
use hopwright_ports::PortChoice;
use serde::de::{Deserializer, Error as _, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

/// A sample file with every key, as `sample config` prints it.
pub const SAMPLE: &str = include_str!("sample_router.toml");

/// `router.toml`.
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
    /// `[hopwright]`
    pub hopwright: Hopwright,
    /// Keys in the file that have no meaning.
    #[serde(skip)]
    pub unknown_keys: Vec<String>,
}

/// `[hopwright]`: what the reference does not have. It refuses a file with this table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hopwright {
    /// How packets are received and sent: `auto`, `af_xdp` or `af_packet`.
    #[serde(deserialize_with = "port_choice", serialize_with = "port_choice_text")]
    pub ports: PortChoice,
    /// Microseconds the kernel polls an AF_XDP device when asked for packets; 0: it does not.
    pub busy_poll_us: u32,
    /// One worker for each of these CPUs, kept there; empty: one worker, anywhere.
    pub cpus: Vec<usize>,
    /// Microseconds a worker may rest between rounds so that packets come in batches; `None`: only where so many come that
    /// they wait less than they would without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest_us: Option<u32>,
    /// Packets a worker takes from a device at a time, at most: 1 to [`MAX_BATCH`].
    pub batch: usize,
    /// Who answers for punted packets.
    pub slow_path: SlowPathBy,
    /// With [`SlowPathBy::Tap`]: name of the network namespace of the TAP devices; empty: `general.id` and `-slow`.
    pub slow_path_netns: String,
    /// `[hopwright.scmp]`
    pub scmp: crate::scmp::Limit,
    /// `[hopwright.reload]`
    pub reload: crate::reload::Settings,
}

impl Default for Hopwright {
    fn default() -> Hopwright {
        Hopwright {
            ports: PortChoice::Auto,
            busy_poll_us: 0,
            cpus: Vec::new(),
            rest_us: None,
            batch: MAX_BATCH,
            slow_path: SlowPathBy::default(),
            slow_path_netns: String::new(),
            scmp: Default::default(),
            reload: Default::default(),
        }
    }
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
    /// No sessions, but for links that say otherwise.
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
    Field { file: PathBuf, field: &'static str, message: String },
}

impl Config {
    /// Name of the network namespace with the TAP devices, if another router has the slow path.
    pub fn slow_path_netns(&self) -> Option<String> {
        let named = &self.hopwright.slow_path_netns;
        let name = if named.is_empty() { format!("{}-slow", self.general.id) } else { named.clone() };
        (self.hopwright.slow_path == SlowPathBy::Tap).then_some(name)
    }

    /// Reads a configuration file and checks what it says.
    pub fn read(file: &Path) -> Result<Config, ConfigError> {
        let text =
            std::fs::read_to_string(file).map_err(|source| ConfigError::Read { file: file.to_path_buf(), source })?;
        Config::parse(file, &text)
    }

    /// Reads a configuration file and checks it. Unknown keys are logged as warnings.
    pub fn load(file: &Path) -> Result<Config, ConfigError> {
        let config = Config::read(file)?;
        for key in &config.unknown_keys {
            tracing::warn!(file = %file.display(), key, "unknown key in the configuration is ignored");
        }
        let dir = &config.general.config_dir;
        if !dir.as_os_str().is_empty() && !dir.is_dir() {
            let message = format!("{} is no directory", dir.display());
            return Err(ConfigError::Field { file: file.to_path_buf(), field: "general.config_dir", message });
        }
        Ok(config)
    }

    /// Reads and checks a configuration's text; `file` is for messages.
    pub fn parse(file: &Path, text: &str) -> Result<Config, ConfigError> {
        let config = Config::parse_unchecked(file, text)?;
        match config.problems(file).into_iter().next() {
            Some(problem) => Err(problem),
            None => Ok(config),
        }
    }

    /// Reads a configuration's text; what is wrong with single values, [`Config::problems`] says.
    pub fn parse_unchecked(file: &Path, text: &str) -> Result<Config, ConfigError> {
        let mut unknown_keys = Vec::new();
        let in_toml = |error: toml::de::Error| ConfigError::Toml {
            file: file.to_path_buf(),
            message: error.to_string().trim_end().to_string(),
        };
        let parsed = toml::Deserializer::parse(text).map_err(in_toml)?;
        let mut config: Config =
            serde_ignored::deserialize(parsed, |path| unknown_keys.push(path.to_string())).map_err(in_toml)?;
        config.unknown_keys = unknown_keys;
        config.default_zeros();
        Ok(config)
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
        let mut problem =
            |field, message| problems.push(ConfigError::Field { file: file.to_path_buf(), field, message });
        if self.general.id.is_empty() {
            problem("general.id", "missing: which border router of the topology is this?".into());
        }
        let level = self.log.console.level.to_ascii_lowercase();
        if !["debug", "info", "error", "warn", "crit"].contains(&level.as_str()) {
            problem("log.console.level", format!("`{level}` is none of debug, info, error"));
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

/// The reference's durations: a whole number and one unit, as in `200ms`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let bad = || format!("`{text}` is no duration: expected a number and ns, us, ms, s, m, h, d, w or y");
    let number: u64 = number.parse().map_err(|_| bad())?;
    let nanoseconds: u64 = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        "w" => 7 * 86_400_000_000_000,
        "y" => 365 * 86_400_000_000_000,
        _ => return Err(bad()),
    };
    number.checked_mul(nanoseconds).map(Duration::from_nanos).ok_or_else(|| format!("`{text}` is too long"))
}

/// For serde fields that hold a [`parse_duration`] text.
pub(crate) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    struct Text;
    impl Visitor<'_> for Text {
        type Value = Duration;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a duration such as \"200ms\"")
        }
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Duration, E> {
            parse_duration(text).map_err(E::custom)
        }
    }
    deserializer.deserialize_str(Text).map_err(D::Error::custom)
}

/// The longest unit that fits, as the reference writes it.
pub(crate) fn duration_text<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    let ns = duration.as_nanos();
    let units = [("y", 365 * 86_400), ("w", 7 * 86_400), ("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
    let long = units.map(|(name, seconds)| (name, seconds * 1_000_000_000));
    let short = [("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    let fits = long.iter().chain(&short).find(|(_, unit)| ns >= *unit && ns.is_multiple_of(*unit));
    let (name, unit) = fits.unwrap_or(&("s", 1_000_000_000));
    serializer.serialize_str(&format!("{}{name}", ns / unit))
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
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(Path::new("router.toml"), text)
    }

    #[test]
    fn the_sample_is_good_and_has_no_unknown_key() {
        let config = parse(SAMPLE).unwrap();
        assert_eq!(config.unknown_keys, Vec::<String>::new());
        assert_eq!(config.general.id, "router-1");
        assert_eq!(config.general.config_dir, Path::new("/etc/scion"));
        assert_eq!(config.router, Router { num_processors: 8, ..Router::default() });
        assert_eq!(config.log.console, Console::default());
    }

    #[test]
    fn everything_there_is() {
        let config = parse(
            r#"
            [general]
            id = "brA"
            [features]
            experimental_scmp_authentication = true
            [log.console]
            level = "debug"
            format = "json"
            [metrics]
            prometheus = "127.0.0.1:30442"
            [api]
            addr = "127.0.0.1:31142"
            [router]
            batch_size = 64
            dispatched_port_start = 1024
            dispatched_port_end = 65535
            [router.bfd]
            disable = true
            detect_mult = 5
            desired_min_tx_interval = "25ms"
            required_min_rx_interval = "1s"
            [hopwright]
            ports = "af_xdp"
            busy_poll_us = 20
            batch = 32
            "#,
        )
        .unwrap();
        assert!(config.features.experimental_scmp_authentication);
        assert_eq!(config.metrics.prometheus, "127.0.0.1:30442");
        assert_eq!(config.api.addr, "127.0.0.1:31142");
        assert_eq!(config.router.dispatched_port_end, Some(65535));
        let hopwright = &config.hopwright;
        assert_eq!((hopwright.ports, hopwright.busy_poll_us, hopwright.batch), (PortChoice::AfXdp, 20, 32));
        assert_eq!(
            config.router.bfd,
            Bfd {
                disable: true,
                detect_mult: 5,
                desired_min_tx_interval: Duration::from_millis(25),
                required_min_rx_interval: Duration::from_secs(1),
            }
        );
    }

    #[test]
    fn zero_means_the_default() {
        let config = parse("general.id = 'a'\nrouter.batch_size = 0\nrouter.bfd.detect_mult = 0").unwrap();
        assert_eq!(config.router, Router::default());
    }

    #[test]
    fn what_is_shown_is_what_was_read() {
        for text in [SAMPLE, "general.id = 'a'\nrouter.bfd.disable = true\nrouter.bfd.desired_min_tx_interval = '90s'"]
        {
            let config = parse(text).unwrap();
            let shown = toml::to_string(&config).unwrap();
            assert_eq!(parse(&shown).unwrap(), config, "{shown}");
        }
    }

    #[test]
    fn unknown_keys_are_reported() {
        let config = parse("general.id = 'a'\ngeneral.reconnect = true\n[router.turbo]\non = 1\n[tracing]\nx = 2");
        assert_eq!(config.unwrap().unknown_keys, ["general.reconnect", "router.turbo", "tracing"]);
    }

    #[test]
    fn errors_name_file_and_field() {
        for (text, wanted) in [
            ("", "general.id: missing"),
            ("general = 3", "line 1"),
            ("general.id = 'a'\nrouter.batch_size = 'many'", "line 2"),
            ("general.id = 'a'\nrouter.batch_size = -1", "router.batch_size: -1 is less than 1"),
            ("general.id = 'a'\nrouter.receive_buffer_size = -1", "router.receive_buffer_size"),
            ("general.id = 'a'\nrouter.num_slow_processors = -1", "router.num_slow_processors"),
            ("general.id = 'a'\nrouter.dispatched_port_start = 1", "router.dispatched_port_end: missing"),
            ("general.id = 'a'\nrouter.dispatched_port_end = 1", "router.dispatched_port_start: missing"),
            (
                "general.id = 'a'\n[router]\ndispatched_port_start = 2\ndispatched_port_end = 1",
                "router.dispatched_port_start: 2 is beyond",
            ),
            (
                "general.id = 'a'\n[router]\ndispatched_port_start = 2\ndispatched_port_end = 65536",
                "router.dispatched_port_end: 65536",
            ),
            ("general.id = 'a'\nrouter.bfd.desired_min_tx_interval = '5 parsecs'", "no duration"),
            ("general.id = 'a'\nrouter.bfd.detect_mult = 256", "line 2"),
            ("general.id = 'a'\nhopwright.ports = 'dpdk'", "`dpdk` is no kind of port"),
            ("general.id = 'a'\nhopwright.batch = 0", "hopwright.batch: 0 is not in 1 to 256"),
            ("general.id = 'a'\nhopwright.batch = 257", "hopwright.batch: 257 is not in 1 to 256"),
            ("general.id = 'a'\nhopwright.batch = -1", "line 2"),
            ("general.id = 'a'\nlog.console.level = 'loud'", "log.console.level"),
            ("[general\nid = 'a'", "line 1"),
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.starts_with("router.toml: ") && message.contains(wanted), "{text}: {message}");
        }
    }

    #[test]
    fn load_checks_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("router.toml");
        std::fs::write(&file, "[general]\nid = 'a'\nconfig_dir = '/nowhere/at/all'").unwrap();
        let message = Config::load(&file).unwrap_err().to_string();
        assert!(message.contains("general.config_dir: /nowhere/at/all is no directory"), "{message}");
        assert!(Config::load(&dir.path().join("absent.toml")).unwrap_err().to_string().contains("absent.toml"));
    }

    #[test]
    fn durations() {
        assert_eq!(parse_duration("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(parse_duration("3µs"), Ok(Duration::from_micros(3)));
        assert_eq!(parse_duration("1y"), Ok(Duration::from_secs(365 * 86_400)));
        for bad in ["", "ms", "1", "1.5s", "-1s", "1 s", "1s5ms", "99999999999999999999s", "9999999999y"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}
