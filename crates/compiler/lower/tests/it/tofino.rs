//! What objects of Tofino programs are refused, and with which message.

use std::sync::Arc;

use hopwright_driver::{Compiled, Hashes};
use hopwright_interp::Interp;
use hopwright_ir::hash::Random;
use hopwright_ir::hash_object::{CRC8, CRC32, CRC64, Configuration, Crc, Function, HashObject, Part};
use num_bigint::BigUint;

use crate::programs::compile;

/// A program with these objects in its ingress control, and statements.
fn program(objects: &str, apply: &str) -> String {
    format!(
        "#include <core.p4>
#include <t2na.p4>
header h_t {{ bit<32> a; bit<32> b; bit<16> c; bit<8> d; }}
struct headers_t {{ h_t h; }}
struct meta_t {{ bit<32> m; }}
struct none_t {{ }}
parser P(packet_in p, out headers_t hdr, out meta_t meta, out ingress_intrinsic_metadata_t i) {{
    state start {{ p.extract(i); p.advance(PORT_METADATA_SIZE); p.extract(hdr.h); transition accept; }}
}}
control I(inout headers_t hdr, inout meta_t meta, in ingress_intrinsic_metadata_t i,
          in ingress_intrinsic_metadata_from_parser_t f, inout ingress_intrinsic_metadata_for_deparser_t d,
          inout ingress_intrinsic_metadata_for_tm_t t) {{ {objects} apply {{ {apply} }} }}
control D(packet_out p, inout headers_t hdr, in meta_t meta, in ingress_intrinsic_metadata_for_deparser_t d) {{
    apply {{ p.emit(hdr); }}
}}
parser EP(packet_in p, out none_t hdr, out none_t meta, out egress_intrinsic_metadata_t e) {{
    state start {{ p.extract(e); transition accept; }}
}}
control E(inout none_t hdr, inout none_t meta, in egress_intrinsic_metadata_t e,
          in egress_intrinsic_metadata_from_parser_t f, inout egress_intrinsic_metadata_for_deparser_t d,
          inout egress_intrinsic_metadata_for_output_port_t o) {{ apply {{ }} }}
control ED(packet_out p, inout none_t hdr, in none_t meta, in egress_intrinsic_metadata_for_deparser_t d) {{ apply {{ }} }}
Pipeline(P(), I(), D(), EP(), E(), ED()) pipe;
Switch(pipe) main;
"
    )
}

/// The first error's code, message and marked text.
fn error(objects: &str, apply: &str) -> String {
    let compiled = compile(&program(objects, apply), true);
    let error = compiled.diagnostics.iter().find(|d| d.code.starts_with('E')).expect("an error");
    let marked = error.span().map_or("", |span| compiled.sources.snippet(span));
    format!("{} {}: {marked}", error.code, error.message)
}

fn compiles(objects: &str, apply: &str) {
    let compiled = compile(&program(objects, apply), true);
    assert!(compiled.pipeline.is_some(), "{}", compiled.report(false));
}

#[test]
fn objects_with_the_same_name_are_told_apart() {
    let objects = "@name(\".r\") Register<bit<16>, bit<8>>(4) a; @name(\".r\") Register<bit<16>, bit<8>>(4) b;";
    let compiled = compile(&program(objects, "hdr.h.c = a.read(0) + b.read(0);"), true);
    let typed = compiled.typed.as_ref().expect("a program");
    let names: Vec<&str> = typed.objects.iter().map(|o| o.name.as_str()).filter(|name| name.starts_with('r')).collect();
    assert_eq!((names, typed.shared_names()), (vec!["r", "r_0"], Vec::new()));
}

#[test]
fn symmetric_hashes_that_cannot_be() {
    let hash = |annotations: &str, algorithm: &str| {
        let object = format!("{annotations} Hash<bit<16>>(HashAlgorithm_t.{algorithm}) h;");
        error(&object, "hdr.h.c = h.get({ hdr.h.a, hdr.h.b, hdr.h.c });")
    };
    let fields = "@symmetric(\"hdr.h.a\", \"hdr.h.b\")";
    assert_eq!(hash(fields, "XOR16"), format!("E0310 only a CRC can be symmetric: {fields}"));
    let one = "@symmetric(\"hdr.h.a\")";
    assert_eq!(hash(one, "CRC16"), format!("E0310 `@symmetric` takes the names of two fields: {one}"));
    let other = "@symmetric(\"hdr.h.a\", \"hdr.h.d\")";
    assert_eq!(hash(other, "CRC16"), format!("E0310 `hdr.h.d` is no field of the data of this hash: {other}"));
    // The last part is enough, if only one field has it.
    compiles(
        "@symmetric(\"ig_md.lkp.a\", \"ig_md.lkp.b\") Hash<bit<16>>(HashAlgorithm_t.CRC16) h;",
        "hdr.h.c = h.get({ hdr.h.a, hdr.h.b, hdr.h.c });",
    );
    let itself = "@symmetric(\"hdr.h.a\", \"hdr.h.a\")";
    assert_eq!(hash(itself, "CRC16"), format!("E0310 `hdr.h.a` is symmetric to another field already: {itself}"));
    let unequal = "@symmetric(\"hdr.h.a\", \"hdr.h.c\")";
    assert_eq!(hash(unequal, "CRC16"), format!("E0310 symmetric fields have the same width: {unequal}"));
    compiles(&format!("{fields} Hash<bit<16>>(HashAlgorithm_t.CRC16) h;"), "hdr.h.c = h.get(hdr.h);");
}

/// Some slices of fields of these widths, some of them symmetric.
fn some_parts(random: &mut Random, widths: &[u32]) -> Vec<Part> {
    let mut below = |bound: u32| (random.next_u64() % u64::from(bound)) as u32;
    let mut parts: Vec<Part> = Vec::new();
    for (field, width) in widths.iter().enumerate() {
        let low = below(*width);
        let mut part = Part { field, low, width: 1 + below(width - low), order: u64::from(1 + below(9)) };
        let with: Vec<&Part> = parts.iter().filter(|other| other.order == part.order).collect();
        match with.as_slice() {
            [] => {}
            [one] => part = Part { low: 0, width: one.width.min(*width), ..part },
            _ => continue,
        }
        if with.iter().all(|other| other.width == part.width) && below(5) != 0 {
            parts.push(part);
        }
    }
    parts
}

/// What a control plane configures is what a packet has, and what is computed for a control plane.
#[test]
fn configured_hashes_are_those_that_are_computed() {
    let objects = "Hash<bit<40>>(HashAlgorithm_t.CRC16) h; Hash<bit<16>>(HashAlgorithm_t.CRC8) two; Hash<bit<8>>(HashAlgorithm_t.CRC8) none;";
    let apply = "hdr.h.a = h.get({ hdr.h.a, hdr.h.b, hdr.h.c[11:0], 7w5, hdr.h.d })[35:4]; t.ucast_egress_port = 1;
        if (hdr.h.d == 1) { meta.m = (bit<32>) two.get({ hdr.h.a }); } else { meta.m = (bit<32>) two.get({ hdr.h.b }); }";
    let whole = || compile(&program(objects, apply), true);
    let compiled = whole();
    let [hash] = compiled.hashes.as_slice() else { panic!("one hash: {:?}", compiled.hashes) };
    let names: Vec<&str> = hash.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!((names, hash.used), (vec!["hdr.h.a", "hdr.h.b", "hdr.h.c[11:0]", "", "hdr.h.d"], (35, 4)));
    assert_eq!(hash.fields[3].constant, Some(BigUint::from(5u32)));
    let widths: Vec<u32> = hash.fields.iter().map(|field| field.width).collect();
    let mut random = Random::new(4);
    let functions = [
        None,
        Some(Function::Identity),
        Some(Function::Random),
        Some(Function::Xor(16)),
        Some(Function::Xor(40)),
        Some(Function::Crc(CRC8)),
        Some(Function::Crc(Crc { extended: false, ..CRC32 })),
        Some(Function::Crc(CRC64)),
        Some(Function::Crc(Crc { width: 12, polynomial: 0x80f, initial: 5, xor: 9, reflected: true, extended: true })),
    ];
    for (round, function) in functions.into_iter().cycle().take(36).enumerate() {
        let parts = (round % 4 != 0).then(|| some_parts(&mut random, &widths));
        let seed = (round % 3 == 0).then(|| random.next_u64() >> 24);
        let configuration = Configuration { parts, function, seed, rotate: random.next_u64() % 70 };
        let hashes = Hashes::from([(hash.name.clone(), configuration.clone())]);
        let changed = whole().with_hashes(&hashes, round % 2 == 0);
        for _ in 0..3 {
            let numbers = [random.next_u64() as u32, random.next_u64() as u32, random.next_u64() as u32 & 0xff_ffff];
            assert_eq!(hashed(&changed, numbers), computed(hash, &configuration, numbers), "{configuration:?}");
        }
    }
}

/// The bits that are taken of a call are not those of a hash among its arguments.
#[test]
fn a_hash_is_used_as_far_as_bits_of_its_own_result_are_taken() {
    let objects = "Hash<bit<16>>(HashAlgorithm_t.CRC16) h; Register<bit<32>, bit<16>>(65536) r;
        RegisterAction<bit<32>, bit<16>, bit<32>>(r) ra = { void apply(inout bit<32> v, out bit<32> o) { o = v; } };";
    let used = |apply: &str| {
        let compiled = compile(&program(objects, apply), true);
        let hashes: Vec<_> = compiled.hashes.iter().map(|hash| hash.used).collect();
        assert_eq!(hashes.len(), 1, "{}", compiled.report(false));
        hashes[0]
    };
    assert_eq!(used("hdr.h.d = h.get({ hdr.h.a })[11:4];"), (11, 4));
    assert_eq!(used("hdr.h.d = ra.execute(h.get({ hdr.h.a }))[7:0];"), (15, 0));
    assert_eq!(used("hdr.h.c = ra.execute(h.get({ hdr.h.a }))[31:16];"), (15, 0));
}

/// `hdr.h.a` of a packet with these numbers in `a`, in `b`, and in `c` and `d` behind each other.
fn hashed(compiled: &Compiled, numbers: [u32; 3]) -> BigUint {
    let pipeline = compiled.pipeline.clone().unwrap_or_else(|| panic!("{}", compiled.report(false)));
    let mut packet: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
    packet.remove(8);
    packet.resize(64, 0);
    let output = Interp::new(Arc::new(pipeline)).expect("no named externs").process(&packet, 1, 0);
    BigUint::from_bytes_be(&output.sent[0].bytes[..4])
}

fn computed(hash: &HashObject, configuration: &Configuration, [a, b, rest]: [u32; 3]) -> BigUint {
    let values = [a, b, rest >> 8 & 0xfff, 5, rest & 0xff].map(BigUint::from);
    hash.compute(configuration, &values) >> 4u32
}

#[test]
fn types_that_cannot_be_left_open() {
    let with = |register: &str, action: &str| {
        format!("{register} r; {action}(r) a = {{ void apply(inout bit<32> v) {{ v = v + 1; }} }};")
    };
    compiles(&with("Register<bit<32>, _>(4)", "RegisterAction<bit<32>, _, void>"), "a.execute(0);");
    assert!(error(&with("Register<_, bit<32>>(4)", "RegisterAction<bit<32>, bit<32>, void>"), "").starts_with("E0303"));
    assert!(
        error(&with("Register<void, bit<32>>(4)", "RegisterAction<bit<32>, bit<32>, void>"), "").starts_with("E0303")
    );
    assert!(error(&with("Register<bit<32>, _>(4)", "RegisterAction<bit<32>, _, _>"), "").starts_with("E0303"));
    // A result of type void has no value.
    let action = with("Register<bit<32>, _>(4)", "RegisterAction<bit<32>, _, void>");
    assert!(error(&action, "meta.m = a.execute(0);").starts_with("E0300"));
    // Indices are numbers, of any width.
    compiles(&action, "a.execute(hdr.h.d); a.execute(hdr.h.c);");
    let call = error(&action, "a.execute(hdr.h.isValid());");
    assert_eq!(call, "E0300 a `bit<W>` is wanted here, not a `bool`: hdr.h.isValid()");
    assert_eq!(
        error("Register<bit<32>, _>(4) r;", "meta.m = r.read(true);"),
        "E0300 a `bit<W>` is wanted here, not a `bool`: true"
    );
}

#[test]
fn units_and_logs_that_are_not_supported() {
    let unit = |constructor: &str| {
        let objects = format!(
            "MathUnit<bit<32>>{constructor} u; Register<bit<32>, _>(1) r;
            RegisterAction<bit<32>, _, bit<32>>(r) a = {{ void apply(inout bit<32> v) {{ v = u.execute(v); }} }};"
        );
        error(&objects, "a.execute(0);")
    };
    assert!(unit("(MathOp_t.MUL, 1, 0)").starts_with("E0501 this math unit is not supported yet"));
    let table = "(true, -2, 0, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 })";
    assert!(unit(table).starts_with("E0501 this math unit is not supported yet"));
    let objects = "Register<bit<64>, _>(4) r; RegisterAction<bit<64>, _, tuple<bit<32>, bit<32>>>(r) a = {
        void apply(inout bit<64> v, out tuple<bit<32>, bit<32>> o) { o = { v[31:0], v[63:32] }; } };";
    assert!(error(objects, "a.pop();").contains("a log whose action has a result that is no scalar"));
}
