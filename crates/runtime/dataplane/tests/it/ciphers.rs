//! Programs that encrypt blocks: machine code, which encrypts the blocks of a batch at once on a trace, against the
//! interpreter, for all batch sizes and side exits.

use std::sync::Arc;

use hopwright_dataplane::{EngineKind, Executor, FrameSize, Packet, Pool, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_ir::{ActionCall, MatchValue, Pipeline, TableEntry, TableId};

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 29) % n
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }
}

/// Writes the statements of a control.
struct Writer {
    random: Random,
    out: String,
    registers: bool,
    truncates: bool,
    tables: usize,
}

impl Writer {
    fn block(&mut self) -> &'static str {
        self.random.pick(&["hdr.h.a", "hdr.h.b", "tag", "other", "hdr.h.a ^ other", "96w7 ++ hdr.h.c", "hdr.h.a + 1"])
    }

    fn encrypt(&mut self) {
        let (method, block) =
            (self.random.pick(&["mac.mac(0", "mac.mac(0", "mac.mac(1", "aes.encrypt(0"]), self.block());
        let to = self.random.pick(&["tag", "tag", "other"]);
        self.out += &format!("{method}, {block}, {to});\n");
    }

    fn statements(&mut self, depth: u64) {
        for _ in 0..1 + self.random.below(4) {
            match self.random.below(13) {
                0..4 => self.encrypt(),
                4 => self.out += "hdr.h.b = tag; \n",
                5 => self.out += "hdr.h.c = hdr.h.c + tag[31:0]; c.count((bit<32>)tag[2:0]);\n",
                6 => self.out += "if (hdr.g.isValid()) { hdr.g.d = other[63:0]; }\n",
                7 => {
                    let to =
                        self.random.pick(&["s.egress_spec = 3;", "mark_to_drop(s);", "hdr.g.setInvalid();", "return;"]);
                    self.out += &format!("if (tag[7:0] < 64) {{ {to} }}\n");
                }
                8 if self.tables < 3 => {
                    self.out += &format!("t{}.apply();\n", self.tables);
                    self.tables += 1;
                }
                9 if self.registers => {
                    self.out += "r.read(word, 1); word = word + hdr.h.c; r.write(1, word); hdr.h.c = word;\n"
                }
                10 if self.truncates => self.out += "if (hdr.h.kind == 3) { truncate(40); }\n",
                _ if depth > 0 => {
                    let bit = self.random.below(4);
                    self.out += &format!("if (hdr.h.kind[{bit}:{bit}] == 1) {{\n");
                    self.statements(depth - 1);
                    self.out += "} else {\n";
                    self.statements(depth - 1);
                    self.out += "}\n";
                }
                _ => self.encrypt(),
            }
        }
    }
}

fn pipeline(seed: u64) -> (Arc<Pipeline>, String) {
    let mut random = Random(seed);
    let (registers, truncates) = (random.below(6) == 0, random.below(6) == 0);
    let mut writer = Writer { random, out: String::new(), registers, truncates, tables: 0 };
    writer.statements(3);
    let register = if registers { "register<bit<32>>(4) r;" } else { "" };
    let tables = (0..3).map(|i| {
        format!(
            "action set{i}(bit<9> port, bit<64> n) {{ s.egress_spec = port; hdr.h.b = hdr.h.b ^ (64w0 ++ n); }}\n\
             table t{i} {{ key = {{ hdr.h.kind: exact; }} actions = {{ set{i}; NoAction; }} }}\n"
        )
    });
    let text = format!(
        "#include <core.p4>\n#include <v1model.p4>\n#include <crypto.p4>\n\
         header h_t {{ bit<8> kind; bit<128> a; bit<128> b; bit<32> c; }} header g_t {{ bit<64> d; }}\n\
         struct h {{ h_t h; g_t g; }} struct m {{ }}\n\
         parser P(packet_in p, out h hdr, inout m meta, inout standard_metadata_t s) {{\n\
           state start {{ p.extract(hdr.h); transition select(hdr.h.kind[4:4]) {{ 1: more; _: accept; }} }}\n\
           state more {{ p.extract(hdr.g); transition accept; }} }}\n\
         control V(inout h hdr, inout m meta) {{ apply {{ }} }}\n\
         control I(inout h hdr, inout m meta, inout standard_metadata_t s) {{\n\
           AesCmac(2) mac; Aes128(1) aes; counter(8, CounterType.packets_and_bytes) c; {register}\n{}\
           apply {{ bit<128> tag = 0; bit<128> other = hdr.h.b; bit<32> word = 0; s.egress_spec = 1;\n{}}} }}\n\
         control E(inout h hdr, inout m meta, inout standard_metadata_t s) {{ apply {{ }} }}\n\
         control D(packet_out p, in h hdr) {{ apply {{ p.emit(hdr); }} }}\n\
         V1Switch(P(), V(), I(), E(), V(), D()) main;",
        tables.collect::<String>(),
        writer.out,
    );
    let compiled = compile_text("ciphers.p4", &text, &Default::default(), true);
    (Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{:?}\n{text}", compiled.diagnostics))), text)
}

struct Side {
    vdp: Arc<VirtualDataPlane>,
    executor: Executor,
    pool: Pool,
}

impl Side {
    fn new(pipeline: &Arc<Pipeline>, kind: EngineKind) -> Side {
        let vdp = VirtualDataPlane::new(pipeline.clone(), kind).unwrap();
        vdp.control().key_table("mac").unwrap().set_key(0, &[1; 16]).unwrap();
        vdp.control().key_table("mac").unwrap().set_key(1, &[2; 16]).unwrap();
        vdp.control().key_table("aes").unwrap().set_key(0, &[3; 16]).unwrap();
        for (i, table) in pipeline.tables.iter().enumerate() {
            for kind in (0..32u32).step_by(3) {
                let set = table.actions.iter().find(|a| pipeline[a.action].params.len() == 2).unwrap().action;
                let args = vec![(kind % 5 + 4).into(), (u64::from(kind) << 40 | 77).into()];
                vdp.control()[TableId(i as u32)]
                    .insert(TableEntry {
                        matches: vec![MatchValue::Exact(kind.into())],
                        priority: 0,
                        action: ActionCall { action: set, args },
                    })
                    .unwrap();
            }
        }
        Side { executor: Executor::new(vdp.clone()), vdp, pool: Pool::new(256, FrameSize::for_mtu(1500)).unwrap() }
    }

    fn run(&mut self, frames: &[Vec<u8>]) -> Vec<(String, Vec<u8>)> {
        let mut packets: Vec<Packet> = frames
            .iter()
            .map(|bytes| {
                let mut packet = self.pool.take_filled(bytes).unwrap();
                packet.set_ingress_port(0);
                packet
            })
            .collect();
        self.executor.process_batch(&mut packets, 0);
        packets
            .into_iter()
            .map(|packet| {
                let verdict = packet.verdict();
                let there = verdict == hopwright_dataplane::Verdict::Forward;
                let bytes = if there { packet.bytes().to_vec() } else { Vec::new() };
                let port = if there { packet.egress_port() } else { 0 };
                self.pool.give(packet);
                (format!("{verdict:?} {port}"), bytes)
            })
            .collect()
    }
}

#[test]
fn blocks_of_several_packets_at_once() {
    let mut on_hot_paths = 0;
    for seed in 0..80 {
        let (pipeline, text) = pipeline(seed);
        let (mut interp, mut jit) = (Side::new(&pipeline, EngineKind::Interp), Side::new(&pipeline, EngineKind::Jit));
        let mut random = Random(seed + 1000);
        // Ways that none of the first packets took are unknown later.
        for kinds in [4, 16, 32] {
            jit.vdp.start_profiling(48).unwrap();
            // The largest not with every program: the interpreter takes its time.
            let largest: &[u64] = if seed % 4 == 0 { &[255, 256] } else { &[] };
            for &batch in [48, 1, 2, 3, 15, 16, 17, 31, 32, 33, 64, 100].iter().chain(largest) {
                let mut frame = || {
                    let mut bytes: Vec<u8> = (0..45).map(|_| random.below(256) as u8).collect();
                    bytes[0] = random.below(kinds) as u8;
                    let length = if random.below(10) == 0 { random.below(46) as usize } else { 45 };
                    bytes.truncate(length);
                    bytes
                };
                let frames: Vec<Vec<u8>> = (0..batch).map(|_| frame()).collect();
                assert_eq!(
                    interp.run(&frames),
                    jit.run(&frames),
                    "seed {seed}, {kinds} kinds, {batch} packets\n{text}"
                );
                if batch == 48 {
                    jit.vdp.respecialise().unwrap();
                }
            }
            let (run, left) = jit.vdp.traces().counts();
            on_hot_paths += run - left;
        }
        if text.contains("c.count") {
            assert_eq!(
                interp.vdp.control().counter("c").map(|c| c.read_all()).unwrap(),
                jit.vdp.control().counter("c").map(|c| c.read_all()).unwrap(),
                "seed {seed}\n{text}"
            );
        }
    }
    assert!(on_hot_paths > 20_000, "{on_hot_paths}");
}
