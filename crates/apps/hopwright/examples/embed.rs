//! A switch in forty lines: compiles a program, adds an entry, sends a packet, reads a counter.

use std::time::Duration;

use hopwright::{Entry, MemoryPort};

const P4: &str = r#"
    #include <v1model.p4>
    header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
    struct headers_t { ethernet_t ethernet; }
    struct metadata_t { }
    parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
        state start { p.extract(h.ethernet); transition accept; }
    }
    control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
        counter(512, CounterType.packets) sent;
        action drop() { mark_to_drop(s); }
        action forward(bit<9> port) { s.egress_spec = port; sent.count((bit<32>) port); }
        table l2 { key = { h.ethernet.dst: exact; } actions = { forward; drop; } default_action = drop(); }
        apply { l2.apply(); }
    }
    control C(inout headers_t h, inout metadata_t m) { apply { } }
    control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
    control D(packet_out p, in headers_t h) { apply { p.emit(h.ethernet); } }
    V1Switch(P(), C(), I(), E(), C(), D()) main;
"#;

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (left, left_wire) = MemoryPort::new("left");
    let (right, right_wire) = MemoryPort::new("right");
    let switch = hopwright::compile(P4)?.switch().port(1, left).port(2, right).run()?;
    switch.control().insert(&Entry::new("l2", "forward").key("dst", "02:00:00:00:00:02").param("port", 2))?;

    let packet = hopwright::bytes("020000000002 020000000001 0800 48656c6c6f")?;
    left_wire.send(packet.clone());
    assert_eq!(right_wire.wait(Duration::from_secs(60)), Some(packet));
    println!("sent by port 2: {} packets", switch.control().counter("sent", 2)?.packets);
    switch.stop();
    Ok(())
}
