#include <core.p4>
#include <v1model.p4>
header h0_t {
    bit<8> f0;
    bit<4> f1;
    bit<4> f2;
    bit<15> f3;
    bit<15> f4;
    bit<1> f5;
    bit<1> pad;
}
header h1_t {
    bit<4> f0;
    bit<64> f1;
    bit<21> f2;
    bit<9> f3;
    bit<6> pad;
}
header h2_t {
    bit<8> f0;
    bit<1> f1;
    bit<7> pad;
}
header_union u_t { h0_t a; h1_t b; }
struct headers {
    h0_t h0;
    h1_t h1;
    h2_t h2;
    h2_t h3;
    u_t u;
}
struct metadata {
    int<27> m0;
    int<27> m1;
    bit<15> m2;
    bit<7> m3;
    int<27> m4;
    bit<31> m5;
    bit<63> m6;
}
bit<1> fn1(in int<27> p2) {
    return 1w0x0;
}
bit<31> fn3(in int<63> p4) {
    return (-31w0xf);
}
parser Q5(packet_in packet, out h2_t h, in bit<4> p6, in bit<9> p7) {
    int<27> x8 = (27s0 << 8w12);
    state start {
        packet.extract(h);
        h.f0 = (((((bit<5>)(p7)) ++ 3w0x3) >> h.pad) | ((((bit<8>)(h.f1)) << 2w0x3) / h.f0));
        h.f1 = fn1(x8);
        transition select(h.f0) { 8w255: more; default: accept; }
    }
    state more {
        h.f1 = (h.f1 >> 8w12);
        h.f1 = h.f1;
        transition accept;
    }
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    Q5() p_Q5;
    state start { transition parse_h0; }
    state parse_h0 {
        packet.extract(hdr.h0);
        verify(((hdr.h0.f1 > hdr.h0.f2) || ((bool)(hdr.h0.pad))), error.ParserTimeout);
        transition select(hdr.h0.f0) {
            8w0: reject;
            8w1 .. 8w127: accept;
            default: parse_u;
        }
    }
    state parse_u {
        transition select(packet.lookahead<bit<1>>()) { 1w0: parse_u_a; default: parse_u_b; }
    }
    state parse_u_a {
        packet.extract(hdr.u.a);
        transition parse_h1;
    }
    state parse_u_b {
        packet.extract(hdr.u.b);
        transition parse_h1;
    }
    state parse_h1 {
        packet.extract(hdr.h1);
        transition select(hdr.h1.f0) {
            4w0 &&& 4w14: parse_h2;
            default: parse_h2;
        }
    }
    state parse_h2 {
        p_Q5.apply(packet, hdr.h2, ((hdr.h1.f0 >> hdr.h1.pad) << (((bit<2>)(hdr.h1.pad)) |-| 2w0x2)), 9w0x131);
        packet.advance(16);
        transition select(hdr.h2.f0) {
            8w255: accept;
            8w1 .. 8w255: accept;
            default: parse_h3;
        }
    }
    state parse_h3 {
        p_Q5.apply(packet, hdr.h3, (hdr.h1.f0 ^ ((bit<4>)(((bit<17>)(hdr.h1.f0))))), hdr.h1.f3);
        hdr.h2.f0 = (hdr.h0.f0 & ((8w0x2 * ((bit<8>)(meta.m6))) >> hdr.h2.pad));
        meta.m5 = (meta.m5 |+| (meta.m5 |+| hdr.h1.f1[41:11]));
        hdr.h2.pad = (((((bit<92>)(hdr.h1.pad)))[48:13])[17:11] % hdr.h2.pad);
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) {
    apply {
        verify_checksum(hdr.h1.isValid(), { hdr.h0.f5 }, ((bit<16>)(hdr.h0.f0)), HashAlgorithm.xor16);
    }
}
control S9(inout headers hdr, inout metadata meta, inout standard_metadata_t sm, inout h2_t ph10) {
    bit<31> x11 = (((bit<76>)(hdr.h1.pad)))[32:2];
    bit<2> x12 = ((bit<2>)(ph10.pad));
    bit<9> x13 = meta.m1[19:11];
    register<bit<15>>(8) r14;
    register<bit<15>>(7) r15;
    action act16(out bit<31> p17, inout bit<15> p18) {
        bit<15> x19 = ((108w0x7ffffffffffffffffffffffffff & ((bit<108>)(meta.m3))))[36:22];
        hdr.h0.pad = meta.m0[5:5];
    }
    action act21(bit<48> p22) {
        for (bit<8> i23 in 8w1 .. (bit<8>)((((bit<2>)(hdr.h1.f3)) + x12))) {
            hdr.h1.f2 = (hdr.u.b.f2 + hdr.u.b.f2);
            hdr.h0.f3 = hdr.u.b.f1[35:21];
        }
    }
    action act24(bit<65> p25, bit<13> p26) {
        if ((hdr.u.b == hdr.h1)) { exit; }
        hdr.h3.setInvalid();
        bit<13> x27 = ((sm.egress_rid[14:2] |+| (-p26)) ^ (~((bit<13>)(((int<13>)(meta.m1))))));
    }
    action act28(bit<7> p29, bit<63> p30, bit<3> p31) {
        hdr.h2.setValid();
        meta.m3 = (((-hdr.h2.pad) + (p31 ++ hdr.u.a.f2)) / ph10.pad);
        if ((!(!false))) { return; }
        hdr.h3.pad = 7w0x8;
    }
    table t20 {
        key = {
            1w0x0 : exact @name("k0");
            hdr.h1.f1[43:12] : lpm @name("k1");
            hdr.h2.f1 : exact @name("k2");
        }
        actions = { act21; act24; act28; NoAction; }
        default_action = NoAction();
    }
    apply {
        hdr.u.b.f2 = (21w0x800 + (((bit<21>)(((bit<48>)(hdr.h2.f0)))) |-| (hdr.u.b.f2 |+| ((bit<21>)(sm.checksum_error)))));
        meta.m2 = (hdr.u.a.f4[14:0] |-| hdr.u.a.f4[14:0]);
        hash(x11, HashAlgorithm.crc16, 16w0x1, { sm.ingress_port, 16w0x7fff, sm.checksum_error }, sm.instance_type);
        hdr.u.b.f3 = ((bit<9>)(((int<9>)(hdr.h1.f3))));
        hdr.h0.f1 = ((bit<4>)(sm.packet_length));
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S9() I_S9;
    bit<6> x32 = ((bit<6>)((~(hdr.u.a.f4 / hdr.u.a.f3))));
    counter(8, CounterType.packets) c33;
    register<bit<9>>(4) r34;
    register<bit<31>>(5) r35;
    action act37() {
        for (bit<33> i38 in (list<bit<33>>){ (((bit<104>)(hdr.u.a.f3)))[44:12], ((bit<33>)(hdr.u.a.pad)) }) {
            hdr.h0.f0 = ((bit<8>)(meta.m3));
            hdr.u.b.f2 = 21w0x0;
            if (((15w0x3fff |-| hdr.h0.f3) < (hdr.u.a.f3 % hdr.h0.f3))) { break; }
            meta.m0 = meta.m1;
        }
    }
    action act39() {
        hdr.h3.f1 = (((bit<103>)(hdr.h1.f2)))[80:80];
        hdr.u.b.f0 = meta.m5[8:5];
    }
    action act40(bit<5> p41) {
        hdr.h3.f0 = (((sm.egress_rid)[12:5] - hdr.h0.f0[7:0]) ^ (((bool)(hdr.h0.f5)) ? (hdr.h0.f0 << 8w4) : (((bit<8>)(hdr.h0.f4)) |-| hdr.h0.f0)));
    }
    table t36 {
        key = {
            2w0x3 : exact @name("k0");
            3w0x0 : exact @name("k1");
            ((bit<13>)(hdr.h0.f0)) : lpm @name("k2");
        }
        actions = { act37; act39; act40; NoAction; }
        default_action = act40(5w0x1f);
    }
    apply {
        I_S9.apply(hdr, meta, sm, hdr.h3);
        sm.egress_spec = hdr.h1.f3 & 9w7;
        assert(hdr.u.b.f3 != 9w0x1ff);
        sm.priority[2:0] = ((sm.priority % sm.priority) |-| (sm.priority - sm.priority));
        hdr.h1.f3 = ((9w0x1 + (-9w0xff)) + hdr.u.b.f3);
        x32 = (((hdr.h1.pad |+| 6w0x1) / hdr.u.b.pad) << (-(((bit<8>)(hdr.u.a.f2)) |-| hdr.h3.f0)));
        hash(meta.m6, HashAlgorithm.csum16, 16w0xad3f, { meta.m5, hdr.h2.f1, sm.checksum_error }, sm.packet_length);
        hdr.h0.f5 = hdr.u.a.pad;
        if ((!((true == ((bool)(hdr.h0.pad))) || ((bool)(hdr.h0.pad))))) {
            hdr.h3.f0 = ((bit<8>)(sm.ingress_port));
            hdr.h3.pad = (((meta.m3 >> 8w11) - (-7w0x7)) * (7w0x5f |-| (hdr.h3.pad | hdr.h3.pad)));
            bit<15> x42 = ((bit<15>)(hdr.h1.f0));
        }
        else {
            bit<1> x43 = fn1((meta.m1 |-| meta.m1));
            x32 = (hdr.u.a.f3[8:3] * ((x32 >> 2w0x2) * hdr.u.b.pad));
            hdr.u.b.f0 = (hdr.h1.f0[3:0] >> 8w5);
        }
        hdr.u.b.pad = ((-(6w0x1 << 8w1)) >> 8w14);
        if (false) { mark_to_drop(sm); }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S9() E_S9;
    bit<31> x44 = fn3(((int<63>)(meta.m6)));
    bit<4> x45 = (~hdr.h0.f2);
    int<27> x46 = (meta.m4 - ((int<27>)(meta.m4)));
    h2_t lh47;
    register<int<27>>(5) r48;
    register<bit<4>>(7) r49;
    action act51(bit<8> p52, bit<65> p53, bit<9> p54) {
        meta.m5 = ((meta.m5 >> 8w13) >> (((bit<2>)(hdr.h2.pad)) ++ (((bit<2>)(hdr.h3.f1)) |-| ((bit<2>)(sm.checksum_error)))));
    }
    table t50 {
        key = {
            ((bit<1>)((((bit<114>)(hdr.u.a.f2)) |-| ((bit<114>)(hdr.h2.pad))))) : exact @name("k0");
        }
        actions = { act51; NoAction; }
        default_action = NoAction();
    }
    action act56(bit<48> p57) {
        sm.priority[1:1] = ((bit<1>)((((bool)(hdr.h3.f1)) && ((bool)(hdr.h0.pad)))));
        hash(hdr.h1.pad, HashAlgorithm.identity, 16w0x4, { hdr.u.b.f3 }, sm.packet_length);
        x45 = ((x45 * ((bit<4>)(sm.ingress_port))) % hdr.u.a.f1);
    }
    action act58() {
        hdr.u.a.f3 = ((meta.m6[54:4])[35:21] >> hdr.h2.f0);
        bit<31> x59 = fn3((((int<63>)(meta.m4)) & ((int<63>)(meta.m4))));
        bit<31> x60 = ((~(x44 * ((bit<31>)(x59)))) |-| meta.m5);
    }
    table t55 {
        key = {
            hdr.h1.f0 : exact @name("k0");
            3w0x3 : exact @name("k1");
        }
        actions = { act56; act58; NoAction; }
        default_action = NoAction();
        const entries = {
            (4w0x7, 3w0x4) : act56(48w0x1);
            (4w0x7, 3w0x3) : act56(48w0x40000000000);
            (4w0xf, 3w0x7) : act56(48w0xffffffffffff);
            (4w0x8, 3w0x3) : act58();
        }
    }
    apply {
        E_S9.apply(hdr, meta, sm, lh47);
        hdr.u.a.f2 = (((((bit<4>)(hdr.h3.pad)) << lh47.pad) << ((bit<3>)(((bit<110>)(hdr.h3.f1))))) |-| ((x45 | 4w0x1) >> 8w11));
        hdr.u.a.f3 = (hdr.u.a.f3 |+| ((~119w0x3fffffffffffffffffffffffffffff))[112:98]);
        hdr.h0.f4 = ((((bit<128>)(hdr.h1.f3)))[117:7])[106:92];
        hdr.h0.pad[0:0] = (fn1(meta.m1) << (hdr.h2.f0 |+| ((bit<8>)(hdr.u.b.f2))));
        lh47.f1 = (hdr.u.a.f5 | (meta.m5[10:10] / hdr.u.a.f5));
        hash(hdr.u.b.f0, HashAlgorithm.crc32, 16w0xe8e5, { hdr.u.a.pad, 9w0x1, 27w0x1 }, sm.packet_length);
        hdr.h0.pad = ((1w0x0 + 1w0x1) |+| (lh47.f1 % lh47.f1));
        hdr.h1.f3 = hdr.u.b.f3[8:0];
        if ((false == ((((bit<51>)(hdr.h0.f4)) ++ 76w0x1) <= ((bit<127>)(hdr.u.a.f3))))) {
            meta.m1 = (((meta.m4 | ((int<27>)(meta.m4))) + (meta.m4 - x46)) | (-meta.m1));
            hdr.h1.f1 = (((bit<64>)(hdr.u.b.f2)) % hdr.h1.f1);
        }
        if (((31w0xf > (31w0x1 - x44)) && (false == true))) {
            hdr.h1.f3 = ((bit<9>)(hdr.h0.pad));
        }
        else {
            meta.m1 = (((((bool)(hdr.h0.pad)) ? meta.m1 : x46) | (meta.m1 >> 8w1)) ^ (meta.m4 | (meta.m1 - 27s57104203)));
        }
    }
}
control C(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum_with_payload((((bit<60>)(hdr.u.a.f3)) != ((bit<60>)(hdr.u.a.f5))), { ((bit<90>)(hdr.u.a.f0)), ((bit<7>)(hdr.h1.f1)), ((bit<13>)(hdr.u.a.f2)), 16w0x7fff }, hdr.u.b.f3, HashAlgorithm.xor16);
    }
}
control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.h2);
        packet.emit(hdr.u);
        packet.emit(hdr.h0);
        packet.emit(hdr.h3);
        packet.emit(hdr.h1);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
