//! `hopwright` by the names of Intel's tools for Tofino: what its compiler writes ([`outputs`]), and its daemon for a device
//! ([`switchd`]), which reads that ([`conf`]).

mod conf;
pub(super) mod outputs;
pub(super) mod switchd;

/// A chip, as the compiler knows it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chip {
    /// Its target.
    pub target: &'static str,
    pub architecture: &'static str,
    /// The macro that programs tell chips apart by.
    pub define: &'static str,
    /// The port to the host by PCI Express.
    pub cpu_port: u16,
}

const CHIPS: [Chip; 4] = [
    Chip { target: "tofino", architecture: "tna", define: "__TARGET_TOFINO__=1", cpu_port: 320 },
    Chip { target: "tofino2", architecture: "t2na", define: "__TARGET_TOFINO__=2", cpu_port: 0 },
    Chip { target: "tofino2m", architecture: "t2na", define: "__TARGET_TOFINO__=2", cpu_port: 0 },
    Chip { target: "tofino3", architecture: "t2na", define: "__TARGET_TOFINO__=3", cpu_port: 0 },
];

impl Chip {
    /// The chip of this name, in the case of either the compiler's options or the daemon's configuration.
    pub(super) fn of(target: &str) -> Option<&'static Chip> {
        CHIPS.iter().find(|chip| chip.target.eq_ignore_ascii_case(target))
    }
}
