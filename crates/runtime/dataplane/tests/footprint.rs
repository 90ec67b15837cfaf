//! What a program is charged covers what the process has, and is not many times that.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hopwright_dataplane::{EngineKind, EntrySpec, VirtualDataPlane, free_memory};
use hopwright_driver::compile_text;
use hopwright_ir::Pipeline;

const PROGRAM: &str = r#"
#include <v1model.p4>
header h_t { bit<32> a; bit<48> b; bit<32> c; }
struct headers { h_t h; }
struct meta {}
parser P(packet_in p, out headers hdr, inout meta m, inout standard_metadata_t sm) {
    state start { p.extract(hdr.h); transition accept; }
}
control V(inout headers hdr, inout meta m) { apply {} }
control I(inout headers hdr, inout meta m, inout standard_metadata_t sm) {
    OBJECTS
    action to(bit<9> port, bit<48> mac) { sm.egress_spec = port; hdr.h.b = mac; }
    table t { key = { KEY } actions = { to; NoAction; } size = SIZE; MORE }
    apply { t.apply(); USES }
}
control E(inout headers hdr, inout meta m, inout standard_metadata_t sm) { apply {} }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"#;

struct Case {
    name: &'static str,
    objects: &'static str,
    uses: &'static str,
    key: &'static str,
    more: &'static str,
    entries: u64,
}

fn pipeline(case: &Case, size: u64) -> Arc<Pipeline> {
    let text = PROGRAM.replace("OBJECTS", case.objects).replace("KEY", case.key).replace("MORE", case.more);
    let text = text.replace("USES", case.uses).replace("SIZE", &size.to_string());
    let compiled = compile_text("program.p4", &text, &Default::default(), true);
    Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics)))
}

fn data_plane(case: &Case, size: u64) -> Arc<VirtualDataPlane> {
    VirtualDataPlane::new(pipeline(case, size), EngineKind::Interp).unwrap()
}

/// Held by each test: what another one allocates would be measured.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory that this process has, in bytes.
fn resident() -> u64 {
    free_memory::give_back();
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn a_full_table_has_no_more_than_it_is_charged() {
    let _alone = alone();
    let cases = [
        Case { name: "exact", objects: "", uses: "", key: "hdr.h.b : exact;", more: "", entries: 100_000 },
        Case {
            name: "counted",
            objects: "direct_counter(CounterType.packets) hits;",
            uses: "",
            key: "hdr.h.b : exact; hdr.h.a : exact;",
            more: "counters = hits;",
            entries: 100_000,
        },
        Case { name: "prefixes", objects: "", uses: "", key: "hdr.h.a : lpm;", more: "", entries: 100_000 },
        Case { name: "masked", objects: "", uses: "", key: "hdr.h.b : ternary;", more: "", entries: 20_000 },
    ];
    for case in cases {
        let vdp = data_plane(&case, case.entries);
        let before = resident();
        let fill = || {
            let mut random = 1u64;
            for number in 0..case.entries {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let spec = EntrySpec::new("t", "to").arg(number % 500).arg(number);
                let spec = match case.name {
                    "exact" => spec.exact(number << 8),
                    "counted" => spec.exact(number << 8).exact(number),
                    "prefixes" => spec.lpm((random >> 32) as u32 & !0xf, 28),
                    _ => {
                        let mask = random >> 16 & 0xffff_ffff_ffff;
                        spec.ternary((number << 8) & mask, mask).priority(number as i32 + 1)
                    }
                };
                // Random keys may be there already.
                let _ = vdp.control().insert(&spec);
            }
        };
        fill();
        let entries = vdp.control().table("t").unwrap().len() as u64;
        assert!(entries > case.entries / 10 * 9, "{}: {entries}", case.name);
        let (has, needs) = (resident().saturating_sub(before), vdp.control().account().held());
        println!("{}: {} bytes an entry are charged, {} are there", case.name, needs / case.entries, has / entries);
        assert!(has <= needs, "{}: {has} bytes, {needs} are charged", case.name);
        assert!(needs <= 8 * has, "{}: {has} bytes, {needs} are charged", case.name);
        // Structures stay, for as many entries as there were.
        vdp.control().table("t").unwrap().clear().unwrap();
        let left = vdp.control().account().held();
        assert!(left < needs, "{}: {left} of {needs}", case.name);
        fill();
        assert_eq!(vdp.control().account().held(), needs, "{}", case.name);
    }
}

#[test]
fn what_is_declared_is_known_before_anything_is_allocated_however_much_it_is() {
    let _alone = alone();
    let case = |objects, uses| Case { name: "", objects, uses, key: "hdr.h.a : exact;", more: "", entries: 16 };
    let small = data_plane(&case("", ""), 16).needs(1);
    let with = |objects, uses| data_plane(&case(objects, uses), 16).needs(1) - small;
    let near = |bytes: u64, expected: u64| (expected..expected + 8192).contains(&bytes);
    assert!(near(with("register<bit<32>>(1000000) r;", "r.write(hdr.h.a, 1);"), 8_000_000));
    assert!(near(with("register<bit<65>>(1000000) r;", "r.write(hdr.h.a, 1);"), 16_000_000));
    assert!(near(with("counter(1000000, CounterType.packets) c;", "c.count(hdr.h.a);"), 16_000_000));
    // Too much to allocate, and to add up.
    let huge = case(
        "register<bit<64>>(0xffffffff) r; register<bit<64>>(0xffffffff) s;",
        "r.write(hdr.h.a, 1); s.write(hdr.h.a, 1);",
    );
    let error = VirtualDataPlane::new(pipeline(&huge, u64::MAX >> 1), EngineKind::Interp).map(drop).unwrap_err();
    assert!(error.to_string().contains("cells are not supported"), "{error}");
}

#[test]
fn packets_that_wait_with_many_headers_are_charged_for_each_worker() {
    let _alone = alone();
    let with = |headers: u32| {
        let all =
            format!("header two_t {{ bit<64> a; bit<64> b; }}\nstruct headers {{ h_t h; two_t[{headers}] more; }}");
        let uses = "hdr.more.push_front(1); hdr.more[0].setValid(); hdr.more[0].a = 1; hdr.more[0].b = 2; clone(CloneType.I2E, 1);";
        let text = PROGRAM.replace("struct headers { h_t h; }", &all).replace("USES", uses).replace("OBJECTS", "");
        let text = text.replace("KEY", "hdr.h.a : exact;").replace("SIZE", "16").replace("MORE", "");
        let text = text.replace("p.emit(hdr.h);", "p.emit(hdr.h); p.emit(hdr.more);");
        let compiled = compile_text("program.p4", &text, &Default::default(), true);
        let pipeline = compiled.pipeline.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
        VirtualDataPlane::new(Arc::new(pipeline), EngineKind::Jit)
    };
    let (Ok(few), Ok(many)) = (with(2), with(256)) else { return };
    assert_eq!(few.needs(2), few.needs(1));
    // 260 packets with 256 headers of 16 bytes, and their lengths.
    let each = many.needs(2) - many.needs(1);
    assert!((1_000_000..3_000_000).contains(&each), "{each}");
}

#[test]
fn equal_programs_share_their_machine_code() {
    let _alone = alone();
    let case = Case { name: "", objects: "", uses: "", key: "hdr.h.a : exact;", more: "", entries: 16 };
    let Ok(first) = VirtualDataPlane::new(pipeline(&case, 16), EngineKind::Jit) else { return };
    let second = first.executable().data_plane(&hopwright_dataplane::ExternTypes::standard()).unwrap();
    assert_eq!(second.needs(1), first.needs(1));
    assert_eq!(second.engine_kind(), EngineKind::Jit);
    assert!(Arc::ptr_eq(first.pipeline(), second.pipeline()));
    first.control().insert(&EntrySpec::new("t", "to").exact(1u32).arg(1u32).arg(1u32)).unwrap();
    assert!(second.control().table("t").unwrap().is_empty());
    drop(first);
    second.control().insert(&EntrySpec::new("t", "to").exact(1u32).arg(1u32).arg(1u32)).unwrap();
}
