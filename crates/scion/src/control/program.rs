//! The P4 program `border_router.p4`: its text, how to compile it, and the numbers it shares with the agent.
//!
//! Does not live here: entries of its tables ([`crate::control::tables`]).

use std::sync::Arc;

use hopwright_dataplane::{Ahead, BuildError, EngineKind, VirtualDataPlane};
use hopwright_ir::Pipeline;

pub use crate::control::sources::{SOURCES, compile};

/// The program as the build script compiled it.
static BUILT_IN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/border_router.bin"));

/// The program that is built into this crate, compiled.
#[derive(Clone, Debug)]
pub struct BuiltIn {
    pipeline: Pipeline,
    /// Machine code, if the crate was built where it could be made.
    code: Option<Ahead>,
}

impl BuiltIn {
    /// Reads it. It has no source text: [`compile`] it to have that.
    pub fn read() -> BuiltIn {
        let (pipeline, code) = postcard::from_bytes(BUILT_IN).expect("the build script wrote it");
        BuiltIn { pipeline, code }
    }

    /// The pipeline.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// A data plane that runs it. With machine code for this machine that takes milliseconds.
    pub fn run(self, engine: EngineKind) -> Result<Arc<VirtualDataPlane>, BuildError> {
        let pipeline = Arc::new(self.pipeline);
        match (engine, self.code) {
            (EngineKind::Jit, Some(code)) => {
                // SAFETY: the build script made the code from this pipeline, by the compiler of this workspace.
                unsafe { VirtualDataPlane::with_code(pipeline, code) }
            }
            _ => VirtualDataPlane::new(pipeline, engine),
        }
    }
}

/// Port number of the control plane (`CPU_PORT`).
pub const CPU_PORT: u32 = 510;

/// Its port number for what must not wait (`URGENT_CPU_PORT`).
pub const URGENT_CPU_PORT: u32 = 508;

/// Highest port number for a device.
pub const MAX_DEVICE_PORT: u32 = 499;

/// The program's counters by link, and how many cells each link has.
pub const LINK_COUNTERS: [(&str, u64); 4] =
    [("link_in", 1 << 6), ("link_out", 1 << 10), ("link_reasons", 1 << 7), ("link_dropped", 1 << 5)];

/// Port number of the machine's UDP sockets (`LOCAL_PORT`).
pub const LOCAL_PORT: u32 = 509;

/// In a packet-out header instead of a port: process the packet as if it had been received (`PROCESS`).
pub const PROCESS: u16 = 0xffff;

/// As [`PROCESS`], for a packet that was punted before it was counted as received (`RECEIVED`).
pub const RECEIVED: u16 = 0xfffe;

macro_rules! reasons {
    ($($variant:ident $name:literal = $value:literal),* $(,)?) => {
        /// Why a packet was not forwarded: the program's `Reason`, where each is explained.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Reason {
            $($variant = $value),*
        }

        impl Reason {
            /// All of them, in order of their numbers.
            pub const ALL: &[Reason] = &[$(Reason::$variant),*];

            /// The name in the program: `PATH_EXPIRED`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Reason::$variant => $name),*
                }
            }

            /// The reason with this number.
            pub fn from_number(number: u8) -> Option<Reason> {
                match number {
                    $($value => Some(Reason::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

reasons! {
    None "NONE" = 0,
    NotConfigured "NOT_CONFIGURED" = 1,
    NotForUs "NOT_FOR_US" = 2,
    Malformed "MALFORMED" = 3,
    BadIpChecksum "BAD_IP_CHECKSUM" = 4,
    UnsupportedPathType "UNSUPPORTED_PATH_TYPE" = 5,
    SingletonSegment "SINGLETON_SEGMENT" = 6,
    MalformedPeering "MALFORMED_PEERING" = 7,
    InvalidTransitSource "INVALID_TRANSIT_SOURCE" = 8,
    PathEnds "PATH_ENDS" = 9,
    UnknownL4 "UNKNOWN_L4" = 10,
    OneHopDirection "ONE_HOP_DIRECTION" = 11,
    OneHopSource "ONE_HOP_SOURCE" = 12,
    OneHopDestination "ONE_HOP_DESTINATION" = 13,
    OneHopInterface "ONE_HOP_INTERFACE" = 14,
    OneHopMac "ONE_HOP_MAC" = 15,
    OneHopUndeliverable "ONE_HOP_UNDELIVERABLE" = 16,
    UnderlayMismatch "UNDERLAY_MISMATCH" = 17,
    EpicTooOld "EPIC_TOO_OLD" = 18,
    EpicFromFuture "EPIC_FROM_FUTURE" = 19,
    EpicHvf "EPIC_HVF" = 20,
    BfdFromHost "BFD_FROM_HOST" = 21,
    BfdTooOften "BFD_TOO_OFTEN" = 22,
    WrongDevice "WRONG_DEVICE" = 23,
    OwnPort "OWN_PORT" = 24,
    IpOptions "IP_OPTIONS" = 64,
    Bfd "BFD" = 65,
    PathExpired "PATH_EXPIRED" = 67,
    UnknownIngress "UNKNOWN_INGRESS" = 68,
    InvalidPacketSize "INVALID_PACKET_SIZE" = 69,
    InvalidSourceIa "INVALID_SOURCE_IA" = 70,
    InvalidDestinationIa "INVALID_DESTINATION_IA" = 71,
    InvalidSourceHost "INVALID_SOURCE_HOST" = 72,
    InvalidHopMac "INVALID_HOP_MAC" = 73,
    IngressAlert "INGRESS_ALERT" = 74,
    EgressAlert "EGRESS_ALERT" = 75,
    NoService "NO_SERVICE" = 76,
    InvalidDestinationHost "INVALID_DESTINATION_HOST" = 77,
    UnknownEgress "UNKNOWN_EGRESS" = 78,
    InvalidPath "INVALID_PATH" = 79,
    InvalidSegmentChange "INVALID_SEGMENT_CHANGE" = 80,
    InterfaceDown "INTERFACE_DOWN" = 81,
    NextHopUnresolved "NEXT_HOP_UNRESOLVED" = 82,
    ScmpError "SCMP_ERROR" = 83,
    NoUdpChecksum "NO_UDP_CHECKSUM" = 84,
    PacketTooBig "PACKET_TOO_BIG" = 85,
}

impl Reason {
    /// The packet goes to the CPU port; otherwise (and but for `None`) it is dropped.
    pub fn is_punt(self) -> bool {
        self as u8 >= 64
    }

    /// The name for people and metrics: `path_expired`.
    pub fn label(self) -> String {
        self.name().to_ascii_lowercase()
    }
}

/// What stands in front of a punted packet (`packet_in_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketIn {
    /// Why it was punted, as the program numbers it.
    pub reason: u8,
    /// The check that failed was about the hop after the segment change.
    pub at_next_hop: bool,
    /// Port it came in by.
    pub port: u16,
    /// SCION interface it came in by, 0 from inside the AS.
    pub ingress: u16,
    /// SCION interface it would leave by, 0 if unknown or to a host of this AS.
    pub egress: u16,
    /// The host whose link-layer address is missing, if that is why.
    pub next_hop: Option<std::net::IpAddr>,
}

impl PacketIn {
    /// Bytes of the header.
    pub const BYTES: usize = 24;

    /// Splits a punted packet in its header and the packet as it was received. `None` if it is too short.
    pub fn split(bytes: &[u8]) -> Option<(PacketIn, &[u8])> {
        let (head, packet) = bytes.split_at_checked(PacketIn::BYTES)?;
        let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let next_hop = <[u8; 16]>::try_from(&head[8..24]).ok()?;
        let header = PacketIn {
            reason: head[0],
            at_next_hop: head[1] != 0,
            port: word(2),
            ingress: word(4),
            egress: word(6),
            next_hop: (next_hop != [0; 16]).then(|| std::net::Ipv6Addr::from(next_hop).to_canonical()),
        };
        Some((header, packet))
    }
}

/// What stands in front of a packet from the agent (`packet_out_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOut {
    /// Send it as it is by this port; [`PROCESS`] or [`RECEIVED`]: treat it as if it had been received.
    pub port: u16,
    /// With these: by which port.
    pub ingress_port: u16,
    /// With these: where to deliver an SCMP error, 0 if not known.
    pub l4_port: u16,
}

impl PacketOut {
    /// Bytes of the header.
    pub const BYTES: usize = 6;

    /// To be processed as if received by a port.
    pub fn process(ingress_port: u16) -> PacketOut {
        PacketOut { port: PROCESS, ingress_port, l4_port: 0 }
    }

    /// To be processed again after it was punted and completed.
    pub fn resume(punted: &PacketIn, l4_port: u16) -> PacketOut {
        // Packets with IP options are punted before their link is known.
        let port = if punted.reason == Reason::IpOptions as u8 { RECEIVED } else { PROCESS };
        PacketOut { port, ingress_port: punted.port, l4_port }
    }

    /// The header and a packet.
    pub fn before(self, packet: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PacketOut::BYTES + packet.len());
        for word in [self.port, self.ingress_port, self.l4_port] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend(packet);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str) -> &'static str {
        SOURCES.iter().find(|(n, _)| *n == name).unwrap().1
    }

    #[test]
    fn reasons_are_those_of_the_program() {
        let text = source("reasons.p4");
        let start = text.find("enum bit<8> Reason {").unwrap();
        let body = &text[start..start + text[start..].find("\n}").unwrap()];
        let in_program: Vec<(&str, u8)> = body
            .lines()
            .map(|line| line.split("//").next().unwrap().trim().trim_end_matches(','))
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.trim(), value.trim().parse().unwrap()))
            .collect();
        let here: Vec<(&str, u8)> = Reason::ALL.iter().map(|r| (r.name(), *r as u8)).collect();
        assert_eq!(here, in_program);
        assert!(text.contains("const bit<8> PUNT_FIRST = 64;"));
        for (name, number) in in_program {
            assert_eq!(Reason::from_number(number).unwrap().name(), name);
        }
        assert_eq!(Reason::from_number(200), None);
    }

    #[test]
    fn constants_are_those_of_the_program() {
        let numbers = std::collections::BTreeSet::from([CPU_PORT, URGENT_CPU_PORT, LOCAL_PORT]);
        assert!(numbers.len() == 3 && numbers.first().is_some_and(|n| *n > MAX_DEVICE_PORT));
        let text = source("headers.p4");
        assert!(text.contains(&format!("const bit<9> CPU_PORT = {CPU_PORT};")));
        assert!(text.contains(&format!("const bit<16> LOCAL_PORT = {LOCAL_PORT};")));
        assert!(text.contains(&format!("const bit<9> URGENT_CPU_PORT = {URGENT_CPU_PORT};")));
        assert!(text.contains(&format!("const bit<16> PROCESS = {PROCESS:#x};")));
        assert!(text.contains(&format!("const bit<16> RECEIVED = {RECEIVED:#x};")));
        assert!(text.contains(&format!("const bit<32> PACKET_OUT_BYTES = {};", PacketOut::BYTES)));
    }

    #[test]
    fn links_are_as_many_as_counters() {
        let count = crate::config::links::COUNT;
        assert!(source("counters.p4").contains(&format!("const bit<32> LINK_COUNT = {count};")));
    }

    #[test]
    fn links_have_as_many_counters_as_in_the_program() {
        let text = source("counters.p4");
        for (name, cells) in LINK_COUNTERS {
            let size = format!("counter(LINK_COUNT << {}, ", cells.ilog2());
            assert!(text.lines().any(|l| l.contains(&size) && l.ends_with(&format!(" {name};"))), "{name}");
        }
    }

    #[test]
    fn every_part_is_built_in() {
        let main = SOURCES[0].1;
        let mut included: Vec<&str> =
            main.lines().filter_map(|l| l.strip_prefix("#include \"")).map(|l| l.trim_end_matches('"')).collect();
        included.sort_unstable();
        let mut here: Vec<&str> = SOURCES[1..].iter().map(|(name, _)| *name).collect();
        here.sort_unstable();
        assert_eq!(here, included);
    }

    #[test]
    fn packet_in_header() {
        let mut bytes = vec![82, 1, 0, 7, 0, 141, 0, 5];
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1]);
        bytes.extend([1, 2, 3]);
        let (header, packet) = PacketIn::split(&bytes).unwrap();
        assert_eq!(packet, [1, 2, 3]);
        let next_hop = Some("192.0.2.1".parse().unwrap());
        assert_eq!(header, PacketIn { reason: 82, at_next_hop: true, port: 7, ingress: 141, egress: 5, next_hop });
        assert_eq!(PacketIn::split(&bytes[..23]), None);
    }

    #[test]
    fn packet_out_header() {
        let header = PacketOut { l4_port: 0x1234, ..PacketOut::process(7) };
        assert_eq!(header.before(&[9]), [0xff, 0xff, 0, 7, 0x12, 0x34, 9]);
    }

    #[test]
    fn what_is_built_in_is_the_program() {
        let compiled = compile(true).pipeline.unwrap();
        let built_in = BuiltIn::read();
        assert_eq!(built_in.pipeline().to_string(), compiled.to_string());
        assert_eq!(built_in.code.is_some(), cfg!(any(target_arch = "x86_64", target_arch = "aarch64")));
    }

    #[test]
    fn the_program_compiles() {
        let compiled = compile(true);
        let text = compiled.report(false);
        assert!(compiled.pipeline.is_some(), "{text}");
        assert_eq!(text, "");
    }
}
