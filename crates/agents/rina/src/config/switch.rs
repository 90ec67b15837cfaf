//! `[switch]`: a switch elsewhere, which the IPC processes drive by P4Runtime.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hopwright_p4runtime::client::{ClientTls, ControllerOptions, PipelinePolicy};
use serde::Deserialize;

use super::PortTable;
use crate::neighbour::Mac;

/// The MTU of a port of the switch whose `[[port]]` has none, in bytes behind the Ethernet and VLAN headers.
const MTU: u16 = 1500;
/// Ports of the program; the last ones are the CPU's.
const MOST_PORTS: u32 = 507;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SwitchTable {
    p4runtime: String,
    #[serde(default = "one")]
    device_id: u64,
    #[serde(default = "one")]
    election_id: u64,
    #[serde(default)]
    pipeline: Pipeline,
    #[serde(default)]
    defines: Vec<String>,
    tls_ca: Option<PathBuf>,
    tls_name: Option<String>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
}

fn one() -> u64 {
    1
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Pipeline {
    #[default]
    Push,
    Check,
}

/// A switch elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchConfig {
    /// How to reach and drive it.
    pub controller: ControllerOptions,
    /// Macros of its program.
    pub defines: Vec<String>,
    /// Its ports by the names that links have for them.
    pub ports: BTreeMap<String, SwitchPort>,
}

/// A port of a switch elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchPort {
    /// Its number there.
    pub number: u32,
    /// The address that PDUs leave it with, and are addressed to.
    pub mac: Option<Mac>,
    /// Bytes behind Ethernet and VLAN headers.
    pub mtu: u16,
}

/// Checks what a file says of its switch, and of the ports that its links use. `hold`: how long entries of before are left alone.
pub(super) fn read(
    table: Option<SwitchTable>,
    ports: &[PortTable],
    devices: &[String],
    folder: &Path,
    hold: Duration,
) -> Result<Option<SwitchConfig>, String> {
    let Some(table) = table else {
        let elsewhere = |port: &&PortTable| port.number.is_some() || port.mac.is_some() || port.mtu.is_some();
        return match ports.iter().find(elsewhere) {
            Some(port) => Err(format!("[[port]] {}: number, mac and mtu are those of a [switch]", port.device)),
            None => Ok(None),
        };
    };
    let file = |path: PathBuf| folder.join(path);
    let identity = match (table.tls_cert, table.tls_key) {
        (Some(certificate), Some(key)) => Some((file(certificate), file(key))),
        (None, None) => None,
        _ => return Err("switch: tls_cert and tls_key belong together".into()),
    };
    if table.tls_ca.is_none() && (identity.is_some() || table.tls_name.is_some()) {
        return Err("switch: tls_name and tls_cert need tls_ca: without it nothing is encrypted".into());
    }
    let tls = table.tls_ca.map(|ca| ClientTls { ca: file(ca), name: table.tls_name, identity });
    if table.p4runtime.rsplit_once(':').is_none_or(|(host, port)| host.is_empty() || port.parse::<u16>().is_err()) {
        return Err(format!("switch.p4runtime: {:?}: expected HOST:PORT", table.p4runtime));
    }
    if let Some(name) = table.defines.iter().find(|name| !["NO_IRATI", "NO_SELECTOR"].contains(&name.as_str())) {
        return Err(format!("switch.defines: {name:?}: expected NO_IRATI or NO_SELECTOR"));
    }
    let pipeline = match table.pipeline {
        Pipeline::Push => PipelinePolicy::Push,
        Pipeline::Check => PipelinePolicy::Check,
    };
    let controller = ControllerOptions {
        server: table.p4runtime,
        device: table.device_id,
        election_id: table.election_id.into(),
        tls,
        pipeline,
        hold,
    };
    let ports = switch_ports(ports, devices)?;
    Ok(Some(SwitchConfig { controller, defines: table.defines, ports }))
}

/// The ports of the switch that links use.
fn switch_ports(tables: &[PortTable], devices: &[String]) -> Result<BTreeMap<String, SwitchPort>, String> {
    let mut ports = BTreeMap::new();
    let mut used = BTreeSet::new();
    for device in devices {
        let table = tables.iter().find(|port| port.device == *device);
        let at = |what: &str| format!("[[port]] {device}: {what}");
        let number = table.and_then(|port| port.number);
        let (Some(table), Some(number)) = (table, number) else {
            return Err(at("number: the port's number at the [switch] is missing"));
        };
        if number > MOST_PORTS {
            return Err(at("number: expected 0 to 507"));
        }
        if !used.insert(number) {
            return Err(at("number: another [[port]] has it"));
        }
        let mac = table
            .mac
            .as_deref()
            .map(|text| mac(text).ok_or_else(|| at("mac: expected a station's address such as 02:00:00:00:00:01")));
        let mtu = table.mtu.unwrap_or(MTU);
        if mtu < MTU {
            return Err(at("mtu: expected 1500 to 65535"));
        }
        ports.insert(device.clone(), SwitchPort { number, mac: mac.transpose()?, mtu });
    }
    Ok(ports)
}

/// The address of one station.
fn mac(text: &str) -> Option<Mac> {
    let mut bytes = text.split(':').map(|byte| u8::from_str_radix(byte, 16).ok().filter(|_| byte.len() == 2));
    let mut mac = [0; 6];
    for byte in &mut mac {
        *byte = bytes.next()??;
    }
    (bytes.next().is_none() && mac[0] & 1 == 0 && mac != [0; 6]).then_some(mac)
}
