#include <core.p4>
#include <v1model.p4>
header h0_t {
    bit<3> f0;
    bit<17> f1;
    int<2> f2;
    bit<2> pad;
}
header h1_t {
    bit<3> f0;
    int<2> f1;
    bit<96> f2;
    bit<50> f3;
    bit<1> pad;
}
header_union u_t { h0_t a; h1_t b; }
struct rec_t {
    bit<50> f0;
}
struct headers {
    h0_t h0;
    h1_t h1;
    u_t u;
}
struct metadata {
    bit<16> m0;
    bool m1;
    int<2> m2;
    int<14> m3;
    bit<16> m4;
    bit<16> m5;
    rec_t rec;
}
parser Q1(packet_in packet, out h1_t h) {
    bit<16> x2 = 16w0xffff;
    state start {
        packet.extract(h);
        h.f2 = ((bit<96>)((((int<96>)(h.f2)) |+| ((int<96>)(h.f1)))));
        h.f1 = (-h.f1);
        transition select(h.f0) { 3w7: more; default: accept; }
    }
    state more {
        x2 = ((-(((bit<69>)(h.pad)))[47:32]) |+| x2);
        h.pad = (-(((bit<1>)(h.f3)) >> 8w0x2));
        transition accept;
    }
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    Q1() p_Q1;
    bit<16> x3 = ((((bit<16>)(((int<16>)(meta.m4)))) - meta.m5[15:0]) |-| ((~meta.m5) << (~((bit<6>)(meta.m5)))));
    state start { transition parse_h0; }
    state parse_h0 {
        packet.extract(hdr.h0);
        packet.advance(16);
        transition select(hdr.h0.f0) {
            3w0 .. 3w1: parse_u;
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
        p_Q1.apply(packet, hdr.h1);
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) {
    apply {
    }
}
control S4(inout standard_metadata_t sm, inout h0_t ph5, inout bit<3> p6) {
    bit<5> x7 = sm.instance_type[29:25];
    bool x8 = ((bool)(sm.checksum_error));
    bit<16> x9 = ((((bit<16>)(sm.egress_rid)) |-| sm.egress_rid) |+| sm.egress_rid);
    bit<96> x10 = ((((bit<64>)(ph5.f1)) + ((bit<64>)(x7))) ++ ((sm.instance_type | 32w0xffffffff) & sm.packet_length));
    h1_t lh11;
    counter(4, CounterType.packets) c12;
    register<int<2>>(7) r13;
    register<bit<50>>(6) r14;
    action act15(in int<77> p16, out bit<50> p17, in int<2> p18) {
        lh11.f1 = 2s1;
    }
    direct_counter(CounterType.packets_and_bytes) direct20;
    action act21(bit<19> p22, bit<5> p23, bit<1> p24) {
        direct20.count();
        lh11.f2 = x10;
        lh11.f2 &= ((x10 >> ((bit<4>)(x9))) >> 8w4);
        lh11.f2 = (x10 & ((bit<96>)(sm.egress_rid)));
        hash(lh11.f0, HashAlgorithm.csum16, 16w0x1, { lh11.f2, lh11.f3, 50w0x10000000000 }, 32w0x0);
    }
    action act25(bit<78> p26, bit<15> p27, bit<64> p28) {
        direct20.count();
        lh11.f2 = ((bit<96>)(lh11.f0));
        ph5.pad = ph5.pad;
    }
    table t19 {
        key = {
            128w0x1 : lpm @name("k0");
        }
        actions = { act21; act25; NoAction; }
        default_action = act25(78w0x0, 15w0x48b6, 64w0x2af2821a3b74b081);
        counters = direct20;
    }
    apply {
        if (true) {
            ph5.f2 = 2s0;
            if (false) { exit; }
        }
        else {
            x9 = sm.egress_rid[15:0];
            int<32> x29 = ((int<32>)(sm.packet_length));
        }
        rec_t lr30 = { ((lh11.f3 >> ((bit<7>)(p6))) & ((bit<50>)(ph5.f0))) };
        sm.priority &= (sm.priority |+| lh11.f0);
    }
}
control S31(inout headers hdr, inout metadata meta, inout standard_metadata_t sm, inout h0_t ph32, inout bool p33) {
    bit<50> x34 = (((hdr.u.b.f3 >> 2w0x1) |-| (50w0x3ffffffffffff |-| meta.rec.f0)) / hdr.u.b.f3);
    h1_t lh35;
    rec_t lr36 = { lh35.f3 };
    register<bit<96>>(5) r37;
    action act38(inout bit<96> p39, in bit<50> p40, in bit<96> p41) {
        lh35.f1 = (((~2s0) & hdr.u.b.f1) >> 8w8);
    }
    action act43(bit<28> p44, bit<7> p45) {
        hdr.u.b.f3 = (-((-hdr.u.b.f3) / x34));
        if (((hdr.u.a.f2 |+| hdr.u.b.f1) >= ((((int<2>)(lh35.f1)) & meta.m2) << ((bit<3>)(hdr.u.b.f3))))) {
            meta.m3 = 14s4793;
        }
        else {
            meta.m2 = (((int<2>)(5s0)) - ph32.f2);
        }
    }
    action act46(bit<9> p47, bit<97> p48) {
        meta.m0 = ((((bit<11>)(((bit<74>)(meta.m4)))) >> 8w14) ++ (((bit<5>)(lh35.pad)) | (((bit<5>)(lh35.f0)) | ((bit<5>)(hdr.h0.f0)))));
        hdr.u.a.pad = (((2w0x0 * ph32.pad) / hdr.h0.pad) | ((bit<2>)((((int<2>)(hdr.h1.f1)) | (-2s1)))));
        hdr.h0.f1 = hdr.h0.f1;
    }
    table t42 {
        key = {
            sm.priority : exact @name("k0");
            sm.priority : exact @name("k1");
            hdr.u.a.pad : exact @name("k2");
        }
        actions = { act43; act46; NoAction; }
        default_action = NoAction();
    }
    apply {
        lr36 = { f0 = ((hdr.u.b.f3 - meta.rec.f0) / hdr.h1.f3) };
        hdr.h0.f1 = (ph32.isValid() ? hdr.u.a.f1 : 17w0x400);
        bit<96> x49 = ((((bit<36>)(hdr.u.a.f1)) << ((bit<6>)(meta.m4))) ++ ((60w0xeaf04d7053f0dc + 60w0xf7cc5d6b4fd525e) << hdr.h1.pad));
        if ((p33 || ((meta.m2 * hdr.u.b.f1) <= lh35.f1))) {
            hdr.u.a.f0 = ((bit<3>)(hdr.h1.f0));
        }
        x34 = ((((bit<50>)(lh35.f2)) |-| (~hdr.h1.f3)) >> 8w11);
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S4() I_S4;
    S31() I_S31;
    int<2> x50 = (((meta.m2 ^ hdr.h0.f2) |-| ((-2s1) - hdr.h0.f2)) |-| ((int<2>)(meta.m3)));
    bit<16> x51 = (-meta.m4);
    bool x52 = hdr.u.a.isValid();
    h0_t lh53;
    counter(6, CounterType.packets) c54;
    action act55(in int<2> p56, out int<2> p57, out bool p58) {
        hdr.u.a.pad = ((bit<2>)(p57));
        hdr.u.a.f1 = ((((bit<89>)(hdr.u.a.pad)))[81:65] % lh53.f1);
        bit<50> x59 = hdr.h1.f3[49:0];
        lh53.f1 = ((hdr.h1.f2[19:3] |+| hdr.h0.f1) << 8w18);
    }
    action act61(bit<86> p62, bit<8> p63, bit<30> p64) {
        meta.m0 = ((-((bit<16>)(hdr.u.a.f0))) * (hdr.u.b.isValid() ? hdr.u.b.f2[58:43] : (meta.m0 / meta.m5)));
    }
    table t60 {
        key = {
            ((bit<2>)(hdr.u.b.f0)) : ternary @name("k0");
            meta.m4[11:10] : ternary @name("k1");
            ((hdr.u.b.f0 << 7w0x7f) |-| (2w0x1 ++ 1w0x1)) : ternary @name("k2");
        }
        actions = { act61; NoAction; }
        default_action = NoAction();
    }
    action act66(bit<32> p67, bit<3> p68, bit<6> p69) {
        meta.m2 = (hdr.h1.f1 & ((int<2>)(hdr.h0.pad)));
    }
    action act70(bit<127> p71) {
        hdr.u.b.f2 = (x52 ? hdr.h1.f2 : ((-hdr.u.b.f2) + (((bit<96>)(sm.egress_rid)) & hdr.h1.f2)));
        hdr.u.b.f0 = ((bit<3>)(((meta.m1 && x52) ? hdr.u.a.f1 : hdr.u.b.f3[37:21])));
        meta.m2 = hdr.h1.f1;
    }
    table t65 {
        key = {
            hdr.h1.f0 : range @name("k0");
            ((bit<8>)(hdr.u.a.pad)) : ternary @name("k1");
            ((bit<34>)(hdr.h0.f1)) : ternary @name("k2");
        }
        actions = { act66; act70; NoAction; }
        default_action = NoAction();
    }
    apply {
        I_S4.apply(sm, hdr.u.a, hdr.h1.f0);
        I_S31.apply(hdr, meta, sm, hdr.u.a, meta.m1);
        sm.egress_spec = ((bit<9>)(sm.priority)) & 9w7;
        hdr.h0.f1 = (17w0x0 * ((hdr.u.a.f1 << 8w19) % hdr.u.a.f1));
        hdr.h1.f2[94:93] = ((1w0x1 ++ hdr.h1.pad) | lh53.pad);
        hdr.u.a.pad = 2w0x1;
        bit<8> x72 = ((bit<8>)(lh53.f1));
        lh53.f0 = x72[6:4];
        if ((((16w0x4000 << 8w12) > ((bit<16>)(21w0x1))) == ((meta.m1 == x52) || meta.m1))) {
            t65.apply();
        }
        else {
            hdr.h1.pad = (1w0x1 >> (4w0x1 >> 8w7));
        }
        hdr.u.b.f1 = (x50 |-| ((int<2>)(hdr.u.b.f1)));
        if (((((bit<8>)(hdr.h1.f2)) == ((bit<8>)(x51))) && (hdr.u.b.f2 <= hdr.u.b.f2))) { exit; }
        int<2> x73 = (hdr.h0.f2 >> (sm.priority % lh53.f0));
        switch (t60.apply().action_run) {
            act61: {
                I_S4.apply(sm, lh53, hdr.u.a.f0);
            }
            default: {
                hdr.h0.f1[9:8] = (((bit<2>)(((bit<31>)(meta.m4)))) |+| (((bit<2>)(meta.m4)) ^ ((bit<2>)(hdr.u.b.f2))));
            }
        }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S4() E_S4;
    S31() E_S31;
    bit<96> x74 = (~((-hdr.u.b.f2) << (meta.m1 ? ((bit<5>)(hdr.u.a.pad)) : ((bit<5>)(hdr.u.b.f3)))));
    bit<96> x75 = hdr.u.b.f2;
    counter(4, CounterType.packets) c76;
    counter(5, CounterType.packets) c77;
    register<bit<50>>(4) r78;
    register<bit<65>>(8) r79;
    action act80(in bit<16> p81) {
        hdr.h0.pad = (hdr.h0.pad[1:0] % hdr.h0.pad);
        meta.m0 = ((bit<16>)(hdr.u.b.f2));
        meta.m4 = (p81 ^ ((((bit<6>)(sm.priority)) ++ ((bit<10>)(sm.checksum_error))) ^ (~meta.m5)));
        x74 = (((bit<76>)(((bit<77>)(sm.instance_type)))) ++ ((((bit<20>)(x74)) ^ ((bit<20>)(sm.ingress_port))) - x74[92:73]));
    }
    action act82() {
        hdr.u.b.f0 = (hdr.u.a.f0 |+| (~(sm.priority | ((bit<3>)(sm.instance_type)))));
        c76.count((bit<32>)(((3w0x4 | hdr.u.b.f0) |-| hdr.u.b.f0)));
        meta.m4 = meta.m4;
        meta.rec = meta.rec;
    }
    action act84() {
        meta.rec = meta.rec;
        hash(hdr.h1.f2, HashAlgorithm.crc16, 16w0xfbd3, { sm.instance_type }, sm.packet_length);
        x75 = ((hdr.u.a.f2 < 2s0) ? hdr.h1.f2[95:0] : 96w0x0);
        sm.priority -= ((meta.m1 ? hdr.u.a.f0 : sm.priority) & 3w0x7);
    }
    action act85() {
        r78.write((bit<32>)((sm.instance_type[8:6] >> 8w18)), (((x75 < hdr.u.b.f2) == (hdr.u.b.f3 == 50w0x1)) ? ((((bit<48>)(hdr.u.b.f2)) ++ 2w0x0) |+| (50w0x8 | hdr.h1.f3)) : hdr.u.b.f2[81:32]));
    }
    table t83 {
        key = {
            1w0x1 : range @name("k0");
            ((hdr.h0.f0 + 3w0x0) + (hdr.h1.f0 & hdr.u.a.f0)) : optional @name("k1");
        }
        actions = { act84; act85; NoAction; }
        default_action = NoAction();
        const entries = {
            (1w0x1 .. 1w0x1, 3w0x4) : act85();
        }
    }
    apply {
        E_S4.apply(sm, hdr.h0, hdr.u.b.f0);
        E_S31.apply(hdr, meta, sm, hdr.u.a, meta.m1);
        hdr.u.b.pad = hdr.h0.pad[0:0];
        c77.count((bit<32>)(hdr.u.b.f0[2:0]));
        x75 = ((false ? (25w0xffffff ++ ((bit<71>)(hdr.u.b.pad))) : (x74 >> 8w12)) % x75);
        if (((x75[95:0] | ((bit<96>)(hdr.h0.f0))) != ((hdr.u.b.f2 | x74) | hdr.h1.f2[95:0]))) {
            if (t83.apply().miss) {
                hdr.h1.f1 = (~(hdr.h0.f2 * hdr.u.b.f1));
            }
        }
        hdr.h1.f2 -= ((meta.m0 < meta.m0) ? (((bit<96>)(sm.packet_length)) | hdr.u.b.f2) : hdr.u.b.f2);
        hdr.h1.setInvalid();
        hdr.u.b.f0 = ((bit<3>)(hdr.u.b.f0));
        switch (((meta.m5 << 8w6) >> hdr.u.a.f1[7:4])) {
            16w4: {
                hdr.u.b.f2 = hdr.h1.f2[95:0];
            }
            16w16: {
                hdr.h0.f2 = ((((int<2>)(hdr.u.a.f2)) + (2s1 | hdr.h0.f2)) * (~((int<2>)(hdr.u.a.f2))));
            }
            16w29713: {
                hdr.u.b.f2 = ((127w0x0 >> 8w5))[125:30];
            }
            default: {
                hdr.h0.f1 = (hdr.h0.f1 ^ (hdr.h0.f1[16:0] / hdr.u.a.f1));
            }
        }
        x75 = (((bit<96>)(((bit<32>)(((bit<15>)(sm.ingress_port)))))) - ((-((bit<96>)(sm.egress_rid))) |-| (x74 & 96w0xffffffffffffffffffffffff)));
    }
}
control C(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum((hdr.h1 != hdr.u.b), { ((bit<110>)(hdr.u.a.f1)), 7w0x16, 76w0x800000000000 }, hdr.u.a.f1, HashAlgorithm.csum16);
    }
}
control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.h1);
        packet.emit(hdr.h0);
        if (hdr.h1.isValid()) { packet.emit(hdr.u); }
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
