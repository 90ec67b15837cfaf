// Section 11.2: variables in parsers, states, controls, actions, blocks; they live no longer than a packet, and headers start
// invalid.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
    bit<8> state;
    bit<8> action_;
    bit<8> block;
    bit<8> fresh;
}

struct headers_t {
    data_t data;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    bit<8> outer = 0x10;

    state start {
        bit<8> inner = outer + 1;
        packet.extract(hdr.data);
        outer = inner + hdr.data.x;
        transition next;
    }

    state next {
        bit<8> inner = 1;
        hdr.data.state = outer + inner;
        transition accept;
    }
}

control Count(inout data_t d) {
    bit<8> calls = 0;
    data_t local;

    action count() {
        bit<8> step = 2;
        calls = calls + step;
        d.action_ = calls;
    }

    apply {
        d.fresh = d.fresh + (local.isValid() ? 8w1 : 0);
        count();
        count();
        {
            bit<8> calls = 0x20; //~ W0001
            d.block = calls;
        }
        d.block = d.block + calls;
        local = d;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Count() count;

    apply {
        std.egress_spec = std.ingress_port;
        count.apply(hdr.data);
        count.apply(hdr.data);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "../stf/frame/pipeline.p4"
