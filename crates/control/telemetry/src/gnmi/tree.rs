//! The data tree: its leaves, in the models of OpenConfig, as they are at a moment.

use hopwright_host::netlink::{Medium, OperState};
use serde_json::{Map, Value as Json, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::interfaces::{Interface, Interfaces};

/// The module of OpenConfig that a node is from.
pub(super) type Module = &'static str;

const INTERFACES: Module = "openconfig-interfaces";
const ETHERNET: Module = "openconfig-if-ethernet";
const PLATFORM: Module = "openconfig-platform";
const CIRCUIT: Module = "openconfig-platform-integrated-circuit";
const P4RT: Module = "openconfig-p4rt";
const SYSTEM: Module = "openconfig-system";

/// The modules, with the revisions that the tree follows.
pub(super) const MODELS: [(Module, &str); 6] = [
    (INTERFACES, "3.8.1"),
    (ETHERNET, "2.18.0"),
    (PLATFORM, "0.32.0"),
    (CIRCUIT, "0.3.1"),
    (P4RT, "1.0.0"),
    (SYSTEM, "3.1.0"),
];

/// The largest MTU that the model has (`uint16`).
const LARGEST_MTU: u32 = 0xffff;

/// A step of a path. Lists of this tree have the key `name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Elem {
    pub module: Module,
    pub name: &'static str,
    pub key: Option<String>,
}

/// The value of a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    /// Of a module.
    Identity(Module, &'static str),
    Bool(bool),
    /// Up to 32 bits.
    Small(u32),
    /// Of 64 bits, which JSON of RFC 7951 has as text.
    Large(u64),
}

/// What a leaf tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The key of a list.
    Key,
    /// What is configured.
    Config,
    /// What of it is in use.
    Applied,
    /// What is not configured.
    Operational,
    /// What changes with every packet, or with time.
    Counter,
}

/// What changing a leaf does to an interface of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Setting {
    Enabled(u32),
    Description(u32),
}

/// A leaf of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub path: Vec<Elem>,
    pub value: Value,
    pub kind: Kind,
    pub setting: Option<Setting>,
}

/// Puts leaves below a path.
struct Branch<'a> {
    leaves: &'a mut Vec<Leaf>,
    path: Vec<Elem>,
    module: Module,
}

impl<'a> Branch<'a> {
    fn new(leaves: &'a mut Vec<Leaf>, module: Module) -> Branch<'a> {
        Branch { leaves, path: Vec::new(), module }
    }

    /// The branch below a container, or below an entry of a list.
    fn below(&mut self, module: Module, name: &'static str, key: Option<&str>) -> Branch<'_> {
        let mut path = self.path.clone();
        path.push(Elem { module, name, key: key.map(str::to_string) });
        Branch { leaves: self.leaves, path, module }
    }

    fn container(&mut self, name: &'static str) -> Branch<'_> {
        self.below(self.module, name, None)
    }

    fn leaf_of(&mut self, module: Module, name: &'static str, kind: Kind, value: Value) -> &mut Leaf {
        let mut path = self.path.clone();
        path.push(Elem { module, name, key: None });
        let at = self.leaves.len();
        self.leaves.push(Leaf { path, value, kind, setting: None });
        &mut self.leaves[at]
    }

    fn leaf(&mut self, name: &'static str, kind: Kind, value: Value) -> &mut Leaf {
        self.leaf_of(self.module, name, kind, value)
    }
}

/// All leaves, those of a container or list entry together. `nodes`: the ids of P4Runtime devices.
pub(super) fn leaves(interfaces: &Interfaces, nodes: &[u64]) -> std::io::Result<Vec<Leaf>> {
    let mut leaves = Vec::new();
    for interface in interfaces.read()? {
        let mut list = Branch::new(&mut leaves, INTERFACES);
        let mut list = list.container("interfaces");
        let number = interfaces.number(&interface);
        of_interface(&mut list.below(INTERFACES, "interface", Some(&interface.name)), &interface, number);
    }
    components(&mut Branch::new(&mut leaves, PLATFORM).container("components"), nodes);
    system(&mut Branch::new(&mut leaves, SYSTEM).container("system"), interfaces.started_ns());
    Ok(leaves)
}

/// The leaves of one interface.
pub(super) fn of_one(interface: &Interface) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    let mut list = Branch::new(&mut leaves, INTERFACES);
    let mut list = list.container("interfaces");
    of_interface(&mut list.below(INTERFACES, "interface", Some(&interface.name)), interface, interface.index);
    leaves
}

fn of_interface(entry: &mut Branch<'_>, interface: &Interface, number: u32) {
    let text = |text: &str| Value::Text(text.to_string());
    let kind = match interface.medium {
        Medium::Ethernet => "ethernetCsmacd",
        Medium::Loopback => "softwareLoopback",
        Medium::Other => "other",
    };
    entry.leaf("name", Kind::Key, text(&interface.name));
    for (container, kind_of) in [("config", Kind::Config), ("state", Kind::Applied)] {
        let mut branch = entry.container(container);
        let set = |setting| (kind_of == Kind::Config).then_some(setting);
        branch.leaf("name", kind_of, text(&interface.name));
        branch.leaf("type", kind_of, Value::Identity("iana-if-type", kind));
        branch.leaf("enabled", kind_of, Value::Bool(interface.enabled)).setting =
            set(Setting::Enabled(interface.index));
        let description = branch.leaf("description", kind_of, text(&interface.description));
        description.setting = set(Setting::Description(interface.index));
        if let Some(port) = interface.port {
            branch.leaf_of(P4RT, "id", kind_of, Value::Small(port));
        }
    }
    let mut state = entry.container("state");
    if interface.mtu <= LARGEST_MTU {
        state.leaf("mtu", Kind::Operational, Value::Small(interface.mtu));
    }
    state.leaf("ifindex", Kind::Operational, Value::Small(number));
    state.leaf("admin-status", Kind::Operational, text(if interface.enabled { "UP" } else { "DOWN" }));
    state.leaf("oper-status", Kind::Operational, text(oper_status(interface.state)));
    state.leaf("last-change", Kind::Operational, Value::Large(interface.changed_ns));
    let mut counters = state.container("counters");
    let c = &interface.counters;
    for (name, count) in [
        ("in-octets", c.in_octets),
        ("in-unicast-pkts", c.in_unicast),
        ("in-multicast-pkts", c.in_multicast),
        ("in-broadcast-pkts", c.in_broadcast),
        ("in-discards", c.in_discards),
        ("in-errors", c.in_errors),
        ("out-octets", c.out_octets),
        ("out-unicast-pkts", c.out_unicast),
        ("out-multicast-pkts", c.out_multicast),
        ("out-broadcast-pkts", c.out_broadcast),
        ("out-discards", c.out_discards),
        ("out-errors", c.out_errors),
    ] {
        counters.leaf(name, Kind::Counter, Value::Large(count));
    }
    if let Some([a, b, c, d, e, f]) = interface.mac {
        let mac = format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}");
        let mut ethernet = entry.below(ETHERNET, "ethernet", None);
        ethernet.container("state").leaf("mac-address", Kind::Operational, Value::Text(mac));
    }
}

fn oper_status(state: OperState) -> &'static str {
    match state {
        OperState::Up => "UP",
        OperState::Down => "DOWN",
        OperState::Testing => "TESTING",
        OperState::Unknown => "UNKNOWN",
        OperState::Dormant => "DORMANT",
        OperState::NotPresent => "NOT_PRESENT",
        OperState::LowerLayerDown => "LOWER_LAYER_DOWN",
    }
}

fn components(list: &mut Branch<'_>, nodes: &[u64]) {
    let software = || Value::Text(env!("CARGO_PKG_VERSION").into());
    let types = "openconfig-platform-types";
    for (name, kind) in [("chassis", "CHASSIS"), ("operating_system", "OPERATING_SYSTEM")] {
        let mut entry = component(list, name, Value::Identity(types, kind));
        entry.container("state").leaf("description", Kind::Operational, Value::Text("Hopwright".into()));
        entry.container("state").leaf("software-version", Kind::Operational, software());
    }
    for (number, node) in nodes.iter().enumerate() {
        let name = format!("integrated_circuit{number}");
        let mut entry = component(list, &name, Value::Identity(types, "INTEGRATED_CIRCUIT"));
        let mut circuit = entry.below(CIRCUIT, "integrated-circuit", None);
        circuit.container("config").leaf_of(P4RT, "node-id", Kind::Config, Value::Large(*node));
        circuit.container("state").leaf_of(P4RT, "node-id", Kind::Applied, Value::Large(*node));
    }
}

fn component<'b>(list: &'b mut Branch<'_>, name: &str, kind: Value) -> Branch<'b> {
    let mut entry = list.below(PLATFORM, "component", Some(name));
    let text = || Value::Text(name.to_string());
    entry.leaf("name", Kind::Key, text());
    entry.container("config").leaf("name", Kind::Config, text());
    entry.container("state").leaf("name", Kind::Applied, text());
    entry.container("state").leaf("type", Kind::Operational, kind);
    entry
}

fn system(branch: &mut Branch<'_>, started_ns: u64) {
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let hostname = || Value::Text(hostname.trim().to_string());
    branch.container("config").leaf("hostname", Kind::Config, hostname());
    let mut state = branch.container("state");
    state.leaf("hostname", Kind::Applied, hostname());
    state.leaf("software-version", Kind::Operational, Value::Text(env!("CARGO_PKG_VERSION").into()));
    state.leaf("boot-time", Kind::Operational, Value::Large(started_ns));
    if let Ok(now) = OffsetDateTime::now_utc().format(&Rfc3339) {
        state.leaf("current-datetime", Kind::Counter, Value::Text(now));
    }
}

impl Value {
    /// As JSON; `ietf`: of RFC 7951.
    pub(super) fn json(&self, ietf: bool) -> Json {
        match self {
            Value::Text(text) => text.as_str().into(),
            Value::Identity(module, name) if ietf => format!("{module}:{name}").into(),
            Value::Identity(_, name) => (*name).into(),
            Value::Bool(value) => (*value).into(),
            Value::Small(value) => (*value).into(),
            Value::Large(value) if ietf => value.to_string().into(),
            Value::Large(value) => json!(value),
        }
    }

    /// Whether JSON of either kind says this value.
    pub(super) fn is(&self, json: &Json) -> bool {
        let unqualified = |text: &str| text.rsplit(':').next().map(str::to_string);
        match (self, json) {
            (Value::Identity(_, name), Json::String(text)) => unqualified(text).as_deref() == Some(*name),
            (Value::Small(value), Json::String(text)) => *text == value.to_string(),
            _ => *json == self.json(true) || *json == self.json(false),
        }
    }
}

/// The tree below the first `depth` steps of the leaves' paths, which they share, as JSON; `ietf`: of RFC 7951.
pub(super) fn subtree(leaves: &[&Leaf], depth: usize, ietf: bool) -> Json {
    below(leaves, depth, ietf, None)
}

/// `above`: the module of the node above, if that is a part of what is sent.
fn below(leaves: &[&Leaf], depth: usize, ietf: bool, above: Option<Module>) -> Json {
    if let [leaf] = leaves
        && leaf.path.len() == depth
    {
        return leaf.value.json(ietf);
    }
    let mut members = Map::new();
    let mut rest = leaves;
    while let Some(first) = rest.first() {
        let elem = &first.path[depth];
        let same = rest.iter().take_while(|leaf| leaf.path[depth] == *elem).count();
        let (here, behind) = rest.split_at(same);
        rest = behind;
        // Names are qualified where the module changes (RFC 7951, section 4).
        let name = match ietf && above != Some(elem.module) {
            true => format!("{}:{}", elem.module, elem.name),
            false => elem.name.to_string(),
        };
        let value = below(here, depth + 1, ietf, Some(elem.module));
        match &elem.key {
            Some(_) => {
                let list = members.entry(name).or_insert_with(|| json!([]));
                list.as_array_mut().into_iter().for_each(|entries| entries.push(value.clone()));
            }
            None => merge(members.entry(name).or_insert(Json::Null), value),
        }
    }
    Json::Object(members)
}

/// Leaves of a container need not follow each other.
fn merge(into: &mut Json, value: Json) {
    match (into, value) {
        (Json::Object(into), Json::Object(value)) => {
            value.into_iter().for_each(|(name, value)| merge(into.entry(name).or_insert(Json::Null), value));
        }
        (into, value) => *into = value,
    }
}
