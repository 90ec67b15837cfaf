//! The text form of `switch.toml`, and the checks that make it a [`Config`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};

use hopwright_agent::Kinds;
use hopwright_dataplane::EgressQueues;
use hopwright_dataplane::egress_queues::{MOST_PACKETS, PORT_RATE, QUEUES};
use hopwright_dataplane::packet::{DEFAULT_HEADROOM, MAX_HEADROOM};
use hopwright_dataplane::quantity::{Bytes, Quantity};
use hopwright_p4runtime::EnginePolicy;
use hopwright_ports::PortChoice;
use serde::Deserialize;
use toml::Spanned;

use crate::agent;
use crate::memory::Shares;

use super::problem::{ConfigError, Problems, nearest, with_hint};
use super::{
    Agent, BITS, CPU_PORT, Client, Config, FRAMES, Limits, MEMORY, Match, P4Runtime, PACKETS, PASSES, Program, SHARE,
    Source, SwitchSettings, Tenant, Tls,
};

/// The most tenants of a switch.
const MAX_TENANTS: usize = hopwright_dataplane::MAX_TENANTS;
/// The most devices.
const MAX_DEVICES: usize = 64;
/// The highest port number of a program: one more is v1model's for dropping.
const MAX_PORT: u32 = 510;
/// The longest name of a tenant, in bytes.
const LONGEST_NAME: usize = 32;
/// The longest name of a network device, in bytes.
const LONGEST_DEVICE: usize = 15;
/// Where the administration socket is, if nothing else is said.
const SOCKET: &str = "/run/hopwright/switch.sock";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    switch: SwitchText,
    #[serde(default, rename = "port")]
    ports: Vec<PortText>,
    #[serde(default, rename = "tenant")]
    tenants: Vec<TenantText>,
    p4runtime: Option<P4RuntimeText>,
    metrics: Option<MetricsText>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SwitchText {
    ports: Option<Spanned<String>>,
    mtu: Option<Spanned<u32>>,
    headroom: Option<Spanned<u32>>,
    batch: Option<Spanned<usize>>,
    memory: Option<Spanned<Bytes>>,
    socket: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PortText {
    device: Spanned<String>,
    rate: Option<Spanned<Quantity>>,
    queue_packets: Option<Spanned<usize>>,
    queue_weights: Option<Spanned<[u16; QUEUES]>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TenantText {
    name: Spanned<String>,
    program: Option<Spanned<PathBuf>>,
    #[serde(default)]
    defines: Vec<String>,
    #[serde(default)]
    include: Vec<PathBuf>,
    #[serde(default)]
    engine: EngineText,
    entries: Option<PathBuf>,
    ports: Spanned<BTreeMap<String, Spanned<String>>>,
    #[serde(default, rename = "match")]
    matches: Vec<MatchText>,
    packets: Option<Spanned<Quantity>>,
    bits: Option<Spanned<Quantity>>,
    share: Option<Spanned<u32>>,
    frames: Option<Spanned<u32>>,
    passes: Option<Spanned<u32>>,
    memory: Option<Spanned<Bytes>>,
    cpu_port: Option<Spanned<u32>>,
    cpu_queue: Option<Spanned<usize>>,
    device_id: Option<Spanned<u64>>,
    count_fcs: Option<bool>,
    agent: Option<Spanned<toml::Table>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EngineText {
    #[default]
    Auto,
    Jit,
    Interp,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MatchText {
    port: Option<Spanned<String>>,
    vlan: Option<Spanned<u16>>,
    mac: Option<Spanned<String>>,
    #[serde(default)]
    groups: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct P4RuntimeText {
    address: Spanned<String>,
    certificate: Option<Spanned<PathBuf>>,
    key: Option<Spanned<PathBuf>>,
    client_ca: Option<Spanned<PathBuf>>,
    #[serde(default, rename = "client")]
    clients: Vec<Spanned<ClientText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientText {
    name: Spanned<String>,
    tenants: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    admin: bool,
    roles: Option<BTreeSet<String>>,
    #[serde(default)]
    programs: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricsText {
    address: String,
}

pub(super) fn parse(path: &Path, text: &str, kinds: Kinds) -> Result<Config, ConfigError> {
    let mut problems = Problems::new(path, text);
    let file: File = match toml::from_str(text) {
        Ok(file) => file,
        Err(error) => {
            problems.add_toml(&error);
            return Err(ConfigError::Problems(problems.found));
        }
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let config = Checker { problems: &mut problems, folder, kinds }.check(file);
    if problems.found.is_empty() { Ok(config) } else { Err(ConfigError::Problems(problems.found)) }
}

/// Adds the one tenant of a text to a configuration.
pub(super) fn parse_tenant(config: &Config, path: &Path, text: &str) -> Result<Config, ConfigError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct OneTenant {
        tenant: Vec<TenantText>,
    }
    let mut problems = Problems::new(path, text);
    let mut config = config.clone();
    let folder = path.parent().unwrap_or(Path::new(""));
    match toml::from_str(text) {
        Ok(OneTenant { tenant: tenants }) => {
            if tenants.len() != 1 {
                problems.add(0..0, format!("there are {} tenants: expected one", tenants.len()));
            }
            let mut checker = Checker { problems: &mut problems, folder, kinds: config.kinds };
            let mut matched = Matched::of(&config.tenants);
            for tenant in tenants {
                checker.add_tenant(tenant, &mut config.tenants, &mut matched, &config.ports);
            }
            checker.memory(&config);
            checker.agents(&config.switch, &config.tenants);
            if config.p4runtime.is_none() {
                checker.without_p4runtime(&config.tenants);
            }
        }
        Err(error) => problems.add_toml(&error),
    }
    if problems.found.is_empty() { Ok(config) } else { Err(ConfigError::Problems(problems.found)) }
}

/// Turns texts into values, and notes what is wrong with them.
struct Checker<'p, 'a> {
    problems: &'p mut Problems<'a>,
    folder: &'p Path,
    kinds: Kinds,
}

fn quantity(value: Option<Spanned<Quantity>>) -> Option<Spanned<u64>> {
    value.map(|value| Spanned::new(value.span(), value.into_inner().0))
}

fn bytes(value: Option<Spanned<Bytes>>) -> Option<Spanned<u64>> {
    value.map(|value| Spanned::new(value.span(), value.into_inner().0))
}

/// Which tenant gets which frames of which device.
#[derive(Default)]
struct Matched(HashMap<(String, Match), String>);

impl Matched {
    fn of(tenants: &[Tenant]) -> Matched {
        let mut matched = Matched::default();
        tenants.iter().for_each(|tenant| drop(matched.add(tenant)));
        matched
    }

    /// Adds a tenant's. Returns those that another tenant has, and whose they are.
    fn add(&mut self, tenant: &Tenant) -> Option<(String, String)> {
        let everything = [Match::default()];
        let rules = if tenant.rules.is_empty() { &everything[..] } else { &tenant.rules };
        let mut twice = None;
        for rule in rules {
            // By device, because a match that names none counts for the tenant's devices only.
            for device in tenant.ports.values().filter(|device| rule.port.as_ref().is_none_or(|port| port == *device)) {
                let key = (device.clone(), Match { groups: false, ..rule.clone() });
                let owner = self.0.entry(key.clone()).or_insert_with(|| tenant.name.clone());
                if *owner != tenant.name && twice.is_none() {
                    twice = Some((frames(&key), owner.clone()));
                }
            }
        }
        twice
    }
}

impl Checker<'_, '_> {
    fn problem(&mut self, span: Range<usize>, message: impl Display) {
        self.problems.add(span, message);
    }

    /// A number within bounds, or the default.
    fn within<T: Copy + PartialOrd + Display>(
        &mut self,
        key: &str,
        value: Option<Spanned<T>>,
        bounds: std::ops::RangeInclusive<T>,
    ) -> Option<T> {
        let value = value?;
        if !bounds.contains(value.get_ref()) {
            let (low, high) = (bounds.start(), bounds.end());
            self.problem(value.span(), format!("{key} is {}: expected {low} to {high}", value.get_ref()));
        }
        Some(*value.get_ref())
    }

    fn check(&mut self, file: File) -> Config {
        let switch = self.switch(file.switch);
        let mut ports: Vec<String> = Vec::new();
        let mut queues = BTreeMap::new();
        for mut port in file.ports {
            if let Some(settings) = self.queues(&mut port) {
                queues.insert(port.device.get_ref().clone(), settings);
            }
            let (span, name) = (port.device.span(), port.device.into_inner());
            if name.is_empty() || name.len() > LONGEST_DEVICE || name.contains(['/', ' ']) {
                self.problem(span, format!("`{name}` is no name of a network device"));
            } else if ports.contains(&name) {
                self.problem(span, format!("device {name} is given twice"));
            } else if ports.len() == MAX_DEVICES {
                self.problem(span, format!("there are more than {MAX_DEVICES} devices"));
            }
            ports.push(name);
        }
        let (mut tenants, mut matched) = (Vec::new(), Matched::default());
        for text in file.tenants {
            self.add_tenant(text, &mut tenants, &mut matched, &ports);
        }
        let p4runtime = file.p4runtime.map(|text| self.p4runtime(text, &tenants));
        if p4runtime.is_none() {
            self.without_p4runtime(&tenants);
        }
        self.agents(&switch, &tenants);
        let metrics = file.metrics.map(|m| m.address);
        let config = Config { switch, ports, queues, tenants, p4runtime, metrics, kinds: self.kinds };
        self.memory(&config);
        config
    }

    /// The egress queues of a port with a rate.
    fn queues(&mut self, port: &mut PortText) -> Option<EgressQueues> {
        let packets = self.within("queue_packets", port.queue_packets.take(), 1..=MOST_PACKETS);
        let Some(rate) = self.within("rate", quantity(port.rate.take()), PORT_RATE) else {
            if packets.is_some() || port.queue_weights.is_some() {
                self.problem(
                    port.device.span(),
                    "queue_packets and queue_weights need a rate: without one nothing waits",
                );
            }
            return None;
        };
        let defaults = EgressQueues::with_rate(rate);
        let weights = port.queue_weights.take().map_or(defaults.weights, Spanned::into_inner);
        Some(EgressQueues { packets: packets.unwrap_or(defaults.packets), weights, ..defaults })
    }

    /// Checks that there is the memory that tenants are to have.
    fn memory(&mut self, config: &Config) {
        if let Err(message) = Shares::of(config) {
            self.problem(0..0, message);
        }
    }

    /// Checks what agents need of the switch.
    fn agents(&mut self, switch: &SwitchSettings, tenants: &[Tenant]) {
        let needs_kernel =
            |tenant: &&Tenant| tenant.agent.as_ref().is_some_and(|agent| agent.kind.needs().kernel_neighbours);
        if switch.ports == PortChoice::AfXdp
            && let Some(tenant) = tenants.iter().find(needs_kernel)
        {
            let message =
                "its agent leaves neighbours to the kernel, from which [switch] ports = \"af_xdp\" keeps all frames";
            self.problem(0..0, format!("tenant `{}`: {message}; expected auto or af_packet", tenant.name));
        }
    }

    fn without_p4runtime(&mut self, tenants: &[Tenant]) {
        if let Some(tenant) = tenants.iter().find(|t| t.device_id.is_some()) {
            self.problem(0..0, format!("tenant `{}` has a device_id, but there is no [p4runtime]", tenant.name));
        }
    }

    /// Checks a tenant, by itself and against those there are.
    fn add_tenant(&mut self, text: TenantText, tenants: &mut Vec<Tenant>, matched: &mut Matched, devices: &[String]) {
        let (name_span, id_span) = (text.name.span(), text.device_id.as_ref().map(Spanned::span));
        let tenant = self.tenant(text, devices);
        if tenants.len() >= MAX_TENANTS {
            self.problem(name_span.clone(), format!("there are more than {MAX_TENANTS} tenants"));
        }
        if tenants.iter().any(|t| t.name == tenant.name) {
            self.problem(name_span.clone(), format!("tenant `{}` is there twice", tenant.name));
        }
        if let (Some(id), Some(span)) = (tenant.device_id, id_span)
            && let Some(other) = tenants.iter().find(|t| t.device_id == Some(id))
        {
            self.problem(span, format!("device id {id} is that of tenant `{}` already", other.name));
        }
        if let Some((same, other)) = matched.add(&tenant) {
            self.problem(name_span, format!("tenants `{other}` and `{}` both match {same}", tenant.name));
        }
        tenants.push(tenant);
    }

    fn switch(&mut self, text: SwitchText) -> SwitchSettings {
        let ports = match text.ports {
            None => PortChoice::Auto,
            Some(text) => text.get_ref().parse().unwrap_or_else(|error| {
                self.problem(text.span(), error);
                PortChoice::Auto
            }),
        };
        SwitchSettings {
            ports,
            mtu: self.within("mtu", text.mtu, 68..=9100).unwrap_or(9100),
            headroom: self.within("headroom", text.headroom, 0..=MAX_HEADROOM).unwrap_or(DEFAULT_HEADROOM),
            batch: self.within("batch", text.batch, 1..=256).unwrap_or(256),
            memory: self.within("memory", bytes(text.memory), MEMORY),
            socket: self.folder.join(text.socket.unwrap_or_else(|| SOCKET.into())),
        }
    }

    fn tenant(&mut self, text: TenantText, devices: &[String]) -> Tenant {
        let name = text.name.get_ref().clone();
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(allowed) {
            let message =
                format!("`{name}` cannot be a tenant's name: expected 1 to {LONGEST_NAME} of a-z, 0-9, - and _");
            self.problem(text.name.span(), message);
        }
        let agent = text.agent.and_then(|agent| self.agent(&name, agent));
        let file = match (text.program, &agent) {
            (Some(program), _) => {
                let file = self.folder.join(program.get_ref());
                if let Err(error) = std::fs::metadata(&file) {
                    self.problem(program.span(), format!("tenant `{name}`: {}: {error}", file.display()));
                }
                Program::File(file)
            }
            (None, Some(agent)) => Program::Agent(agent.kind),
            (None, None) => {
                self.problem(text.name.span(), format!("tenant `{name}` has neither a program nor an agent with one"));
                Program::File(PathBuf::new())
            }
        };
        let kind = agent.as_ref().map(|a| a.kind);
        let needs = kind.map(|kind| kind.needs()).unwrap_or_default();
        let reserved: Vec<u32> = needs.reserved_ports().collect();
        if let (Program::Agent(kind), span) = (&file, text.name.span())
            && let Some(name) = agent::unknown_macro(*kind, &text.defines)
        {
            self.problem(span, format!("tenant `{}`: its agent's program has no macro `{name}`", text.name.get_ref()));
        }
        let cpu_port_span = text.cpu_port.as_ref().map(Spanned::span);
        let cpu_port = self.within("cpu_port", text.cpu_port, 0..=MAX_PORT).unwrap_or(CPU_PORT);
        if let Some(span) = cpu_port_span {
            if let Some(only) = needs.cpu_port.filter(|only| *only != cpu_port) {
                self.problem(span, format!("tenant `{name}`: the CPU port of its agent's program is {only}"));
            } else if reserved.contains(&cpu_port) {
                self.problem(span, format!("tenant `{name}`: port {cpu_port} is its agent's"));
            }
        }
        let ports = self.ports(&name, text.ports, cpu_port, &reserved, devices);
        let mut rules = Vec::new();
        for m in text.matches {
            rules.push(self.rule(&name, m, &ports, needs.untagged));
        }
        Tenant {
            program: Source {
                file,
                defines: text.defines,
                include: text.include.iter().map(|path| self.folder.join(path)).collect(),
                engine: match text.engine {
                    EngineText::Auto => EnginePolicy::Auto,
                    EngineText::Jit => EnginePolicy::Jit,
                    EngineText::Interp => EnginePolicy::Interp,
                },
                entries: text.entries.map(|path| self.folder.join(path)),
            },
            ports,
            rules,
            cpu_port,
            cpu_queue: self.within("cpu_queue", text.cpu_queue, 1..=65_536).unwrap_or(1024),
            limits: Limits {
                packets: self.within("packets", quantity(text.packets), PACKETS),
                bits: self.within("bits", quantity(text.bits), BITS),
                share: self.within("share", text.share, SHARE).unwrap_or(1),
                frames: self.within("frames", text.frames, FRAMES),
                passes: self.within("passes", text.passes, PASSES),
                memory: self.within("memory", bytes(text.memory), MEMORY),
            },
            device_id: self.within("device_id", text.device_id, 1..=u64::MAX),
            count_fcs: text.count_fcs,
            agent,
            name,
        }
    }

    fn ports(
        &mut self,
        tenant: &str,
        text: Spanned<BTreeMap<String, Spanned<String>>>,
        cpu_port: u32,
        reserved: &[u32],
        devices: &[String],
    ) -> BTreeMap<u32, String> {
        let mut ports = BTreeMap::new();
        if text.get_ref().is_empty() {
            let message = format!("tenant `{tenant}` has no ports: expected {{ NUMBER = \"DEVICE\", … }}");
            self.problem(text.span(), message);
        }
        for (number, device) in text.into_inner() {
            let (span, device) = (device.span(), device.into_inner());
            let Some(number) = number.parse().ok().filter(|n| *n <= MAX_PORT) else {
                let message = format!("tenant `{tenant}`: port `{number}`: expected a number from 0 to {MAX_PORT}");
                self.problem(span, message);
                continue;
            };
            if number == cpu_port {
                self.problem(span.clone(), format!("tenant `{tenant}`: port {number} is its CPU port (cpu_port)"));
            }
            if reserved.contains(&number) {
                self.problem(span.clone(), format!("tenant `{tenant}`: port {number} is its agent's"));
            }
            self.known(span.clone(), &format!("tenant `{tenant}`: there is no [[port]]"), &device, devices);
            if let Some((other, _)) = ports.iter().find(|(_, d)| **d == device) {
                let message =
                    format!("tenant `{tenant}`: {device} is port {other} already: a device is one port at most");
                self.problem(span, message);
            }
            ports.insert(number, device);
        }
        ports
    }

    fn agent(&mut self, tenant: &str, text: Spanned<toml::Table>) -> Option<Agent> {
        let (span, mut settings) = (text.span(), text.into_inner());
        let kind = match settings.remove("kind") {
            Some(toml::Value::String(kind)) => kind,
            _ => {
                let names: Vec<&str> = self.kinds.iter().map(|kind| kind.name()).collect();
                let message = format!("tenant `{tenant}`: an agent needs a `kind`: none, {}", names.join(", "));
                self.problem(span, message);
                return None;
            }
        };
        let Some(kind) = self.kinds.iter().copied().find(|known| known.name() == kind) else {
            let names: Vec<String> = self.kinds.iter().map(|kind| kind.name().to_string()).collect();
            if kind != "none" {
                self.known(span, &format!("tenant `{tenant}`: there is no agent of the kind"), &kind, &names);
            }
            return None;
        };
        let agent = Agent { kind, settings, folder: self.folder.to_path_buf() };
        if let Err(error) = agent.read() {
            self.problem(span, format!("tenant `{tenant}`: agent: {}", with_hint(&error.to_string())));
        }
        Some(agent)
    }

    fn rule(&mut self, tenant: &str, text: MatchText, ports: &BTreeMap<u32, String>, untagged: bool) -> Match {
        if let Some(vlan) = text.vlan.as_ref().filter(|vlan| *vlan.get_ref() != 0 && untagged) {
            let message = "its agent's program takes no frames with VLAN tags: make the VLAN's device a [[port]]";
            self.problem(vlan.span(), format!("tenant `{tenant}`: {message}"));
        }
        let port = text.port.map(|port| {
            let own: Vec<String> = ports.values().cloned().collect();
            self.known(port.span(), &format!("tenant `{tenant}`: among its ports there is no"), port.get_ref(), &own);
            port.into_inner()
        });
        let mac = text.mac.and_then(|mac| {
            let parsed = mac_address(mac.get_ref());
            match parsed {
                None => {
                    let message = format!("`{}` is no MAC address: expected 02:00:00:00:00:01", mac.get_ref());
                    self.problem(mac.span(), message);
                }
                Some(address) if address[0] & 1 == 1 => {
                    let message =
                        format!("`{}` is a group address: expected the address of one interface", mac.get_ref());
                    self.problem(mac.span(), message);
                }
                Some(_) => {}
            }
            parsed
        });
        Match { port, vlan: self.within("vlan", text.vlan, 0..=4094), mac, groups: text.groups }
    }

    fn p4runtime(&mut self, text: P4RuntimeText, tenants: &[Tenant]) -> P4Runtime {
        let address = match text.address.get_ref().parse() {
            Ok(address) => address,
            Err(_) => {
                let message =
                    format!("`{}` is no address: expected 127.0.0.1:9559, for example", text.address.get_ref());
                self.problem(text.address.span(), message);
                SocketAddr::from(([127, 0, 0, 1], 0))
            }
        };
        for path in [&text.certificate, &text.key, &text.client_ca].into_iter().flatten() {
            let file = self.folder.join(path.get_ref());
            if let Err(error) = std::fs::metadata(&file) {
                self.problem(path.span(), format!("{}: {error}", file.display()));
            }
        }
        let in_folder = |path: Spanned<PathBuf>| self.folder.join(path.into_inner());
        let tls = match (text.certificate, text.key, text.client_ca) {
            (Some(certificate), Some(key), client_ca) => Some(Tls {
                certificate: in_folder(certificate),
                key: in_folder(key),
                client_ca: client_ca.map(in_folder),
            }),
            (None, None, None) => None,
            (one, other, ca) => {
                let span = [one, other, ca].into_iter().flatten().next().map_or(0..0, |p| p.span());
                self.problem(span, "certificate and key belong together, and client_ca to both");
                None
            }
        };
        let mut clients: Vec<Client> = Vec::new();
        for client in text.clients {
            let span = client.span();
            let has_ca = tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
            if !has_ca {
                self.problem(span.clone(), "clients are known by their certificates: client_ca is missing");
            }
            let client = self.client(span, client.into_inner(), tenants);
            clients.push(client);
        }
        P4Runtime { address, tls, clients: (!clients.is_empty()).then_some(clients) }
    }

    fn client(&mut self, span: Range<usize>, text: ClientText, tenants: &[Tenant]) -> Client {
        let (name_span, name) = (text.name.span(), text.name.into_inner());
        if name.is_empty() {
            self.problem(name_span, "a client needs a name: one in its certificate");
        }
        let names: Vec<String> = tenants.iter().map(|t| t.name.clone()).collect();
        let reached = match (text.tenants, text.admin) {
            (Some(_), true) => {
                self.problem(span, format!("client `{name}`: an admin reaches all tenants: leave out `tenants`"));
                None
            }
            (None, true) => None,
            (None, false) => {
                let message = format!("client `{name}` reaches nothing: expected tenants = [\"…\"] or admin = true");
                self.problem(span, message);
                None
            }
            (Some(list), false) => {
                let mut reached = BTreeSet::new();
                for tenant in list {
                    let what = format!("client `{name}`: there is no tenant");
                    self.known(tenant.span(), &what, tenant.get_ref(), &names);
                    reached.insert(tenant.into_inner());
                }
                Some(reached)
            }
        };
        Client { name, tenants: reached, roles: text.roles, programs: text.programs || text.admin }
    }

    /// Checks that a name is one of those there are.
    fn known(&mut self, span: Range<usize>, what: &str, name: &str, there: &[String]) {
        if !there.iter().any(|n| n == name) {
            let hint = nearest(name, there.iter().map(String::as_str));
            let hint = hint.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            self.problem(span, format!("{what} `{name}`{hint}"));
        }
    }
}

/// Frames of a device in words.
fn frames((device, rule): &(String, Match)) -> String {
    let mut parts = vec![format!("frames from {device}")];
    parts.extend(rule.vlan.map(|vlan| if vlan == 0 { "without VLAN".into() } else { format!("with VLAN {vlan}") }));
    parts.extend(rule.mac.map(|mac| format!("to {}", mac.map(|byte| format!("{byte:02x}")).join(":"))));
    parts.join(" ")
}

/// Six pairs of hexadecimal digits.
fn mac_address(text: &str) -> Option<[u8; 6]> {
    let mut address = [0; 6];
    let mut parts = text.split([':', '-']);
    for byte in &mut address {
        let part = parts.next().filter(|p| p.len() == 2)?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(address)
}
