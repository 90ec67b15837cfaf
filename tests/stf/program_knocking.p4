// Port knocking: a state machine for each source in a register; only who knocks at three ports in order is let in.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<6>  dscp;
    bit<2>  ecn;
    bit<16> length;
    bit<16> id;
    bit<16> fragment;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    udp_t      udp;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv4);
        packet.extract(hdr.udp);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<2>>(256) states;

    bit<2> expected;

    action step(bit<2> number) {
        expected = number;
    }

    table knocks {
        key = { hdr.udp.dst_port : exact; }
        actions = { NoAction; step; }
        default_action = NoAction();
        const entries = {
            7000 : step(0);
            8000 : step(1);
            9000 : step(2);
        }
    }

    apply {
        mark_to_drop(std);
        bit<32> who = (bit<32>) hdr.ipv4.src[7:0];
        bit<2> state_now;
        states.read(state_now, who);
        if (state_now == 3) {
            std.egress_spec = 2;
            return;
        }
        switch (knocks.apply().action_run) {
            step: { states.write(who, expected == state_now ? state_now + 1 : 0); }
            default: { states.write(who, 0); }
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
