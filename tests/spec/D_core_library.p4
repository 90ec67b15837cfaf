// Section D: the core library: errors, packets, `NoAction`, match kinds, assertions.

#include <core.p4>
#include <v1model.p4>

const bool OK = static_assert(true);

header data_t {
    bit<8> x;
    bit<8> errors;
    bit<8> hit;
}

header variable_t {
    varbit<16> v;
}

struct headers_t {
    data_t     data;
    variable_t variable;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        bit<8> ahead = packet.lookahead<bit<8>>();
        packet.extract(hdr.data);
        packet.advance(8);
        packet.extract(hdr.variable, packet.length() > 5 ? 32w16 : 8);
        hdr.data.x = ahead + 1;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    table t {
        key = {
            hdr.data.x: exact;
            hdr.data.hit: ternary;
        }
        actions = { NoAction; }
        const entries = {
            (6, _): NoAction();
        }
    }

    apply {
        std.egress_spec = 1;
        error e = error.ParserTimeout;
        if (e != error.NoError && e != error.PacketTooShort && e != error.NoMatch && e != error.StackOutOfBounds
            && e != error.HeaderTooShort && e != error.ParserInvalidArgument && OK) {
            hdr.data.errors = 1;
        }
        NoAction();
        if (t.apply().hit) {
            hdr.data.hit = 1;
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "../stf/frame/pipeline.p4"
