//! The P4 program `border_router.p4`: its text, its compilation, and the constants shared with the agent, which the
//! build script generates.

use std::sync::Arc;

use hopwright_dataplane::{Ahead, BuildError, EngineKind, VirtualDataPlane};
use hopwright_driver::{Compiled, compile_text};
use hopwright_ir::{ExternKind, Pipeline};

use crate::control::sources::options;
pub use crate::control::sources::{SOURCES, compile};

/// The program as the build script compiled it.
static BUILT_IN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/border_router.bin"));

/// The program compiled into this crate.
#[derive(Clone, Debug)]
pub struct BuiltIn {
    pipeline: Pipeline,
    /// Machine code, if the build script's compiler has a code generator for the target.
    code: Option<Ahead>,
}

impl BuiltIn {
    /// Reads the program. It has no source text; [`compile`] returns a program with it.
    pub fn read() -> BuiltIn {
        let (pipeline, code) = postcard::from_bytes(BUILT_IN).expect("the build script wrote it");
        BuiltIn { pipeline, code }
    }

    /// The pipeline.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Creates a data plane that runs the program. With machine code for this machine, this takes milliseconds.
    pub fn run(self, engine: EngineKind) -> Result<Arc<VirtualDataPlane>, BuildError> {
        let pipeline = Arc::new(self.pipeline);
        match (engine, self.code) {
            (EngineKind::Jit, Some(code)) => {
                // SAFETY: the build script generated the code from this pipeline with the compiler of this workspace.
                unsafe { VirtualDataPlane::with_code(pipeline, code) }
            }
            _ => VirtualDataPlane::new(pipeline, engine),
        }
    }
}

/// Enums, controller headers, numbers and names, which the build script extracted from the program.
#[allow(clippy::too_many_arguments, dead_code, unreachable_pub)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/border_router.rs"));
}

use generated::{COUNTER_SIZES, number, packet_in, packet_out};
pub(crate) use generated::{LinkScope, LinkState, LinkType, Traffic, action, object, table};

/// The reasons why packets are not forwarded, as described in `reasons.p4`.
pub use generated::Reason;

/// The macro that adds path type Hummingbird to the program.
pub const HUMMINGBIRD: &str = "HUMMINGBIRD";

/// Compiles the program with path type Hummingbird.
///
/// # Panics
/// If the program has errors, which is a defect of this crate.
pub fn with_hummingbird() -> Arc<Pipeline> {
    let compiled = compile_part(&[HUMMINGBIRD.to_string()]);
    let report = compiled.report(false);
    Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{report}")))
}

/// Compiles the program with macros of `features.p4`, for a chip that runs part of it.
pub fn compile_part(macros: &[String]) -> Compiled {
    let mut options = options();
    macros.iter().for_each(|definition| options.define(definition));
    let (name, text) = SOURCES[0];
    compile_text(name, text, &options, true)
}

/// Part of the program has other counters of links than the whole program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it does not count packets by size (NO_SIZE_CLASSES), which the router's metrics need")]
pub struct OtherCounters;

/// The number of links that part of the program has counters for.
///
/// # Errors
/// It counts other things than the whole program does.
pub fn links_of_part(part: &Pipeline) -> Result<u64, OtherCounters> {
    let size = |(name, cells): (&str, u64)| {
        let object = part.extern_by_name(name).map(|id| &part[id].kind);
        match object {
            Some(ExternKind::Counter { size, .. }) => size / cells,
            _ => 0,
        }
    };
    let sizes = LINK_COUNTERS.map(size);
    if sizes.iter().any(|links| *links != sizes[0] || *links == 0) {
        return Err(OtherCounters);
    }
    Ok(sizes[0])
}

/// Whether a chip that runs part of the program has sent this because it leaves the packet to the whole program.
pub fn is_left_out(port: u32, sent: &[u8]) -> bool {
    let reason = PacketIn::split(sent).map(|(header, _)| header.reason);
    port == CPU_PORT && reason == Some(Reason::FeatureLeftOut as u8)
}

/// The port of the control plane.
pub const CPU_PORT: u32 = number::CPU_PORT as u32;

/// The port of the control plane for packets that must not wait behind others.
pub const URGENT_CPU_PORT: u32 = number::URGENT_CPU_PORT as u32;

/// The highest port number of a device.
pub const MAX_DEVICE_PORT: u32 = 499;

/// The port of the machine's UDP sockets.
pub const LOCAL_PORT: u32 = number::LOCAL_PORT as u32;

/// The value in a packet-out header, instead of a port, to process the packet as if it had been received.
pub const PROCESS: u16 = number::PROCESS as u16;

/// Like [`PROCESS`], for a packet that was punted before it was counted as received.
pub const RECEIVED: u16 = number::RECEIVED as u16;

/// The number of links with counters.
pub const LINK_COUNT: usize = number::LINK_COUNT as usize;

/// The program's counters by link, and the number of cells per link.
pub const LINK_COUNTERS: [(&str, u64); 4] = [
    (object::LINK_IN, cells_by_link(object::LINK_IN)),
    (object::LINK_OUT, cells_by_link(object::LINK_OUT)),
    (object::LINK_REASONS, cells_by_link(object::LINK_REASONS)),
    (object::LINK_DROPPED, cells_by_link(object::LINK_DROPPED)),
];

/// Returns the number of cells per link of a counter. `name` is the last part of the counter's name.
const fn cells_by_link(name: &str) -> u64 {
    let mut i = 0;
    while i < COUNTER_SIZES.len() {
        if ends_with(COUNTER_SIZES[i].0, name) {
            return COUNTER_SIZES[i].1 / number::LINK_COUNT;
        }
        i += 1;
    }
    panic!("not a counter of the program")
}

/// Returns whether `text` is `end`, or ends with `.` and `end`.
const fn ends_with(text: &str, end: &str) -> bool {
    let (text, end) = (text.as_bytes(), end.as_bytes());
    if text.len() < end.len() {
        return false;
    }
    let start = text.len() - end.len();
    let mut i = 0;
    while i < end.len() {
        if text[start + i] != end[i] {
            return false;
        }
        i += 1;
    }
    start == 0 || text[start - 1] == b'.'
}

impl Reason {
    /// Whether packets with this reason go to the CPU port. Others, except for `None`, are dropped.
    pub fn is_punt(self) -> bool {
        u64::from(self as u8) >= number::PUNT_FIRST
    }

    /// The name for logs and metrics, such as `path_expired`.
    pub fn label(self) -> String {
        self.name().to_ascii_lowercase()
    }
}

/// The header of a punted packet (`packet_in_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketIn {
    /// The number of the reason for the punt.
    pub reason: u8,
    /// Whether the failed check was about the hop after a segment change.
    pub at_next_hop: bool,
    /// The ingress port.
    pub port: u16,
    /// The ingress SCION interface; 0 is the inside of the AS.
    pub ingress: u16,
    /// The egress SCION interface; 0 if unknown or to a host of this AS.
    pub egress: u16,
    /// The host whose link-layer address is missing, if that is the reason.
    pub next_hop: Option<std::net::IpAddr>,
}

impl PacketIn {
    /// The length of the header in bytes.
    pub const BYTES: usize = packet_in::BYTES;

    /// Splits a punted packet into its header and the packet as received. Returns `None` if it is too short.
    pub fn split(bytes: &[u8]) -> Option<(PacketIn, &[u8])> {
        let (head, packet) = bytes.split_at_checked(PacketIn::BYTES)?;
        let word = |field: std::ops::Range<usize>| head[field].try_into().ok().map(u16::from_be_bytes);
        let next_hop = <[u8; 16]>::try_from(&head[packet_in::NEXT_HOP]).ok()?;
        let header = PacketIn {
            reason: head[packet_in::REASON.start],
            at_next_hop: head[packet_in::AT_NEXT_HOP.start] != 0,
            port: word(packet_in::PORT)?,
            ingress: word(packet_in::INGRESS)?,
            egress: word(packet_in::EGRESS)?,
            next_hop: (next_hop != [0; 16]).then(|| std::net::Ipv6Addr::from(next_hop).to_canonical()),
        };
        Some((header, packet))
    }
}

/// The header of a packet from the agent (`packet_out_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOut {
    /// The port to send to; [`PROCESS`] or [`RECEIVED`] processes the packet as if it had been received.
    pub port: u16,
    /// For [`PROCESS`] and [`RECEIVED`]: the ingress port.
    pub ingress_port: u16,
    /// For [`PROCESS`] and [`RECEIVED`]: the UDP port to deliver an SCMP error to; 0 if not known.
    pub l4_port: u16,
}

impl PacketOut {
    /// The length of the header in bytes.
    pub const BYTES: usize = packet_out::BYTES;

    /// Requests processing as if received on a port.
    pub fn process(ingress_port: u16) -> PacketOut {
        PacketOut { port: PROCESS, ingress_port, l4_port: 0 }
    }

    /// Requests processing of a packet that was punted and completed.
    pub fn resume(punted: &PacketIn, l4_port: u16) -> PacketOut {
        // Packets with IP options are punted before their link is known.
        let port = if punted.reason == Reason::IpOptions as u8 { RECEIVED } else { PROCESS };
        PacketOut { port, ingress_port: punted.port, l4_port }
    }

    /// Returns the header followed by a packet.
    pub fn before(self, packet: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PacketOut::BYTES + packet.len());
        bytes.resize(PacketOut::BYTES, 0);
        for (field, word) in [
            (packet_out::PORT, self.port),
            (packet_out::INGRESS_PORT, self.ingress_port),
            (packet_out::L4_PORT, self.l4_port),
        ] {
            bytes[field].copy_from_slice(&word.to_be_bytes());
        }
        bytes.extend(packet);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_names_and_headers_are_generated() {
        assert_eq!((CPU_PORT, URGENT_CPU_PORT, LOCAL_PORT), (510, 508, 509));
        assert!([CPU_PORT, URGENT_CPU_PORT, LOCAL_PORT].iter().all(|port| *port > MAX_DEVICE_PORT));
        assert_eq!((Reason::PathExpired as u8, Reason::PathExpired.name()), (67, "PATH_EXPIRED"));
        assert_eq!((Reason::from_number(67), Reason::from_number(200)), (Some(Reason::PathExpired), None));
        assert!(Reason::IpOptions.is_punt() && !Reason::OwnPort.is_punt());
        assert_eq!(LINK_COUNTERS[1], ("link_out", 1 << 10));
        assert_eq!((PacketIn::BYTES, PacketOut::BYTES), (24, 6));
        assert_eq!((table::HOSTS_IPV4, action::NO_ACTION, object::HOP_KEY), ("hosts_ipv4", "NoAction", "hop_key"));
        // The program strips this many bytes of the agent's packets.
        assert_eq!(number::PACKET_OUT_BYTES, PacketOut::BYTES as u64);
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
    fn parts_of_the_program_have_what_the_agent_needs() {
        let links = |macros: &[&str]| {
            let macros: Vec<String> = macros.iter().map(|name| name.to_string()).collect();
            let compiled = compile_part(&macros);
            let report = compiled.report(false);
            links_of_part(&compiled.pipeline.expect(&report))
        };
        assert_eq!(links(&[]), Ok(LINK_COUNT as u64));
        assert_eq!(links(&["NO_EPIC", "NO_ONE_HOP", "NO_OTHER_KEYS", "PROFILE_ULTRASCALE"]), Ok(256));
        assert!(links(&["PROFILE_ECP5"]).unwrap_err().to_string().contains("NO_SIZE_CLASSES"));
    }

    #[test]
    fn reservations_are_an_addition() {
        let compiled = compile_part(&[HUMMINGBIRD.to_string()]);
        assert_eq!(compiled.report(false), "");
        let typed = compiled.typed.unwrap();
        let outcomes = typed.enums.iter().find(|e| e.name == "Flyover").unwrap();
        let names: Vec<String> = outcomes.members.iter().map(|(name, _)| name.to_lowercase()).collect();
        assert_eq!(names, crate::control::tables::FLYOVER_OUTCOMES);
        assert!(links_of_part(&with_hummingbird()).is_ok());
        assert!(!BuiltIn::read().pipeline().to_string().contains("flyover"));
    }

    #[test]
    fn what_a_chip_leaves_out_has_a_reason() {
        let mut sent = vec![0; PacketIn::BYTES];
        assert!(!is_left_out(CPU_PORT, &sent));
        sent[0] = Reason::FeatureLeftOut as u8;
        assert!(is_left_out(CPU_PORT, &sent));
        assert!(!is_left_out(5, &sent));
        assert!(!is_left_out(CPU_PORT, &sent[1..]));
    }

    #[test]
    fn the_program_compiles() {
        let compiled = compile(true);
        let text = compiled.report(false);
        assert!(compiled.pipeline.is_some(), "{text}");
        assert_eq!(text, "");
    }
}
