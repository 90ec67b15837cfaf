//! The port numbers of a tenant.

use std::collections::BTreeMap;

/// The ports of a switch that a tenant has, and the numbers by which its program knows them. It can send to no others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TenantPorts {
    /// All that there are at any time, by the switch's numbers.
    #[default]
    All,
    /// These: the switch's number by the program's. A port has one number at most.
    Numbered(BTreeMap<u32, u32>),
}

impl TenantPorts {
    /// The program's number of a port of the switch.
    pub(crate) fn of_program(&self, number: u32) -> Option<u32> {
        match self {
            TenantPorts::All => Some(number),
            TenantPorts::Numbered(map) => map.iter().find(|(_, of_switch)| **of_switch == number).map(|(own, _)| *own),
        }
    }

    /// Numbers that no port of the switch may have beside these of CPU ports.
    pub(crate) fn reserved(&self, cpu_ports: [Option<u32>; 2]) -> Vec<u32> {
        if *self == TenantPorts::All { cpu_ports.into_iter().flatten().collect() } else { Vec::new() }
    }
}
