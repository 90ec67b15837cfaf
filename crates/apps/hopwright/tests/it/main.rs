//! Tests of the library.

mod control;
mod coverage;
mod errors;
mod examples;
mod externs;
#[cfg(feature = "p4runtime")]
mod p4runtime;
mod switch;
#[cfg(feature = "rtl")]
mod verilog;

/// The program of the example `unit_test_a_program`.
const L2: &str = include_str!("../../examples/l2.p4");

/// A program for v1model with these declarations and this body of the ingress control. Packets are a byte and two bytes.
fn program(declarations: &str, apply: &str) -> String {
    format!(
        "#include <v1model.p4>
        header frame_t {{ bit<8> kind; bit<16> value; }}
        struct headers_t {{ frame_t frame; }}
        struct metadata_t {{ bit<8> colour; }}
        parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {{
            state start {{ p.extract(h.frame); transition accept; }}
        }}
        control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {{
            {declarations}
            apply {{ {apply} }}
        }}
        control C(inout headers_t h, inout metadata_t m) {{ apply {{ }} }}
        control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {{ apply {{ }} }}
        control D(packet_out p, in headers_t h) {{ apply {{ p.emit(h.frame); }} }}
        V1Switch(P(), C(), I(), E(), C(), D()) main;
        "
    )
}

/// The ports by which packets left, and their bytes.
fn sent(output: &hopwright::Output) -> Vec<(u16, Vec<u8>)> {
    output.sent.iter().map(|sent| (sent.port, sent.bytes.clone())).collect()
}
