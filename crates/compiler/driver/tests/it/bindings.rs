//! What agents get of their program.

use hopwright_driver::{Options, bindings};

const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
enum bit<8> Reason { FORWARDED = 0, NO_ROUTE = 7 }
const bit<9> CPU_PORT = 510;
@controller_header("packet_in") header packet_in_t { bit<16> port; bit<8> reason; }
header h_t { bit<32> dst; bit<128> id; bit<1> flag; bit<7> rest; }
struct headers_t { packet_in_t packet_in; h_t h; }
struct meta_t { }
parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    value_set<bit<32>>(4) known_ids;
    state start { p.extract(hdr.h); transition select(hdr.h.dst) { known_ids: accept; default: accept; } }
}
control None(inout headers_t hdr, inout meta_t meta) { apply { } }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    counter(64, CounterType.packets) reasons;
    action use(bit<9> port, bit<48> mac, bit<1> flag) { std.egress_spec = port; hdr.h.flag = flag; }
    action drop() { mark_to_drop(std); }
    table match { key = { hdr.h.id: exact; std.ingress_port: exact @name("port"); } actions = { use; @defaultonly drop; } default_action = drop(); }
    table routes { key = { hdr.h.dst: lpm; } actions = { use; NoAction; } }
    table fixed { key = { hdr.h.rest: exact; } actions = { drop; } const entries = { 1: drop(); } }
    table keyless { actions = { drop; } }
    apply { match.apply(); routes.apply(); fixed.apply(); keyless.apply(); reasons.count((bit<32>) (bit<8>) Reason.NO_ROUTE); }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.packet_in); p.emit(hdr.h); } }
V1Switch(P(), None(), I(), E(), None(), D()) main;
"#;

#[test]
fn a_program_becomes_rust() {
    let text = bindings("agent.p4", PROGRAM, &Options::default());
    for part in [
        "pub const CPU_PORT: u64 = 510;",
        "    NoRoute = 7,",
        "pub mod packet_in {",
        "pub const REASON: Range<usize> = 2..3;",
        "pub const BYTES: usize = 3;",
        "pub const ROUTES: &str = \"routes\";",
        "pub const REASONS: &str = \"reasons\";",
        "pub const KNOWN_IDS: &str = \"known_ids\";",
        // A key and a parameter have one name, and names are words of Rust.
        "pub mod r#match {",
        "pub fn r#use(id: u128, port: u16, port_of_action: u16, mac: u64, flag: bool) -> EntrySpec {
            EntrySpec::new(\"match\", \"use\").exact(id).exact(port).arg(port_of_action).arg(mac).arg(u8::from(flag))
        }",
        "pub fn no_action(dst: hopwright_ir::WrittenMatch) -> EntrySpec {",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // Entries that nobody can write, and actions that entries cannot have.
    let entries = text.split("pub mod entry {").nth(1).unwrap();
    for part in ["drop", "mod fixed", "mod keyless"] {
        assert!(!entries.split("\n}\n").next().unwrap().contains(part), "{part}\n{text}");
    }
}
