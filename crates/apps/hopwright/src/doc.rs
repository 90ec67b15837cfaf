//! Programs of the documentation's examples.

/// A program for v1model that sends nothing.
pub const EMPTY: &str = "
    #include <v1model.p4>
    struct headers_t { }
    struct metadata_t { }
    parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
        state start { transition accept; }
    }
    control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { mark_to_drop(s); } }
    control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
    control C(inout headers_t h, inout metadata_t m) { apply { } }
    control D(packet_out p, in headers_t h) { apply { } }
    V1Switch(P(), C(), I(), E(), C(), D()) main;
";

/// A program for v1model that sends what port 1 gets by port 2.
pub const REPEATER: &str = "
    #include <v1model.p4>
    struct headers_t { }
    struct metadata_t { }
    parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
        state start { transition accept; }
    }
    control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
        apply {
            if (s.ingress_port == 1) { s.egress_spec = 2; } else { mark_to_drop(s); }
        }
    }
    control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
    control C(inout headers_t h, inout metadata_t m) { apply { } }
    control D(packet_out p, in headers_t h) { apply { } }
    V1Switch(P(), C(), I(), E(), C(), D()) main;
";
