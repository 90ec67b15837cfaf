#include <core.p4>
#include <v1model.p4>
header h0_t {
    bit<3> f0;
    bit<9> f1;
    int<17> f2;
    bit<3> pad;
}
header h1_t {
    bit<4> f0;
    bit<6> f1;
    bit<6> pad;
}
header h2_t {
    bit<4> f0;
    int<65> f1;
    bit<17> f2;
    int<7> f3;
    int<65> f4;
    int<65> f5;
    bit<1> pad;
}
header_union u_t { h0_t a; h1_t b; }
struct rec_t {
    bit<65> f0;
}
struct headers {
    h0_t h0;
    h1_t h1;
    h2_t h2;
    u_t u;
}
struct metadata {
    int<17> m0;
    int<65> m1;
    @field_list(1)
    int<17> m2;
    bit<65> m3;
    bit<65> m4;
    @field_list(1)
    bit<9> m5;
    rec_t rec;
    int<17>[5] ar;
    @field_list(1, 2)
    h0_t mh;
}
bit<17> fn1(in int<17> p2, in bit<17> p3, out int<65> p4) {
    p4 = ((65s18446744073709551615 - (p4 << 8w0)) |-| (65s9223372036854775807 >> (((bit<6>)(p3)) * ((bit<6>)(p3)))));
    bit<65> x5 = 65w0xb8e13df612a1b9b1;
    x5 = x5;
    return ((p3 >> 8w13) + (17w0xf * x5[44:28]));
}
bit<65> fn6(in bit<9> p7, inout int<17> p8) {
    p8 = (-17s14);
    return (((((bit<119>)(p7)) ^ ((bit<119>)(p7))) & ((bit<119>)(p7))))[64:0];
}
void take_h0_t(packet_in packet, out h0_t h) { packet.extract(h); }
void take_h1_t(packet_in packet, out h1_t h) { packet.extract(h); }
void exchange(register<int<65>> cells, in bit<8> at, inout int<65> value) {
    int<65> old;
    cells.read(old, (bit<32>) at);
    cells.write((bit<32>) at, value);
    value = old;
}
parser Q9(packet_in packet, out h1_t h, out bit<17> p10, in bit<65> p11) {
    bit<65> x12 = (((bit<65>)((((bit<17>)(p11)) | ((bit<17>)(p10))))) |-| (~p11));
    state start {
        packet.extract(h);
        int<65> x13 = ((int<65>)(x12));
        bit<17> x14 = fn1((true ? (-((int<17>)(p10))) : ((int<17>)(p10))), p11[28:12], x13);
        h.f1 = h.f1;
        transition select(h.f0) { 4w0: more; default: accept; }
    }
    state more {
        x12 = ((bit<65>)(((false || true) ? (((int<65>)(p11)) << ((bit<5>)(h.f1))) : (((int<65>)(p11)) - (-65s8)))));
        h.f1 = (~((((bit<3>)(h.pad)) >> ((bit<3>)(p10))) ++ (((bit<3>)(p10)) | 3w0x1)));
        verify(false, error.NoMatch);
        transition accept;
    }
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    Q9() p_Q9;
    bit<9> x15 = (meta.m4[43:35] % meta.m5);
    value_set<bit<3>>(4) set16;
    value_set<bit<4>>(4) set17;
    state start { transition parse_h0; }
    state parse_h0 {
        take_h0_t(packet, hdr.h0);
        bit<38> look18 = packet.lookahead<bit<38>>();
        meta.ar[0] = ((int<17>)(((int<11>)(meta.ar[0]))));
        transition select(hdr.h0.f0, ((bit<3>)(hdr.h0.pad))) {
            (set16, set16): parse_h2;
            (set16, set16): parse_h1;
            default: parse_h1;
        }
    }
    state parse_h1 {
        bit<17> x19 = ((((bit<5>)(((bit<53>)(hdr.h0.f0)))) |+| (true ? 5w0x1 : ((bit<5>)(hdr.h0.pad)))) ++ ((12w0x0 >> ((bit<7>)(hdr.h0.f1))) << ((bit<2>)(meta.mh.pad))));
        if (((!true) == (48w0x1 <= ((bit<48>)(x19))))) {
            p_Q9.apply(packet, hdr.h1, x19, (meta.m4 >> 8w18));
            meta.ar[1] = (((true && false) ? (hdr.h0.f2 + meta.ar[1]) : meta.m0) ^ meta.ar[2]);
        }
        else {
            packet.extract(hdr.h1);
        }
        bit<28> look20 = packet.lookahead<bit<28>>();
        meta.m4 = (meta.m4 * meta.m3[64:0]);
        transition select(hdr.h1.f0) {
            4w7: parse_u;
            default: parse_h2;
        }
    }
    state parse_h2 {
        packet.extract(hdr.h2);
        transition select(hdr.h2.f0) {
            set17: parse_u;
            4w9: accept;
            4w15 &&& 4w14: parse_u;
            default: parse_u;
        }
    }
    state parse_u {
        transition select(packet.lookahead<bit<1>>()) { 1w0: parse_u_a; default: parse_u_b; }
    }
    state parse_u_a {
        packet.extract(hdr.u.a);
        transition accept;
    }
    state parse_u_b {
        packet.extract(hdr.u.b);
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) {
    apply {
    }
}
control S21(inout standard_metadata_t sm, inout h1_t ph22, register<int<17>> pr23) {
    int<7> x24 = ((7s63 - 7s0) | (((bool)(sm.checksum_error)) ? 7s63 : 7s63));
    int<17> x25 = ((int<17>)(x24));
    bit<9> x26 = (((((bit<5>)(ph22.f1)) ++ ph22.f0) & 9w0x1) & (((bit<8>)(sm.checksum_error)) ++ ph22.f0[2:2]));
    h2_t lh27;
    action act28(inout int<7> p29) {
        x26 = (((bit<88>)(sm.instance_type)))[65:57];
    }
    action act30(in bit<2> p31, out bit<65> p32, in bit<65> p33) {
        lh27.pad = (((((int<65>)(lh27.f1)) & (-65s12)) == lh27.f5) ? lh27.pad[0:0] : ((sm.checksum_error % lh27.pad) << 8w2));
        p32 = (((65w0x908e08d37c934356 >> 8w0) + (((bit<65>)(ph22.f0)) - p33)) | ((((bool)(sm.checksum_error)) || ((bool)(lh27.pad))) ? (((bit<126>)(ph22.f0)))[72:8] : (((bit<65>)(p32)) ^ p33)));
        ph22.pad = (x26[5:0] ^ ((ph22.pad << 8w15) % ph22.f1));
        x24 = (~(((int<7>)(lh27.f5)) + x24));
    }
    action_selector(HashAlgorithm.xor16, 32w16, 32w8) profile35;
    action act36(bit<15> p37, bit<128> p38) {
        int<7> x39 = (lh27.f3 << 8w16);
        x24 = (x24 + lh27.f3);
        ph22.pad[5:5] = sm.egress_rid[4:4];
    }
    table t34 {
        key = {
            ((((bit<2>)(sm.packet_length)) >> ((bit<7>)(x24))) + ((bit<2>)(lh27.pad))) : optional @name("k0");
            ((((bool)(sm.checksum_error)) || ((bool)(sm.checksum_error))) ? (lh27.f0 << ph22.f1) : (((bool)(lh27.pad)) ? 4w0x8 : ph22.f0)) : range @name("k1");
            ((((bit<2>)(ph22.pad)) >> 8w6) |-| (((bit<2>)(lh27.pad)) |-| ((bit<2>)(ph22.pad)))) : ternary @name("k2");
            ((bit<110>)(x26)) : selector @name("s0");
        }
        actions = { act36; NoAction; }
        default_action = act36(15w0x1, 128w0x1);
        implementation = profile35;
    }
    apply {
        assert(((bit<9>)(lh27.f2)) != 9w0x1);
        ph22.pad = (((bit<5>)((ph22.f1 << ((bit<8>)(x26))))) ++ (((bit<1>)(true)) >> 8w16));
        ph22.f0 = (((lh27.f0 >> ((bit<5>)(lh27.f0))) << 8w14) % lh27.f0);
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    register<int<17>>(4) I_S21_cells;
    S21() I_S21;
    int<7> x50 = ((((int<7>)(meta.ar[3])) << 8w6) | (hdr.h2.f3 << 8w12));
    int<65> x51 = (((int<65>)(meta.mh.f2)) << ((((bit<1>)(hdr.h1.pad)) ^ ((bit<1>)(hdr.h0.pad))) << 8w5));
    int<7> x52 = ((-7s31) | (((bool)(sm.checksum_error)) ? hdr.h2.f3 : x50));
    h0_t lh53;
    meter(5, MeterType.bytes) meter54;
    action act55(in bit<65> p56) {
        if ((hdr.h2.isValid() && (meta.m5 > meta.m5))) { return; }
        hdr.h2.f3 = (((int<7>)(x52)) & x50);
        meta.m2 = hdr.h0.f2;
    }
    action_profile(32w16) profile58;
    action act59() {
        x52 = ((int<7>)((((int<10>)(x50)) |-| ((int<10>)(hdr.h2.f3)))));
    }
    action act60(bit<63> p61, bit<16> p62, bit<7> p63) {
        hdr.h2.pad = ((sm.packet_length[26:26] | (sm.checksum_error |-| hdr.h2.pad)) << ((true ? ((bit<8>)(sm.ingress_port)) : ((bit<8>)(sm.instance_type))) |+| (((bit<8>)(meta.mh.f1)) |+| ((bit<8>)(hdr.u.a.pad)))));
    }
    action act64(bit<126> p65, bit<127> p66, bit<92> p67) {
        meta.mh.f0 = (((meta.mh.pad >> 8w2) >> (-4w0x1)) ^ ((((bit<3>)(meta.m4)) << 8w5) | (((bit<13>)(meta.rec.f0)))[11:9]));
        lh53.f0 = 3w0x3;
        hdr.u.b.f1[0:0] = meta.m5[6:6];
        meta.mh.f1 = 9w0x0;
    }
    table t57 {
        key = {
            ((112w0x1)[75:73] / lh53.pad) : lpm @name("k0");
            (x52[3:0] << 8w19) : exact @name("k1");
        }
        actions = { act59; act60; act64; NoAction; }
        default_action = NoAction();
        implementation = profile58;
    }
    action act73(bit<1> p74) {
        meta.m1 &= x51;
        meta.ar[1] = (-((int<17>)(17s18323)));
        meta.m0 = (hdr.h0.f2 >> ((((bit<8>)(sm.priority)) + ((bit<8>)(sm.ingress_port))) << (((bit<8>)(hdr.h2.f2)) + ((bit<8>)(hdr.u.a.pad)))));
        if ((((int<17>)(meta.mh.f2)) <= lh53.f2)) { sm.mcast_grp = ((16w0x1af << ((bit<5>)(sm.priority))) - (sm.egress_rid ^ sm.egress_rid)) & 16w3; }
    }
    action act75() {
        bit<65> x76 = (false ? (65w0x2 + 65w0x1981643dea5b451ad) : (meta.m3 / meta.m3));
        bit<17> x77 = fn1(17s1, 17w0x1ffff, x51);
        bit<65> x78 = hdr.h2.f5[64:0];
        hdr.h2.f0 = hdr.u.b.f0;
    }
    action act79(bit<50> p80, bit<8> p81) {
        for (bit<8> i82 = 0; i82 < 5; i82 = i82 + 1) {
            hdr.h2.f5 = (hdr.h2.f4 ^ 65s8192);
            if (false) { sm.mcast_grp = sm.egress_rid & 16w3; }
            if (((!((bool)(sm.checksum_error))) && (((bit<68>)(i82)) > ((bit<68>)(i82))))) { continue; }
            meta.m2 = ((int<17>)(((int<126>)(x50))));
        }
    }
    table t72 {
        key = {
            hdr.u.a.f0 : exact @name("k0");
            ((((bit<3>)(meta.m5)) >> 8w13) + (hdr.u.a.f0 * hdr.u.a.pad)) : range @name("k1");
        }
        actions = { act73; act75; act79; NoAction; }
        default_action = NoAction();
    }
    action act87(bit<6> p88, bit<48> p89) {
        hdr.u.b.f1 = (((103w0x9 << 8w6) >> 8w9))[76:71];
        if (hdr.u.b.isValid()) { exit; }
    }
    action act90(bit<12> p91, bit<14> p92) {
        hdr.u.b.pad = hdr.u.b.f1;
        meta.mh.f0 = (((!false) ? (((bit<3>)(sm.priority)) << 8w5) : sm.instance_type[12:10]) ^ ((((bool)(sm.checksum_error)) ? ((bit<74>)(lh53.f1)) : ((bit<74>)(hdr.u.a.f0))))[63:61]);
    }
    action act93(bit<17> p94, bit<122> p95) {
        meta.rec = meta.rec;
    }
    table t86 {
        key = {
            ((bit<3>)(hdr.h1.f0)) : exact @name("k0");
        }
        actions = { act87; act90; act93; NoAction; }
        default_action = act87(6w0x21, 48w0x7fffffffffff);
    }
    apply {
        I_S21.apply(sm, hdr.h1, I_S21_cells);
        sm.egress_spec = ((7w0x6 >> ((bit<6>)(hdr.u.a.pad))) ++ ((bit<2>)(hdr.h2.pad))) & 9w7;
        meta.m3[55:1] = 55w0x100000000000;
        switch ((((bool)(sm.checksum_error)) ? 5w0x1 : (sm.instance_type)[21:17])) {
            5w0: {
                bit<17> x97 = fn1(((-17s65535) << hdr.u.b.f1[5:0]), lh53.f2[16:0], hdr.h2.f4);
                t57.apply();
                if (t72.apply().hit) {
                    lh53.setValid();
                }
            }
            default: {
                meta.m0 = ((int<17>)((17w0x0 >> 8w7)));
                meta.m3 = (((65w0x1ffffffffffffffff |-| meta.m4) - (65w0xca22ff464b6cd84 % meta.rec.f0)) & ((meta.rec.f0 << ((bit<5>)(meta.m4))) * (65w0x14cb2671b5b215981 |-| meta.m4)));
                meta.mh.f0 = (3w0x7 + hdr.u.a.pad);
            }
        }
        if (hdr.h0.isValid()) {
            int<65> x98 = (-(~hdr.h2.f4));
        }
        t86.apply();
        if ((!((9w0x12c - ((bit<9>)(lh53.f1))) == meta.ar[3][9:1]))) {
            hdr.h1.f1 = (((-hdr.u.b.pad) + 6w0x0) |+| hdr.h1.f1[5:0]);
            meta.mh.f0 |= ((((bit<3>)(lh53.f0)) |+| ((bit<3>)(hdr.h0.pad))) & hdr.h0.f2[10:8]);
        }
        bit<17> x99 = (((((bit<9>)(lh53.f0)) ++ ((bit<8>)(sm.ingress_port))) - (hdr.h2.f2 * ((bit<17>)(meta.m4)))) / hdr.h2.f2);
        meta.rec = meta.rec;
        hdr.u.a.setValid();
        if ((meta.m1[61:45] < (hdr.h2.f2 - hdr.h2.f2))) { mark_to_drop(sm); }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    register<int<17>>(4) E_S21_cells;
    S21() E_S21;
    int<17> x100 = ((-17s128) |-| (17s1 & (-17s32767)));
    bit<104> x101 = (((bit<104>)(hdr.h0.f0)) >> 8w14);
    int<17> x102 = (((meta.m0 ^ ((int<17>)(meta.ar[1]))) |+| meta.ar[3]) - (meta.ar[4] - (meta.ar[0] >> 8w6)));
    bit<42> x103 = ((-((bit<122>)(48w0x1))))[119:78];
    rec_t lr104 = { x101[73:9] };
    counter(6, CounterType.bytes) c105;
    counter(5, CounterType.packets) c106;
    register<int<65>>(7) r107;
    meter(7, MeterType.packets) meter108;
    action act109(in int<65> p110, in bit<65> p111) {
        hdr.h2.pad = (hdr.h2.pad - (-sm.checksum_error));
    }
    direct_meter<bit<2>>(MeterType.packets) direct113;
    action act114(bit<11> p115) {
        bit<2> color116;
        direct113.read(color116);
        meta.ar[(((sm.priority << ((bit<7>)(meta.rec.f0))) >> (-color116)) ^ ((bit<3>)(sm.instance_type)))] = (hdr.h0.f2 |+| ((int<17>)(hdr.h2.f1)));
    }
    table t112 {
        key = {
            ((bit<2>)(hdr.h0.f1)) : exact @name("k0");
            ((bit<4>)(x101)) : exact @name("k1");
        }
        actions = { act114; NoAction; }
        default_action = act114(11w0x2);
        meters = direct113;
    }
    action act119(bit<9> p120) {
        hdr.h2.f1 = ((-hdr.h2.f5) & (hdr.h2.f4 << 8w16));
        bit<16> x121 = 16w0x1;
        hdr.h2.f3 = hdr.h2.f3;
        meta.mh.pad = 3w0x1;
    }
    table t118 {
        key = {
            meta.mh.f0 : lpm @name("k0");
            ((bit<2>)(hdr.h2.f0)) : exact @name("k1");
        }
        actions = { act119; NoAction; }
        default_action = NoAction();
    }
    apply {
        E_S21.apply(sm, hdr.u.b, E_S21_cells);
        x103[24:0] = 25w0xffffff;
        meta.m1 = (hdr.h2.f1 - (-((-65s9223372036854775807) << ((bit<2>)(hdr.h1.f0)))));
        bit<65> x125 = fn6((meta.mh.f1 & lr104.f0[41:33]), hdr.h0.f2);
        meta.m4 += hdr.h2.f4[64:0];
        E_S21.apply(sm, hdr.h1, E_S21_cells);
        int<63> x126 = ((int<63>)(((int<28>)(((int<65>)(meta.m1))))));
        hdr.u.a.pad = ((meta.ar[1][5:5] ^ hdr.h2.pad) ++ ((((bit<1>)(sm.packet_length)) << 1w0x1) ++ 1w0x1));
        meta.mh.f1 = hdr.h0.f1;
        switch (((((bit<33>)(hdr.u.a.pad)) | ((bit<33>)(x125))) | ((bit<33>)(hdr.h0.f0)))) {
            33w0: {
                meta.ar[0] = ((int<17>)(((bit<17>)(meta.m3))));
            }
            33w8589934591: {
                if (sm.instance_type == 0 && ((~meta.ar[1]) >= hdr.h0.f2)) { clone_preserving_field_list(CloneType.E2E, 2, 3); }
            }
            default: {
                hdr.h2.f2 = hdr.h2.f2;
            }
        }
        t118.apply();
    }
}
control C(inout headers hdr, inout metadata meta) {
    apply {
    }
}
control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.h0);
        packet.emit(hdr.h1);
        packet.emit(hdr.h2);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
