// Parameters without direction of types that exist only at compile time: of functions, controls and parsers; each call has a
// body of its own with the values in it. Defaults, and members of lists, too.

#include <core.p4>
#include <v1model.p4>

const int BASE = 1 << 40;

header data_t {
    bit<8> a;
    bit<8> b;
    bit<16> c;
}

struct headers_t {
    data_t data;
    data_t more;
}

struct meta_t {
}

bit<8> scaled(int factor, in bit<8> x) {
    return x * (factor % 256) + (bit<8>)((BASE * factor) >> 40);
}

bit<8> outer(int n, in bit<8> x) {
    return scaled(n + 1, x) + n;
}

void say(string text, in bit<8> x) {
    log_msg(text ++ "!", { x });
}

bit<8> total(list<bit<8>> values, in bit<8> x) {
    bit<8> sum = x;
    for (bit<8> v in values) {
        sum = sum + v;
    }
    return sum;
}

bit<16> shifted(in bit<16> x, int by = 4) {
    return x << by;
}

parser Skip(packet_in packet, int bytes, out data_t data) {
    state start {
        packet.advance(8 * bytes);
        packet.extract(data);
        transition accept;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Skip() skip;
    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.a) {
            9: more;
            default: accept;
        }
    }
    state more {
        skip.apply(packet, 2, hdr.more);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control Compare(int limit, inout bit<8> x)(bit<8> step) {
    apply {
        if (x == limit) {
            x = limit + 8w1;
        } else {
            x = x + step;
        }
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Compare(16) compare;
    apply {
        std.egress_spec = 2;
        say("value {}", hdr.data.a);
        if (hdr.data.a == 0) {
            hdr.data.b = scaled(3, hdr.data.b);
        } else if (hdr.data.a == 1) {
            hdr.data.b = scaled(5, hdr.data.b);
        } else if (hdr.data.a == 2) {
            hdr.data.b = outer(2, hdr.data.b);
        } else if (hdr.data.a == 3) {
            hdr.data.b = total({ 1, 2, 4 }, hdr.data.b);
        } else if (hdr.data.a == 4) {
            hdr.data.c = shifted(hdr.data.c) + shifted(by = 8, x = hdr.data.c);
        } else if (hdr.data.a == 5) {
            compare.apply(7, hdr.data.b);
            compare.apply(7, hdr.data.b);
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
