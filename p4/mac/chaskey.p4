// Chaskey (Mouha et al., SAC 2014) of one block for Tofino 2: four rounds in ingress and four in egress of each pass. CHASKEY_ROUNDS is 8 as
// first published, 12 as in ISO/IEC 29192-6, or 16 (Chaskey-LTS).

#include <core.p4>
#include <t2na.p4>

#ifndef CHASKEY_ROUNDS
#define CHASKEY_ROUNDS 12
#endif
const bool ENDS_IN_EGRESS = CHASKEY_ROUNDS % 8 == 0;
const bit<8> LAST_PASS = (CHASKEY_ROUNDS - 1) / 8;

header state_t {
    bit<8>  pass;
    bit<32> v0;
    bit<32> v1;
    bit<32> v2;
    bit<32> v3;
}

#include "frame.p4"

control Round(inout state_t s) {
    apply {
        s.v0 = s.v0 + s.v1;
        s.v2 = s.v2 + s.v3;
        s.v1 = (s.v1[26:0] ++ s.v1[31:27]) ^ s.v0;
        s.v3 = (s.v3[23:0] ++ s.v3[31:24]) ^ s.v2;
        s.v0 = (s.v0[15:0] ++ s.v0[31:16]) + s.v3;
        s.v2 = s.v2 + s.v1;
        s.v3 = (s.v3[18:0] ++ s.v3[31:19]) ^ s.v0;
        s.v1 = (s.v1[24:0] ++ s.v1[31:25]) ^ s.v2;
        s.v2 = s.v2[15:0] ++ s.v2[31:16];
    }
}

control FourRounds(inout state_t s) {
    Round() first;
    Round() second;
    Round() third;
    Round() fourth;

    apply {
        first.apply(s);
        second.apply(s);
        third.apply(s);
        fourth.apply(s);
    }
}

// Adds the key's words, of which `end` is in the order of the block's bytes.
control End(inout headers_t hdr, in bit<128> end) {
    apply {
        hdr.request.tag = (swap(hdr.state.v0) ++ swap(hdr.state.v1) ++ swap(hdr.state.v2) ++ swap(hdr.state.v3)) ^ end;
        hdr.state.setInvalid();
    }
}

control Ingress(inout headers_t hdr, inout none_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md, inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    FourRounds() rounds;
    End() end;
    bit<128> before = 0;
    bit<128> behind = 0;
    bit<128> block = 0;

    // K ^ K1, and K1 = 2K, which ends the last block if it is whole.
    action set_key(bit<128> sum, bit<128> doubled) {
        before = sum;
        behind = doubled;
    }
    table key {
        actions = { set_key; }
        default_action = set_key(0, 0);
    }

    apply {
        key.apply();
        if (!hdr.state.isValid()) {
            hdr.state.setValid();
            hdr.state.pass = 0;
            block = hdr.request.block ^ before;
            hdr.state.v0 = swap(block[127:96]);
            hdr.state.v1 = swap(block[95:64]);
            hdr.state.v2 = swap(block[63:32]);
            hdr.state.v3 = swap(block[31:0]);
        } else {
            hdr.state.pass = hdr.state.pass + 1;
        }
        rounds.apply(hdr.state);
        if (hdr.state.pass != LAST_PASS) {
            ig_tm_md.ucast_egress_port = ig_intr_md.ingress_port[8:7] ++ RECIRCULATION_PORT;
        } else {
            ig_tm_md.ucast_egress_port = OUT;
            if (!ENDS_IN_EGRESS) {
                end.apply(hdr, behind);
                ig_tm_md.bypass_egress = 1;
            }
        }
    }
}

control Egress(inout headers_t hdr, inout none_t meta, in egress_intrinsic_metadata_t eg_intr_md) {
    FourRounds() rounds;
    End() end;
    bit<128> behind = 0;

    action set_end(bit<128> doubled) {
        behind = doubled;
    }
    table end_key {
        actions = { set_end; }
        default_action = set_end(0);
    }

    apply {
        rounds.apply(hdr.state);
        if (ENDS_IN_EGRESS) {
            end_key.apply();
            if (hdr.state.pass == LAST_PASS) {
                end.apply(hdr, behind);
            }
        }
    }
}

Pipeline(IngressParser(), Ingress(), Deparser(), EgressParser(), Egress(), Deparser()) pipe;
Switch(pipe) main;
