//! What the program counts, read as traffic: links, kinds, size classes, bytes and reasons, on both engines.

use std::collections::BTreeMap;
use std::sync::Arc;

use hopwright_dataplane::{Count, EngineKind, Executor, FrameSize, Pool, VirtualDataPlane};
use hopwright_scion::links::{INTERNAL_INDEX, Links};
use hopwright_scion::metrics::{KINDS, LinkTraffic, OwnPackets, SIZE_CLASSES, size_class};
use hopwright_scion::program::{self, CPU_PORT, PacketOut, Reason};
use hopwright_scion::synthetic::{self, CASES, brload_hosts, brload_links};

const NOW: u32 = 1_700_000_000;
/// Ethernet, IPv4 and UDP.
const IN_FRONT: usize = 14 + 20 + 8;
/// Frames of several size classes.
const SIZES: [usize; 4] = [172, 512, 1066, 1500];

struct Router {
    vdp: Arc<VirtualDataPlane>,
    executor: Executor,
    pool: Pool,
    links: Links,
}

impl Router {
    fn new(kind: EngineKind) -> Router {
        let pipeline = Arc::new(program::compile(true).pipeline.unwrap());
        let vdp = VirtualDataPlane::new(pipeline, kind).unwrap();
        let links = brload_links();
        synthetic::program(&vdp, &links, &brload_hosts()).unwrap();
        Router { executor: Executor::new(vdp.clone()), vdp, pool: Pool::new(8, FrameSize::JUMBO).unwrap(), links }
    }

    fn process(&mut self, port: u32, frame: &[u8]) {
        let mut packet = self.pool.take_filled(frame).unwrap();
        packet.set_ingress_port(port);
        self.executor.process_batch(std::slice::from_mut(&mut packet), u64::from(NOW) * 1_000_000);
        self.pool.give(packet);
    }

    fn traffic(&self, index: u16) -> LinkTraffic {
        LinkTraffic::read(&self.vdp, index, false, &OwnPackets::default()).unwrap()
    }

    /// The sum over all links of what was sent, by kind and size class, where there is something.
    fn output(&self) -> BTreeMap<(&'static str, &'static str), Count> {
        let siblings = self.links.siblings.iter().map(|s| s.index);
        let links = self.links.external.iter().map(|e| e.index).chain(siblings).chain([INTERNAL_INDEX]);
        let mut sum = BTreeMap::<_, Count>::new();
        for traffic in links.map(|index| self.traffic(index)) {
            for (kind, by_size) in KINDS.iter().zip(&traffic.output) {
                for (class, count) in SIZE_CLASSES.iter().zip(by_size).filter(|(_, c)| c.packets > 0) {
                    let total = sum.entry((*kind, *class)).or_default();
                    total.packets += count.packets;
                    total.bytes += count.bytes;
                }
            }
        }
        sum
    }
}

#[test]
fn every_kind_and_size() {
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let mut router = Router::new(engine);
        let mut wanted = BTreeMap::<_, Count>::new();
        for case in CASES {
            for size in SIZES {
                router.process(case.ingress_port.into(), &case.frame(size, 1, NOW).unwrap());
                let scion = size - IN_FRONT;
                let count = wanted.entry((case.name, SIZE_CLASSES[size_class(scion)])).or_default();
                count.packets += 1;
                count.bytes += scion as u64;
            }
        }
        assert_eq!(router.output(), wanted, "{engine:?}");
    }
}

#[test]
fn what_comes_in_once_is_counted_once() {
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let mut router = Router::new(engine);
        let case = CASES.iter().find(|c| c.name == "br_transit").unwrap();
        let frame = case.frame(512, 1, NOW).unwrap();
        router.process(case.ingress_port.into(), &frame);
        // The agent gives it to the program again.
        router.process(CPU_PORT, &PacketOut::process(case.ingress_port).before(&frame));
        let input: u64 = (0..4).flat_map(|link| router.traffic(link).input).map(|c| c.packets).sum();
        assert_eq!(input, 1, "{engine:?}");
        let bytes = 2 * (512 - IN_FRONT) as u64;
        assert_eq!(
            router.output(),
            BTreeMap::from([(("br_transit", "256_511"), Count { packets: 2, bytes })]),
            "{engine:?}"
        );
    }
}

#[test]
fn refusals_by_link_and_reason() {
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let mut router = Router::new(engine);
        let case = CASES.iter().find(|c| c.name == "br_transit").unwrap();
        let mut frame = case.frame(512, 1, NOW).unwrap();
        // Behind the underlay: the path type.
        frame[IN_FRONT + 8] = 99;
        router.process(case.ingress_port.into(), &frame);
        let index = router.links.external.iter().find(|e| e.id == 2).unwrap().index;
        let traffic = router.traffic(index);
        assert_eq!(traffic.refused, [(Reason::UnsupportedPathType, 1)], "{engine:?}");
        let class = size_class(512 - IN_FRONT);
        assert_eq!(traffic.dropped[class], 1, "{engine:?}");
        assert_eq!(traffic.input[class], Count { packets: 1, bytes: (512 - IN_FRONT) as u64 }, "{engine:?}");
        assert_eq!(router.output(), BTreeMap::new(), "{engine:?}");
    }
}
