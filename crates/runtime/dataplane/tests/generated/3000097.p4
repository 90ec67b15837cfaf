#include <core.p4>
#include <v1model.p4>
header h0_t {
    bit<8> f0;
    int<7> f1;
    bit<127> f2;
    int<127> f3;
    bit<3> pad;
}
header h1_t {
    bit<4> f0;
    bit<14> f1;
    bit<6> pad;
}
header s_t {
    bit<1> more;
    bit<7> x;
}
header v_t { bit<4> n; bit<4> k; varbit<64> data; bit<8> z; }
header_union u_t { h0_t a; h1_t b; }
struct headers {
    h0_t h0;
    h1_t h1;
    h1_t h2;
    s_t[2] s;
    v_t v;
    v_t w;
    u_t u;
}
struct metadata {
    bit<48> m0;
    bit<127> m1;
    bit<127> m2;
    bit<9> m3;
}
bit<48> fn1(out bit<48> p2, out bit<127> p3) {
    p3 = (((p3 / p3) - ((bit<127>)(((bit<9>)(p3))))) >> ((bit<3>)(p3)));
    return ((p2 >> 8w12) | ((true ? p2 : ((bit<48>)(p3))) & (((bit<48>)(p3)) % p2)));
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start { transition parse_h0; }
    state parse_h0 {
        packet.extract(hdr.h0);
        bit<6> look4 = packet.lookahead<bit<6>>();
        hdr.h0.f3 = ((hdr.h0.isValid() ? (-((int<127>)(hdr.h0.f3))) : hdr.h0.f3) << 8w1);
        transition select(hdr.h0.f0) {
            default: parse_v;
        }
    }
    state parse_v {
        bit<8> v_first = packet.lookahead<bit<8>>();
        packet.extract(hdr.v, (bit<32>)(v_first[7:4]) * 4);
        transition select(hdr.v.k) {
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
            4w0 &&& 4w15: parse_h2;
        }
    }
    state parse_s {
        packet.extract(hdr.s.next);
        transition select(hdr.s.last.more) {
            1w1: parse_s;
            default: parse_h2;
        }
    }
    state parse_h2 {
        packet.extract(hdr.h2);
        verify(false, error.ParserTimeout);
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) {
    apply {
        verify_checksum((false || false), { ((bit<4>)(hdr.h0.f2)), hdr.h0.f0, 24w0x1 }, ((bit<16>)(hdr.h0.f2)), HashAlgorithm.csum16);
    }
}
control S5(inout headers hdr, inout metadata meta, inout standard_metadata_t sm, inout h0_t ph6, in bit<48> p7, out bit<128> p8, in bit<14> p9) {
    bit<4> x10 = hdr.u.b.f0;
    bit<97> x11 = ((bit<97>)(meta.m2));
    h1_t lh12;
    register<int<7>>(8) r13;
    apply {
        hdr.w = hdr.v;
        bit<4> x14 = (((((bit<1>)(hdr.h2.f1)) |+| 1w0x0) ++ (hdr.h0.pad ^ ((bit<3>)(lh12.f0)))) >> 8w16);
        hash(hdr.h0.pad, HashAlgorithm.csum16, 16w0x9, { hdr.h1.f1, ((bit<7>)(ph6.f2)), meta.m2, ((bit<7>)(p8)) }, sm.packet_length);
        hdr.u.a.f1 = (((~(-7s31)) << ((bit<2>)(sm.ingress_port))) - ((hdr.h2.f1 == lh12.f1) ? (((int<7>)(ph6.f3)) << sm.checksum_error) : (hdr.u.a.f1 & ph6.f1)));
        hdr.h0.pad = ((bit<3>)((((bit<15>)(hdr.h1.f1)) |+| ((bit<15>)(((int<15>)(hdr.u.a.f1)))))));
    }
}
control S15(inout headers hdr, inout metadata meta, inout standard_metadata_t sm, inout h1_t ph16) {
    int<7> x17 = ((int<7>)(((int<63>)((((int<5>)(hdr.u.a.f1)) |+| ((int<5>)(hdr.u.a.f3)))))));
    int<7> x18 = (-x17);
    bit<14> x19 = (false ? ((((bit<92>)(meta.m1)) >> 8w19))[37:24] : ((14w0x80 - hdr.h1.f1) << 8w2));
    bit<48> x20 = ((((bit<35>)(x19)) ++ hdr.u.b.f1[13:1]) & (((bit<27>)(hdr.h1.pad)) ++ ((bit<21>)(hdr.u.b.pad))));
    register<int<33>>(7) r21;
    action act22(inout bit<48> p23) {
        bit<127> x24 = ((!(meta.m2 > meta.m1)) ? (((bit<128>)(sm.egress_rid)))[126:0] : meta.m1);
        hdr.u.b.setValid();
        assert(9w0x0 != 9w0xff);
    }
    apply {
        x18 = ((int<7>)(((int<25>)(hdr.u.a.f3))));
        hdr.h1.f1 -= (hdr.h1.f1 + (((bit<14>)(hdr.u.a.f2)) << hdr.u.b.pad));
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S5() I_S5;
    S15() I_S15;
    bit<33> x25 = ((7s20 == hdr.h0.f1) ? hdr.u.a.f3[101:69] : ((-((bit<33>)(hdr.u.a.pad))) |-| ((bit<33>)(((int<33>)(hdr.h0.f1))))));
    int<32> x26 = (-32s15);
    int<72> x27 = ((int<72>)(hdr.u.a.f3));
    h0_t lh28;
    counter(4, CounterType.packets) c29;
    direct_counter(CounterType.packets_and_bytes) direct31;
    action act32(bit<122> p33, bit<65> p34, bit<65> p35) {
        direct31.count();
        hash(hdr.h1.f1, HashAlgorithm.crc32, 16w0x40, { hdr.h1.f0, meta.m0 }, 32w0x5);
        hdr.h0.f3 = ((-127s5) | hdr.h0.f3);
    }
    table t30 {
        key = {
            ((bit<1>)(sm.ingress_port)) : ternary @name("k0");
            ((bit<17>)(hdr.u.a.f0)) : ternary @name("k1");
            8w0x4 : ternary @name("k2");
        }
        actions = { act32; NoAction; }
        default_action = NoAction();
        counters = direct31;
    }
    apply {
        bit<128> x36 = (128w0x0 |-| ((128w0x1 + ((bit<128>)(hdr.u.a.f2))) ^ (((bool)(sm.checksum_error)) ? ((bit<128>)(lh28.pad)) : ((bit<128>)(hdr.h0.f2)))));
        I_S5.apply(hdr, meta, sm, hdr.u.a, (((bit<48>)(meta.m3)) |+| (~meta.m0)), x36, ((bit<14>)(((bit<75>)(((bit<26>)(lh28.pad)))))));
        I_S15.apply(hdr, meta, sm, hdr.u.b);
        sm.egress_spec = sm.ingress_port & 9w7;
        hdr.u.a.setInvalid();
        hdr.u.b.f0 = (4w0x7 >> 8w11);
        I_S15.apply(hdr, meta, sm, hdr.h1);
        hdr.u.a.f2 = ((meta.m2[126:0] * (hdr.h0.f2 |+| meta.m1)) - ((lh28.f2 - meta.m1) |-| (((bit<74>)(hdr.h2.f0)) ++ ((bit<53>)(hdr.h2.pad)))));
        hdr.h1.f0[2:2] = sm.checksum_error;
        if (hdr.h2.isValid()) {
            hdr.u.a.f0 = (((~((bit<80>)(hdr.h1.pad))))[50:47] ++ ((bit<4>)(x36[126:4])));
        }
        hdr.u.b.f1 = hdr.h1.f1;
        I_S15.apply(hdr, meta, sm, hdr.h2);
        hdr.u.b.setValid();
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S5() E_S5;
    S15() E_S15;
    bit<127> x37 = (meta.m2 % hdr.h0.f2);
    bit<48> x38 = ((-fn1(meta.m0, x37)) >> ((bit<2>)(hdr.h1.pad)));
    int<72> x39 = ((int<72>)(((((int<128>)(hdr.u.a.f1)) |+| ((int<128>)(hdr.u.a.f1))) | ((int<128>)(hdr.u.a.f3)))));
    int<72> x40 = (((127w0x400 <= ((bit<127>)(hdr.u.a.f0))) || ((bool)(sm.checksum_error))) ? (x39 & (x39 |+| ((int<72>)(hdr.u.a.f3)))) : ((int<72>)(((int<68>)((-9s255))))));
    h1_t lh41;
    counter(6, CounterType.packets_and_bytes) c42;
    register<bit<14>>(8) r43;
    action act44(in bit<127> p45, in bit<14> p46, out bit<14> p47) {
        if ((((((bit<37>)(sm.packet_length)) - 37w0xfffffffff) != x37[125:89]) || (lh41.f0 == (((bool)(sm.checksum_error)) ? lh41.f0 : 4w0xf)))) {
            hdr.h2.f1 = meta.m1[79:66];
        }
        x37 = ((bit<127>)(((bit<59>)(meta.m0))));
        hdr.u.a.f3 = ((true ? hdr.h0.f3 : 127s56437859068427015101028531071556399542) |-| hdr.h0.f3);
    }
    action act48(in bit<48> p49, out int<72> p50) {
        meta.m3 = (((9w0x1ff & ((bit<9>)(sm.packet_length))) << 8w3) >> lh41.pad);
    }
    action act52(bit<58> p53, bit<11> p54, bit<33> p55) {
        meta.m3 = sm.ingress_port;
        hdr.u.a.f2 = ((bit<127>)(hdr.h2.pad));
        hdr.w = hdr.v;
        x40 = x39;
    }
    action act56(bit<20> p57, bit<31> p58, bit<14> p59) {
        hash(sm.priority, HashAlgorithm.crc16, 16w0xffff, { ((bit<127>)(lh41.pad)), ((bit<7>)(sm.instance_type)), lh41.f0 }, sm.instance_type);
    }
    table t51 {
        key = {
            ((((bit<12>)(hdr.h2.f1)) |+| ((bit<12>)(hdr.h0.f2))) |+| ((bit<12>)(sm.packet_length))) : ternary @name("k0");
        }
        actions = { act52; act56; NoAction; }
        default_action = act52(58w0x12307300f5f2f1c, 11w0x7ff, 33w0x1);
    }
    action act61(bit<16> p62, bit<63> p63, bit<124> p64) {
        bit<48> x65 = fn1(meta.m0, hdr.u.a.f2);
    }
    action act66(bit<108> p67, bit<15> p68, bit<5> p69) {
        for (bit<8> i70 = 0; i70 < 5; i70 = i70 + 1) {
            x38 = 48w0x9594b7e4bd6d;
            hdr.h1.pad = hdr.h1.pad;
            if ((meta.m1 >= 127w0x3174807322953631e048c23b94eb0abf)) { continue; }
            bit<48> x71 = fn1(meta.m0, meta.m1);
        }
    }
    table t60 {
        key = {
            ((bit<58>)(lh41.pad)) : optional @name("k0");
        }
        actions = { act61; act66; NoAction; }
        default_action = act61(16w0xa6f4, 63w0x59556a7533b2b8b7, 124w0xf);
    }
    action act73(bit<9> p74, bit<61> p75) {
        assume(((bit<9>)(sm.checksum_error)) != 9w0x0);
        hdr.h0.f0 = ((bit<8>)(sm.egress_rid));
    }
    action act76(bit<14> p77, bit<8> p78, bit<33> p79) {
        x37[116:75] = ((((bit<42>)(hdr.u.a.f2)) << 8w3) >> 8w19);
        sm.priority = ((-(((bool)(sm.checksum_error)) ? hdr.u.a.pad : hdr.u.a.pad)) << ((((bit<2>)(hdr.u.b.f1)) << ((bit<7>)(hdr.u.b.f1))) ++ (sm.checksum_error - sm.checksum_error)));
        bit<48> x80 = fn1(x38, x37);
    }
    action act81(bit<23> p82, bit<120> p83, bit<31> p84) {
        hdr.h1.f1 = ((bit<14>)(hdr.h1.f0));
        hdr.v = hdr.w;
        bit<4> x85 = hdr.u.b.f0;
    }
    table t72 {
        key = {
            hdr.u.a.pad : exact @name("k0");
        }
        actions = { act73; act76; act81; NoAction; }
        default_action = NoAction();
    }
    apply {
        bit<128> x86 = 128w0x8000000000000000000000000;
        E_S5.apply(hdr, meta, sm, hdr.h0, x38[47:0], x86, hdr.h2.f1);
        E_S15.apply(hdr, meta, sm, hdr.h2);
        for (bit<8> i87 in 8w1 .. (bit<8>)((((bit<1>)(hdr.h1.pad)) ++ sm.checksum_error))) {
            hdr.s.pop_front(1);
            hdr.h0.f0 = (((106w0x8000)[89:82] >> 8w7) >> (-(sm.checksum_error - sm.checksum_error)));
            hdr.u.a.pad[1:0] = (((bool)(sm.checksum_error)) ? ((bit<2>)((-2s1))) : hdr.u.a.f2[91:90]);
            hdr.v.setInvalid();
            hdr.s.push_front(1);
            lh41.f1 |-|= hdr.h2.f1;
            x40 ^= x39;
        }
    }
}
control C(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum_with_payload((true || true), { ((bit<11>)(hdr.u.a.pad)), ((bit<64>)(hdr.u.b.f1)) }, hdr.h2.f1, HashAlgorithm.crc16);
    }
}
control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
