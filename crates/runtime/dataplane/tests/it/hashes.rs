//! Hashes that change while packets pass: control planes change the parameters of custom CRCs, or the code.

use std::sync::Arc;

use hopwright_dataplane::{EngineKind, Executor, FrameSize, Packet, Pool, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_ir::HashAlgorithm::{self, Crc16Custom, Crc32Custom};
use hopwright_ir::custom_crc::{CrcParameters, register_name};
use hopwright_stf::{DataPlaneEngine, Engine};

const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<72> data; bit<32> wide; bit<16> narrow; bit<32> usual; bit<8> part; }
struct headers_t { h_t h; }
struct meta_t {}
parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.h); transition accept; }
}
control N(inout headers_t hdr, inout meta_t meta) { apply {} }
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply {} }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        hash(hdr.h.usual, HashAlgorithm.crc32, 32w0, { hdr.h.data }, 64w0x100000000);
        hash(hdr.h.wide, HashAlgorithm.crc32_custom, 32w0, { hdr.h.data }, 64w0x100000000);
        if (hdr.h.part == 1) { hash(hdr.h.narrow, HashAlgorithm.crc16_custom, 16w0, { hdr.h.data }, 32w0x10000); }
        hash(hdr.h.part, HashAlgorithm.crc32_custom, 8w100, { hdr.h.data, hdr.h.part }, 16w50);
    }
}
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;
"#;

fn set(vdp: &VirtualDataPlane, algorithm: HashAlgorithm, name: &str, numbers: [u32; 3], reflected: bool) {
    let [polynomial, initial, final_xor] = numbers;
    let (data_reflected, remainder_reflected) = (reflected, reflected);
    let parameters = CrcParameters { polynomial, initial, final_xor, data_reflected, remainder_reflected };
    let name = register_name(algorithm, name);
    let register = vdp.control().register(name.as_str()).unwrap();
    for (index, word) in (0..).zip(parameters.words(algorithm)) {
        register.write(index, word).unwrap();
    }
}

#[test]
fn custom_crcs_have_the_parameters_that_they_are_given() {
    let compiled = compile_text("hashes.p4", PROGRAM, &Default::default(), true);
    let text = compiled.report(false);
    let pipeline = Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{text}")));
    let mut parts = Vec::new();
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let vdp = VirtualDataPlane::new(pipeline.clone(), engine).unwrap();
        let mut engine = DataPlaneEngine::new(vdp.clone(), FrameSize::JUMBO).unwrap();
        let mut numbers = || {
            let packet = [&b"123456789"[..], &[0; 10], &[1]].concat();
            let sent = engine.process(0, &packet, 1).unwrap().sent.remove(0).1;
            parts.push(sent[19]);
            let number = |bytes: &[u8]| bytes.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte));
            assert_eq!(number(&sent[15..19]), 0xcbf4_3926);
            (number(&sent[9..13]), number(&sent[13..15]))
        };
        // The check values of the catalogue of parametrised CRC algorithms: ISO-HDLC and ARC.
        assert_eq!(numbers(), (0xcbf4_3926, 0xbb3d));
        // ISCSI and GENIBUS.
        set(&vdp, Crc32Custom, "calc_0", [0x1edc_6f41, !0, !0], true);
        set(&vdp, Crc16Custom, "calc_1", [0x1021, 0xffff, 0xffff], false);
        assert_eq!(numbers(), (0xe306_9283, 0xd64e));
        // Traces read the parameters, too.
        if vdp.engine_kind() == EngineKind::Jit {
            vdp.start_profiling(20).unwrap();
            (0..20).for_each(|_| assert_eq!(numbers().1, 0xd64e));
            vdp.respecialise().unwrap();
            let before = vdp.traces().counts();
            assert_eq!(numbers(), (0xe306_9283, 0xd64e));
            set(&vdp, Crc32Custom, "calc_0", [0x04c1_1db7, !0, 0], false);
            assert_eq!(numbers(), (0x0376_e6e7, 0xd64e));
            let after = vdp.traces().counts();
            assert_eq!((after.0 - before.0, after.1 - before.1), (2, 0));
        }
    }
    // The last hash keeps its parameters.
    assert!(parts.iter().all(|part| *part == parts[0] && (100..150).contains(part)), "{parts:?}");
}

/// Workers take up other code one by one: what one writes to a register with the new code, another with the old code sees.
#[test]
fn interpreters_of_the_same_objects_take_turns() {
    const FRAMES: u32 = 32;
    const ROUNDS: u32 = 100;
    let counts = "register<bit<32>>(1) seen; apply { bit<32> n; seen.read(n, 0); seen.write(0, n + 1);\n        std";
    let program = PROGRAM.replace("apply {\n        std", counts);
    let compiled = compile_text("hashes.p4", &program, &Default::default(), true);
    let text = compiled.report(false);
    let pipeline = Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{text}")));
    let vdp = VirtualDataPlane::new(pipeline.clone(), EngineKind::Interp).unwrap();
    let recoded = vdp.recoded(pipeline).unwrap();
    std::thread::scope(|scope| {
        for vdp in [vdp.clone(), recoded] {
            scope.spawn(move || {
                let mut executor = Executor::new(vdp);
                let mut pool = Pool::new(FRAMES, FrameSize::for_mtu(1500)).unwrap();
                let mut packets: Vec<Packet> = std::iter::from_fn(|| pool.take()).collect();
                for _ in 0..ROUNDS {
                    for packet in &mut packets {
                        packet.set_bounds(128, 128);
                        assert!(packet.fill(&[0; 20]));
                        packet.set_ingress_port(1);
                    }
                    executor.process_batch(&mut packets, 1);
                }
            });
        }
    });
    let seen = vdp.control().register("seen").unwrap().read(0).unwrap();
    assert_eq!(seen.to_string(), (2 * FRAMES * ROUNDS).to_string());
}

/// The program stays with the objects, and workers have counters before they leave those that they had.
#[test]
fn other_code_is_counted_beside_the_program_as_it_was_first() {
    const CELLS: u64 = 65536;
    let counts = format!("counter({CELLS}, CounterType.packets) all; apply {{ all.count(1);\n        std");
    let program = PROGRAM.replace("apply {\n        std", &counts);
    let pipeline = compile_text("hashes.p4", &program, &Default::default(), true).pipeline.map(Arc::new).unwrap();
    for engine in [EngineKind::Interp, EngineKind::Jit] {
        let first = VirtualDataPlane::new(pipeline.clone(), engine).unwrap();
        let second = first.recoded(pipeline.clone()).unwrap();
        let third = second.recoded(pipeline.clone()).unwrap();
        assert!(second.needs(1) > first.needs(1) + 16 * CELLS);
        assert_eq!(third.needs(1), second.needs(1));
    }
}
