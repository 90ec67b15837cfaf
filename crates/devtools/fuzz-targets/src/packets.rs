//! Interpreter and machine code as SCION border routers, side by side. [`crate::repair`] repairs mutated packets.

use std::sync::Arc;

use hopwright_dataplane::{EngineKind, Executor, FrameSize, Pool, Verdict, VirtualDataPlane};
use hopwright_scion::control::program;
use hopwright_scion::synthetic::{self, INTERNAL_PORT};

use crate::repair;

/// The time of arrival in seconds since 1970, at which the corpus's signatures are valid.
pub(crate) const NOW_S: u32 = 1_790_000_000;

/// Ports that packets come in by: those of the synthetic router, and the control plane's.
pub const PORTS: [u16; 10] = [1, 2, 3, 4, 5, 8, synthetic::DOWN, synthetic::UNRESOLVED, INTERNAL_PORT, 510];

/// Flag in an input's first byte: the router with IPv6 inside instead of the one with IPv4.
pub const IPV6_INSIDE: u8 = 0x80;

/// Packets between two comparisons of all counters.
const COUNTERS_EVERY: u32 = 256;

/// Packets between two compilations of traces, and packets that the path profiler records.
const LEARN_EVERY: u32 = 512;
const PROFILED: usize = 256;

/// The input that is a frame at a port: its first byte is the port's place in [`PORTS`] and flags
/// ([`IPV6_INSIDE`], [`crate::LENGTHS`], [`crate::SIGNATURES`]). `None` if there is no such port.
pub fn encode(port: u16, flags: u8, frame: &[u8]) -> Option<Vec<u8>> {
    let place = PORTS.iter().position(|p| *p == port)? as u8;
    Some([&[place | flags], frame].concat())
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The program's reason, [`program::Reason`] as a number; `None` if it counted none or several.
    pub reason: Option<u8>,
    /// Where the packet went, 0 if nowhere.
    pub port: u32,
    /// Number of the parser's error.
    pub parser_error: u32,
}

/// SCION border routers in pairs, one interpreted and one compiled, that must agree on every packet.
pub struct Routers {
    pairs: [[Router; 2]; 2],
    packets: u32,
}

struct Router {
    vdp: Arc<VirtualDataPlane>,
    executor: Executor,
    pool: Pool,
    reasons: Vec<u64>,
    learns_in: u32,
}

/// Everything observable from outside after a packet.
#[derive(Debug, PartialEq)]
struct Seen {
    verdict: Verdict,
    parser_error: u32,
    /// Of a forwarded packet.
    sent: Option<(u32, Vec<u8>)>,
    reasons: Vec<u64>,
}

impl Default for Routers {
    fn default() -> Routers {
        Routers::new()
    }
}

impl Routers {
    /// Routers of the synthetic topology.
    pub fn new() -> Routers {
        let pipeline = Arc::new(program::compile(true).pipeline.expect("the router compiles"));
        let pairs = [false, true].map(|v6| {
            [EngineKind::Interp, EngineKind::Jit].map(|kind| {
                // The built-in machine code.
                let vdp = match kind {
                    EngineKind::Interp => VirtualDataPlane::new(pipeline.clone(), kind),
                    _ => program::BuiltIn::read().run(kind),
                };
                let vdp = vdp.expect("the router runs");
                let (links, hosts) = (synthetic::rich_links(v6), synthetic::rich_hosts(v6));
                synthetic::program(&vdp, &links, &hosts).expect("the tables take their entries");
                let executor = Executor::new(vdp.clone());
                let pool = Pool::new(1, FrameSize::JUMBO).expect("a small pool");
                Router { vdp, executor, pool, reasons: Vec::new(), learns_in: 0 }
            })
        });
        Routers { pairs, packets: 0 }
    }

    /// Any bytes are a frame at a port, as [`encode`] makes them: both routers do the same with it. `None` for
    /// other inputs.
    pub fn packet(&mut self, data: &[u8]) -> Option<Outcome> {
        let (&first, frame) = data.split_first()?;
        let port = PORTS[usize::from(first & 0x1f) % PORTS.len()];
        let mut frame = frame.to_vec();
        repair::repair(&mut frame, first, port != INTERNAL_PORT);
        let [interpreted, compiled] = &mut self.pairs[usize::from(first & IPV6_INSIDE != 0)];
        let before = std::mem::take(&mut interpreted.reasons);
        if compiled.learns_in == 0 {
            let _ = compiled.vdp.respecialise();
            let _ = compiled.vdp.start_profiling(PROFILED);
            compiled.learns_in = LEARN_EVERY;
        }
        compiled.learns_in -= 1;
        let expected = interpreted.process(&frame, port)?;
        let found = compiled.process(&frame, port)?;
        assert_eq!(expected, found, "interpreter and machine code disagree on {frame:02x?} at port {port}");
        self.packets += 1;
        if self.packets.is_multiple_of(COUNTERS_EVERY) {
            self.compare_counters();
        }
        let mut reasons = (0u8..).zip(before.iter().zip(&expected.reasons)).filter(|(_, (a, b))| a != b);
        let reason = reasons.next().map(|(i, _)| i).filter(|_| reasons.next().is_none());
        let port = expected.sent.map_or(0, |(port, _)| port);
        self.pairs[usize::from(first & IPV6_INSIDE != 0)][0].reasons = expected.reasons;
        Some(Outcome { reason, port, parser_error: expected.parser_error })
    }

    /// All counters of both routers are the same.
    pub fn compare_counters(&self) {
        for [interpreted, compiled] in &self.pairs {
            for name in ["reasons", "link_in", "link_out", "link_reasons", "link_dropped"] {
                // There are few links; the rest of the cells cannot be hit.
                let of = |router: &Router| {
                    router.vdp.control().counter(name).map(|c| c.read_range(0..1 << 13)).expect("a counter")
                };
                let (expected, found) = (of(interpreted), of(compiled));
                let differs = (0..).zip(expected.iter().zip(&found)).find(|(_, (a, b))| a != b);
                assert_eq!(expected.len(), found.len());
                assert!(differs.is_none(), "{name}: interpreter and machine code disagree: {differs:?}");
            }
        }
    }
}

impl Router {
    /// `None` for frames that no port can receive: longer than the buffers.
    fn process(&mut self, frame: &[u8], port: u16) -> Option<Seen> {
        let mut packet = self.pool.take_filled(frame)?;
        packet.set_ingress_port(port.into());
        self.executor.process_batch(std::slice::from_mut(&mut packet), u64::from(NOW_S) * 1_000_000);
        let verdict = packet.verdict();
        let seen = Seen {
            verdict,
            parser_error: packet.parser_error(),
            sent: (verdict == Verdict::Forward).then(|| (packet.egress_port(), packet.bytes().to_vec())),
            reasons: self
                .vdp
                .control()
                .counter("reasons")
                .map(|c| c.read_all())
                .expect("a counter")
                .iter()
                .map(|c| c.packets)
                .collect(),
        };
        self.pool.give(packet);
        Some(seen)
    }
}
