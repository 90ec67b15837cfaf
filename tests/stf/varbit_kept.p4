// varbit values in locals, metadata, parameters and results: each keeps what it was given, whatever becomes of the header; a
// header's field before and behind its varbit field stay what they are when that gets longer or shorter.

#include <core.p4>
#include <v1model.p4>

header v_t {
    bit<8>     length;
    varbit<64> data;
    bit<8>     after;
}

struct headers_t {
    v_t a;
    v_t b;
}

struct meta_t {
    @field_list(1)
    varbit<64> kept;
    @field_list(1)
    bit<8>     round;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.a, (bit<32>) packet.lookahead<bit<8>>() << 3);
        packet.extract(hdr.b, (bit<32>) packet.lookahead<bit<8>>() << 3);
        transition accept;
    }
}

control Swap(inout varbit<64> x, inout varbit<64> y) {
    apply {
        varbit<64> old = x;
        x = y;
        y = old;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Swap() swap;
    varbit<64> local;

    action exchange(inout varbit<64> x, in varbit<64> y) {
        local = x;
        x = y;
    }

    apply {
        std.egress_spec = 2;
        bit<8> what = hdr.a.after;
        if (what == 1) {
            swap.apply(hdr.a.data, hdr.b.data);
            hdr.a.after = 0xa1;
        } else if (what == 2) {
            exchange(hdr.a.data, hdr.b.data);
            hdr.b.data = local;
        } else if (what == 3) {
            local = hdr.a.data;
            hdr.a = hdr.b;
            hdr.b.data = local;
            hdr.b.data = hdr.b.data;
        } else if (what == 4) {
            local = hdr.b.data;
            hdr.b.setInvalid();
            hdr.b.setValid();
            hdr.a.setInvalid();
            hdr.a.setValid();
            hdr.b.data = local;
            hdr.b.after = 0x99;
        } else if (what == 5) {
            if (meta.round == 0) {
                meta.kept = hdr.b.data;
                meta.round = 1;
                resubmit_preserving_field_list(1);
            } else {
                hdr.a.data = meta.kept;
                hdr.a.length = meta.round;
            }
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
