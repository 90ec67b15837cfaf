//! The program that is built in, and its tables.

use std::sync::Arc;

use hopwright_dataplane::{BuildError, EngineKind, VirtualDataPlane};
use hopwright_driver::{Compiled, Options, compile_text};
use hopwright_p4runtime::Bundle;

/// Port by which the program punts, and by which it takes what the control plane sends.
pub const CPU_PORT: u32 = 510;
/// Port by which it punts layer management to the router.
pub const URGENT_CPU_PORT: u32 = 508;
/// Bytes of `packet_in_t`, in front of a punted frame.
pub(crate) const PACKET_IN_BYTES: usize = 3;

/// Reasons of `reasons.p4` for which packets are punted by the second one, if there is one.
const MANAGEMENT: u8 = 32;
const ARP: u8 = 35;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../p4/", $name)))),*]
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

/// Numbers and names of `Reason` in `reasons.p4`: the indices of the counter `reasons`.
pub fn reasons() -> Vec<(u8, &'static str)> {
    let text = SOURCES.iter().find(|(name, _)| *name == "reasons.p4").map_or("", |(_, text)| text);
    hopwright_driver::numbered_names(text)
}

impl Kind {
    /// The name of its main file.
    fn main(self) -> &'static str {
        self.sources()[0].0
    }

    fn sources(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Kind::Interior => SOURCES,
            Kind::Border => BORDER_SOURCES,
        }
    }
}

/// The sources of a program with macros, as a device config of P4Runtime.
pub fn bundle(kind: Kind, defines: &[String]) -> Bundle {
    let files = kind.sources().iter().map(|(name, text)| (name.to_string(), text.to_string()));
    Bundle {
        hopwright_bundle: 1,
        main: kind.main().into(),
        files: files.collect(),
        defines: defines.to_vec(),
        include_paths: Vec::new(),
    }
}

/// Whether a punted packet is one of those that have a CPU port of their own with `SEPARATE_MANAGEMENT`.
pub(crate) fn is_urgent(packet: &[u8]) -> bool {
    packet.get(PACKET_IN_BYTES - 1).is_some_and(|reason| [MANAGEMENT, ARP].contains(reason))
}

/// Compiles a program with macros; with `separate` layer management has a CPU port of its own.
pub fn compile(kind: Kind, separate: bool, defines: &[String]) -> Compiled {
    let sources = kind.sources();
    let (name, text) = sources[0];
    let mut options = Options {
        embedded: sources[1..].iter().map(|(name, text)| (name.to_string(), (*text).into())).collect(),
        no_disk: true,
        ..Options::default()
    };
    let separate = separate.then_some("SEPARATE_MANAGEMENT");
    separate.into_iter().chain(defines.iter().map(String::as_str)).for_each(|name| options.define(name));
    compile_text(name, text, &options, true)
}

/// A program, ready to run, with a CPU port for layer management.
pub fn data_plane(kind: Kind) -> Result<Arc<VirtualDataPlane>, BuildError> {
    let compiled = compile(kind, true, &[]);
    let report = compiled.report(false);
    let pipeline = compiled.pipeline.ok_or(BuildError::Program(report))?;
    VirtualDataPlane::new(Arc::new(pipeline), EngineKind::Jit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reasons_are_those_of_the_program() {
        let reasons = reasons();
        assert_eq!(reasons[0], (0, "FORWARDED"));
        assert!(reasons.contains(&(MANAGEMENT, "MANAGEMENT")) && reasons.contains(&(ARP, "ARP")));
        assert!(reasons.contains(&(44, "TOO_BIG")));
    }
}
