// Section 7.2.4: a union of IPv4 and IPv6 headers: one of them at most is valid.

#include <core.p4>
#include <v1model.p4>

header kind_t {
    bit<8> version;
}

header v4_t {
    bit<16> dst;
}

header v6_t {
    bit<32> dst;
}

header_union ip_t {
    v4_t v4;
    v6_t v6;
}

header mark_t {
    bit<4> v4;
    bit<4> v6;
}

struct headers_t {
    kind_t kind;
    mark_t mark;
    ip_t   ip;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.kind);
        transition select(hdr.kind.version) {
            4: v4;
            6: v6;
            default: mark;
        }
    }

    state v4 {
        packet.extract(hdr.ip.v4);
        transition mark;
    }

    state v6 {
        packet.extract(hdr.ip.v6);
        transition mark;
    }

    state mark {
        hdr.mark = { hdr.ip.v4.isValid() ? 4w1 : 0, hdr.ip.v6.isValid() ? 4w1 : 0 };
        transition accept;
    }
}

#include "frame/parsed.p4"
