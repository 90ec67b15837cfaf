//! `[[ipcp]]`: an IPC process and its links.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{ConfigError, DialectName, IpcpConfig, IpcpTable, Link, LinkTable, QosTable, bits};
use crate::credential::{Credential, CredentialError};
use crate::dialect::Dialect;
use crate::efcp::Qos;
use crate::efcp::congestion::{self, CongestionPolicy};
use crate::frames::{Protection, Shim};
use crate::identity::{Files, Identity, IdentityError};
use crate::ipcp::{CARRIED_MTU, LINK_MTU, Settings};
use crate::name::Name;
use crate::pdu::Syntax;
use crate::routing::{self, RoutingPolicy};

/// Checks an IPC process, whose DIF may use those of the IPC processes before it. `at` says where a problem is.
pub(super) fn read(
    table: &IpcpTable,
    folder: &Path,
    before: &[IpcpConfig],
    at: &dyn Fn(String) -> ConfigError,
) -> Result<IpcpConfig, ConfigError> {
    if before.iter().any(|other| other.settings.dif == table.dif) {
        return Err(at("a router has one IPC process in a DIF".into()));
    }
    if table.address == Some(0) || table.address == Some(u16::MAX) {
        return Err(at("address: expected 1 to 65534".into()));
    }
    let keepalive = Duration::from_millis(table.keepalive_ms);
    let dead_after = Duration::from_millis(table.dead_after_ms.unwrap_or(3 * table.keepalive_ms));
    if !(20..=60_000).contains(&table.keepalive_ms) || dead_after < 2 * keepalive {
        return Err(at("expected keepalive_ms of 20 to 60000, and dead_after_ms of twice as much at least".into()));
    }
    let credential = table.credential.as_ref().map(|file| folder.join(file));
    let (dialect, syntax) = dialect(table.dialect, table.syntax, credential.as_deref(), &table.dif)?.map_err(at)?;
    if table.encryption && dialect.credential().is_none() {
        return Err(at("encryption needs the credential, which dialects of others have not".into()));
    }
    if dialect == Dialect::Irati && [&table.name, &table.dif].iter().any(|name| name.as_str().contains('|')) {
        return Err(at("name and dif: dialect = \"irati\" has names without `|`".into()));
    }
    let links = table.link.iter().map(|link| read_link(link, syntax).and_then(|link| above(table, before, link)));
    let links = links.collect::<Result<Vec<_>, _>>().map_err(at)?;
    let settings = Settings {
        name: table.name.clone(),
        dif: table.dif.clone(),
        address: table.address,
        identity: identity(table, &dialect, folder)?.map_err(at)?,
        dialect,
        syntax,
        routing: routing_policy(table.routing.as_deref()).map_err(at)?,
        encryption: table.encryption,
        mtu: LINK_MTU,
        keepalive,
        dead_after,
        qos: cubes(&table.qos, syntax).map_err(at)?,
        links: table.link.iter().map(|link| link.cost).collect(),
    };
    let protections = table.link.iter().map(|link| Protection { ttl: link.ttl, crc: link.crc }).collect();
    Ok(IpcpConfig { settings, links, protections })
}

/// Checks what a link needs of its syntax.
fn read_link(table: &LinkTable, syntax: Syntax) -> Result<Link, String> {
    if (table.ttl || table.crc) && syntax != Syntax::Irati {
        return Err("link: ttl and crc need syntax = \"irati\"; other syntaxes have their own protection".into());
    }
    if table.cost == 0 {
        return Err("link: cost: expected 1 to 65535".into());
    }
    let link = kind(table)?;
    match matches!(link, Link::Udp(..)) && syntax != Syntax::Checksum {
        true => Err(format!("link {link}: links over UDP need syntax = \"checksum\"")),
        false => Ok(link),
    }
}

/// Checks what a link that is an (N-1) flow needs of the DIF below.
fn above(table: &IpcpTable, before: &[IpcpConfig], link: Link) -> Result<Link, String> {
    let Link::Flow(dif, to, qos) = &link else { return Ok(link) };
    let Some(below) = before.iter().find(|other| other.settings.dif == *dif) else {
        return Err(format!("link {link}: no [[ipcp]] before it is in DIF {dif}"));
    };
    let cubes = &below.settings.qos;
    let known = cubes.iter().find(|cube| cube.name == *qos);
    if known.is_none_or(|cube| cube.reliable) {
        let names: Vec<&str> = cubes.iter().filter(|cube| !cube.reliable).map(|cube| cube.name.as_str()).collect();
        let why = if known.is_some() { "has retransmission, which the DIF above has itself" } else { "is not there" };
        let names = if names.is_empty() { "none without".into() } else { names.join(", ") };
        return Err(format!("link {link}: the QoS cube {qos} of DIF {dif} {why}; it has {names}"));
    }
    if table.dialect != DialectName::Hopwright || below.settings.dialect.credential().is_none() {
        return Err(format!(
            "link {link}: dialects of others have links over Ethernet alone, and are below no other DIF"
        ));
    }
    match *to == table.name {
        true => Err(format!("link {link} leads to itself")),
        false => Ok(link),
    }
}

/// Computes how long the PDUs of each DIF can be, from those below. `by_program`: of an IPC process and its link.
pub(super) fn set_mtus(
    ipcps: &mut [IpcpConfig],
    by_program: impl Fn(&[IpcpConfig], usize, &Link) -> bool,
) -> Result<(), String> {
    for at in 0..ipcps.len() {
        let carried = |link: &Link| match link {
            Link::Ethernet(..) | Link::Udp(..) => Some(LINK_MTU),
            Link::Flow(..) if by_program(ipcps, at, link) => Some(CARRIED_MTU),
            // Behind the number of hops.
            Link::Flow(dif, ..) => {
                let below = ipcps.iter().find(|other| other.settings.dif == *dif)?;
                Some(below.settings.part()? - 1)
            }
        };
        let mtu = ipcps[at].links.iter().filter_map(carried).min();
        ipcps[at].settings.mtu = mtu.unwrap_or(LINK_MTU);
        let settings = &ipcps[at].settings;
        if settings.part().is_none() {
            let mtu = settings.mtu;
            return Err(format!(
                "[[ipcp]] {} in {}: too many DIFs over each other: they leave PDUs of {mtu} bytes",
                settings.name, settings.dif
            ));
        }
    }
    Ok(())
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

/// What a DIF's members say, and how its PDUs are written.
fn dialect(
    name: DialectName,
    syntax: Option<Syntax>,
    credential: Option<&Path>,
    dif: &Name,
) -> Result<Result<(Dialect, Syntax), String>, CredentialError> {
    Ok(match (name, credential) {
        (DialectName::Hopwright, Some(file)) => {
            Ok((Dialect::Hopwright(Credential::read(file, dif)?), syntax.unwrap_or_default()))
        }
        (DialectName::Hopwright, None) => Err("credential is missing".into()),
        (DialectName::Rlite, None) if syntax.is_none() => Ok((Dialect::Rlite, Syntax::Rlite)),
        (DialectName::Irati, None) if syntax.is_none() => Ok((Dialect::Irati, Syntax::Irati)),
        (DialectName::Rlite | DialectName::Irati, _) => {
            Err("dialects of others have a syntax of their own, and no credential".into())
        }
    })
}

/// Who an IPC process proves to be.
fn identity(
    ipcp: &IpcpTable,
    dialect: &Dialect,
    folder: &Path,
) -> Result<Result<Option<Arc<Identity>>, String>, IdentityError> {
    let file = |path: &PathBuf| folder.join(path);
    Ok(match (&ipcp.authority, &ipcp.certificate, &ipcp.key) {
        (None, None, None) if ipcp.revoked.is_none() => Ok(None),
        (Some(_), ..) if dialect.credential().is_none() => Err("dialects of others have no certificates".into()),
        (Some(authority), Some(certificate), Some(key)) => {
            let files = Files {
                authority: file(authority),
                certificate: file(certificate),
                key: file(key),
                revoked: ipcp.revoked.as_ref().map(file),
            };
            Ok(Some(Arc::new(Identity::read(&files, &ipcp.name)?)))
        }
        _ => Err("authority, certificate and key belong together".into()),
    })
}

/// The routing policy of this name, or the default one.
fn routing_policy(name: Option<&str>) -> Result<&'static dyn RoutingPolicy, String> {
    let Some(name) = name else { return Ok(routing::POLICIES[0]) };
    let names = routing::POLICIES.map(|policy| policy.name()).join(" or ");
    routing::policy(name).ok_or_else(|| format!("routing: {name:?}: expected {names}"))
}

/// The congestion policy of this name, or the default one.
fn congestion_policy(name: Option<&str>) -> Result<&'static dyn CongestionPolicy, String> {
    let Some(name) = name else { return Ok(congestion::POLICIES[0]) };
    let names = congestion::POLICIES.map(|policy| policy.name()).join(" or ");
    congestion::policy(name).ok_or_else(|| format!("congestion: {name:?}: expected {names}"))
}

/// The cubes of a DIF: those given, or the default ones.
fn cubes(tables: &[QosTable], syntax: Syntax) -> Result<Vec<Qos>, String> {
    if tables.is_empty() {
        let cube = |id, name: &str, reliable, priority| Qos {
            id,
            name: name.into(),
            reliable,
            window: 512,
            congestion: congestion::POLICIES[0],
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
            congestion: congestion_policy(table.congestion.as_deref()).map_err(at)?,
            rate,
            priority: table.priority,
        });
    }
    Ok(cubes)
}
