//! `rina.toml`: the IPC processes of a router or host, their links, and where applications and people reach them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hopwright_dataplane::EgressQueues;
use hopwright_host::files;
use hopwright_ports::PortChoice;
use serde::Deserialize;

use crate::credential::{Credential, CredentialError};
use crate::dialect::Dialect;
use crate::efcp::Qos;
use crate::frames::{Protection, Shim};
use crate::ipcp::Settings;
use crate::name::Name;
use crate::pdu::Syntax;
use crate::program;

/// Longest `rina.toml`, in bytes.
const LONGEST: usize = 1 << 20;
/// IPC processes, and links of all together.
const MOST_IPCPS: usize = 64;
const MOST_LINKS: usize = 500;

/// A sample `rina.toml` with every key, as `hopwright rina sample config` prints it.
pub const SAMPLE: &str = include_str!("sample_rina.toml");

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum ConfigError {
    #[error("{}: {source}", file.display())]
    Read { file: PathBuf, source: std::io::Error },
    #[error("{}: {message}", file.display())]
    Syntax { file: PathBuf, message: String },
    #[error("{}: {problem}", file.display())]
    Problem { file: PathBuf, problem: String },
    #[error(transparent)]
    Credential(#[from] CredentialError),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    router: RouterTable,
    #[serde(default)]
    log: LogTable,
    #[serde(default)]
    metrics: MetricsTable,
    #[serde(default)]
    port: Vec<PortTable>,
    #[serde(default)]
    ipcp: Vec<IpcpTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RouterTable {
    ports: String,
    socket: PathBuf,
}

impl Default for RouterTable {
    fn default() -> RouterTable {
        RouterTable { ports: "auto".into(), socket: DEFAULT_SOCKET.into() }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LogTable {
    level: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct MetricsTable {
    address: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PortTable {
    device: String,
    rate_mbit: Option<f64>,
    #[serde(default)]
    packets: Option<usize>,
    mark_from: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IpcpTable {
    name: Name,
    dif: Name,
    address: Option<u16>,
    credential: Option<PathBuf>,
    #[serde(default)]
    dialect: DialectName,
    syntax: Option<Syntax>,
    #[serde(default = "keepalive")]
    keepalive_ms: u64,
    dead_after_ms: Option<u64>,
    link: Vec<LinkTable>,
    #[serde(default)]
    qos: Vec<QosTable>,
}

/// A DIF's dialect, as the file names it.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum DialectName {
    #[default]
    Hopwright,
    Rlite,
}

fn keepalive() -> u64 {
    200
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkTable {
    device: Option<String>,
    #[serde(default)]
    vlan: u16,
    #[serde(default = "one")]
    cost: u16,
    udp: Option<UdpTable>,
    dif: Option<Name>,
    to: Option<Name>,
    #[serde(default = "relay")]
    qos: String,
    #[serde(default)]
    ttl: bool,
    #[serde(default)]
    crc: bool,
}

fn relay() -> String {
    "unreliable".into()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UdpTable {
    local: SocketAddrV4,
    remote: SocketAddrV4,
    gateway: Option<Ipv4Addr>,
}

fn one() -> u16 {
    1
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QosTable {
    name: Name,
    id: u16,
    #[serde(default)]
    reliable: bool,
    window: Option<u32>,
    rate_mbit: Option<f64>,
    #[serde(default)]
    priority: u8,
}

/// Where applications find the IPC processes by default.
pub const DEFAULT_SOCKET: &str = "/run/hopwright/rina.sock";

/// A router or host.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file.
    pub file: PathBuf,
    /// How frames are received and sent.
    pub ports: PortChoice,
    /// Socket of applications.
    pub socket: PathBuf,
    /// `debug`, `info`, `warn` or `error`.
    pub log_level: String,
    /// Where metrics and status pages are served.
    pub metrics: Option<String>,
    /// Network devices; the index is the port number.
    pub devices: Vec<String>,
    /// Egress queues by device.
    pub queues: BTreeMap<String, EgressQueues>,
    /// Packets in a queue from which PDUs are marked, by device.
    pub mark_from: BTreeMap<String, u32>,
    /// The IPC processes.
    pub ipcps: Vec<IpcpConfig>,
}

/// An IPC process.
#[derive(Clone, Debug)]
pub struct IpcpConfig {
    /// What it is.
    pub settings: Settings,
    /// Its links.
    pub links: Vec<Link>,
    /// What protects the PDUs of each link.
    pub protections: Vec<Protection>,
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Link {
    /// A device, or a VLAN at a device (0: untagged).
    Ethernet(String, u16),
    /// Datagrams by a device, to a neighbour at this address of its network.
    Udp(String, Shim, Ipv4Addr),
    /// A flow of the DIF, to a neighbour, of a QoS cube.
    Flow(Name, Name, String),
}

impl Link {
    /// Its device.
    pub fn device(&self) -> Option<&str> {
        match self {
            Link::Ethernet(device, _) | Link::Udp(device, ..) => Some(device),
            Link::Flow(..) => None,
        }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Link::Ethernet(device, 0) => f.write_str(device),
            Link::Ethernet(device, vlan) => write!(f, "{device}.{vlan}"),
            Link::Udp(_, shim, _) => write!(f, "udp:{}", shim.remote),
            Link::Flow(dif, to, _) => write!(f, "{dif}:{to}"),
        }
    }
}

impl Config {
    /// Reads a file and the credentials that it names, relative to its folder.
    pub fn read(file: &Path) -> Result<Config, ConfigError> {
        let text = files::read_text(file, LONGEST).map_err(|source| ConfigError::Read { file: file.into(), source })?;
        Config::parse(file, &text)
    }

    /// Checks a file's text.
    pub fn parse(file: &Path, text: &str) -> Result<Config, ConfigError> {
        let table: File = toml::from_str(text)
            .map_err(|error| ConfigError::Syntax { file: file.into(), message: error.to_string() })?;
        let problem = |problem: String| ConfigError::Problem { file: file.into(), problem };
        let folder = file.parent().unwrap_or(Path::new("."));
        let ports = table.router.ports.parse().map_err(|e| problem(format!("router.ports: {e}")))?;
        let log_level = table.log.level.unwrap_or_else(|| "info".into());
        if hopwright_host::http::Level::parse(&log_level).is_none() {
            return Err(problem(format!("log.level: {log_level:?}: expected debug, info, warn or error")));
        }
        if table.ipcp.is_empty() || table.ipcp.len() > MOST_IPCPS {
            return Err(problem(format!("expected 1 to {MOST_IPCPS} tables [[ipcp]]")));
        }
        let mut devices: Vec<String> = Vec::new();
        let mut used: BTreeSet<Link> = BTreeSet::new();
        let mut ipcps = Vec::new();
        for ipcp in table.ipcp {
            let at = |what: String| problem(format!("[[ipcp]] {} in {}: {what}", ipcp.name, ipcp.dif));
            if ipcps.iter().any(|other: &IpcpConfig| other.settings.dif == ipcp.dif) {
                return Err(at("a router has one IPC process in a DIF".into()));
            }
            if ipcp.address == Some(0) || ipcp.address == Some(u16::MAX) {
                return Err(at("address: expected 1 to 65534".into()));
            }
            let keepalive = Duration::from_millis(ipcp.keepalive_ms);
            let dead_after = Duration::from_millis(ipcp.dead_after_ms.unwrap_or(3 * ipcp.keepalive_ms));
            if !(20..=60_000).contains(&ipcp.keepalive_ms) || dead_after < 2 * keepalive {
                return Err(at(
                    "expected keepalive_ms of 20 to 60000, and dead_after_ms of twice as much at least".into()
                ));
            }
            let credential = ipcp.credential.as_ref().map(|file| folder.join(file));
            let (dialect, syntax) = dialect(ipcp.dialect, ipcp.syntax, credential.as_deref())?.map_err(at)?;
            let (mut links, mut protections) = (Vec::new(), Vec::new());
            for link in &ipcp.link {
                let protection = Protection { ttl: link.ttl, crc: link.crc };
                if protection != Protection::default() && syntax != Syntax::Irati {
                    return Err(at(
                        "link: ttl and crc need syntax = \"irati\"; other syntaxes have their own protection".into(),
                    ));
                }
                protections.push(protection);
                if link.cost == 0 {
                    return Err(at("link: cost: expected 1 to 65535".into()));
                }
                let link = kind(link).map_err(at)?;
                if !used.insert(link.clone()) {
                    return Err(at(format!("link {link} is given twice")));
                }
                if matches!(link, Link::Udp(..)) && syntax != Syntax::Checksum {
                    return Err(at(format!("link {link}: links over UDP need syntax = \"checksum\"")));
                }
                if let Link::Flow(dif, to, qos) = &link {
                    let below = ipcps.iter().find(|other| other.settings.dif == *dif);
                    let Some(below) = below else {
                        return Err(at(format!("link {link}: no [[ipcp]] before it is in DIF {dif}")));
                    };
                    let cubes = below.settings.qos.iter();
                    let usable = |cube: &&Qos| !cube.reliable;
                    let names: Vec<&str> = cubes.clone().filter(usable).map(|cube| cube.name.as_str()).collect();
                    match cubes.clone().find(|cube| cube.name == *qos) {
                        Some(cube) if !cube.reliable => {}
                        known => {
                            let why = if known.is_some() {
                                "has retransmission, which the DIF above has itself"
                            } else {
                                "is not there"
                            };
                            let names = if names.is_empty() { "none without".into() } else { names.join(", ") };
                            return Err(at(format!(
                                "link {link}: the QoS cube {qos} of DIF {dif} {why}; it has {names}"
                            )));
                        }
                    }
                    let nested = below.links.iter().any(|link| matches!(link, Link::Flow(..)));
                    if nested || syntax != Syntax::Checksum || below.settings.syntax != Syntax::Checksum {
                        return Err(at(format!("link {link}: there are two levels of DIFs, with the syntax checksum")));
                    }
                    if *to == ipcp.name {
                        return Err(at(format!("link {link} leads to itself")));
                    }
                }
                if let Some(device) = link.device()
                    && !devices.iter().any(|other| other == device)
                {
                    devices.push(device.into());
                }
                links.push(link);
            }
            let qos = cubes(&ipcp.qos, syntax).map_err(at)?;
            let settings = Settings {
                name: ipcp.name,
                dif: ipcp.dif,
                address: ipcp.address,
                dialect,
                syntax,
                keepalive,
                dead_after,
                qos,
                links: ipcp.link.iter().map(|link| link.cost).collect(),
            };
            ipcps.push(IpcpConfig { settings, links, protections });
        }
        if used.len() > MOST_LINKS {
            return Err(problem(format!("expected {MOST_LINKS} links at most")));
        }
        let (mut queues, mut mark_from) = (BTreeMap::new(), BTreeMap::new());
        for port in table.port {
            let at = |what: &str| problem(format!("[[port]] {}: {what}", port.device));
            if !devices.contains(&port.device) {
                return Err(at("no link uses this device"));
            }
            if let Some(rate) = port.rate_mbit {
                let rate = bits(rate).ok_or_else(|| at("rate_mbit: expected 0.001 to 1000000"))?;
                let mut settings = EgressQueues::with_rate(rate);
                settings.packets = port.packets.unwrap_or(settings.packets);
                if !(1..=hopwright_dataplane::egress_queues::MOST_PACKETS).contains(&settings.packets) {
                    return Err(at("packets: expected 1 to 65536"));
                }
                queues.insert(port.device.clone(), settings);
            } else if port.packets.is_some() || port.mark_from.is_some() {
                return Err(at("packets and mark_from need rate_mbit: only ports with a rate have egress queues"));
            }
            if let Some(packets) = port.mark_from {
                mark_from.insert(port.device.clone(), packets.min((1 << 19) - 1));
            }
        }
        Ok(Config {
            file: file.into(),
            ports,
            socket: table.router.socket,
            log_level,
            metrics: table.metrics.address,
            devices,
            queues,
            mark_from,
            ipcps,
        })
    }

    /// The program that forwards: the border router if there are links over UDP or (N-1) flows.
    pub fn program(&self) -> program::Kind {
        let mut links = self.ipcps.iter().flat_map(|ipcp| &ipcp.links);
        match links.all(|link| matches!(link, Link::Ethernet(..))) {
            true => program::Kind::Interior,
            false => program::Kind::Border,
        }
    }

    /// What it is, in a line for each IPC process.
    pub fn summary(&self) -> Vec<String> {
        let line = |ipcp: &IpcpConfig| {
            let settings = &ipcp.settings;
            let address =
                settings.address.map_or("an address of the DIF's".into(), |address| format!("address {address}"));
            let (name, dif) = (&settings.name, &settings.dif);
            let links: Vec<String> = ipcp.links.iter().map(Link::to_string).collect();
            format!("{name} in DIF {dif}, {address}, links: {}", links.join(", "))
        };
        self.ipcps.iter().map(line).collect()
    }
}

/// A link of the file: Ethernet, UDP or an (N-1) flow.
fn kind(link: &LinkTable) -> Result<Link, String> {
    match (&link.device, &link.udp, &link.dif, &link.to) {
        (Some(device), None, None, None) if link.vlan <= 4094 => Ok(Link::Ethernet(device.clone(), link.vlan)),
        (Some(device), None, None, None) => Err(format!("link {device}: vlan: expected 1 to 4094, or 0 for untagged")),
        (Some(device), Some(udp), None, None) if link.vlan == 0 => {
            let shim = Shim { local: udp.local, remote: udp.remote };
            Ok(Link::Udp(device.clone(), shim, udp.gateway.unwrap_or(*udp.remote.ip())))
        }
        (None, None, Some(dif), Some(to)) if link.vlan == 0 => {
            Ok(Link::Flow(dif.clone(), to.clone(), link.qos.clone()))
        }
        _ => Err("link: expected `device` and perhaps `vlan`, `device` and `udp`, or `dif` and `to`".into()),
    }
}

fn bits(mbit: f64) -> Option<u64> {
    (0.001..=1_000_000.0).contains(&mbit).then_some((mbit * 1e6) as u64)
}

/// What a DIF's members say, and how its PDUs are written.
fn dialect(
    name: DialectName,
    syntax: Option<Syntax>,
    credential: Option<&Path>,
) -> Result<Result<(Dialect, Syntax), String>, CredentialError> {
    Ok(match (name, credential) {
        (DialectName::Hopwright, Some(file)) => {
            Ok((Dialect::Hopwright(Credential::read(file)?), syntax.unwrap_or_default()))
        }
        (DialectName::Hopwright, None) => Err("credential is missing".into()),
        (DialectName::Rlite, None) if syntax.is_none() => Ok((Dialect::Rlite, Syntax::Rlite)),
        (DialectName::Rlite, _) => Err("dialect = \"rlite\" has a syntax of its own, and no credential".into()),
    })
}

/// The cubes of a DIF: those given, or the default ones.
fn cubes(tables: &[QosTable], syntax: Syntax) -> Result<Vec<Qos>, String> {
    if tables.is_empty() {
        let cube = |id, name: &str, reliable, priority| Qos {
            id,
            name: name.into(),
            reliable,
            window: 512,
            rate: None,
            priority,
        };
        return Ok(vec![cube(1, "unreliable", false, 0), cube(2, "reliable", true, 0), cube(3, "urgent", true, 4)]);
    }
    let most = if syntax == Syntax::Checksum { 255 } else { u16::MAX };
    let mut cubes: Vec<Qos> = Vec::new();
    for table in tables {
        let at = |what: String| format!("qos {}: {what}", table.name);
        if cubes.iter().any(|cube| cube.id == table.id || cube.name == table.name.as_str()) {
            return Err(at("its name or id is given twice".into()));
        }
        if !(1..=most).contains(&table.id) {
            return Err(at(format!("id: expected 1 to {most}")));
        }
        if table.priority > 6 {
            return Err(at("priority: expected 0 to 6; 7 is layer management's".into()));
        }
        let window = table.window.unwrap_or(512);
        if !(2..=65_536).contains(&window) {
            return Err(at("window: expected 2 to 65536 PDUs".into()));
        }
        let rate = match table.rate_mbit {
            Some(rate) => Some(bits(rate).ok_or_else(|| at("rate_mbit: expected 0.001 to 1000000".into()))?),
            None => None,
        };
        cubes.push(Qos {
            id: table.id,
            name: table.name.to_string(),
            reliable: table.reliable,
            window,
            rate,
            priority: table.priority,
        });
    }
    Ok(cubes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("dc.key"), "0123456789abcdef\n").unwrap();
        Config::parse(&folder.path().join("rina.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_sample_is_right() {
        let config = parse(SAMPLE).unwrap();
        assert_eq!(config.ipcps.len(), 1);
        assert_eq!(config.ipcps[0].settings.qos.len(), 3);
        assert_eq!(config.queues["eth1"].rate, 100_000_000);
    }

    #[test]
    fn problems_are_named() {
        let ipcp = "[[ipcp]]\nname = \"a\"\ndif = \"d\"\ncredential = \"dc.key\"\n";
        let link = "[[ipcp.link]]\ndevice = \"eth0\"\n";
        let rlite = ipcp.replace("credential = \"dc.key\"", "dialect = \"rlite\"");
        let above = |qos| {
            let above = ipcp.replace("name = \"a\"", "name = \"b\"").replace("dif = \"d\"", "dif = \"e\"");
            format!("{above}[[ipcp.link]]\ndif = \"d\"\nto = \"c\"\nqos = \"{qos}\"\n")
        };
        for (text, wanted) in [
            (String::new(), "1 to 64 tables [[ipcp]]"),
            (format!("{ipcp}adress = 1\n{link}"), "unknown field `adress`"),
            (format!("{ipcp}adress = 1\n{link}"), "line 5"),
            (format!("{ipcp}address = 0\n{link}"), "expected 1 to 65534"),
            (format!("{ipcp}{link}{link}"), "given twice"),
            (format!("{ipcp}{link}vlan = 5000\n"), "vlan: expected 1 to 4094"),
            (format!("{ipcp}{link}{ipcp}{link}vlan = 1\n"), "one IPC process in a DIF"),
            (format!("{ipcp}{link}[[ipcp.qos]]\nname = \"q\"\nid = 256\n"), "id: expected 1 to 255"),
            (format!("{ipcp}{link}[[port]]\ndevice = \"eth1\"\n"), "no link uses this device"),
            (format!("{ipcp}{link}[[port]]\ndevice = \"eth0\"\nmark_from = 1\n"), "need rate_mbit"),
            (ipcp.replace("dc.key", "other.key") + link, "other.key"),
            (ipcp.replace("\"a\"", "\"a b\"") + link, "expected a name"),
            (format!("[router]\nports = \"fast\"\n{ipcp}{link}"), "router.ports"),
            (format!("{ipcp}{link}ttl = true\n"), "need syntax = \"irati\""),
            (
                format!(
                    "{ipcp}syntax = \"irati\"\n{link}udp = {{ local = \"192.0.2.1:1\", remote = \"192.0.2.2:1\" }}\n"
                ),
                "over UDP need",
            ),
            (format!("{ipcp}{link}{}", above("reliable")), "cube reliable of DIF d has retransmission"),
            (ipcp.replace("credential = \"dc.key\"\n", "") + link, "credential is missing"),
            (format!("{ipcp}dialect = \"irati\"\n{link}"), "expected `hopwright` or `rlite`"),
            (format!("{ipcp}dialect = \"rlite\"\n{link}"), "a syntax of its own, and no credential"),
            (format!("{rlite}syntax = \"irati\"\n{link}"), "a syntax of its own, and no credential"),
            (format!("{rlite}{link}crc = true\n"), "need syntax = \"irati\""),
            (
                format!(
                    "{rlite}[[ipcp.link]]\ndevice = \"e\"\nudp = {{ local = \"192.0.2.1:1\", remote = \"192.0.2.2:1\" }}\n"
                ),
                "over UDP need",
            ),
            (format!("{ipcp}{link}{}", above("gold")), "cube gold of DIF d is not there; it has unreliable"),
        ] {
            let error = parse(&text).map(|_| ()).unwrap_err();
            assert!(error.contains(wanted), "{wanted}: {error}");
        }
        assert_eq!(parse(&format!("{ipcp}{link}")).unwrap().ipcps[0].settings.qos.len(), 3);
        assert!(parse(&format!("{ipcp}{link}{}", above("unreliable"))).is_ok());
        let config = parse(&format!("{rlite}{link}")).unwrap();
        assert_eq!(
            (&config.ipcps[0].settings.dialect, config.ipcps[0].settings.syntax),
            (&Dialect::Rlite, Syntax::Rlite)
        );
        let config = parse(&format!("{ipcp}syntax = \"irati\"\n{link}ttl = true\ncrc = true\n")).unwrap();
        assert_eq!(config.ipcps[0].protections, [Protection { ttl: true, crc: true }]);
    }
}
