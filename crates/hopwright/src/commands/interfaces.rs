//! Interfaces of the command line: parses, checks and opens `-i PORT@DEVICE`.

use std::io::ErrorKind;
use std::str::FromStr;

use hopwright_dataplane::Switch;
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

/// Checks that all interfaces can be ports.
pub(crate) fn check(interfaces: &[Interface], cpu_port: u16) -> Result<(), Failure> {
    let there = all();
    for (at, one) in interfaces.iter().enumerate() {
        let Interface { number, name } = one;
        if *number == u32::from(cpu_port) {
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
fn all() -> Vec<String> {
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
