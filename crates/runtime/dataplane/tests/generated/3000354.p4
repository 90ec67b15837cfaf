#include <core.p4>
#include <v1model.p4>
header h0_t {
    bit<4> f0;
    bit<20> f1;
    int<49> f2;
    bit<3> f3;
    bit<11> f4;
    bit<1> pad;
}
header h1_t {
    bit<3> f0;
    int<65> f1;
    bit<4> pad;
}
header s_t {
    bit<1> more;
    bit<7> x;
    bit<24> y;
}
header v_t { bit<4> n; bit<4> k; varbit<64> data; bit<8> z; }
struct rec_t {
    bit<4> f0;
}
struct headers {
    h0_t h0;
    h1_t h1;
    s_t[2] s;
    v_t v;
    v_t w;
}
struct metadata {
    int<49> m0;
    int<65> m1;
    bit<20> m2;
    int<49> m3;
    bit<8> m4;
    rec_t rec;
}
bit<3> fn1(inout bit<8> p2) {
    p2 = p2[7:0];
    p2 = ((p2[7:0] % p2) - p2);
    p2 = (((((bit<65>)(p2)))[52:45] - (8w0x7f |+| p2)) - ((bit<8>)(((bit<127>)(p2)))));
    return (((((bit<2>)(p2)) |-| ((bit<2>)(p2))) & (((bit<112>)(p2)))[89:88]) ++ (-((bit<1>)(p2))));
}
bit<3> fn3(in bit<20> p4, in int<9> p5) {
    return ((((bit<1>)(p4)) ++ (((bit<2>)(p4)) |+| ((bit<2>)(p4)))) >> p5[8:4]);
}
parser Q6(packet_in packet, out h0_t h, inout bit<20> p7, inout int<49> p8) {
    int<49> x9 = ((-(((int<49>)(p8)) << 8w8)) >> ((1w0x0 * ((bit<1>)(p7))) + ((bit<1>)(p7))));
    state start {
        packet.extract(h);
        h.f1 = ((~(p7 % p7)) >> ((bit<3>)(h.pad)));
        h.f0[3:2] = ((((bit<121>)(h.f1)))[8:7] - (((bit<2>)(h.f0)) |-| 2w0x1));
        transition select(h.f0) { 4w0: more; default: accept; }
    }
    state more {
        x9 = h.f2;
        bit<8> x10 = (((((bit<6>)(h.pad)) |+| ((bit<6>)(h.f4))) ++ ((bit<78>)(h.pad))))[39:32];
        bit<3> x11 = fn1(x10);
        transition accept;
    }
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    Q6() p_Q6;
    state start { transition parse_h0; }
    state parse_h0 {
        p_Q6.apply(packet, hdr.h0, meta.m2, meta.m0);
        meta.m4[7:6] = ((((bit<2>)(hdr.h0.f4)) << 8w11) |+| (((bit<2>)(meta.rec.f0)) & ((bit<2>)(hdr.h0.f3))));
        hdr.h0.f2 = ((!((bool)(hdr.h0.pad))) ? meta.m0 : (-(meta.m0 >> meta.m4)));
        transition select(hdr.h0.f0) {
            4w7 &&& 4w8: parse_v;
            4w1 .. 4w8: parse_v;
            default: parse_v;
        }
    }
    state parse_v {
        bit<8> v_first = packet.lookahead<bit<8>>();
        packet.extract(hdr.v, (bit<32>)(v_first[7:4]) * 4);
        packet.advance(16);
        transition select(hdr.v.k) {
            4w3 &&& 4w7: reject;
            default: accept;
        }
    }
    state parse_h1 {
        packet.extract(hdr.h1);
        verify(((((bool)(hdr.h0.pad)) || ((bool)(hdr.h0.pad))) || (((bool)(hdr.h0.pad)) == ((bool)(hdr.h0.pad)))), error.NoMatch);
        transition select(hdr.h1.f0) {
            3w6 &&& 3w5: parse_s;
            3w7 &&& 3w1: parse_s;
            default: parse_s;
        }
    }
    state parse_s {
        packet.extract(hdr.s.next);
        bit<24> look12 = packet.lookahead<bit<24>>();
        hdr.h1.pad = hdr.h1.pad;
        transition select(hdr.s.last.more) {
            1w1: parse_s;
        }
    }
}
control V(inout headers hdr, inout metadata meta) {
    apply {
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    int<9> x13 = ((((int<9>)(meta.m3)) << ((bit<5>)(sm.instance_type))) << 1w0x0);
    h1_t lh14;
    rec_t lr15 = { ((lh14.pad >> 8w7) << (((bool)(sm.checksum_error)) ? meta.m4 : 8w0x0)) };
    counter(7, CounterType.packets) c16;
    counter(8, CounterType.packets) c17;
    register<int<65>>(4) r18;
    action act19(out bit<20> p20, out bit<6> p21) {
        lh14.pad = ((~hdr.h1.pad) >> ((bit<2>)(hdr.h0.f3)));
        int<49> x22 = (((((int<65>)(meta.m0)) == ((int<65>)(x13))) ? (meta.m3 >> ((bit<7>)(hdr.h1.pad))) : (((bool)(sm.checksum_error)) ? ((int<49>)(hdr.h0.f2)) : meta.m0)) >> lh14.f1[46:40]);
        hash(p21, HashAlgorithm.identity, 16w0x7, { 49w0x1e07de2c79686, ((bit<15>)(p20)), sm.priority }, sm.instance_type);
    }
    direct_counter(CounterType.packets_and_bytes) direct24;
    action act25(bit<13> p26, bit<8> p27) {
        direct24.count();
        hdr.s[1].setValid();
    }
    table t23 {
        key = {
            ((bit<77>)(lr15.f0)) : lpm @name("k0");
            ((bit<2>)(hdr.h0.f0)) : exact @name("k1");
        }
        actions = { act25; NoAction; }
        default_action = NoAction();
        counters = direct24;
        const entries = {
            (77w0x0 &&& 77w0x1ffffff0000000000000, 2w0x0) : act25(13w0x1, 8w0xd);
            (77w0x0 &&& 77w0x1ffffff0000000000000, 2w0x1) : act25(13w0x0, 8w0x6d);
            (77w0x1fffff80000000000000 &&& 77w0x1fffff80000000000000, 2w0x3) : act25(13w0x6, 8w0xb8);
            (77w0x1842b7352a6500000000 &&& 77w0x1fffffffffff00000000, 2w0x3) : act25(13w0x9f1, 8w0xa3);
            (77w0x10000000000000 &&& 77w0x1ffffffffffc00000000, 2w0x0) : act25(13w0x1fff, 8w0xff);
            (77w0x1116db1dbb6448000000 &&& 77w0x1fffffffffffff000000, 2w0x3) : act25(13w0x6, 8w0x5);
        }
    }
    action act29() {
        meta.rec.f0 = ((92w0xfffffffffffffffffffffff * (((bit<63>)(sm.checksum_error)) ++ ((bit<29>)(hdr.h0.f3)))))[11:8];
        hdr.h1.f0 = ((((bit<115>)(hdr.h0.f4)))[47:45] * (((bool)(hdr.h0.pad)) ? fn3(hdr.h0.f1, x13) : (((bit<2>)(lr15.f0)) ++ sm.checksum_error)));
    }
    action act30() {
        lh14.f0 = hdr.h1.f0;
        hdr.h0.pad = ((-(hdr.h0.pad >> 8w0)) >> 8w9);
        meta.m1 = ((meta.m1 << (sm.checksum_error >> 8w11)) << meta.m0[36:32]);
        lr15 = { f0 = (hdr.h0.f2[30:27] + (~((bit<4>)(sm.packet_length)))) };
    }
    action act31(bit<128> p32) {
        hdr.h1.pad = lh14.pad[3:0];
        int<9> x33 = (((x13 >> 8w2) & x13) << ((bit<6>)(hdr.h0.f3)));
        hdr.h0.f4 = (((bit<11>)(lh14.f0)) & ((bit<11>)((-((bit<65>)(lr15.f0))))));
        x33 = x13;
    }
    table t28 {
        key = {
            sm.checksum_error : exact @name("k0");
            sm.priority : exact @name("k1");
        }
        actions = { act29; act30; act31; NoAction; }
        default_action = NoAction();
    }
    apply {
        sm.egress_spec = ((bit<9>)(lr15.f0)) & 9w7;
        bit<6> x34 = (((bit<6>)(meta.rec.f0)) << 8w5);
        act19(hdr.h0.f1, x34);
        bit<3> x35 = (-(3w0x2 - (sm.priority * sm.priority)));
        hdr.v = hdr.w;
        x35 = hdr.h1.f1[30:28];
        hdr.v.z = meta.m4;
        r18.write((bit<32>)((~(hdr.h0.f3 - 3w0x3))), ((int<65>)((~(-((int<31>)(meta.m3)))))));
        if (((bool)(sm.checksum_error))) {
            if (((-((int<5>)(meta.m3))) == ((int<5>)(hdr.h1.f1)))) { exit; }
            hdr.w = hdr.v;
            x34 = x34;
        }
        else {
            hdr.w = hdr.v;
            hdr.h0.f2 = (meta.m0 << (false ? ((bit<5>)(hdr.h1.pad)) : ((bit<5>)(meta.m2))));
            x13 = ((((int<9>)(((bit<9>)(x13)))) + x13) << (((bit<68>)(lr15.f0)))[14:14]);
        }
        bit<8> x36 = meta.m4;
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    int<49> x37 = ((((bool)(sm.checksum_error)) ? meta.m3 : meta.m0) | (meta.m0 << ((bit<1>)(hdr.h0.f0))));
    bit<20> x38 = (18w0x3ffff ++ ((-hdr.h0.pad) ++ (hdr.h0.pad |+| hdr.h0.pad)));
    bit<8> x39 = ((meta.m1 == meta.m1) ? (meta.m4 >> (((bit<2>)(x38)) >> ((bit<7>)(hdr.h0.f0)))) : (meta.m4 + (((bit<8>)(meta.m2)) |+| meta.m4)));
    h0_t lh40;
    counter(5, CounterType.bytes) c41;
    counter(6, CounterType.bytes) c42;
    action act43(out bit<3> p44, out bit<8> p45, inout bit<8> p46) {
        sm.priority = (~p44);
        c42.count((bit<32>)(((((bit<3>)(hdr.h0.f3)) |+| ((bit<3>)(meta.m2))) % lh40.f3)));
        hdr.h1.f1 = ((int<65>)(((((bit<65>)(hdr.h1.f0)) * ((bit<65>)(lh40.f0))) << 8w7)));
        hdr.h1.pad = ((1w0x1 ++ hdr.h0.f1[9:7]) * ((((int<49>)(meta.m1)) != meta.m3) ? (4w0x7 >> 8w14) : (((bit<4>)(hdr.h1.pad)) + hdr.h0.f0)));
    }
    action act47(out int<9> p48, inout bit<70> p49, out int<9> p50) {
        meta.m4 = 8w0x65;
        hdr.h0.f0 = ((((bit<3>)(9w0x0)) ++ (1w0x1 << 8w19)) | lh40.f0);
    }
    direct_counter(CounterType.packets_and_bytes) direct52;
    action act53(bit<64> p54, bit<65> p55) {
        direct52.count();
        lh40.f1 = ((bit<20>)((sm.ingress_port << (6w0x3a ++ ((bit<2>)(sm.checksum_error))))));
        hdr.h0.f3 = (hdr.h0.f3 * fn1(meta.m4));
        x37 = (((((bool)(hdr.h0.pad)) || ((bool)(sm.checksum_error))) ? (~lh40.f2) : (((int<49>)(hdr.h1.f1)) & (-49s140737488355327))) << 8w16);
        hdr.h0.f1 = ((!(((int<4>)(lh40.f0)) == ((int<4>)(meta.rec.f0)))) ? meta.m2[19:0] : ((hdr.h0.f1 | meta.m2) |+| meta.m1[38:19]));
    }
    action act56() {
        direct52.count();
        c41.count((bit<32>)((x37[46:44] |-| lh40.f0[2:0])));
        x39 -= ((-x39) * (((bit<8>)(meta.m2)) * meta.m4));
        if ((hdr.h1.isValid() && (((bool)(hdr.h0.pad)) == ((bool)(lh40.pad))))) { exit; }
    }
    table t51 {
        key = {
            hdr.h1.f1[43:42] : exact @name("k0");
            ((bit<14>)(sm.instance_type)) : lpm @name("k1");
            2w0x3 : exact @name("k2");
        }
        actions = { act53; act56; NoAction; }
        default_action = NoAction();
        counters = direct52;
    }
    apply {
        switch (((bit<5>)(lh40.pad))) {
            5w8: {
                meta.m3 = (((int<49>)(((int<15>)(lh40.f2)))) & hdr.h0.f2);
                hdr.v.setInvalid();
                switch (t51.apply().action_run) {
                    act56: {
                        hdr.s[1].setInvalid();
                    }
                    default: {
                        lh40.setValid();
                    }
                }
            }
        }
        for (bit<8> i57 = 0; i57 < 2; i57 = i57 + 1) {
            lh40.f1 = (lh40.f1 |-| ((((bool)(hdr.h0.pad)) ? ((bit<14>)(hdr.h0.pad)) : ((bit<14>)(lh40.f1))) ++ ((bit<6>)(hdr.h1.pad))));
            meta.rec = { f0 = ((((bit<54>)(i57)) * ((bit<54>)(lh40.f0))))[45:42] };
            hash(lh40.f1, HashAlgorithm.identity, 16w0x1, { meta.m4, ((bit<65>)(lh40.f4)) }, 32w0x4000000);
            hash(lh40.f4, HashAlgorithm.crc32, 16w0x6c56, { x39 }, sm.instance_type);
            sm.priority = hdr.h0.f3;
        }
    }
}
control C(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum((false || ((bool)(hdr.h0.pad))), { hdr.h0.f3, ((bit<63>)(hdr.h0.f4)) }, hdr.h0.f1, HashAlgorithm.csum16);
    }
}
control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.w);
        packet.emit(hdr.s);
        packet.emit(hdr.v);
        packet.emit(hdr.h1);
        packet.emit(hdr.h0);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
