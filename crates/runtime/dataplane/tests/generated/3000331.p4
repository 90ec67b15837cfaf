#include <core.p4>
#include <v1model.p4>
header h0_t {
    bit<8> f0;
    bit<53> f1;
    bit<8> f2;
    bit<8> f3;
    bit<3> pad;
}
header h1_t {
    bit<8> f0;
    bit<83> f1;
    bit<16> f2;
    bit<8> f3;
    bit<32> f4;
    bit<8> f5;
    bit<5> pad;
}
header h3_t {
    bit<8> f0;
    bit<64> f1;
    bit<8> f2;
    bit<8> f3;
}
header s_t {
    bit<1> more;
    bit<7> x;
    bit<24> y;
}
struct headers {
    h0_t h0;
    h1_t h1;
    h1_t h2;
    h3_t h3;
    s_t[2] s;
}
struct metadata {
    int<15> m0;
    bit<16> m1;
    bit<8> m2;
    bit<64> m3;
    bit<64> m4;
}
bit<64> fn1(inout bool p2) {
    p2 = ((~53w0x1cc7620e445ab0) < ((53w0x3 |-| 53w0x1fffffffffffff) |-| (53w0xfffffffffffff |-| 53w0x4)));
    p2 = ((8w0xff <= 8w0x8f) && (((-15s10099) == (-15s3470)) == (8w0x2 <= 8w0x7f)));
    return ((64w0xffffffffffffffff + 64w0x8000000000) ^ 64w0x1);
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start { transition parse_h0; }
    state parse_h0 {
        packet.extract(hdr.h0);
        hdr.h0.f1 = ((~(((bit<123>)(sm.ingress_port)))[111:59]) << 8w13);
        meta.m3 = (((meta.m3 / meta.m4) % meta.m4) & ((64w0x7fffffffffffffff << 8w13) ^ (meta.m4 << ((bit<6>)(hdr.h0.pad)))));
        transition select(hdr.h0.f0) {
            8w2 .. 8w13: parse_h3;
            default: parse_h1;
        }
    }
    state parse_h1 {
        packet.extract(hdr.h1);
        transition select(hdr.h1.f0) {
            8w223: parse_h2;
            8w8 .. 8w213: parse_h3;
            default: parse_h2;
        }
    }
    state parse_h2 {
        packet.extract(hdr.h2);
        bit<27> look3 = packet.lookahead<bit<27>>();
        hdr.h0.f1 = (false ? ((-((bit<53>)(hdr.h1.f4))) >> 8w5) : ((bit<53>)((((int<53>)(meta.m0)) + ((int<53>)(meta.m0))))));
        transition select(hdr.h2.f0) {
            8w1 &&& 8w2: parse_h3;
            8w4: parse_s;
            default: parse_h3;
        }
    }
    state parse_h3 {
        packet.extract(hdr.h3);
        transition select(hdr.h3.f0) {
            8w2 &&& 8w127: parse_s;
            8w1: reject;
            default: parse_s;
        }
    }
    state parse_s {
        packet.extract(hdr.s.next);
        hdr.h2.f2 = ((((bit<15>)(meta.m0)) ++ (((bit<1>)(hdr.h3.f3)) << 6w0x4)) * (hdr.h1.f2 >> (hdr.h2.pad ++ hdr.h0.pad)));
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
control S4(inout standard_metadata_t sm, inout h1_t ph5, in bit<50> p6, out bit<8> p7, inout bit<16> p8) {
    bit<16> x9 = (p6[19:4] % ph5.f2);
    bit<16> x10 = p8;
    bit<8> x11 = (ph5.f5 << 8w5);
    h3_t lh12;
    register<int<15>>(5) r13;
    action act14(in bit<53> p15, in bit<16> p16, out bit<1> p17) {
        lh12.f2 = (((((bit<4>)(sm.priority)) & ((bit<4>)(lh12.f3))) ++ (((bit<4>)(p15)) + ((bit<4>)(p6)))) / x11);
        lh12.f3 = ((~(((bit<8>)(p6)) | ((bit<8>)(ph5.f4)))) >> 8w19);
    }
    action act18() {
        sm.priority ^= (~(sm.priority * ((bit<3>)(ph5.f5))));
        x9 = (((bool)(sm.checksum_error)) ? ((((bit<103>)(sm.priority)) > ((bit<103>)(sm.checksum_error))) ? (((bit<16>)(ph5.pad)) & 16w0x1) : (x9 % p8)) : ((bit<16>)((7w0x3f & ((bit<7>)(sm.priority))))));
        hash(p7, HashAlgorithm.identity, 16w0x0, { ((bit<9>)(p6)), ((bit<57>)(sm.priority)), ((bit<53>)(lh12.f2)), p8 }, 32w0xd0badfce);
    }
    action act20(bit<99> p21, bit<8> p22) {
        lh12.setValid();
        bit<64> x23 = ((bit<64>)(lh12.f3));
        bool x24 = (((((bool)(sm.checksum_error)) ? ((bit<53>)(ph5.f2)) : ((bit<53>)(sm.checksum_error))) != ((bit<53>)(lh12.f2))) == (((-63s4611686018427387903) |-| 63s4579973383692434060) < (-63s5)));
        bit<64> x25 = fn1(x24);
    }
    action act26(bit<6> p27, bit<63> p28) {
        x9 = ((16w0x7fff |+| (((bit<16>)(p27)) << 8w6)) |+| ph5.f2);
        bit<16> x29 = ((bit<16>)(ph5.f4));
        bit<16> x30 = (-sm.instance_type[25:10]);
    }
    table t19 {
        key = {
            ((bit<2>)(ph5.pad)) : ternary @name("k0");
        }
        actions = { act20; act26; NoAction; }
        default_action = act20(99w0x7ffffffffffffffffffffffff, 8w0x2);
        const entries = {
            (2w0x3 &&& 2w0x3) : act20(99w0xb, 8w0x2);
            (2w0x0 &&& 2w0x0) : act20(99w0x0, 8w0xff);
            (2w0x0 &&& 2w0x1) : act20(99w0x1, 8w0xa1);
            (2w0x2 &&& 2w0x2) : NoAction();
        }
    }
    apply {
        ph5.f5 = ((((bool)(sm.checksum_error)) && (8w0x15 >= ((bit<8>)(lh12.f1)))) ? (6w0x1f ++ ph5.f2[11:10]) : (ph5.f5 * (~ph5.f3)));
        lh12.f2[1:1] = (((bit<1>)(((bit<109>)(ph5.f3)))) | (~sm.checksum_error));
        switch (t19.apply().action_run) {
            act20: {
                sm.priority = ((sm.priority | ((bit<3>)(10w0x8))) % sm.priority);
            }
            NoAction: {
                p8 = x9[15:0];
            }
            default: {
                ph5.f4 |-|= (ph5.f4 + ph5.f4);
            }
        }
        lh12.f0 = (lh12.f3 % lh12.f0);
    }
}
control S31(inout standard_metadata_t sm, inout bit<8> p32, out bit<16> p33) {
    bit<74> x34 = ((bit<74>)(sm.ingress_port));
    int<15> x35 = 15s9006;
    bit<53> x36 = ((bit<53>)(p32));
    bit<16> x37 = (((sm.ingress_port << 8w9) << (false ? ((bit<5>)(sm.ingress_port)) : ((bit<5>)(sm.checksum_error)))) ++ ((bit<7>)(sm.checksum_error)));
    h0_t lh38;
    action act39(inout bit<64> p40) {
        bit<53> x41 = ((lh38.f1 % x36) + (x36 + (53w0x0 - ((bit<53>)(sm.ingress_port)))));
        lh38.f1[52:50] = lh38.pad;
    }
    action act43(bit<83> p44, bit<54> p45, bit<7> p46) {
        lh38.pad = (-((sm.priority << 8w13) + (-3w0x0)));
        x37 = (((-p33) + (x37 - 16w0x2000)) ^ ((16w0x4 ^ 16w0x5caa) ^ (sm.egress_rid & ((bit<16>)(lh38.f2)))));
    }
    action act47() {
        lh38.f0 |+|= (x34[26:19] / lh38.f2);
        if (((16w0x7fff > ((bit<16>)(x34))) && (!false))) { exit; }
        p32 = sm.instance_type[9:2];
    }
    table t42 {
        key = {
            ((sm.checksum_error ++ sm.checksum_error) << (((bit<4>)(sm.packet_length)) & ((bit<4>)(lh38.f1)))) : exact @name("k0");
        }
        actions = { act43; act47; NoAction; }
        default_action = NoAction();
    }
    apply {
        x35 = (x35 >> 8w5);
        x34 = x34;
        lh38.f3 = ((bit<8>)(((sm.checksum_error % sm.checksum_error) | ((bit<1>)(lh38.f2)))));
        bool x48 = ((bool)(sm.checksum_error));
        bit<64> x49 = fn1(x48);
        x37 = ((((bit<106>)(x49)) | ((bit<106>)((-106s16)))))[58:43];
        lh38.f3 = lh38.f2;
        p33 = (lh38.f1[20:5] |-| x37);
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S4() I_S4;
    S31() I_S31;
    int<15> x50 = ((((int<15>)(meta.m0)) |-| meta.m0) + (meta.m0 * meta.m0));
    bit<64> x51 = (((bool)(sm.checksum_error)) ? ((~64w0x1) | hdr.h1.f1[67:4]) : ((bit<64>)((hdr.h3.f1 & meta.m3))));
    h3_t lh52;
    direct_counter(CounterType.packets_and_bytes) direct54;
    action act55() {
        meta.m1 = hdr.h2.f4[20:5];
    }
    action act56(bit<64> p57) {
        direct54.count();
        hdr.h3.f0 = hdr.h2.f0;
        meta.m1 = ((108w0x0 & (((bit<108>)(hdr.h0.pad)) >> 8w18)))[86:71];
        hdr.h2.f2[10:10] = sm.checksum_error;
    }
    table t53 {
        key = {
            ((bit<2>)(sm.packet_length)) : exact @name("k0");
        }
        actions = { act55; act56; NoAction; }
        default_action = NoAction();
        counters = direct54;
    }
    action act59(bit<63> p60, bit<65> p61) {
        hdr.s[0].setInvalid();
        hdr.h3.f2 = (hdr.h3.f0 >> 8w1);
    }
    action act62() {
        hdr.h2.f0 = meta.m0[7:0];
        hdr.s[0].x = ((!(hdr.h3 == lh52)) ? ((~((bit<2>)(x51))) ++ hdr.h1.pad) : (2w0x1 ++ hdr.h2.pad));
        if ((lh52 == hdr.h3)) { return; }
        hdr.s[1].x = hdr.h2.f1[43:37];
    }
    table t58 {
        key = {
            ((bit<2>)(meta.m3)) : optional @name("k0");
            sm.checksum_error : ternary @name("k1");
            x51[63:0] : optional @name("k2");
        }
        actions = { act59; act62; NoAction; }
        default_action = NoAction();
    }
    apply {
        I_S4.apply(sm, hdr.h2, (((bit<36>)(hdr.h2.pad)) ++ ((bit<14>)(((bit<65>)(hdr.h1.f0))))), hdr.h2.f5, hdr.h2.f2);
        I_S31.apply(sm, lh52.f0, hdr.h2.f2);
        sm.egress_spec = (lh52.f1[52:44] |+| (sm.ingress_port >> 8w2)) & 9w7;
        hdr.h0.f0 = hdr.h3.f1[44:37];
        switch (((bit<15>)(hdr.h0.f2))) {
            15w7244: {
                hdr.h1.f5 = hdr.h0.f2;
                hdr.h3.f1 = meta.m3[63:0];
                hdr.h0.f2 = ((lh52.f3 <= (sm.checksum_error ++ ((bit<7>)(hdr.h0.f3)))) ? (((bit<78>)(hdr.h3.f2)))[65:58] : (hdr.h1.f4[18:11] - (~8w0xb0)));
            }
            15w16383: {
                hdr.h3.f0 = (((bit<107>)(hdr.h1.f1)))[96:89];
                switch (t53.apply().action_run) {
                    act56: {
                        hdr.s[1].y = ((lh52.f0[3:0] ++ (((bit<20>)(sm.checksum_error)) |+| 20w0xf95c1)) + ((bit<24>)(((int<24>)(meta.m0)))));
                    }
                    default: {
                        assume(sm.ingress_port != 9w0x19c);
                    }
                }
            }
        }
        I_S31.apply(sm, lh52.f0, hdr.h2.f2);
        hdr.h2.f5 = hdr.h2.f3;
        I_S31.apply(sm, hdr.h1.f5, hdr.h1.f2);
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S4() E_S4;
    S31() E_S31;
    bit<98> x63 = (((((int<4>)(meta.m0)) << 8w11) == ((-4s7) >> ((bit<6>)(hdr.h1.f5)))) ? (-(-((bit<98>)(hdr.h1.f1)))) : (~(((bit<98>)(hdr.h2.f0)) ^ ((bit<98>)(meta.m2)))));
    h3_t lh64;
    counter(6, CounterType.packets_and_bytes) c65;
    counter(7, CounterType.bytes) c66;
    register<bit<53>>(6) r67;
    register<bit<53>>(6) r68;
    action act69(out bit<53> p70) {
        meta.m2 = ((((bit<110>)(hdr.h1.f4)) - ((bit<110>)(sm.packet_length))))[95:88];
        hdr.h2.f3 = (hdr.h0.f0[7:0] ^ meta.m3[58:51]);
        hdr.h0.f2 = (x63[92:5])[37:30];
        c65.count((bit<32>)(p70[25:23]));
    }
    action act72(bit<62> p73) {
        hdr.h1.f3 |= ((hdr.h1.f5 ^ hdr.h0.f2) * (((bit<108>)(hdr.h0.pad)))[17:10]);
        if ((((128w0x0 ^ ((bit<128>)(hdr.h0.f1))) - (((bool)(sm.checksum_error)) ? ((bit<128>)(hdr.h3.f2)) : ((bit<128>)(hdr.h2.f1)))) <= 128w0xb)) {
            bool x74 = ((lh64 != hdr.h3) || ((~lh64.f2) == (((bit<8>)(meta.m1)) << 8w3)));
            bit<64> x75 = fn1(x74);
        }
        lh64.f2 = (((bit<8>)((((bit<31>)(hdr.h2.f2)) << 8w6))) |+| ((8w0xff / hdr.h0.f3) |-| (((bit<8>)(hdr.h2.f2)) << 8w8)));
    }
    action act76(bit<15> p77, bit<64> p78) {
        r68.read(hdr.h0.f1, (bit<32>)(((bit<3>)(hdr.h2.pad))));
        hdr.h1.f5 = (8w0x87 & lh64.f0);
        lh64.f2 = ((-(-((bit<79>)(lh64.f3)))))[19:12];
        meta.m2 = ((~(hdr.h0.f0 | ((bit<8>)(hdr.h3.f0)))) + ((bit<8>)(lh64.f1)));
    }
    action act79(bit<33> p80, bit<6> p81) {
        hdr.h2.f1[79:48] = ((-32w0x0) & p80[31:0]);
        hdr.h1.f5 = (meta.m3[63:0])[59:52];
    }
    table t71 {
        key = {
            ((bit<1>)(hdr.h1.f5)) : lpm @name("k0");
        }
        actions = { act72; act76; act79; NoAction; }
        default_action = NoAction();
    }
    apply {
        E_S4.apply(sm, hdr.h2, x63[74:25], hdr.h2.f5, hdr.h1.f2);
        E_S31.apply(sm, meta.m2, meta.m1);
        t71.apply();
        if ((((((bit<4>)(sm.instance_type)) ++ ((bit<4>)(meta.m2))) << 8w11) == ((((bit<72>)(meta.m3)))[62:55] << (((bool)(sm.checksum_error)) ? ((bit<5>)(meta.m2)) : hdr.h1.pad)))) {
            hdr.h2 = hdr.h1;
            switch (((bit<2>)(hdr.h2.f0))) {
                2w1: {
                    bit<8> x82 = ((bit<8>)(hdr.h0.f2));
                }
                2w2: {
                    bit<16> x83 = (-((((bit<93>)(hdr.h0.f3)))[65:50] * hdr.h2.f2[15:0]));
                }
                default: {
                    meta.m4 = (((((bit<106>)(hdr.h1.f2)) >> hdr.h3.f2))[102:39] |+| lh64.f1[63:0]);
                }
            }
            meta.m0 = ((~((-15s1) - ((int<15>)(meta.m0)))) + meta.m0);
            hdr.h1.pad = hdr.h0.f0[6:2];
        }
        else {
            lh64.f2 = (~(((bit<8>)(sm.checksum_error)) * (((bit<8>)(hdr.h3.f1)) << ((bit<7>)(hdr.h3.f1)))));
            hdr.s[(1w0x0 ^ ((bit<1>)(sm.instance_type)))].x = ((((bit<62>)(hdr.h2.f2)))[20:14] << (hdr.h0.f3 ^ hdr.h1.f0));
            bit<16> x84 = (((((bit<17>)(hdr.h3.f0)))[15:0] << ((bit<5>)(((bit<14>)(hdr.h2.pad))))) << 8w14);
            hdr.h0.f1 = ((-((bit<53>)(53s4503599627370495))) ^ ((hdr.h0.f1 % hdr.h0.f1) / hdr.h0.f1));
            hdr.s[0].more = meta.m2[5:5];
            bit<8> x85 = hdr.h3.f3;
        }
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
