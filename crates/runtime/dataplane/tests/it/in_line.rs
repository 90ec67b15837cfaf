//! Tables whose lookup generated code inlines, while entries come and go: against the definition of matching.

use std::sync::Arc;

use hopwright_dataplane::{EngineKind, Executor, FrameSize, Packet, Pool, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_ir::{MatchValue, Pipeline, TableEntry, TableId};
use num_bigint::BigUint;

/// The keys of each table: one and more words in a hash table, an array, trees of prefixes.
const KEYS: [&str; 9] = [
    "hdr.h.a: exact;",
    "hdr.h.c: exact; hdr.h.a: exact; hdr.h.d: exact;",
    "hdr.h.a: exact; hdr.h.b: exact; hdr.h.a ^ hdr.h.b: exact @name(\"both\"); hdr.h.c: exact; hdr.h.d: exact;",
    "hdr.h.a: exact; hdr.h.b: exact; hdr.h.a ^ hdr.h.b: exact @name(\"both\"); hdr.h.a ^ 5: exact @name(\"other\"); \
     hdr.h.b ^ 5: exact @name(\"another\");",
    "hdr.h.d[3:0]: exact @name(\"d\"); hdr.h.c[9:0]: exact @name(\"c\");",
    "hdr.h.c: lpm;",
    "hdr.h.c: lpm; hdr.h.d[8:0]: exact @name(\"d\");",
    "hdr.h.a: lpm;",
    "hdr.h.d[8:0]: lpm @name(\"d\");",
];

fn pipeline() -> Arc<Pipeline> {
    let (mut fields, mut tables, mut applies) = (String::new(), String::new(), String::new());
    for (i, keys) in KEYS.iter().enumerate() {
        // Some are large, some count.
        let size = if i % 2 == 0 { 100_000 } else { 1000 };
        let (counter, property) = match i % 3 {
            1 => (format!("direct_counter(CounterType.packets) count{i};"), format!("counters = count{i};")),
            _ => (String::new(), String::new()),
        };
        fields += &format!("bit<16> found{i}; ");
        tables += &format!(
            "action set{i}(bit<16> n) {{ hdr.h.found{i} = n; }} {counter}\n\
             table t{i} {{ key = {{ {keys} }} actions = {{ set{i}; NoAction; }} size = {size}; {property} }}\n"
        );
        applies += &format!("t{i}.apply(); ");
    }
    let text = format!(
        "#include <core.p4>\n#include <v1model.p4>\n\
         header h_t {{ bit<48> a; bit<48> b; bit<32> c; bit<16> d; {fields} }}\n\
         struct h {{ h_t h; }} struct m {{ }}\n\
         parser P(packet_in p, out h hdr, inout m meta, inout standard_metadata_t s) {{\n\
           state start {{ p.extract(hdr.h); transition accept; }} }}\n\
         control V(inout h hdr, inout m meta) {{ apply {{ }} }}\n\
         control I(inout h hdr, inout m meta, inout standard_metadata_t s) {{\n{tables} apply {{ {applies} }} }}\n\
         control E(inout h hdr, inout m meta, inout standard_metadata_t s) {{ apply {{ }} }}\n\
         control D(packet_out p, in h hdr) {{ apply {{ p.emit(hdr); }} }}\n\
         V1Switch(P(), V(), I(), E(), V(), D()) main;"
    );
    let compiled = compile_text("in_line.p4", &text, &Default::default(), true);
    Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics)))
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (z ^ z >> 29) % n
    }

    /// A frame's fields: few values, with ones at the bottom, in the middle, and at the top, and many of them again.
    fn fields(&mut self) -> [u64; 4] {
        if self.below(4) > 0 { Random(self.below(40)).drawn() } else { self.drawn() }
    }

    fn drawn(&mut self) -> [u64; 4] {
        let mut value = |width: u32| {
            let (low, middle, high) = (self.below(6), self.below(3) << (width / 2), self.below(3) << (width - 2));
            low | middle | high
        };
        [value(48), value(48), value(32), value(16)]
    }
}

/// The values of a table's keys.
fn keys(table: usize, [a, b, c, d]: [u64; 4]) -> Vec<u64> {
    match table {
        0 => vec![a],
        1 => vec![c, a, d],
        2 => vec![a, b, a ^ b, c, d],
        3 => vec![a, b, a ^ b, a ^ 5, b ^ 5],
        4 => vec![d & 0xf, c & 0x3ff],
        5 => vec![c],
        6 => vec![c, d & 0x1ff],
        7 => vec![a],
        _ => vec![d & 0x1ff],
    }
}

fn expected(entries: &[TableEntry], p: &Pipeline, table: usize, keys: &[u64]) -> u64 {
    let widths = p.tables[table].keys.iter().map(|k| k.expr.ty.width());
    let widths: Vec<u32> = widths.collect();
    let prefix = |e: &&TableEntry| -> u32 {
        e.matches.iter().map(|m| if let MatchValue::Lpm { prefix_len, .. } = m { *prefix_len } else { 0 }).sum()
    };
    let fits = |e: &&TableEntry| {
        let mut fields = e.matches.iter().zip(keys).zip(&widths);
        fields.all(|((m, key), width)| m.matches(&(*key).into(), *width))
    };
    let found = entries.iter().filter(fits).max_by_key(prefix);
    found.map_or(0, |e| e.action.args[0].iter_u64_digits().next().unwrap_or(0))
}

#[test]
fn what_is_searched_in_line_is_found() {
    let p = pipeline();
    let vdp = VirtualDataPlane::new(p.clone(), EngineKind::Jit).unwrap();
    let mut executor = Executor::new(vdp.clone());
    let mut pool = Pool::new(64, FrameSize::for_mtu(1500)).unwrap();
    let mut packets: Vec<Packet> = std::iter::from_fn(|| pool.take()).collect();
    let mut random = Random(5);
    let mut model: Vec<Vec<TableEntry>> = vec![Vec::new(); KEYS.len()];
    let mut hits = [0u32; KEYS.len()];
    for round in 0..300u64 {
        for (i, entries) in model.iter_mut().enumerate() {
            let id = TableId(i as u32);
            // Tables grow and shrink.
            for _ in 0..12 {
                if !entries.is_empty() && random.below(100) < if round / 50 % 2 == 0 { 30 } else { 60 } {
                    let gone = entries.swap_remove(random.below(entries.len() as u64) as usize);
                    vdp.control()[id].delete(&gone.matches, 0).unwrap();
                    continue;
                }
                let values = keys(i, random.fields());
                let matches: Vec<_> = p.tables[i]
                    .keys
                    .iter()
                    .zip(values)
                    .map(|(key, value)| {
                        let width = key.expr.ty.width();
                        match key.kind {
                            hopwright_ir::MatchKind::Lpm => {
                                let len = random.below(u64::from(width) + 1) as u32;
                                let rest = width - len;
                                MatchValue::Lpm { value: BigUint::from(value) >> rest << rest, prefix_len: len }
                            }
                            _ => MatchValue::Exact(value.into()),
                        }
                    })
                    .collect();
                let mut action = vdp.control().resolve_action(id, &format!("set{i}"), &[]).unwrap();
                // Several do the same.
                action.args = vec![(1 + random.below(40)).into()];
                let entry = TableEntry { matches, priority: 0, action };
                if let Some(known) = entries.iter_mut().find(|e| e.matches == entry.matches) {
                    vdp.control()[id].modify(entry.clone()).unwrap();
                    *known = entry;
                } else {
                    vdp.control()[id].insert(entry.clone()).unwrap();
                    entries.push(entry);
                }
            }
        }
        let mut wanted = Vec::new();
        for packet in &mut packets {
            let fields @ [a, b, c, d] = random.fields();
            let mut bytes =
                [&a.to_be_bytes()[2..], &b.to_be_bytes()[2..], &c.to_be_bytes()[4..], &d.to_be_bytes()[6..]].concat();
            bytes.resize(18 + 2 * KEYS.len(), 0);
            packet.set_bounds(128, 128);
            assert!(packet.fill(&bytes));
            for (i, entries) in model.iter().enumerate() {
                let found = expected(entries, &p, i, &keys(i, fields));
                hits[i] += u32::from(found != 0);
                bytes[18 + 2 * i..][..2].copy_from_slice(&(found as u16).to_be_bytes());
            }
            wanted.push(bytes);
        }
        executor.process_batch(&mut packets, round);
        for (packet, wanted) in packets.iter().zip(wanted) {
            assert_eq!(packet.bytes(), wanted, "in round {round}");
        }
    }
    assert!(hits.iter().all(|n| *n > 500), "{hits:?}");
}
