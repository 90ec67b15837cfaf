// A ghost thread of Tofino 2 writes what the traffic manager reports of its queues; ingress reads it.

#include <core.p4>
#include <t2na.p4>

header data_t {
    bit<16> queue;
    bit<32> length;          // written
}

struct headers_t {
    data_t data;
}

struct metadata_t { }

Register<bit<32>, bit<11>>(2048) ping;
Register<bit<32>, bit<11>>(2048) pong;

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
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md, in ghost_intrinsic_metadata_t gh_md) {
    RegisterAction<bit<32>, bit<11>, bit<32>>(ping) read_ping = {
        void apply(inout bit<32> length, out bit<32> result) {
            result = length;
        }
    };
    RegisterAction<bit<32>, bit<11>, bit<32>>(pong) read_pong = {
        void apply(inout bit<32> length, out bit<32> result) {
            result = length;
        }
    };
    apply {
        ig_tm_md.ucast_egress_port = 2;
        if (gh_md.ping_pong == 0) {
            hdr.data.length = read_ping.execute(hdr.data.queue[10:0]);
        } else {
            hdr.data.length = read_pong.execute(hdr.data.queue[10:0]);
        }
    }
}

control Ghost(in ghost_intrinsic_metadata_t gh_md) {
    bit<11> cell = 0;
    action choose(bit<11> to) {
        cell = to;
    }
    table cells {
        key = { gh_md.qid: exact; }
        actions = { choose; }
        default_action = choose(0);
        size = 16;
    }
    RegisterAction<bit<32>, bit<11>, bit<32>>(ping) write_ping = {
        void apply(inout bit<32> length) {
            length = (bit<32>) gh_md.qlength;
        }
    };
    RegisterAction<bit<32>, bit<11>, bit<32>>(pong) write_pong = {
        void apply(inout bit<32> length) {
            length = (bit<32>) gh_md.qlength + 1;
        }
    };
    apply {
        cells.apply();
        if (gh_md.ping_pong == 1) {
            write_ping.execute(cell);
        } else {
            write_pong.execute(cell);
        }
    }
}

#define GHOST , Ghost()
#include "frame/tna.p4"
