// Section 8.19: TCP options: unions in a stack, of which the kind of each option selects a member; SACK has a length of its own.
// Section 13.8.3: `lookahead` selects the next option, and reads the length of one before it is extracted.

#include <core.p4>
#include <v1model.p4>

header end_t {
    bit<8> kind;
}

header nop_t {
    bit<8> kind;
}

header ss_t {
    bit<8>  kind;
    bit<32> max_segment_size;
}

header scale_t {
    bit<8>  kind;
    bit<24> scale;
}

header sack_t {
    bit<8>      kind;
    bit<8>      length;
    varbit<256> sack;
}

header_union option_t {
    end_t   end;
    nop_t   nop;
    ss_t    ss;
    scale_t scale;
    sack_t  sack;
}

typedef option_t[10] options_t;

struct sack_top_t {
    bit<8> kind;
    bit<8> length;
}

header summary_t {
    bit<8> valid;
    bit<8> nops;
}

struct headers_t {
    summary_t summary;
    options_t options;
}

struct meta_t { }

parser Options(packet_in packet, out options_t options) {
    state start {
        transition select(packet.lookahead<bit<8>>()) {
            8w0: end;
            8w1: nop;
            8w2: ss;
            8w3: scale;
            8w5: sack;
        }
    }

    state end {
        packet.extract(options.next.end);
        transition accept;
    }

    state nop {
        packet.extract(options.next.nop);
        transition start;
    }

    state ss {
        packet.extract(options.next.ss);
        transition start;
    }

    state scale {
        packet.extract(options.next.scale);
        transition start;
    }

    state sack {
        bit<8> n = packet.lookahead<sack_top_t>().length;
        packet.extract(options.next.sack, (bit<32>) (8 * n - 16));
        transition start;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Options() options;

    state start {
        options.apply(packet, hdr.options);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.parser_error == error.NoError ? 9w1 : 2;
        bit<8> valid = 0;
        bit<8> nops = 0;
        for (option_t option in hdr.options) {
            if (option.isValid()) {
                valid = valid + 1;
            }
            if (option.nop.isValid()) {
                nops = nops + 1;
            }
        }
        hdr.summary = { valid, nops };
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.summary);
        packet.emit(hdr.options);
    }
}

#include "../stf/frame/pipeline.p4"
