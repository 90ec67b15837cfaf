// Registers as a log, a stack and a queue: register actions without an index.

#include <core.p4>
#include <t2na.p4>

header data_t {
    bit<8>  what;
    bit<16> value;           // written
}

struct headers_t {
    data_t data;
}

struct metadata_t { }

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.data);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Register<bit<16>, _>(3) stack;
    RegisterAction<bit<16>, _, bit<16>>(stack) put = {
        void apply(inout bit<16> cell) {
            cell = hdr.data.value;
        }
        void overflow(inout bit<16> cell, out bit<16> result) {
            result = 0x0f0f;
        }
    };
    RegisterAction<bit<16>, _, bit<16>>(stack) take = {
        void apply(inout bit<16> cell, out bit<16> result) {
            result = cell;
            cell = 0xdead;
        }
        void underflow(inout bit<16> cell, out bit<16> result) {
            result = cell + 0xf0f0;
        }
    };

    Register<bit<16>, _>(3) queue;
    RegisterAction<bit<16>, _, void>(queue) append = {
        void apply(inout bit<16> cell) {
            cell = hdr.data.value;
        }
    };
    RegisterAction<bit<16>, _, bit<16>>(queue) next = {
        void apply(inout bit<16> cell, out bit<16> result) {
            result = cell;
        }
    };

    Register<bit<16>, bit<16>>(3) log;
    RegisterAction<bit<16>, bit<16>, void>(log) note = {
        void apply(inout bit<16> cell) {
            cell = hdr.data.value;
        }
    };

    apply {
        ig_tm_md.ucast_egress_port = 2;
        if (hdr.data.what == 0) {
            hdr.data.value = put.push();
        } else if (hdr.data.what == 1) {
            hdr.data.value = take.pop();
        } else if (hdr.data.what == 2) {
            append.enqueue();
        } else if (hdr.data.what == 3) {
            hdr.data.value = next.dequeue();
        } else {
            note.execute_log();
        }
    }
}

#include "frame/tna.p4"
