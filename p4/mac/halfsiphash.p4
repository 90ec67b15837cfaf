// HalfSipHash-2-4 (Aumasson and Bernstein, 2016) of one block for Tofino 2, with a tag of 32 bits: five words, each with two rounds, and four at
// the end. Ingress and egress compute four rounds each, in two passes.

#include <core.p4>
#include <t2na.p4>

header state_t {
    bit<8>  pass;
    bit<32> v0;
    bit<32> v1;
    bit<32> v2;
    bit<32> v3;
}

#include "frame.p4"

// The last word: how many bytes the message has.
const bit<32> LENGTH = 16 << 24;
const bit<32> END = 0xff;

control Round(inout state_t s) {
    apply {
        s.v0 = s.v0 + s.v1;
        s.v2 = s.v2 + s.v3;
        s.v1 = (s.v1[26:0] ++ s.v1[31:27]) ^ s.v0;
        s.v3 = (s.v3[23:0] ++ s.v3[31:24]) ^ s.v2;
        s.v0 = (s.v0[15:0] ++ s.v0[31:16]) + s.v3;
        s.v2 = s.v2 + s.v1;
        s.v3 = (s.v3[24:0] ++ s.v3[31:25]) ^ s.v0;
        s.v1 = (s.v1[18:0] ++ s.v1[31:19]) ^ s.v2;
        s.v2 = s.v2[15:0] ++ s.v2[31:16];
    }
}

// Two rounds, before them the end of the word before and the beginning of this one.
control Word(inout state_t s, in bit<32> before, in bit<32> word) {
    Round() first;
    Round() second;

    apply {
        s.v0 = s.v0 ^ before;
        s.v3 = s.v3 ^ word;
        first.apply(s);
        second.apply(s);
    }
}

control Ingress(inout headers_t hdr, inout none_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md, inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Word() first;
    Word() second;
    bit<32> before = 0;
    bit<32> word = 0;
    bit<32> next = 0;
    bit<32> end = 0;

    // The state before the first word.
    action set_key(bit<32> v0, bit<32> v1, bit<32> v2, bit<32> v3) {
        hdr.state.v0 = v0;
        hdr.state.v1 = v1;
        hdr.state.v2 = v2;
        hdr.state.v3 = v3;
    }
    table key {
        actions = { set_key; }
        default_action = set_key(0, 0, 0, 0);
    }

    apply {
        if (!hdr.state.isValid()) {
            hdr.state.setValid();
            hdr.state.pass = 0;
            key.apply();
            word = swap(hdr.request.block[127:96]);
            next = swap(hdr.request.block[95:64]);
            ig_tm_md.ucast_egress_port = ig_intr_md.ingress_port[8:7] ++ RECIRCULATION_PORT;
        } else {
            hdr.state.pass = 1;
            before = swap(hdr.request.block[31:0]);
            word = LENGTH;
            end = END;
            ig_tm_md.ucast_egress_port = OUT;
        }
        first.apply(hdr.state, before, word);
        hdr.state.v2 = hdr.state.v2 ^ end;
        second.apply(hdr.state, word, next);
    }
}

control Egress(inout headers_t hdr, inout none_t meta, in egress_intrinsic_metadata_t eg_intr_md) {
    Word() first;
    Word() second;
    bit<32> before = 0;
    bit<32> word = 0;
    bit<32> next = 0;
    bit<32> tag = 0;

    apply {
        if (hdr.state.pass == 0) {
            before = swap(hdr.request.block[95:64]);
            word = swap(hdr.request.block[63:32]);
            next = swap(hdr.request.block[31:0]);
        }
        first.apply(hdr.state, before, word);
        tag = hdr.state.v1 ^ hdr.state.v3;
        second.apply(hdr.state, word, next);
        if (hdr.state.pass == 1) {
            hdr.request.tag = swap(tag) ++ 96w0;
            hdr.state.setInvalid();
        }
    }
}

Pipeline(IngressParser(), Ingress(), Deparser(), EgressParser(), Egress(), Deparser()) pipe;
Switch(pipe) main;
