//! `topology.json`: the operators' description of the AS, validated and reduced to what a border router needs.
//!
//! Format and checks are those of the reference (`private/topology`), which reads JSON as Go does: names of fields in
//! any case, and `null` for a field that is not there. Every error names the file and the field.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hopwright_host::files;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;

use crate::config::duration;
use crate::control::program::LinkType;
use crate::packet::ia::IsdAs;

mod address;

pub use address::{Address, unusable_local, unusable_remote};
use address::{literal, resolve};

/// The maximum size of `topology.json` in bytes: about ten times what the largest router needs.
pub const LONGEST_TOPOLOGY: usize = 16 << 20;

/// The AS that the topology describes.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// The ISD-AS number.
    pub ia: IsdAs,
    /// Whether the AS belongs to the ISD's core.
    pub core: bool,
    /// The MTU inside the AS in bytes of SCION packet; 0 if not specified.
    pub mtu: u32,
    /// The inclusive range of UDP ports on which hosts receive without a dispatcher. As in the reference, it is kept
    /// but not used.
    pub dispatched_ports: Option<(u16, u16)>,
    /// Border routers by name.
    pub border_routers: BTreeMap<String, BorderRouter>,
    /// Addresses of the control service's instances.
    pub control_service: Vec<SocketAddr>,
    /// Addresses of the discovery service's instances.
    pub discovery_service: Vec<SocketAddr>,
    /// The content of the file, for status pages.
    pub file: Value,
}

/// A border router.
#[derive(Clone, Debug, PartialEq)]
pub struct BorderRouter {
    /// The address to which hosts and other routers of the AS send packets for it.
    pub internal: Address,
    /// Its links to other ASes by SCION interface id.
    pub interfaces: BTreeMap<u16, Interface>,
}

/// A link to another AS.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// The AS at the other end.
    pub neighbour: IsdAs,
    /// The relation of that AS to this one.
    pub relation: Relation,
    /// The MTU in bytes of SCION packet; 0 if not specified.
    pub mtu: u32,
    /// Underlay addresses; `None` if the file has none (allowed for other routers' links).
    pub underlay: Option<Ends>,
    /// Settings of the link's BFD session.
    pub bfd: LinkBfd,
    /// The interface id at the other end, if specified.
    pub remote_id: Option<u64>,
}

/// The two ends of a link, as the file has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    /// What carries the link, `udpip`. Matters at this router only.
    pub provider: String,
    /// Our end.
    pub local: Address,
    /// The other end.
    pub remote: Address,
}

/// The two ends of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Underlay {
    /// Our end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
}

/// A link's own BFD settings. Unset ones default to those of the configuration file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct LinkBfd {
    /// Whether to have no session.
    pub disable: Option<bool>,
    /// The number of lost packets after which the link is down; 0 if unset.
    pub detect_mult: u8,
    /// The interval at which to send; zero if unset.
    #[serde(deserialize_with = "duration")]
    pub desired_min_tx_interval: Duration,
    /// The interval at which to receive; zero if unset.
    #[serde(deserialize_with = "duration")]
    pub required_min_rx_interval: Duration,
}

/// The relation of the AS at the other end of a link to this one. Values are those of `LinkType` in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Relation {
    /// Both are core ASes.
    Core = LinkType::Core as u8,
    /// The other AS is upstream.
    Parent = LinkType::Parent as u8,
    /// The other AS is downstream.
    Child = LinkType::Child as u8,
    /// The ASes are peers.
    Peer = LinkType::Peer as u8,
}

impl Relation {
    fn parse(text: &str) -> Option<Relation> {
        [("core", Relation::Core), ("parent", Relation::Parent), ("child", Relation::Child), ("peer", Relation::Peer)]
            .into_iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text))
            .map(|(_, relation)| relation)
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Relation::Core => "core",
            Relation::Parent => "parent",
            Relation::Child => "child",
            Relation::Peer => "peer",
        })
    }
}

/// The reason why a topology is invalid.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum TopologyError {
    #[error("{}: {source}", file.display())]
    Read { file: PathBuf, source: std::io::Error },
    #[error("{}: {field}: {message}", file.display())]
    Field { file: PathBuf, field: String, message: String },
}

impl Topology {
    /// Reads and checks a topology file.
    pub fn load(file: &Path) -> Result<Topology, TopologyError> {
        let text = files::read(file, LONGEST_TOPOLOGY)
            .map_err(|source| TopologyError::Read { file: file.to_path_buf(), source })?;
        Topology::parse(file, &text)
    }

    /// Reads and checks a topology's text; `file` is for messages.
    pub fn parse(file: &Path, text: &[u8]) -> Result<Topology, TopologyError> {
        // Without a topology there is at least one problem.
        Topology::parse_all(file, text).map_err(|mut problems| problems.swap_remove(0))
    }

    /// Like [`Topology::parse`], but returns all problems, in the file's order where possible.
    pub fn parse_all(file: &Path, text: &[u8]) -> Result<Topology, Vec<TopologyError>> {
        let error = |(field, message)| TopologyError::Field { file: file.to_path_buf(), field, message };
        let content: Value = serde_json::from_str(&String::from_utf8_lossy(text))
            .map_err(|e| vec![error((".".into(), e.to_string()))])?;
        let raw = Topology::read_raw(content.clone()).map_err(|fault| vec![error(fault)])?;
        let mut faults = Vec::new();
        let topology = raw.check(&mut faults);
        if !faults.is_empty() {
            return Err(faults.into_iter().map(error).collect());
        }
        Ok(Topology { file: content, ..topology })
    }

    fn read_raw(mut file: Value) -> Result<Raw, Fault> {
        fold(&mut file)?;
        serde_path_to_error::deserialize(file).map_err(|e| (e.path().to_string(), e.inner().to_string()))
    }
}

/// Gives fields their names in the case of this module, and removes those that are `null`, as if they were not there.
fn fold(file: &mut Value) -> Result<(), Fault> {
    const TOP: [&str; 7] =
        ["isd_as", "mtu", "dispatched_ports", "attributes", "border_routers", "control_service", "discovery_service"];
    fold_fields(file, "", &TOP)?;
    if let Some(Value::Array(attributes)) = file.get_mut("attributes") {
        attributes.retain(|attribute| !attribute.is_null());
    }
    for service in ["control_service", "discovery_service"] {
        for (name, server) in members(file, service) {
            fold_fields(server, &format!("{service}.{name}"), &["addr"])?;
        }
    }
    for (name, router) in members(file, "border_routers") {
        let path = format!("border_routers.{name}");
        fold_fields(router, &path, &["internal_addr", "interfaces"])?;
        for (id, interface) in members(router, "interfaces") {
            let path = format!("{path}.interfaces.{id}");
            let fields = ["underlay", "isd_as", "link_to", "mtu", "bfd", "remote_interface_id"];
            fold_fields(interface, &path, &fields)?;
            if let Some(underlay) = interface.get_mut("underlay") {
                fold_fields(underlay, &format!("{path}.underlay"), &["provider", "local", "remote"])?;
            }
            if let Some(bfd) = interface.get_mut("bfd") {
                let fields = ["disable", "detect_mult", "desired_min_tx_interval", "required_min_rx_interval"];
                fold_fields(bfd, &format!("{path}.bfd"), &fields)?;
            }
        }
    }
    Ok(())
}

/// The members of an object in a field. What is no object is reported when it is read.
fn members<'a>(of: &'a mut Value, field: &str) -> impl Iterator<Item = (&'a String, &'a mut Value)> {
    of.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten()
}

fn fold_fields(value: &mut Value, path: &str, fields: &[&str]) -> Result<(), Fault> {
    let path = || if path.is_empty() { ".".to_string() } else { path.to_string() };
    let object = value.as_object_mut().ok_or_else(|| (path(), "expected an object".to_string()))?;
    // The reference takes `null` for a number of an interface, and refuses it.
    object.retain(|name, value| !value.is_null() || name.eq_ignore_ascii_case("remote_interface_id"));
    let other_case = |name: &&String| !fields.contains(&name.as_str());
    for name in object.keys().filter(other_case).cloned().collect::<Vec<_>>() {
        if let Some(field) = fields.iter().find(|field| field.eq_ignore_ascii_case(&name))
            && !object.contains_key(*field)
            && let Some(value) = object.remove(&name)
        {
            object.insert(field.to_string(), value);
        }
    }
    Ok(())
}

/// The path of a field, and what is wrong with it.
type Fault = (String, String);

/// The structure of the file. Fields that a router does not use are left out.
#[derive(Deserialize)]
struct Raw {
    isd_as: IsdAs,
    #[serde(default)]
    mtu: i64,
    #[serde(default)]
    dispatched_ports: String,
    #[serde(default)]
    attributes: Vec<String>,
    #[serde(default)]
    border_routers: BTreeMap<String, RawRouter>,
    #[serde(default)]
    control_service: BTreeMap<String, RawServer>,
    #[serde(default)]
    discovery_service: BTreeMap<String, RawServer>,
}

#[derive(Deserialize)]
struct RawRouter {
    #[serde(default)]
    internal_addr: String,
    #[serde(default)]
    interfaces: BTreeMap<String, RawInterface>,
}

#[derive(Deserialize)]
struct RawInterface {
    #[serde(default)]
    underlay: RawUnderlay,
    isd_as: IsdAs,
    link_to: String,
    #[serde(default)]
    mtu: i64,
    #[serde(default)]
    bfd: Option<LinkBfd>,
    #[serde(default, deserialize_with = "interface_number")]
    remote_interface_id: Option<u64>,
}

/// An interface id at another AS: a number, which may be in quotes.
fn interface_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = match Value::deserialize(deserializer)? {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text,
        other => return Err(D::Error::custom(format!("`{other}` is no interface id"))),
    };
    let digits = text.replace('"', "");
    match digits.parse() {
        Ok(number) if digits.bytes().all(|b| b.is_ascii_digit()) => Ok(Some(number)),
        _ => Err(D::Error::custom(format!("`{text}` is no interface id"))),
    }
}

/// An MTU; 0 if none is specified.
fn mtu(bytes: i64) -> u32 {
    bytes.clamp(0, u32::MAX.into()) as u32
}

#[derive(Deserialize, Default, PartialEq)]
#[serde(default)]
struct RawUnderlay {
    provider: String,
    local: String,
    remote: String,
}

#[derive(Deserialize)]
struct RawServer {
    addr: String,
}

impl Raw {
    /// Returns the valid parts. Only to be used if there is no fault.
    fn check(self, faults: &mut Vec<Fault>) -> Topology {
        if self.isd_as.is_wildcard() {
            faults.push(("isd_as".into(), format!("{} is a wildcard, not an AS", self.isd_as)));
        }
        let mut core = false;
        for (i, attribute) in self.attributes.iter().enumerate() {
            match attribute.as_str() {
                "core" => core = true,
                // Deprecated, without effect.
                "authoritative" | "issuing" | "voting" => {}
                other => faults.push((format!("attributes[{i}]"), format!("`{other}` is unknown; there is `core`"))),
            }
        }
        let dispatched_ports = port_range(&self.dispatched_ports).unwrap_or_else(|message| {
            faults.push(("dispatched_ports".into(), message));
            None
        });
        let mut border_routers = BTreeMap::new();
        let mut owners: HashMap<u16, String> = HashMap::new();
        for (name, raw) in self.border_routers {
            if let Some(router) = raw.check(&name, core, &mut owners, faults) {
                border_routers.insert(name, router);
            }
        }
        Topology {
            ia: self.isd_as,
            core,
            mtu: mtu(self.mtu),
            dispatched_ports,
            border_routers,
            control_service: servers("control_service", &self.control_service, faults),
            discovery_service: servers("discovery_service", &self.discovery_service, faults),
            file: Value::Null,
        }
    }
}

impl RawRouter {
    /// Returns `None` only if it reports a fault.
    fn check(
        self,
        name: &str,
        core: bool,
        owners: &mut HashMap<u16, String>,
        faults: &mut Vec<Fault>,
    ) -> Option<BorderRouter> {
        let path = format!("border_routers.{name}");
        let internal = if self.internal_addr.is_empty() { Err("missing".into()) } else { resolve(&self.internal_addr) };
        let internal = internal.map_err(|why| faults.push((format!("{path}.internal_addr"), why))).ok();
        let mut interfaces = BTreeMap::new();
        for (id, raw) in self.interfaces {
            let path = format!("{path}.interfaces.{id}");
            let id = match id.parse::<u16>() {
                Ok(number) if number != 0 && id.bytes().all(|b| b.is_ascii_digit()) => number,
                _ => {
                    faults.push((path, "an interface id is a number from 1 to 65535".into()));
                    continue;
                }
            };
            if let Some(other) = owners.insert(id, name.to_string()) {
                faults.push((path, format!("interface {id} belongs to border router {other} already")));
                continue;
            }
            let interface = match raw.check(&path, core) {
                Ok(interface) => interface,
                Err(fault) => {
                    faults.push(fault);
                    continue;
                }
            };
            interfaces.insert(id, interface);
        }
        Some(BorderRouter { internal: internal?, interfaces })
    }
}

impl RawInterface {
    fn check(self, path: &str, core: bool) -> Result<Interface, Fault> {
        let field = |name: &str| format!("{path}.{name}");
        if self.isd_as == IsdAs(0) {
            return Err((field("isd_as"), format!("{} is no AS", self.isd_as)));
        }
        let relation = Relation::parse(&self.link_to)
            .ok_or_else(|| (field("link_to"), format!("`{}` is none of core, parent, child, peer", self.link_to)))?;
        match (core, relation) {
            (true, Relation::Parent) => {
                return Err((field("link_to"), "a core AS has no parent; its links are core, child or peer".into()));
            }
            (false, Relation::Core) => {
                let message = "only a core AS has core links; others have parent, child and peer";
                return Err((field("link_to"), message.into()));
            }
            _ => {}
        }
        let underlay = if self.underlay == RawUnderlay::default() {
            None
        } else {
            let local = literal(&self.underlay.local).map_err(|why| (field("underlay.local"), why))?;
            let remote = literal(&self.underlay.remote).map_err(|why| (field("underlay.remote"), why))?;
            Some(Ends { provider: self.underlay.provider, local, remote })
        };
        Ok(Interface {
            neighbour: self.isd_as,
            relation,
            mtu: mtu(self.mtu),
            underlay,
            bfd: self.bfd.unwrap_or_default(),
            remote_id: self.remote_interface_id,
        })
    }
}

fn servers(service: &str, raw: &BTreeMap<String, RawServer>, faults: &mut Vec<Fault>) -> Vec<SocketAddr> {
    let mut addresses = Vec::new();
    for (name, server) in raw {
        match resolve(&server.addr) {
            Ok(address) if !addresses.contains(&address.socket) => addresses.push(address.socket),
            Ok(_) => {}
            Err(why) => faults.push((format!("{service}.{name}.addr"), why)),
        }
    }
    addresses
}

/// Parses `first-last`, `all` or an empty text.
fn port_range(text: &str) -> Result<Option<(u16, u16)>, String> {
    match text {
        "" | "-" => return Ok(None),
        "all" | "ALL" => return Ok(Some((1, u16::MAX))),
        _ => {}
    }
    let (first, last) = text.split_once('-').ok_or_else(|| format!("`{text}` is no range such as 31000-32767"))?;
    let port = |text: &str| match text.parse::<u16>() {
        Ok(port) if port > 0 && text.bytes().all(|b| b.is_ascii_digit()) => Ok(port),
        _ => Err(format!("`{text}` is no port")),
    };
    let (first, last) = (port(first)?, port(last)?);
    if first > last {
        return Err(format!("{first} is beyond the range's end, {last}"));
    }
    Ok(Some((first, last)))
}

#[cfg(test)]
mod tests;
