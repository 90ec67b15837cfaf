//! P4 programs around snippets, run by the interpreter as they are lowered and again after all passes.

#![allow(dead_code)]

use std::sync::Arc;

use hopwright_driver::{Compiled, compile_text};
use hopwright_interp::{Interp, Output};
use hopwright_ir::Pipeline;
use hopwright_syntax::{Options, render};

/// Declarations that every program has: two headers of eight bytes, a stack of three, a union, some metadata.
const TYPES: &str = "
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; bit<16> c; bit<32> d; }
header e_t { bit<8> more; bit<8> v; }
header one_t { bit<8> x; }
header two_t { bit<16> y; }
header_union u_t { one_t one; two_t two; }
struct pair_t { bit<8> l; bit<8> r; }
struct headers_t { h_t h; h_t g; e_t[3] s; u_t u; }
struct meta_t { bit<8> m; bit<16> w; pair_t p; bool flag; h_t hidden; }
";

const REST: &str = "
control V(inout headers_t hdr, inout meta_t meta) { apply { } }
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
control C(inout headers_t hdr, inout meta_t meta) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

const PARSER: &str = "
parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.h); p.extract(hdr.g); transition accept; }
}
";

/// A program with the given top-level declarations, declarations of the ingress control, and its apply block.
pub(crate) fn ingress(top: &str, locals: &str, apply: &str) -> String {
    format!(
        "{TYPES}{top}{PARSER}control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{ \
         {locals} apply {{ {apply} }} }}{REST}"
    )
}

/// A program with the given parser (named `P`) and declarations; ingress does nothing but `apply`.
pub(crate) fn parser(parser: &str, apply: &str) -> String {
    format!(
        "{TYPES}{parser} control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{ \
         apply {{ {apply} }} }}{REST}"
    )
}

/// Compiles; a failure shows the diagnostics.
pub(crate) fn pipeline(text: &str, optimise: bool) -> Pipeline {
    let compiled = compile(text, optimise);
    let shown = render::render(&compiled.diagnostics, &compiled.sources, false);
    compiled.pipeline.unwrap_or_else(|| panic!("{shown}"))
}

pub(crate) fn compile(text: &str, optimise: bool) -> Compiled {
    compile_text("test.p4", text, &Options::default(), optimise)
}

/// What a packet becomes on port 0, the same before and after all passes.
pub(crate) fn run(text: &str, packet: &[u8]) -> Output {
    let [plain, optimised] = [false, true].map(|optimise| {
        let mut interp = Interp::new(Arc::new(pipeline(text, optimise))).expect("no named externs");
        // The second packet sees what the first may have left behind.
        let first = interp.process(packet, 3, 1000);
        let second = interp.process(packet, 3, 1000);
        assert_eq!(first, second, "optimise: {optimise}");
        second
    });
    assert_eq!(plain, optimised, "passes changed the meaning");
    optimised
}

/// The bytes of the one packet that leaves.
pub(crate) fn bytes(text: &str, packet: &[u8]) -> Vec<u8> {
    let mut output = run(text, packet);
    assert_eq!(output.sent.len(), 1, "{output:?}");
    output.sent.remove(0).bytes
}

/// Two headers: a=1 b=2 c=0x0304 d=0x05060708, and the same plus 0x10 per byte.
pub(crate) const PACKET: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18];

/// The first header's bytes a and b after running `apply` in ingress on [`PACKET`].
pub(crate) fn ab(top: &str, locals: &str, apply: &str) -> (u8, u8) {
    let bytes = bytes(&ingress(top, locals, apply), &PACKET);
    (bytes[0], bytes[1])
}
