// Ascon-Mac (Dobraunig et al., Ascon PRF, MAC, and Short-Input MAC, 2021) of one block for Tofino 2: three rounds in ingress and three in egress
// of each pass, and two passes. The controller computes the first permutation, which depends on the key only; a key of the packet takes
// two passes more.

#include <core.p4>
#include <t2na.p4>

header state_t {
    bit<8>  pass;
    bit<64> x0;
    bit<64> x1;
    bit<64> x2;
    bit<64> x3;
    bit<64> x4;
}

#include "frame.p4"

control Round(inout state_t s, in bit<8> constant) {
    bit<64> t0 = 0;
    bit<64> t1 = 0;
    bit<64> t2 = 0;
    bit<64> t3 = 0;
    bit<64> t4 = 0;
    bit<64> u0 = 0;
    bit<64> u1 = 0;
    bit<64> u2 = 0;
    bit<64> u3 = 0;
    bit<64> u4 = 0;

    apply {
        s.x0 = s.x0 ^ s.x4;
        s.x4 = s.x4 ^ s.x3;
        @in_hash {
            s.x2[7:0] = s.x2[7:0] ^ s.x1[7:0] ^ constant;
        }
        s.x2[63:8] = s.x2[63:8] ^ s.x1[63:8];
        // x0 ^ (~x1 & x2), and so on.
        t0 = s.x1 & s.x2;
        t1 = s.x2 & s.x3;
        t2 = s.x3 & s.x4;
        t3 = s.x4 & s.x0;
        t4 = s.x0 & s.x1;
        u0 = s.x0 ^ s.x2;
        u1 = s.x1 ^ s.x3;
        u2 = s.x2 ^ s.x4;
        u3 = s.x3 ^ s.x0;
        u4 = s.x4 ^ s.x1;
        s.x0 = t0 ^ u0;
        s.x1 = t1 ^ u1;
        s.x2 = t2 ^ u2;
        s.x3 = t3 ^ u3;
        s.x4 = t4 ^ u4;
        s.x1 = s.x1 ^ s.x0;
        s.x0 = s.x0 ^ s.x4;
        s.x3 = s.x3 ^ s.x2;
        s.x2 = ~s.x2;
        t0 = s.x0 ^ (s.x0[18:0] ++ s.x0[63:19]);
        t1 = s.x1 ^ (s.x1[60:0] ++ s.x1[63:61]);
        t2 = s.x2 ^ (s.x2[0:0] ++ s.x2[63:1]);
        t3 = s.x3 ^ (s.x3[9:0] ++ s.x3[63:10]);
        t4 = s.x4 ^ (s.x4[6:0] ++ s.x4[63:7]);
        s.x0 = t0 ^ (s.x0[27:0] ++ s.x0[63:28]);
        s.x1 = t1 ^ (s.x1[38:0] ++ s.x1[63:39]);
        s.x2 = t2 ^ (s.x2[5:0] ++ s.x2[63:6]);
        s.x3 = t3 ^ (s.x3[16:0] ++ s.x3[63:17]);
        s.x4 = t4 ^ (s.x4[40:0] ++ s.x4[63:41]);
    }
}

control ThreeRounds(inout state_t s, in bit<8> constant0, in bit<8> constant1, in bit<8> constant2) {
    Round() first;
    Round() second;
    Round() third;

    apply {
        first.apply(s, constant0);
        second.apply(s, constant1);
        third.apply(s, constant2);
    }
}

control Ingress(inout headers_t hdr, inout none_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md, inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    ThreeRounds() rounds;
    bit<8> constant0;
    bit<8> constant1;
    bit<8> constant2;

    // The state behind the first permutation, with the padding of a block of 16 bytes and the bit that marks the last one.
    action set_key(bit<64> x0, bit<64> x1, bit<64> x2, bit<64> x3, bit<64> x4) {
        hdr.state.x0 = x0;
        hdr.state.x1 = x1;
        hdr.state.x2 = x2;
        hdr.state.x3 = x3;
        hdr.state.x4 = x4;
    }
    table key {
        actions = { set_key; }
        default_action = set_key(0, 0, 0, 0, 0);
    }

    apply {
        if (!hdr.state.isValid()) {
            hdr.state.setValid();
            hdr.state.pass = 0;
            key.apply();
            hdr.state.x0 = hdr.state.x0 ^ hdr.request.block[127:64];
            hdr.state.x1 = hdr.state.x1 ^ hdr.request.block[63:0];
            constant0 = 0xf0;
            constant1 = 0xe1;
            constant2 = 0xd2;
            ig_tm_md.ucast_egress_port = ig_intr_md.ingress_port[8:7] ++ RECIRCULATION_PORT;
        } else {
            hdr.state.pass = 1;
            constant0 = 0x96;
            constant1 = 0x87;
            constant2 = 0x78;
            ig_tm_md.ucast_egress_port = OUT;
        }
        rounds.apply(hdr.state, constant0, constant1, constant2);
    }
}

control Egress(inout headers_t hdr, inout none_t meta, in egress_intrinsic_metadata_t eg_intr_md) {
    ThreeRounds() rounds;
    bit<8> constant0;
    bit<8> constant1;
    bit<8> constant2;

    apply {
        if (hdr.state.pass == 0) {
            constant0 = 0xc3;
            constant1 = 0xb4;
            constant2 = 0xa5;
        } else {
            constant0 = 0x69;
            constant1 = 0x5a;
            constant2 = 0x4b;
        }
        rounds.apply(hdr.state, constant0, constant1, constant2);
        if (hdr.state.pass == 1) {
            hdr.request.tag = hdr.state.x0 ++ hdr.state.x1;
            hdr.state.setInvalid();
        }
    }
}

Pipeline(IngressParser(), Ingress(), Deparser(), EgressParser(), Egress(), Deparser()) pipe;
Switch(pipe) main;
