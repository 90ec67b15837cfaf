//! `rina.toml`: the IPC processes of a router or host, their links, and where applications and people reach them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};

use hopwright_dataplane::EgressQueues;
use hopwright_host::files;
use hopwright_ports::PortChoice;
use serde::Deserialize;

use crate::credential::CredentialError;
use crate::efcp::Qos;
use crate::frames::{Protection, Shim};
use crate::identity::IdentityError;
use crate::ipcp::Settings;
use crate::name::Name;
use crate::pdu::Syntax;
use crate::program;

mod ipcp;
mod switch;

pub use switch::{SwitchConfig, SwitchPort};

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
    #[error(transparent)]
    Identity(#[from] IdentityError),
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
    switch: Option<switch::SwitchTable>,
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
    number: Option<u32>,
    mac: Option<String>,
    mtu: Option<u16>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IpcpTable {
    name: Name,
    dif: Name,
    address: Option<u16>,
    credential: Option<PathBuf>,
    authority: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    revoked: Option<PathBuf>,
    #[serde(default)]
    dialect: DialectName,
    syntax: Option<Syntax>,
    routing: Option<String>,
    #[serde(default)]
    encryption: bool,
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
    Irati,
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
    congestion: Option<String>,
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
    /// Network devices; the index is the port number. Of a switch elsewhere names, whose numbers it has.
    pub devices: Vec<String>,
    /// The switch elsewhere that forwards; this machine does if there is none.
    pub switch: Option<SwitchConfig>,
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
        let mut ipcps: Vec<IpcpConfig> = Vec::new();
        for ipcp in table.ipcp {
            let at = |what: String| problem(format!("[[ipcp]] {} in {}: {what}", ipcp.name, ipcp.dif));
            let config = ipcp::read(&ipcp, folder, &ipcps, &at)?;
            for link in &config.links {
                if !used.insert(link.clone()) {
                    return Err(at(format!("link {link} is given twice")));
                }
                if let Some(device) = link.device()
                    && !devices.iter().any(|other| other == device)
                {
                    devices.push(device.into());
                }
            }
            ipcps.push(config);
        }
        if used.len() > MOST_LINKS {
            return Err(problem(format!("expected {MOST_LINKS} links at most")));
        }
        let other_syntax = ipcps.iter().any(|ipcp| ipcp.settings.syntax != Syntax::Checksum);
        if other_syntax && used.iter().any(|link| matches!(link, Link::Udp(..))) {
            return Err(problem("links over UDP need syntax = \"checksum\" at all IPC processes of the system".into()));
        }
        ipcp::set_mtus(&mut ipcps, is_carried_by_program).map_err(problem)?;
        // For as long as neighbours do not notice a restart.
        let hold = ipcps.iter().map(|ipcp| ipcp.settings.dead_after).max().unwrap_or_default();
        let switch = switch::read(table.switch, &table.port, &devices, folder, hold).map_err(problem)?;
        if switch.is_some() && used.iter().any(|link| matches!(link, Link::Udp(..))) {
            return Err(problem("switch: links over UDP need this machine's kernel, which finds the neighbour".into()));
        }
        let (mut queues, mut mark_from) = (BTreeMap::new(), BTreeMap::new());
        for port in table.port {
            let at = |what: &str| problem(format!("[[port]] {}: {what}", port.device));
            if !devices.contains(&port.device) {
                return Err(at("no link uses this device"));
            }
            if switch.is_some() && (port.rate_mbit.is_some() || port.packets.is_some()) {
                return Err(at("rate_mbit and packets: the [switch] has the egress queues"));
            }
            if let Some(rate) = port.rate_mbit {
                let rate = bits(rate).ok_or_else(|| at("rate_mbit: expected 0.001 to 1000000"))?;
                let mut settings = EgressQueues::with_rate(rate);
                settings.packets = port.packets.unwrap_or(settings.packets);
                if !(1..=hopwright_dataplane::egress_queues::MOST_PACKETS).contains(&settings.packets) {
                    return Err(at("packets: expected 1 to 65536"));
                }
                queues.insert(port.device.clone(), settings);
            } else if switch.is_none() && (port.packets.is_some() || port.mark_from.is_some()) {
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
            switch,
            queues,
            mark_from,
            ipcps,
        })
    }

    /// The program that forwards: the border router if there are links over UDP or (N-1) flows that it can carry.
    pub fn program(&self) -> program::Kind {
        let mut links =
            self.ipcps.iter().enumerate().flat_map(|(at, ipcp)| ipcp.links.iter().map(move |link| (at, link)));
        let is_border = |(at, link): (usize, &Link)| match link {
            Link::Ethernet(..) => false,
            Link::Udp(..) => true,
            Link::Flow(..) => self.is_carried_by_program(at, link),
        };
        match links.any(is_border) {
            true => program::Kind::Border,
            false => program::Kind::Interior,
        }
    }

    /// Whether the program can carry an IPC process's link that is a flow.
    pub fn is_carried_by_program(&self, at: usize, link: &Link) -> bool {
        is_carried_by_program(&self.ipcps, at, link)
    }

    /// The port number of a device.
    pub fn port(&self, device: &str) -> Option<u32> {
        match &self.switch {
            Some(switch) => switch.ports.get(device).map(|port| port.number),
            None => self.devices.iter().position(|other| other == device).map(|at| at as u32),
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

    /// The policies of each IPC process, for people: of routing, and of congestion control for each QoS cube that retransmits.
    pub fn policies(&self) -> Vec<String> {
        let cube = |cube: &Qos| match cube.reliable {
            true => format!("{} ({})", cube.name, cube.congestion.name()),
            false => cube.name.clone(),
        };
        let line = |ipcp: &IpcpConfig| {
            let settings = &ipcp.settings;
            let cubes: Vec<String> = settings.qos.iter().map(cube).collect();
            format!("policies: routing {}, QoS cubes {}", settings.routing.name(), cubes.join(", "))
        };
        self.ipcps.iter().map(line).collect()
    }
}

/// Whether the program can carry a link that is a flow: over one level, without encryption, in the syntax checksum. It parses no other one then.
fn is_carried_by_program(ipcps: &[IpcpConfig], at: usize, link: &Link) -> bool {
    let Link::Flow(dif, ..) = link else { return false };
    let below = ipcps[..at].iter().find(|other| other.settings.dif == *dif);
    let nested = |ipcp: &IpcpConfig| ipcp.links.iter().any(|link| matches!(link, Link::Flow(..)));
    below.is_some_and(|below| !nested(below) && !below.settings.encryption)
        && ipcps.iter().all(|ipcp| ipcp.settings.syntax == Syntax::Checksum)
}

fn bits(mbit: f64) -> Option<u64> {
    (0.001..=1_000_000.0).contains(&mbit).then_some((mbit * 1e6) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;

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

    /// DIFs over each other, the first one over Ethernet, with more lines for some.
    fn tower(levels: usize, more: impl Fn(usize) -> &'static str) -> String {
        let level = |at: usize| {
            let link = match at {
                0 => "device = \"eth0\"".into(),
                _ => format!("dif = \"d{}\"\nto = \"other\"", at - 1),
            };
            let more = more(at);
            format!(
                "[[ipcp]]\nname = \"n{at}\"\ndif = \"d{at}\"\ncredential = \"dc.key\"\n{more}\n[[ipcp.link]]\n{link}\n"
            )
        };
        (0..levels).map(level).collect()
    }

    #[test]
    fn difs_lie_over_each_other() {
        let what = |text: String| {
            let config = parse(&text).unwrap();
            let mtus: Vec<usize> = config.ipcps.iter().map(|ipcp| ipcp.settings.mtu).collect();
            (mtus, config.program())
        };
        assert_eq!(what(tower(4, |_| "")), (vec![1472, 1432, 1399, 1378], program::Kind::Border));
        // The program carries nothing of these.
        let encrypted = tower(3, |at| if at == 0 { "encryption = true" } else { "" });
        assert_eq!(what(encrypted), (vec![1472, 1395, 1374], program::Kind::Interior));
        let irati = tower(3, |at| if at == 2 { "syntax = \"irati\"" } else { "" });
        assert_eq!(what(irati), (vec![1472, 1399, 1378], program::Kind::Interior));
        for (text, wanted) in [
            (tower(60, |_| ""), "too many DIFs over each other: they leave PDUs of 2"),
            (tower(2, |_| "").replacen("credential = \"dc.key\"", "dialect = \"rlite\"", 1), "are below no other DIF"),
            (tower(2, |_| "").replace("d0\"\nto", "d1\"\nto"), "no [[ipcp]] before it is in DIF d1"),
        ] {
            let error = parse(&text).map(|_| ()).unwrap_err();
            assert!(error.contains(wanted), "{wanted}: {error}");
        }
    }

    #[test]
    fn problems_are_named() {
        let ipcp = "[[ipcp]]\nname = \"a\"\ndif = \"d\"\ncredential = \"dc.key\"\n";
        let link = "[[ipcp.link]]\ndevice = \"eth0\"\n";
        let (switch, port) = ("[switch]\np4runtime = \"192.0.2.1:9559\"\n", "[[port]]\ndevice = \"eth0\"\n");
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
            (format!("{ipcp}authority = \"ca.pem\"\n{link}"), "certificate and key belong together"),
            (format!("{rlite}authority = \"ca.pem\"\n{link}"), "have no certificates"),
            (format!("{ipcp}routing = \"none\"\n{link}"), "expected shortest or fewest-hops"),
            (
                format!("{ipcp}{link}[[ipcp.qos]]\nname = \"q\"\nid = 2\ncongestion = \"none\"\n"),
                "expected dctcp or reno",
            ),
            (format!("{ipcp}{link}[[port]]\ndevice = \"eth0\"\nnumber = 1\n"), "those of a [switch]"),
            (format!("{switch}{ipcp}{link}"), "eth0: number: the port's number at the [switch] is missing"),
            (format!("{switch}{ipcp}{link}{port}number = 508\n"), "expected 0 to 507"),
            (format!("{switch}{ipcp}{link}{port}number = 1\nmac = \"01:00:00:00:00:01\"\n"), "a station's address"),
            (format!("{switch}{ipcp}{link}{port}number = 1\nrate_mbit = 1\n"), "has the egress queues"),
            (format!("{switch}tls_key = \"k\"\n{ipcp}{link}"), "tls_cert and tls_key belong together"),
            (format!("{switch}defines = [\"X\"]\n{ipcp}{link}"), "expected NO_IRATI or NO_SELECTOR"),
            (format!("{}{ipcp}{link}", switch.replace(":9559", "")), "expected HOST:PORT"),
            (format!("{ipcp}{link}ttl = true\n"), "need syntax = \"irati\""),
            (
                format!(
                    "{ipcp}syntax = \"irati\"\n{link}udp = {{ local = \"192.0.2.1:1\", remote = \"192.0.2.2:1\" }}\n"
                ),
                "over UDP need",
            ),
            (format!("{ipcp}{link}{}", above("reliable")), "cube reliable of DIF d has retransmission"),
            (ipcp.replace("credential = \"dc.key\"\n", "") + link, "credential is missing"),
            (format!("{ipcp}dialect = \"ouroboros\"\n{link}"), "expected one of `hopwright`, `rlite`, `irati`"),
            (format!("{ipcp}dialect = \"rlite\"\n{link}"), "a syntax of their own, and no credential"),
            (format!("{rlite}syntax = \"irati\"\n{link}"), "a syntax of their own, and no credential"),
            (format!("{rlite}{link}crc = true\n"), "need syntax = \"irati\""),
            (rlite.replace("rlite", "irati").replace("\"d\"", "\"d|e\"") + link, "has names without `|`"),
            (rlite.replace("rlite", "irati").replace("\"a\"", "\"a|b\"") + link, "has names without `|`"),
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
        let config = parse(&format!("{switch}{ipcp}{link}{port}number = 7\nmark_from = 9\n")).unwrap();
        assert_eq!(config.port("eth0"), Some(7));
        assert_eq!(config.switch.unwrap().ports["eth0"].mtu, 1500);
        assert!(parse(&format!("{ipcp}{link}{}", above("unreliable"))).is_ok());
        let config = parse(&format!("{rlite}{link}")).unwrap();
        assert_eq!(
            config.policies(),
            ["policies: routing shortest, QoS cubes unreliable, reliable (dctcp), urgent (dctcp)"]
        );
        assert_eq!(
            (&config.ipcps[0].settings.dialect, config.ipcps[0].settings.syntax),
            (&Dialect::Rlite, Syntax::Rlite)
        );
        let config = parse(&format!("{ipcp}syntax = \"irati\"\n{link}ttl = true\ncrc = true\n")).unwrap();
        assert_eq!(config.ipcps[0].protections, [Protection { ttl: true, crc: true }]);
    }
}
