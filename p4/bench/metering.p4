// Metering and accounting: a customer is found by address, its meter says what may pass, counters by entry, by customer and
// by port say what did.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

struct meta_t {
    bit<16> customer;
}

#include "ipv4.p4"

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    direct_counter(CounterType.packets_and_bytes) by_address;
    counter(65536, CounterType.packets_and_bytes) by_customer;
    counter(512, CounterType.packets) by_port;
    meter(65536, MeterType.bytes) rates;

    action drop() {
        mark_to_drop(std);
    }
    action belongs(bit<16> customer, port_t port) {
        meta.customer = customer;
        std.egress_spec = port;
    }
    table customers {
        key = { hdr.ipv4.src: exact; }
        actions = { belongs; drop; }
        default_action = drop();
        counters = by_address;
        size = 1048576;
    }
    apply {
        if (!hdr.ipv4.isValid()) {
            drop();
        } else if (customers.apply().hit) {
            bit<2> colour;
            rates.execute_meter((bit<32>) meta.customer, colour);
            if (colour == V1MODEL_METER_COLOR_RED) {
                drop();
            } else {
                by_customer.count((bit<32>) meta.customer);
                by_port.count((bit<32>) std.ingress_port);
            }
        }
    }
}

#include "tail.p4"
