#include <core.p4>
#include <v1model.p4>
header h0_t {
    bit<4> f0;
    bit<63> f1;
    bit<5> pad;
}
header h1_t {
    bit<8> f0;
    int<32> f1;
    bit<9> f2;
    int<48> f3;
    bit<7> pad;
}
header h2_t {
    bit<8> f0;
    int<14> f1;
    int<32> f2;
    bit<2> pad;
}
header s_t {
    bit<1> more;
    bit<7> x;
}
header v_t { bit<4> n; bit<4> k; varbit<64> data; bit<8> z; }
struct rec_t {
    bit<15> f0;
}
struct headers {
    h0_t h0;
    h1_t h1;
    h2_t h2;
    s_t[4] s;
    v_t v;
    v_t w;
}
struct metadata {
    bit<15> m0;
    int<38> m1;
    int<38> m2;
    int<32> m3;
    int<62> m4;
    bit<63> m5;
    rec_t rec;
}
int<38> fn1(inout bit<1> p2, inout bit<65> p3) {
    p3 = (-((-p3) - (p3 |+| p3)));
    p2 = (-((1w0x0 << 8w10) >> (((bit<8>)(p2)) |-| ((bit<8>)(p3)))));
    p3 = (((bit<65>)((82w0x3ffffffffffffffffffff & ((bit<82>)(p2))))) - (((bit<61>)(((bit<9>)(p2)))) ++ (((bit<4>)(p3)) - ((bit<4>)(p3)))));
    return ((~38s81730034736) + ((-38s16777216) + 38s2097152));
}
parser Q4(packet_in packet, out h0_t h) {
    int<32> x5 = 32s65536;
    state start {
        packet.extract(h);
        h.pad = (((((bit<2>)(h.f0)) | ((bit<2>)(h.f0))) ++ (((bit<3>)(h.pad)) << 8w2)) >> 8w4);
        h.pad = h.f1[32:28];
        transition select(h.f0) { 4w1: more; default: accept; }
    }
    state more {
        h.f0 = ((x5[27:2] | h.f1[58:33]))[8:5];
        h.f1 = ((bit<63>)(h.f1));
        verify(true, error.NoMatch);
        transition accept;
    }
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    Q4() p_Q4;
    bit<63> x6 = meta.m5[62:0];
    state start { transition parse_h0; }
    state parse_h0 {
        p_Q4.apply(packet, hdr.h0);
        transition select(hdr.h0.f0) {
            4w6 .. 4w7: reject;
            default: parse_s;
        }
    }
    state parse_s {
        packet.extract(hdr.s.next);
        verify(((hdr.h0.f0 == ((bit<4>)(sm.ingress_port))) && (((bit<65>)(hdr.h0.f1)) >= ((bit<65>)(hdr.h0.f0)))), error.NoMatch);
        transition select(hdr.s.last.more) {
            1w1: parse_s;
            default: parse_v;
        }
    }
    state parse_v {
        bit<8> v_first = packet.lookahead<bit<8>>();
        packet.extract(hdr.v, (bit<32>)(v_first[7:4]) * 8);
        packet.advance(24);
        transition select(hdr.v.k) {
            4w1 &&& 4w15: parse_h2;
            default: parse_h1;
        }
    }
    state parse_h1 {
        packet.extract(hdr.h1);
        verify(((((bit<65>)(hdr.h0.pad)) |-| ((bit<65>)(hdr.h1.f0))) == (((bit<65>)(sm.ingress_port)) ^ ((bit<65>)(x6)))), error.NoMatch);
        transition select(hdr.h1.f0) {
            8w1 .. 8w2: parse_h2;
        }
    }
    state parse_h2 {
        packet.extract(hdr.h2);
        verify(((((bit<63>)(sm.ingress_port)) >= x6) && hdr.h2.isValid()), error.HeaderTooShort);
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) {
    apply {
        verify_checksum((false && false), { ((bit<8>)(hdr.h0.pad)), ((bit<17>)(hdr.h0.pad)), ((bit<1>)(hdr.h0.pad)) }, ((bit<16>)(hdr.h0.f1)), HashAlgorithm.csum16);
    }
}
control S7(inout standard_metadata_t sm, inout h2_t ph8, inout bit<65> p9, in bit<63> p10) {
    bit<65> x11 = (((((bit<65>)(sm.instance_type)) | p9) << 8w4) & ((((bit<65>)(sm.instance_type)) << 8w19) |-| p9[64:0]));
    int<32> x12 = ph8.f2;
    bit<67> x13 = ((bit<67>)(sm.egress_rid));
    int<32> x14 = (x12 - (((-32s2147483647) ^ ph8.f2) << 8w17));
    h1_t lh15;
    register<bit<7>>(8) r16;
    action act18(bit<10> p19, bit<17> p20) {
        x13 = (((x13 << 8w12) >> 8w8) >> ((sm.checksum_error * sm.checksum_error) ++ ((bit<4>)(sm.ingress_port))));
    }
    table t17 {
        key = {
            sm.checksum_error : ternary @name("k0");
            sm.priority : exact @name("k1");
        }
        actions = { act18; NoAction; }
        default_action = NoAction();
    }
    apply {
        ph8.f2 = (((bool)(sm.checksum_error)) ? (x12 << x13[33:30]) : ((-32s1190291859) >> x14[19:15]));
        ph8.f2 = (((int<32>)(x14)) | x14);
        x12 = (((x14 |-| x12) ^ ph8.f2) ^ x14);
        lh15.pad = sm.instance_type[29:23];
        lh15.f3 = ((((int<48>)(x12)) | lh15.f3) & lh15.f3);
        sm.priority = ((bit<3>)(sm.checksum_error));
        x11 = x13[64:0];
    }
}
control S21(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    bit<15> x22 = ((((bit<72>)(hdr.h0.f1)))[44:30] << 8w15);
    int<38> x23 = (~meta.m2);
    int<94> x24 = (~((int<94>)((120w0x0)[100:7])));
    h2_t lh25;
    rec_t lr26 = { ((hdr.h0.pad >> 8w17) ++ (hdr.h1.f2 ++ sm.checksum_error)) };
    counter(6, CounterType.packets) c27;
    counter(4, CounterType.packets) c28;
    register<bit<65>>(5) r29;
    register<int<62>>(6) r30;
    action act31(inout int<32> p32) {
        bool x33 = lh25.isValid();
        lh25.f0 = ((bit<8>)(lh25.pad));
    }
    action act34() {
        if (hdr.h2.isValid()) {
            meta.rec = { f0 = (lr26.f0 + (15w0x3fff |+| lr26.f0)) };
        }
        else {
            hdr.h0.setValid();
        }
    }
    action act36() {
        meta.m3 |-|= ((32s0 + 32s2147483647) |-| hdr.h1.f1);
        bit<1> x37 = sm.checksum_error;
        bit<65> x38 = (-(x24[71:7] << 8w16));
        int<38> x39 = fn1(x37, x38);
        lh25.pad = ((bit<2>)(hdr.h2.pad));
        int<38> x40 = fn1(x37, x38);
    }
    action act41(bit<16> p42, bit<15> p43, bit<123> p44) {
        meta.rec = { f0 = (~(15w0x1 >> sm.priority)) };
    }
    action act45() {
        hdr.s.push_front(2);
        meta.rec = { f0 = ((~meta.rec.f0) << (((bit<69>)(lh25.f0)))[40:37]) };
        x22 = ((x24[52:11])[27:13] - meta.rec.f0);
        c28.count((bit<32>)((((bit<27>)(sm.ingress_port)))[14:12]));
    }
    table t35 {
        key = {
            4w0xf : ternary @name("k0");
        }
        actions = { act36; act41; act45; NoAction; }
        default_action = NoAction();
    }
    apply {
        lh25.pad = lh25.pad;
        bit<63> x46 = (63w0x100 |+| meta.m5);
        c27.count((bit<32>)(sm.priority));
        hdr.v = hdr.w;
        lr26 = meta.rec;
        hdr.s[1].more = (((-89w0x75b7439c5ab7c4b0e3072e))[18:18] |+| ((sm.checksum_error / sm.checksum_error) & sm.checksum_error));
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S7() I_S7;
    S21() I_S21;
    int<38> x47 = ((((int<32>)(sm.instance_type)) < (hdr.h2.f2 - meta.m3)) ? (meta.m1 >> 8w0) : (meta.m1 << 8w10));
    bit<63> x48 = ((meta.m5 / hdr.h0.f1) * 63w0x1);
    int<62> x49 = ((meta.m4 |+| (meta.m4 + meta.m4)) + (((int<62>)(meta.m2)) - ((int<62>)(hdr.h2.f2))));
    int<38> x50 = ((meta.m1 * meta.m2) + ((int<38>)(((int<2>)(meta.m3)))));
    rec_t lr51 = { ((15w0x3f27 ^ meta.rec.f0) - x49[55:41]) };
    counter(8, CounterType.bytes) c52;
    counter(5, CounterType.packets) c53;
    register<int<38>>(6) r54;
    register<bit<65>>(5) r55;
    direct_counter(CounterType.packets_and_bytes) direct57;
    action act58() {
        direct57.count();
        switch (((hdr.h0.f0 + hdr.h0.f0) ^ (-hdr.h0.f0))) {
            4w5: {
                hdr.s[(hdr.h2.pad ^ ((bit<2>)(sm.instance_type)))].more = ((sm.checksum_error * sm.checksum_error) << 8w8);
            }
        }
        hdr.h0.f1 = (((x48 ^ hdr.h0.f1) |-| (((bit<63>)(hdr.h1.f0)) + meta.m5)) | (((bit<63>)(hdr.h0.f0)) >> 8w12));
        hdr.h2.f1 = (((((bool)(sm.checksum_error)) ? hdr.h2.f1 : hdr.h2.f1) << 8w14) |-| (((bool)(sm.checksum_error)) ? (14s7588 - hdr.h2.f1) : 14s1178));
    }
    table t56 {
        key = {
            sm.checksum_error : exact @name("k0");
            ((((bool)(sm.checksum_error)) ? sm.priority : sm.priority) << ((bit<2>)(((int<2>)(hdr.h1.f3))))) : exact @name("k1");
            sm.priority : exact @name("k2");
        }
        actions = { act58; NoAction; }
        default_action = act58();
        counters = direct57;
    }
    action act60(bit<127> p61) {
        hdr.h0.pad = ((hdr.h0.pad |-| (((bit<5>)(sm.instance_type)) ^ hdr.h0.pad)) / hdr.h0.pad);
    }
    action act62(bit<59> p63) {
        c52.count((bit<32>)((((bit<102>)(((int<102>)(hdr.h1.f1)))))[58:56]));
        lr51.f0 = meta.m0;
        x47 = (((bool)(sm.checksum_error)) ? (x47 |-| meta.m2) : (x50 << 8w12));
    }
    table t59 {
        key = {
            hdr.h0.f0 : exact @name("k0");
        }
        actions = { act60; act62; NoAction; }
        default_action = NoAction();
    }
    action act65() {
        sm.priority[1:0] = hdr.h2.pad;
        hdr.h2.pad = (((((bit<65>)(hdr.h1.f2)) < 65w0xe3d0d33d8de57544) ? (((bool)(sm.checksum_error)) ? ((bit<2>)(hdr.h1.f2)) : hdr.h2.pad) : (((bit<41>)(meta.rec.f0)))[27:26]) >> 8w5);
    }
    action act66(bit<84> p67, bit<33> p68) {
        hdr.h2.f2 = (hdr.h2.f2 & meta.m3);
        bit<15> x69 = (-meta.m2[32:18]);
        if (((bool)(sm.checksum_error))) { return; }
        hdr.h1.f2 = (((6w0x2 + ((bit<6>)(meta.rec.f0))) | hdr.h1.f0[6:1]) ++ ((bit<3>)((((bit<114>)(meta.rec.f0)) ++ hdr.h1.pad))));
    }
    action act70(bit<48> p71) {
        x50 = (-38s12);
    }
    table t64 {
        key = {
            (((bit<2>)(((bit<101>)(lr51.f0)))) << 8w12) : optional @name("k0");
        }
        actions = { act65; act66; act70; NoAction; }
        default_action = NoAction();
        const entries = {
            (2w0x1) : act65();
            (2w0x0) : NoAction();
            (2w0x2) : act65();
            (2w0x3) : NoAction();
        }
    }
    apply {
        bit<65> x72 = ((bit<65>)(meta.rec.f0));
        I_S7.apply(sm, hdr.h2, x72, (x48[62:0] |+| x48));
        I_S21.apply(hdr, meta, sm);
        sm.egress_spec = (((bit<113>)(hdr.h0.f0)))[29:21] & 9w7;
        t56.apply();
        hash(meta.rec.f0, HashAlgorithm.identity, 16w0xbf66, { ((bit<32>)(lr51.f0)), meta.rec.f0, 15w0x1, 15w0x7fff }, sm.instance_type);
        meta.rec.f0 = ((meta.m0 ^ 15w0x7fff) + (-lr51.f0));
        x49 |= meta.m4;
        if (t59.apply().miss) {
            if ((((int<32>)(sm.packet_length)) <= ((((int<32>)(hdr.h1.f1)) |+| hdr.h2.f2) | meta.m3))) {
                sm.priority = sm.priority;
            }
            else {
                hash(lr51.f0, HashAlgorithm.csum16, 16w0x1, { hdr.h2.pad, sm.packet_length, sm.packet_length }, sm.instance_type);
            }
        }
        meta.m0 = meta.rec.f0;
        for (bit<15> i73 in (list<bit<15>>){ (~lr51.f0) }) {
            bit<65> x74 = (65w0x9 - (65w0x0 |+| ((bit<65>)(hdr.h1.f0))));
            hash(meta.m5, HashAlgorithm.identity, 16w0xf04, { sm.packet_length, ((bit<38>)(hdr.h0.f0)) }, sm.packet_length);
        }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S7() E_S7;
    S21() E_S21;
    int<62> x75 = (~meta.m4);
    rec_t lr76 = { ((bit<15>)(hdr.h0.pad)) };
    counter(6, CounterType.bytes) c77;
    counter(7, CounterType.packets_and_bytes) c78;
    register<int<38>>(4) r79;
    direct_counter(CounterType.packets_and_bytes) direct81;
    action act82(bit<119> p83) {
        int<62> x84 = ((((bool)(sm.checksum_error)) && (!((bool)(sm.checksum_error)))) ? ((x75 |+| x75) ^ (62s1152921504606846975 >> 8w16)) : ((62s0 - meta.m4) >> (((bit<2>)(meta.m5)) |+| hdr.h2.pad)));
        meta.m2 = (-(meta.m1 >> 8w18));
        meta.rec.f0 = hdr.h1.f1[29:15];
    }
    action act85(bit<16> p86) {
        direct81.count();
        meta.m1 -= ((int<38>)(meta.m3));
    }
    action act87() {
        hdr.s.push_front(2);
        hdr.h1.pad = sm.ingress_port[6:0];
    }
    table t80 {
        key = {
            sm.checksum_error : exact @name("k0");
            sm.priority : optional @name("k1");
            10w0x367 : ternary @name("k2");
        }
        actions = { act82; act85; act87; NoAction; }
        default_action = act85(16w0xfc9);
        counters = direct81;
        const entries = {
            (1w0x1, 3w0x7, 10w0x0 &&& 10w0x0) : act82(119w0x800000000000000000000000000);
            (1w0x1, 3w0x4, 10w0x0 &&& 10w0x10) : act85(16w0x1);
            (1w0x0, 3w0x2, 10w0x0 &&& 10w0x1) : act85(16w0x1);
            (1w0x1, 3w0x1, 10w0xa &&& 10w0x3ae) : act85(16w0x0);
            (1w0x1, 3w0x3, 10w0x9 &&& 10w0x2d) : act87();
            (1w0x0, 3w0x7, 10w0x6 &&& 10w0x3ff) : act82(119w0x7fffffffffffffffffffffffffffff);
        }
    }
    direct_counter(CounterType.packets_and_bytes) direct89;
    action act90(bit<7> p91, bit<107> p92) {
        direct89.count();
        hdr.h0.pad = (((-78w0x1) << (3w0x1 << 8w11)))[8:4];
        sm.priority = (((bit<3>)(meta.rec.f0)) - sm.priority);
    }
    action act93() {
        direct89.count();
        bit<15> x94 = sm.egress_rid[15:1];
        c77.count((bit<32>)(((((bool)(sm.checksum_error)) && ((bool)(sm.checksum_error))) ? sm.priority : lr76.f0[14:12])));
        bit<1> x95 = meta.m5[56:56];
        bit<65> x96 = (((bit<111>)(sm.egress_rid)))[79:15];
        int<38> x97 = fn1(x95, x96);
        hdr.s.pop_front(2);
    }
    table t88 {
        key = {
            sm.priority : exact @name("k0");
            (hdr.h0.f0 * (4w0x0 - hdr.h0.f0)) : exact @name("k1");
        }
        actions = { act90; act93; NoAction; }
        default_action = act93();
        counters = direct89;
    }
    direct_counter(CounterType.packets_and_bytes) direct99;
    action act100(bit<12> p101, bit<14> p102, bit<64> p103) {
        direct99.count();
        hdr.h0.setValid();
        int<62> x104 = ((meta.m4 << 2w0x0) |+| (x75 |+| (62s0 >> 8w17)));
        int<38> x105 = (meta.m2 << ((sm.checksum_error & ((bit<1>)(sm.priority))) ++ (((bit<3>)(sm.packet_length)) ++ hdr.h2.pad)));
        hdr.h0.f0 = (((bool)(sm.checksum_error)) ? ((((bit<4>)(p102)) + 4w0xf) >> 8w1) : 4w0xf);
    }
    action act106() {
        direct99.count();
        hdr.h1.setValid();
        hdr.s.pop_front(2);
        hdr.h2.pad = ((((bit<2>)(((bit<85>)(sm.instance_type)))) >> 8w14) >> ((-hdr.h2.f0) & hdr.h2.f0));
        x75 = ((x75 << ((bit<7>)(sm.priority))) >> 8w19);
    }
    table t98 {
        key = {
            sm.priority : exact @name("k0");
        }
        actions = { act100; act106; NoAction; }
        default_action = NoAction();
        counters = direct99;
    }
    apply {
        bit<65> x107 = (((bit<65>)(hdr.h2.pad)) >> (meta.m3[19:14] & (((bit<6>)(lr76.f0)) << ((bit<6>)(meta.rec.f0)))));
        E_S7.apply(sm, hdr.h2, x107, meta.m5);
        E_S21.apply(hdr, meta, sm);
        hdr.h1.pad = (((((bool)(sm.checksum_error)) ? 7w0x6e : hdr.h1.pad) >> 8w4) |+| 7w0x20);
        hdr.h1.f1 = ((hdr.h2.f2 + ((int<32>)(hdr.h2.f2))) + (hdr.h2.f2 & ((int<32>)(sm.packet_length))));
        hdr.h1.f2 = ((meta.m0[14:6] * (((bit<41>)(hdr.h1.f0)))[31:23]) | x107[27:19]);
        hdr.h2.pad = (hdr.h1.f3[25:25] ++ (hdr.h0.f1[11:11] << hdr.h2.pad));
        hdr.h2.f0 = (((((bool)(sm.checksum_error)) ? ((bit<1>)(hdr.h2.f0)) : 1w0x1) + hdr.h1.f3[17:17]) ++ (7w0x8 / hdr.h1.pad));
        hdr.h1.pad = hdr.h1.pad;
        if (hdr.h0.isValid()) { exit; }
        c78.count((bit<32>)(((~sm.priority) + (sm.priority / sm.priority))));
        hdr.h1.f1 = (hdr.h1.f1 ^ (-meta.m3));
        int<37> x108 = ((((int<37>)(meta.m2)) - ((int<37>)(hdr.h2.f1))) & ((-37s2) |-| ((int<37>)(meta.m2))));
        int<2> x109 = ((((int<2>)(meta.m2)) << (6w0x0 | ((bit<6>)(sm.instance_type)))) |+| 2s1);
        meta.m3 = (((meta.m3 >> 8w1) >> (((bit<3>)(meta.m5)) * sm.priority)) + ((hdr.h2.f2 << ((bit<8>)(sm.egress_rid))) >> 8w17));
        hdr.h0.f0 = ((4w0xf << 8w18) ^ ((((int<38>)(hdr.h1.f3)) <= meta.m1) ? hdr.h0.f1[39:36] : hdr.h0.f0));
        meta.m3 = (((meta.m3 * ((int<32>)(sm.instance_type))) | 32s451159462) ^ (hdr.h2.f2 + (-32s14)));
    }
}
control C(inout headers hdr, inout metadata meta) {
    apply {
    }
}
control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
