//! An extern of one's own: a program declares `Sequence`, and an object in Rust gives numbers to packets.

use std::sync::atomic::{AtomicU64, Ordering};

use hopwright::{Compiler, ExternObject};

const P4: &str = r#"
    #include <v1model.p4>
    extern Sequence {
        Sequence(bit<32> first);
        bit<32> next(in bit<8> flow);
    }
    header frame_t { bit<8> flow; bit<32> number; }
    struct headers_t { frame_t frame; }
    struct metadata_t { }
    parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
        state start { p.extract(h.frame); transition accept; }
    }
    control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
        Sequence(100) sequence;
        apply {
            h.frame.number = sequence.next(h.frame.flow);
            s.egress_spec = 1;
        }
    }
    control C(inout headers_t h, inout metadata_t m) { apply { } }
    control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
    control D(packet_out p, in headers_t h) { apply { p.emit(h.frame); } }
    V1Switch(P(), C(), I(), E(), C(), D()) main;
"#;

/// Numbers in turn, for each of 256 flows.
#[derive(Debug)]
struct Sequence {
    next: [AtomicU64; 256],
}

impl ExternObject for Sequence {
    fn methods(&self) -> &'static [&'static str] {
        &["next"]
    }

    /// The flow, then the result.
    fn arguments(&self, _method: usize) -> &'static [u32] {
        &[8, 32]
    }

    fn call(&self, _method: usize, words: &mut [u64]) {
        if let [flow, number] = words {
            *number = self.next[*flow as usize & 0xff].fetch_add(1, Ordering::Relaxed);
        }
    }
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let compiler = Compiler::new().extern_type("Sequence", |arguments| {
        let first =
            arguments.first().and_then(|first| u64::try_from(first).ok()).ok_or("the first number is missing")?;
        Ok(Sequence { next: std::array::from_fn(|_| AtomicU64::new(first)) })
    });
    let mut runner = compiler.compile(P4)?.runner()?;
    for (flow, number) in [(1, 100), (1, 101), (7, 100), (1, 102)] {
        let output = runner.send(0, &[flow, 0, 0, 0, 0])?;
        assert_eq!(output.sent[0].bytes, [flow, 0, 0, 0, number]);
        println!("flow {flow}: packet {number}");
    }
    Ok(())
}
