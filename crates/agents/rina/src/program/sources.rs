//! The text of the programs, and how to compile it. Part of the crate and of its build script.

use hopwright_driver::{Options, in_memory};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../p4/", $name)))),*]
    };
}

/// The program and its parts, by the names they include each other by.
const SOURCES: &[(&str, &str)] = files![
    "interior.p4",
    "reasons.p4",
    "headers.p4",
    "packet.p4",
    "parser.p4",
    "../router/route_ipv4.p4",
    "crc.p4",
    "relay.p4",
    "next_hops.p4",
    "congestion.p4",
];

/// The same of the border router.
const BORDER_SOURCES: &[(&str, &str)] =
    files!["border.p4", "reasons.p4", "headers.p4", "border_packet.p4", "border_parser.p4", "border_queues.p4"];

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `p4/rina/interior.p4`
    Interior,
    /// `p4/rina/border.p4`
    Border,
}

impl Kind {
    /// The files, by the names they include each other by; the main one is the first.
    pub(crate) fn sources(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Kind::Interior => SOURCES,
            Kind::Border => BORDER_SOURCES,
        }
    }

    /// How it is compiled with macros.
    pub(crate) fn options<'a>(self, defines: impl IntoIterator<Item = &'a str>) -> Options {
        let mut options = in_memory(&self.sources()[1..]);
        defines.into_iter().for_each(|name| options.define(name));
        options
    }
}

/// The macro with which layer management has a CPU port of its own.
pub(crate) const SEPARATE_MANAGEMENT: &str = "SEPARATE_MANAGEMENT";
/// The macros of the interior router's program for hardware.
#[cfg_attr(not(test), allow(dead_code))]
pub(crate) const HARDWARE: [&str; 2] = ["NO_IRATI", "NO_SELECTOR"];
