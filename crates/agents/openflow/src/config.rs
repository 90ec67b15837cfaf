//! Configuration.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;

use crate::codec::Version;

/// The port that OpenFlow is registered for at IANA.
const PORT: u16 = 6653;

/// An agent's configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Controllers that the switch connects to: `tcp:ADDRESS[:PORT]` or `ssl:HOST[:PORT]`.
    pub controllers: Vec<Target>,
    /// Where the switch waits for controllers: `ptcp:[PORT][:ADDRESS]` or `pssl:…`.
    pub listen: Vec<Listen>,
    /// Versions that the switch speaks.
    pub versions: Vec<Version>,
    /// The switch's number; by default it is made of the Ethernet address of its first port.
    pub datapath_id: Option<u64>,
    /// What the switch does while it has no controller.
    pub fail_mode: FailMode,
    /// Seconds of silence after which a controller is probed, and after as many more given up.
    pub probe_interval: u16,
    /// Longest time between two attempts to connect, in seconds.
    pub max_backoff: u16,
    /// Keys and certificates, for `ssl` and `pssl`.
    pub tls: Option<Tls>,
    /// Ports with egress queues. Controllers that ask for queues get those of these ports.
    pub queued_ports: BTreeSet<u32>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            controllers: Vec::new(),
            listen: Vec::new(),
            versions: vec![Version::V10, Version::V13],
            datapath_id: None,
            fail_mode: FailMode::default(),
            probe_interval: 5,
            max_backoff: 8,
            tls: None,
            queued_ports: BTreeSet::new(),
        }
    }
}

impl Config {
    pub(crate) fn probe_after(&self) -> Duration {
        Duration::from_secs(self.probe_interval.max(1).into())
    }

    /// What is wrong with it.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.controllers.is_empty() && self.listen.is_empty() {
            return Err("there is neither a controller to connect to nor an address to listen on".into());
        }
        if self.versions.is_empty() {
            return Err("there is no version".into());
        }
        let encrypted = self.controllers.iter().any(|c| c.encrypted) || self.listen.iter().any(|l| l.encrypted);
        if encrypted && self.tls.is_none() {
            return Err("`ssl` and `pssl` need `tls`: a certificate, its private key, and the controllers' CA".into());
        }
        Ok(())
    }
}

/// What a switch does without controllers (1.0, section 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailMode {
    /// Its flows stay and time out as they would. Packets that no flow matches are dropped.
    #[default]
    Secure,
    /// It forgets its flows and learns addresses.
    Standalone,
}

/// Files in PEM format.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The switch's certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub private_key: PathBuf,
    /// Certificate authorities that controllers' certificates are of.
    pub ca: PathBuf,
}

/// A controller to connect to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Target {
    pub(crate) encrypted: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Listen {
    pub(crate) encrypted: bool,
    pub(crate) address: SocketAddr,
}

fn scheme<'a>(text: &'a str, plain: &str, encrypted: &str) -> Option<(bool, &'a str)> {
    let (scheme, rest) = text.split_once(':')?;
    (scheme == plain || scheme == encrypted).then_some((scheme == encrypted, rest))
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let wrong = || format!("`{text}` is no controller: expected tcp:ADDRESS[:PORT] or ssl:HOST[:PORT]");
        let (encrypted, rest) = scheme(text, "tcp", "ssl").ok_or_else(wrong)?;
        // An IPv6 address with a port stands in brackets.
        let (host, port) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None if rest.matches(':').count() > 1 => (rest, None),
            None => rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map_or(Ok(PORT), str::parse).map_err(|_| wrong())?;
        if host.is_empty() {
            return Err(wrong());
        }
        Ok(Target { encrypted, host: host.into(), port })
    }
}

impl TryFrom<String> for Target {
    type Error = String;

    fn try_from(text: String) -> Result<Target, String> {
        text.parse()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", if self.encrypted { "ssl" } else { "tcp" }, self.host, self.port)
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Listen, String> {
        let wrong = || format!("`{text}` is no address to listen on: expected ptcp:[PORT][:ADDRESS] or pssl:…");
        let (encrypted, rest) = scheme(text, "ptcp", "pssl").ok_or_else(wrong)?;
        let (port, address) = rest.split_once(':').map_or((rest, None), |(port, address)| (port, Some(address)));
        let port = if port.is_empty() { PORT } else { port.parse().map_err(|_| wrong())? };
        let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let bare = |address: &str| address.trim_start_matches('[').trim_end_matches(']').parse();
        let address = address.map_or(Ok(local), bare).map_err(|_| wrong())?;
        Ok(Listen { encrypted, address: SocketAddr::new(address, port) })
    }
}

impl TryFrom<String> for Listen {
    type Error = String;

    fn try_from(text: String) -> Result<Listen, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_have_an_address_and_a_port() {
        let target = |encrypted, host: &str, port| Ok(Target { encrypted, host: host.into(), port });
        assert_eq!("tcp:10.0.0.1".parse(), target(false, "10.0.0.1", 6653));
        assert_eq!("ssl:controller.example:1".parse(), target(true, "controller.example", 1));
        assert_eq!("tcp:[::1]:6633".parse(), target(false, "::1", 6633));
        assert_eq!("tcp:::1".parse(), target(false, "::1", 6653));
        for wrong in ["", "tcp", "tcp:", "udp:1.2.3.4", "tcp:1.2.3.4:x", "tcp:1.2.3.4:70000"] {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
        assert_eq!("ptcp:".parse::<Listen>().unwrap().address.to_string(), "127.0.0.1:6653");
        assert_eq!("ptcp:7:[::]".parse::<Listen>().unwrap().address.to_string(), "[::]:7");
        assert!("ptcp:x".parse::<Listen>().is_err());
    }
}
