//! Interfaces of the command line: parses, checks and opens `-i PORT@DEVICE`.

#[cfg(any(feature = "ip", feature = "openflow"))]
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::str::FromStr;

use hopwright_dataplane::egress_queues::MOST_PACKETS;
use hopwright_dataplane::quantity::{Quantity, UnknownQuantity};
use hopwright_dataplane::{EgressQueues, Switch};
use hopwright_ports::opener::OpenerError;
use hopwright_ports::{DeviceError, Reception};
use hopwright_sema::nearest;

use crate::failure::Failure;

/// The kernel's list of interfaces: two lines of headings, then `NAME: FIGURES …`.
const INTERFACES: &str = "/proc/net/dev";

/// A port of the program, and its interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    /// The port's number.
    pub number: u32,
    /// The interface's name.
    pub name: String,
}

impl FromStr for Interface {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Interface, &'static str> {
        let parts = text.split_once('@').and_then(|(number, name)| Some((number.parse().ok()?, name)));
        let (number, name) =
            parts.filter(|(_, name)| !name.is_empty()).ok_or("expected NUMBER@INTERFACE, for example 0@eth0")?;
        Ok(Interface { number, name: name.into() })
    }
}

/// The rate and egress queues of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortQueues {
    /// The port's number.
    pub port: u32,
    /// Its rate and queues.
    pub settings: EgressQueues,
}

impl FromStr for PortQueues {
    type Err = String;

    fn from_str(text: &str) -> Result<PortQueues, String> {
        let wrong =
            || "expected NUMBER=RATE[,packets=PACKETS][,weights=W:W:W:W:W:W:W:W], for example 1=100M".to_string();
        let mut parts = text.split(',');
        let (port, rate) = parts.next().and_then(|part| part.split_once('=')).ok_or_else(wrong)?;
        let Quantity(rate) = rate.parse().map_err(|e: UnknownQuantity| e.to_string())?;
        if rate == 0 {
            return Err("a port needs a rate above 0".into());
        }
        let mut settings = EgressQueues::with_rate(rate);
        for part in parts {
            match part.split_once('=').ok_or_else(wrong)? {
                ("packets", packets) => {
                    let packets = packets.parse().ok().filter(|packets| (1..=MOST_PACKETS).contains(packets));
                    settings.packets = packets.ok_or_else(|| format!("packets: expected 1 to {MOST_PACKETS}"))?;
                }
                ("weights", weights) => {
                    let weights: Result<Vec<u16>, _> = weights.split(':').map(str::parse).collect();
                    let weights = weights.ok().and_then(|weights| weights.try_into().ok());
                    settings.weights = weights.ok_or("weights: expected eight numbers from 0 to 65535")?;
                }
                _ => return Err(wrong()),
            }
        }
        Ok(PortQueues { port: port.parse().map_err(|_| wrong())?, settings })
    }
}

/// Checks that ports with queues are ports, each given once.
pub(crate) fn check_queues(queues: &[PortQueues], interfaces: &[Interface]) -> Result<(), Failure> {
    for (at, PortQueues { port, .. }) in queues.iter().enumerate() {
        if !interfaces.iter().any(|interface| interface.number == *port) {
            return Err(Failure::message(format!("--queue: there is no port {port} (see -i)")));
        }
        if queues[..at].iter().any(|other| other.port == *port) {
            return Err(Failure::message(format!("--queue: port {port} is given twice")));
        }
    }
    Ok(())
}

/// Checks that all interfaces can be ports.
pub(crate) fn check(interfaces: &[Interface], cpu_port: Option<u32>) -> Result<(), Failure> {
    let there = all();
    for (at, one) in interfaces.iter().enumerate() {
        let Interface { number, name } = one;
        if Some(*number) == cpu_port {
            return Err(Failure::message(format!(
                "port {number} is the CPU port: {name} needs another number, or the CPU port (--cpu-port)"
            )));
        }
        for other in &interfaces[..at] {
            if other.number == *number {
                let other = &other.name;
                return Err(Failure::message(format!("port {number} is given twice: to {other} and to {name}")));
            }
            if other.name == *name {
                let other = other.number;
                return Err(Failure::message(format!("{name} is given twice: as port {other} and as port {number}")));
            }
        }
        // Without the list, opening the device reports the error.
        if !there.is_empty() && !there.contains(name) {
            return Err(missing(name, &there));
        }
    }
    Ok(())
}

/// The interfaces of this network namespace.
pub(crate) fn all() -> Vec<String> {
    let text = std::fs::read_to_string(INTERFACES).unwrap_or_default();
    let names = text.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_string()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn missing(name: &str, all: &[String]) -> Failure {
    let hint = match nearest(name, all.iter().map(String::as_str)) {
        Some(near) => format!(": did you mean {near}?"),
        None => format!("; there are {}", all.join(", ")),
    };
    Failure::message(format!("there is no interface {name}{hint}"))
}

/// Has interfaces receive the frames that the switch's tenants want, until what is returned is dropped.
pub(crate) fn receive(switch: &Switch, interfaces: &[Interface]) -> Result<Vec<Reception>, Failure> {
    let receive = |Interface { number, name }: &Interface| {
        let mut reception = Reception::open(name)?;
        reception.set(&switch.addresses(*number))?;
        Ok(reception)
    };
    interfaces.iter().map(receive).collect::<Result<_, DeviceError>>().map_err(Failure::message)
}

/// The interfaces' names by port number.
#[cfg(any(feature = "ip", feature = "openflow"))]
pub(crate) fn by_number(interfaces: &[Interface]) -> BTreeMap<u32, String> {
    interfaces.iter().map(|interface| (interface.number, interface.name.clone())).collect()
}

/// Why an agent does not run, and what helps.
#[cfg(any(feature = "ip", feature = "openflow"))]
pub(crate) fn not_run(error: hopwright_agent::alone::Error) -> Failure {
    match error {
        hopwright_agent::alone::Error::Open(error) => cannot_open(&error),
        error => Failure::from(error),
    }
}

/// Why an interface cannot be opened, and what helps.
pub(crate) fn cannot_open(error: &OpenerError) -> Failure {
    let hint = match error {
        OpenerError::Device(device) if device.error.kind() == ErrorKind::PermissionDenied => {
            "; taking packets from an interface needs root, or CAP_NET_RAW (and CAP_NET_ADMIN and CAP_BPF for AF_XDP)"
        }
        _ => "",
    };
    Failure::message(format!("{error}{hint}"))
}
