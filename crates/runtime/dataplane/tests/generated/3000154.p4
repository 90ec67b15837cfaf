#include <core.p4>
#include <v1model.p4>
header h0_t {
    bit<8> f0;
    bit<122> f1;
    bit<16> f2;
    bit<6> pad;
}
header h1_t {
    bit<3> f0;
    bit<3> f1;
    bit<2> pad;
}
header s_t {
    bit<1> more;
    bit<7> x;
}
struct headers {
    h0_t h0;
    h1_t h1;
    h1_t h2;
    s_t[2] s;
}
struct metadata {
    bit<7> m0;
    bit<67> m1;
    bit<122> m2;
    bit<16> m3;
    bit<10> m4;
}
bit<8> fn1(out bit<122> p2, inout bit<7> p3) {
    p2 = p2[121:0];
    p2 = p2;
    p2[113:19] = ((109w0x2000000000000000)[107:13] << 8w0);
    return ((((bit<8>)(p2)) ^ (((bit<8>)(p2)) & ((bit<8>)(p2)))) | ((false ? 8w0xff : ((bit<8>)(p2))) |+| ((bit<8>)(p3))));
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    bit<6> x4 = (((-((bit<2>)(meta.m3))) |+| (((bit<2>)(sm.ingress_port)) - ((bit<2>)(meta.m2)))) ++ ((((bit<6>)(sm.ingress_port)) == 6w0x1) ? 4w0x0 : ((bit<4>)(14w0x3fff))));
    state start { transition parse_h0; }
    state parse_h0 {
        packet.extract(hdr.h0);
        transition select(hdr.h0.f0) {
            default: parse_h1;
        }
    }
    state parse_h1 {
        packet.extract(hdr.h1);
        packet.advance(16);
        transition select(hdr.h1.f0) {
            3w0 .. 3w0: reject;
            3w1 &&& 3w7: accept;
        }
    }
    state parse_h2 {
        packet.extract(hdr.h2);
        transition select(hdr.h2.f0) {
            3w7 &&& 3w7: reject;
            default: parse_s;
        }
    }
    state parse_s {
        packet.extract(hdr.s.next);
        transition select(hdr.s.last.more) {
            1w1: parse_s;
            default: accept;
        }
    }
}
control V(inout headers hdr, inout metadata meta) {
    apply {
    }
}
control S5(inout headers hdr, inout metadata meta, inout standard_metadata_t sm, inout h1_t ph6, in bit<10> p7, out bit<6> p8) {
    bit<3> x9 = sm.priority;
    counter(5, CounterType.packets_and_bytes) c10;
    register<bit<16>>(5) r11;
    action act13() {
        assert(sm.ingress_port != 9w0x1);
        hdr.h1.f1 = ((hdr.h0.f1[120:6])[105:104] ++ (1w0x0 / sm.checksum_error));
    }
    table t12 {
        key = {
            ((true ? ((bit<81>)(meta.m0)) : ((bit<81>)(sm.priority))) << (((bool)(sm.checksum_error)) ? 4w0x2 : ((bit<4>)(meta.m1)))) : ternary @name("k0");
            3w0x7 : exact @name("k1");
            hdr.h2.pad : exact @name("k2");
        }
        actions = { act13; NoAction; }
        default_action = NoAction();
    }
    apply {
        hdr.h2.f0 += hdr.h2.f0;
        hdr.h0.f0 = (8w0xf << meta.m4[3:2]);
        hdr.h2.f1 = ((bit<3>)((((bit<12>)(hdr.h2.pad)) * meta.m2[92:81])));
        hdr.h0.f2 = hdr.h0.f2;
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S5() I_S5;
    int<12> x14 = ((((-12s1) << ((bit<5>)(hdr.h2.f1))) + 12s1) >> 8w2);
    bit<16> x15 = ((16w0x2aff * sm.egress_rid) << 8w19);
    h1_t lh16;
    counter(6, CounterType.packets_and_bytes) c17;
    counter(6, CounterType.packets_and_bytes) c18;
    register<bit<7>>(5) r19;
    register<bit<122>>(7) r20;
    action act21() {
        hdr.h1.f1 = (((3w0x5 % hdr.h1.f1) & ((bit<3>)(((bit<15>)(lh16.pad))))) * (x15[11:9] / hdr.h2.f0));
        meta.m0 = 7w0x40;
    }
    action act22(out bit<7> p23, inout bit<3> p24, in bit<7> p25) {
        bit<16> x26 = ((hdr.h0.f2 * (sm.egress_rid ^ meta.m3)) ^ 16w0x3);
    }
    action act28(bit<125> p29, bit<123> p30) {
        if (((((bit<122>)(meta.m2)) == 122w0x0) == (!((bool)(sm.checksum_error))))) { return; }
    }
    table t27 {
        key = {
            3w0x1 : optional @name("k0");
            ((bit<4>)(sm.checksum_error)) : exact @name("k1");
        }
        actions = { act28; NoAction; }
        default_action = NoAction();
    }
    direct_counter(CounterType.packets_and_bytes) direct32;
    action act33() {
        direct32.count();
        sm.priority = ((bit<3>)(hdr.h0.f0));
        hdr.h2.f0 = (((bit<3>)(lh16.f1)) |-| ((bit<3>)(lh16.f0)));
    }
    action act34(bit<9> p35) {
        direct32.count();
        hdr.s[0].setInvalid();
        bit<7> x36 = ((bit<7>)(sm.priority));
        lh16 = hdr.h2;
        hdr.h1.f0 = (meta.m3[14:12] |-| ((bit<3>)(((bit<63>)(hdr.h0.pad)))));
    }
    table t31 {
        key = {
            sm.priority[1:0] : range @name("k0");
        }
        actions = { act33; act34; NoAction; }
        default_action = act34(9w0x1fc);
        counters = direct32;
    }
    apply {
        I_S5.apply(hdr, meta, sm, hdr.h1, ((10w0x3 % meta.m4) << 8w17), hdr.h0.pad);
        sm.egress_spec = (sm.ingress_port << 1w0x0) & 9w7;
        t27.apply();
        x15 = (((16w0x1 >> meta.m0) * (11w0x0 ++ 5w0xf)) / hdr.h0.f2);
        hdr.h0.pad = hdr.h0.pad;
        I_S5.apply(hdr, meta, sm, hdr.h1, (hdr.h1.isValid() ? sm.egress_rid[13:4] : 10w0x0), hdr.h0.pad);
        hdr.h1.f0 = ((-(((bit<87>)(lh16.pad)) << ((bit<5>)(sm.checksum_error)))))[39:37];
        hdr.h1.f0 = ((1w0x0 * sm.checksum_error) ++ (meta.m3[4:3] |+| (2w0x1 + lh16.pad)));
        bit<7> x37 = (((((int<2>)(lh16.pad)) > ((int<2>)(hdr.h1.pad))) ? (((bool)(sm.checksum_error)) ? meta.m0 : meta.m0) : meta.m0) & (sm.ingress_port[8:2] + meta.m0[6:0]));
        meta.m3 = (((((bit<4>)(hdr.h0.f2)) ++ 12w0x662) & (16w0x1 << 8w10)) - ((((bool)(sm.checksum_error)) ? ((bit<114>)(sm.packet_length)) : ((bit<114>)(hdr.h0.f0))))[19:4]);
        bit<16> x38 = hdr.h0.f2;
        hdr.h1.f1 = ((-(hdr.h1.f1 >> hdr.h0.f0)) << 8w2);
        x14 = x14;
        meta.m3 = (~(((bit<16>)(((int<16>)(hdr.h0.f2)))) + (((bit<124>)(x15)))[62:47]));
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S5() E_S5;
    bit<6> x39 = hdr.h0.pad;
    counter(7, CounterType.packets) c40;
    register<bit<10>>(7) r41;
    register<bit<6>>(4) r42;
    action act43(inout bit<6> p44, in bit<16> p45, inout bit<122> p46) {
        for (bit<8> i47 in (list<bit<8>>){ (51w0x1686f0f71de17)[40:33], (((bit<107>)(p44)))[103:96], (((bit<8>)(hdr.h1.f1)) << sm.checksum_error) }) {
            p44 = (-((((bit<6>)(p46)) << 8w4) | (p44 ^ x39)));
            hdr.h0.f2 = hdr.h0.f2;
            if (((!true) && ((bool)(sm.checksum_error)))) { continue; }
            sm.priority = (-(hdr.h0.f0[4:2] | (hdr.h2.f0 * hdr.h2.f0)));
        }
    }
    action act48(out bit<17> p49, in bit<7> p50, out bit<7> p51) {
        r41.write((bit<32>)(p51[4:2]), sm.egress_rid[9:0]);
        hdr.s[1].setInvalid();
    }
    direct_counter(CounterType.packets_and_bytes) direct53;
    action act54(bit<54> p55) {
        direct53.count();
        sm.priority = (((hdr.h2.f0 * hdr.h2.f1) + (((bit<3>)(sm.ingress_port)) % hdr.h1.f0)) / sm.priority);
        hdr.h0.pad = (~(((bit<45>)(sm.priority)))[22:17]);
    }
    table t52 {
        key = {
            sm.checksum_error : exact @name("k0");
        }
        actions = { act54; NoAction; }
        default_action = act54(54w0x0);
        counters = direct53;
        const entries = {
            (1w0x0) : act54(54w0x400000000000);
            (1w0x1) : act54(54w0x3fffffffffffff);
        }
    }
    action act57(bit<105> p58, bit<2> p59, bit<65> p60) {
        bit<10> x61 = 10w0x1ff;
    }
    action act62(bit<41> p63, bit<111> p64) {
        x39 = (hdr.h1.isValid() ? x39[5:0] : x39);
        hdr.h2.f1 = p63[30:28];
        hdr.h2.pad[0:0] = ((!((bool)(sm.checksum_error))) ? (((bool)(sm.checksum_error)) ? sm.checksum_error : sm.checksum_error) : sm.checksum_error);
        hdr.h0.pad = meta.m3[8:3];
    }
    action act65(bit<65> p66, bit<98> p67) {
        sm.priority = ((bit<3>)(((bit<99>)(sm.instance_type))));
        hdr.h1.f0 = (((3w0x5 |+| hdr.h1.f1) ^ ((bit<3>)(((bit<33>)(meta.m3))))) |-| ((3w0x1 * hdr.h1.f0) * 3w0x2));
        hdr.h0.pad = (x39 % x39);
        hdr.h0.pad = sm.packet_length[6:1];
    }
    table t56 {
        key = {
            ((((bit<4>)(hdr.h0.pad)) << hdr.h0.f0) ^ (((bit<4>)(meta.m3)) |-| ((bit<4>)(sm.ingress_port)))) : exact @name("k0");
            sm.checksum_error : lpm @name("k1");
        }
        actions = { act57; act62; act65; NoAction; }
        default_action = NoAction();
        const entries = {
            (4w0x4, 1w0x0 &&& 1w0x0) : act57(105w0xc69964e0e8cfc138321c50ef3f, 2w0x1, 65w0x1456a8e49296f74da);
            (4w0x5, 1w0x0 &&& 1w0x0) : NoAction();
            (4w0x2, 1w0x0 &&& 1w0x1) : act65(65w0x1, 98w0x9);
            (4w0x1, 1w0x0 &&& 1w0x0) : act62(41w0x14877671543, 111w0x40000000000000000000000);
            (4w0x3, 1w0x0 &&& 1w0x1) : act62(41w0x2000000000, 111w0x7fffffffffffffffffffffffffff);
            (4w0xc, 1w0x0 &&& 1w0x0) : NoAction();
        }
    }
    direct_counter(CounterType.packets_and_bytes) direct69;
    action act70() {
        direct69.count();
        hdr.h2.f1 = ((3w0x1 |-| hdr.h1.f1) | hdr.h0.f2[8:6]);
        meta.m1 = (meta.m1 | (hdr.h2.isValid() ? (meta.m1 % meta.m1) : (meta.m1 & 67w0x4490d617d96f19aa2)));
        hdr.h1.f0 |= hdr.h2.f1;
    }
    action act71() {
        direct69.count();
        hdr.h1.f0 = ((hdr.h2.f1 % hdr.h2.f0) << ((bit<4>)(hdr.h2.pad)));
        meta.m3 = ((((bool)(sm.checksum_error)) ? (((bit<13>)(x39)) ++ hdr.h2.f0) : (-hdr.h0.f2)) & (hdr.h2.isValid() ? (-16w0xfd6f) : (((bit<126>)(hdr.h0.f0)))[66:51]));
        meta.m3[13:12] = ((hdr.h2.pad |-| 2w0x0) << (7w0x7f % meta.m0));
        hdr.h1.f0 = 3w0x0;
    }
    table t68 {
        key = {
            sm.checksum_error : exact @name("k0");
            3w0x0 : ternary @name("k1");
        }
        actions = { act70; act71; NoAction; }
        default_action = NoAction();
        counters = direct69;
    }
    apply {
        E_S5.apply(hdr, meta, sm, hdr.h2, (meta.m4 << ((bit<2>)(hdr.h0.pad))), hdr.h0.pad);
        bit<17> x72 = sm.instance_type[20:4];
        act48(x72, ((((bit<7>)(x39)) % meta.m0) |-| 7w0x0), meta.m0);
        hdr.h0.pad = sm.ingress_port[8:3];
        hdr.h2.pad = ((3w0x7 <= (3w0x1 << 5w0x14)) ? hdr.h1.pad : ((bit<2>)(5w0x1)));
        hdr.h1.f0 &= hdr.h2.f0;
        meta.m0 = hdr.s[(meta.m4[5:5] ^ ((bit<1>)(sm.instance_type)))].x;
        bit<3> x73 = (((((bit<3>)(sm.priority)) * hdr.h2.f0) + (((bit<73>)(hdr.h1.f0)))[58:56]) << 8w15);
        hdr.h0.f2[0:0] = ((bit<1>)(meta.m0));
        switch (((((bit<91>)(hdr.h0.pad)))[35:30] - hdr.h0.pad)) {
            6w5: {
                hdr.h0.f2 = ((-meta.m3) - (meta.m3 - 16w0x6b2f));
            }
            6w8: {
                act43(hdr.h0.pad, 16w0xcb42, meta.m2);
            }
            6w10: {
                meta.m4 = ((meta.m4 |+| (((bit<10>)(x73)) << 8w11)) | hdr.h0.f2[9:0]);
            }
            default: {
                x39 = (((false || ((bool)(sm.checksum_error))) ? (hdr.h0.pad % hdr.h0.pad) : (hdr.h0.pad / x39)) << 4w0x7);
            }
        }
        if (((~(meta.m2 + hdr.h0.f1)) > (122w0xa - meta.m2[121:0]))) {
            hdr.h0.f2 = 16w0xffff;
        }
        else {
            x39 = hdr.h0.pad;
        }
    }
}
control C(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum_with_payload((((bit<7>)(hdr.h0.f2)) <= ((bit<7>)(hdr.h0.f0))), { ((bit<65>)(hdr.h0.f0)), ((bit<15>)(hdr.h0.f1)) }, hdr.h0.f2, HashAlgorithm.csum16);
    }
}
control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.h1);
        packet.emit(hdr.h2);
        packet.emit(hdr.s);
        packet.emit(hdr.h0);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
