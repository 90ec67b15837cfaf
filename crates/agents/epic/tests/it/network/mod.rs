//! Five ASes in memory: A and B below core AS C on one side, D and E on the other. A's host sends to E's.
//!
//! ```text
//! host ─ A 1 ─── 1 B 2 ─── 1 C 2 ─── 1 D 2 ─── 1 E ─ host
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use hopwright_dataplane::{Ahead, EngineKind, FrameSize, VirtualDataPlane, wall_clock_us};
use hopwright_epic::router::{self, Link, NextHop, Relation, Router};
use hopwright_epic::source::{self, Keys, Message, Sealed};
use hopwright_epic::{BeaconHop, Cipher, ETHERTYPE, Host, IsdAs, Key, Level, Packet, Path, PathSegment, drkey};
use hopwright_ir::Pipeline;
use hopwright_stf::{DataPlaneEngine, Engine};

/// Ports of each router: hosts, and the interface of the same number.
pub(crate) const HOSTS: u16 = 9;
const ASES: usize = 5;

pub(crate) struct Network {
    pub(crate) cipher: Cipher,
    pub(crate) now_us: u64,
    pub(crate) routers: Vec<DataPlaneEngine>,
    pub(crate) keys: Vec<AsKeys>,
}

pub(crate) struct AsKeys {
    pub(crate) ia: IsdAs,
    pub(crate) hop: Key,
    pub(crate) secret: Key,
}

/// What became of a packet: bytes from the SCION header on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Leaves by the port.
    Sent(u16, Vec<u8>),
    /// Goes to the CPU port with the reason.
    Punted(u8),
    /// Dropped with the reason.
    Dropped(u8),
}

pub(crate) fn host(number: u8) -> Host {
    Host(format!("10.0.0.{number}").parse().unwrap())
}

pub(crate) fn ia(number: usize) -> IsdAs {
    IsdAs(0x0001_ff00_0000_0100 + number as u64)
}

/// A data plane with the router's program, which is compiled once for each cipher.
fn data_plane(cipher: Cipher, engine: EngineKind) -> Arc<VirtualDataPlane> {
    static COMPILED: [OnceLock<(Arc<Pipeline>, Ahead)>; 2] = [const { OnceLock::new() }; 2];
    let (pipeline, code) = COMPILED[cipher as usize].get_or_init(|| {
        let pipeline = router::compile(cipher).pipeline.unwrap();
        let code = hopwright_jit::compile_ahead(&pipeline, hopwright_jit::Architecture::here().unwrap()).unwrap();
        (Arc::new(pipeline), code)
    });
    match engine {
        // SAFETY: the code was generated from this pipeline by this compiler.
        EngineKind::Jit => unsafe { VirtualDataPlane::with_code(pipeline.clone(), code.clone()) }.unwrap(),
        _ => VirtualDataPlane::new(pipeline.clone(), engine).unwrap(),
    }
}

impl Network {
    pub(crate) fn new(cipher: Cipher, engine: EngineKind) -> Network {
        let keys: Vec<AsKeys> = (0..ASES)
            .map(|i| AsKeys { ia: ia(i), hop: [0x10 + i as u8; 16].into(), secret: [0x20 + i as u8; 16].into() })
            .collect();
        let routers = keys.iter().enumerate().map(|(i, keys)| {
            let vdp = data_plane(cipher, engine);
            router(i, keys).program(vdp.control(), cipher).unwrap();
            DataPlaneEngine::new(vdp, FrameSize::JUMBO).unwrap()
        });
        let routers = routers.collect();
        Network { cipher, now_us: wall_clock_us(), routers, keys }
    }

    pub(crate) fn change(&self, change: impl Fn(&mut Router)) {
        for (i, keys) in self.keys.iter().enumerate() {
            let mut router = router(i, keys);
            change(&mut router);
            router.program(self.routers[i].vdp.control(), self.cipher).unwrap();
        }
    }

    pub(crate) fn now(&self) -> u32 {
        (self.now_us / 1_000_000) as u32
    }

    /// A segment from the core AS C to a leaf: A with `[2, 1, 0]`, E with `[2, 3, 4]`. Interfaces are those of the picture.
    pub(crate) fn segment(&self, ases: &[usize], seg_id: u16, timestamp: u32) -> PathSegment {
        let last = ases.len() - 1;
        let towards = |from: usize, to: usize| if to > from && from > 0 { 2 } else { 1 };
        let hops: Vec<BeaconHop<'_>> = ases
            .iter()
            .enumerate()
            .map(|(place, &number)| BeaconHop {
                ia: self.keys[number].ia,
                key: &self.keys[number].hop,
                ingress: if place == 0 { 0 } else { towards(number, ases[place - 1]) },
                egress: if place == last { 0 } else { towards(number, ases[place + 1]) },
            })
            .collect();
        PathSegment::construct(self.cipher, timestamp, seg_id, 63, &hops)
    }

    /// From A to E.
    pub(crate) fn path(&self) -> Path {
        let timestamp = self.now() - 60;
        let up = self.segment(&[2, 1, 0], 0x1111, timestamp).reversed();
        let down = self.segment(&[2, 3, 4], 0x2222, timestamp);
        Path { cipher: self.cipher, segments: vec![up, down] }
    }

    /// Keys of a host of A with a host of E.
    pub(crate) fn keys(&self, src: Host, dst: Host) -> Keys {
        let routers: BTreeMap<IsdAs, Key> =
            self.keys.iter().map(|k| (k.ia, drkey::as_host(&drkey::as_as(&k.secret, ia(0)), &src))).collect();
        let destination = drkey::host_host(&drkey::host_as(&drkey::as_as(&self.keys[4].secret, ia(0)), &dst), &src);
        Keys { routers, destination }
    }

    pub(crate) fn message(&self, level: Level, counter: u32) -> Message {
        Message {
            level,
            src: (ia(0), host(1)),
            dst: (ia(4), host(2)),
            timestamp: self.now(),
            counter,
            next_hdr: 17,
            payload: b"thirty-two bytes of test payload".to_vec(),
        }
    }

    pub(crate) fn sealed(&self, level: Level, counter: u32) -> Sealed {
        source::seal(self.message(level, counter), &self.path(), Some(&self.keys(host(1), host(2)))).unwrap()
    }

    /// One router's decision.
    pub(crate) fn at(&mut self, router: usize, port: u16, packet: &[u8]) -> Outcome {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        frame.extend(ETHERTYPE.to_be_bytes());
        frame.extend(packet);
        let engine = &mut self.routers[router];
        let before = reasons(engine);
        let processed = engine.process(port, &frame, self.now_us).unwrap();
        assert_eq!(processed.fault, None);
        let after = reasons(engine);
        let reason = (0..before.len()).find(|&i| after[i] != before[i]).unwrap() as u8;
        match processed.sent.into_iter().next() {
            None => Outcome::Dropped(reason),
            Some((510, bytes)) => {
                assert_eq!(bytes[0], reason);
                assert_eq!(bytes[6..], frame, "a punted packet is as it came");
                Outcome::Punted(reason)
            }
            Some((port, bytes)) => Outcome::Sent(port, bytes[14..].to_vec()),
        }
    }

    /// All the way from A's host.
    pub(crate) fn deliver(&mut self, packet: &Packet) -> Result<Packet, (usize, Outcome)> {
        self.deliver_bytes(packet.encode()).map(|bytes| Packet::decode(&bytes).unwrap())
    }

    /// The same with bytes.
    pub(crate) fn deliver_bytes(&mut self, mut bytes: Vec<u8>) -> Result<Vec<u8>, (usize, Outcome)> {
        let (mut router, mut port) = (0, HOSTS);
        loop {
            match self.at(router, port, &bytes) {
                Outcome::Sent(HOSTS, out) => return Ok(out),
                // Interface 2 leads to the next letter, interface 1 to the one before; A's only one is 1.
                Outcome::Sent(out, next) => {
                    let forward = out == 2 || router == 0;
                    (router, port) =
                        if forward { (router + 1, 1) } else { (router - 1, if router == 1 { 1 } else { 2 }) };
                    bytes = next;
                }
                other => return Err((router, other)),
            }
        }
    }
}

fn reasons(engine: &DataPlaneEngine) -> Vec<u64> {
    engine.vdp.control().counter("reasons").unwrap().read_all().iter().map(|c| c.packets).collect()
}

fn router(number: usize, keys: &AsKeys) -> Router {
    let next_hop = |port| NextHop { port, dst_mac: [2, 0, 0, 0, 1, port as u8], src_mac: [2, 0, 0, 0, 0, port as u8] };
    let link = |interface, relation| Link { interface, relation, next_hop: next_hop(interface) };
    let links = match number {
        0 => vec![link(1, Relation::Parent)],
        1 => vec![link(1, Relation::Child), link(2, Relation::Parent)],
        2 => vec![link(1, Relation::Child), link(2, Relation::Child)],
        3 => vec![link(1, Relation::Parent), link(2, Relation::Child)],
        _ => vec![link(1, Relation::Parent)],
    };
    Router {
        ia: keys.ia,
        hop_key: keys.hop.clone(),
        drkey_secret: keys.secret.clone(),
        min_level: Level::L0,
        suppress_duplicates: false,
        links,
        hosts: (1..5).map(|number| (host(number), next_hop(HOSTS))).collect(),
    }
}
