#include <core.p4>
#include <v1model.p4>
header h0_t {
    bit<3> f0;
    int<127> f1;
    bit<6> pad;
}
header h1_t {
    bit<3> f0;
    bit<1> f1;
    bit<53> f2;
    bit<17> f3;
    bit<6> pad;
}
header v_t { bit<4> n; bit<4> k; varbit<64> data; bit<8> z; }
header_union u_t { h0_t a; h1_t b; }
struct headers {
    h0_t h0;
    h1_t h1;
    v_t v;
    v_t w;
    u_t u;
}
struct metadata {
    int<127> m0;
    @field_list(2)
    bit<9> m1;
    @field_list(1)
    int<65> m2;
    int<65> m3;
    @field_list(1)
    varbit<64> vb;
}
parser Q1(packet_in packet, out h1_t h, in int<65> p2) {
    bit<9> x3 = (p2[33:25] - ((true || true) ? (42w0x3ffffffffff)[29:21] : (9w0x1 | 9w0x1ff)));
    state start {
        packet.extract(h);
        h.f2 = (h.f2 | ((bit<53>)((((int<53>)(h.f2)) >> ((bit<8>)(h.f2))))));
        bit<9> x4 = (h.f0 ++ ((((bit<6>)(h.f0)) / h.pad) << (5w0xf |+| ((bit<5>)(h.f2)))));
        transition select(h.f0) { 3w1: more; default: accept; }
    }
    state more {
        h.f2 = h.f2[52:0];
        h.f1 = (((((bit<65>)(h.f0)) |+| ((bit<65>)(p2))))[58:58] |+| (h.pad[5:5] |+| 1w0x1));
        transition accept;
    }
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    Q1() p_Q1;
    value_set<bit<3>>(4) set5;
    value_set<bit<3>>(4) set6;
    state start { transition parse_h0; }
    state parse_h0 {
        packet.extract(hdr.h0);
        transition select(hdr.h0.f0) {
            set5: parse_u;
            3w4 .. 3w6: parse_u;
            default: parse_h1;
        }
    }
    state parse_h1 {
        p_Q1.apply(packet, hdr.h1, ((true ? 65s18446744073709551615 : (-65s8589934592)) << 8w11));
        transition select(hdr.h1.f0) {
            set5: parse_v;
            default: accept;
        }
    }
    state parse_u {
        transition select(packet.lookahead<bit<1>>()) { 1w0: parse_u_a; default: parse_u_b; }
    }
    state parse_u_a {
        packet.extract(hdr.u.a);
        transition parse_v;
    }
    state parse_u_b {
        packet.extract(hdr.u.b);
        transition parse_v;
    }
    state parse_v {
        bit<8> v_first = packet.lookahead<bit<8>>();
        packet.extract(hdr.v, (bit<32>)(v_first[7:4]) * 8);
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) {
    apply {
        verify_checksum((((bit<70>)(hdr.h0.f0)) == 70w0xb6d3930da4e520ae), { ((bit<54>)(hdr.h0.pad)), ((bit<26>)(hdr.h0.f0)), ((bit<4>)(hdr.h0.pad)), ((bit<64>)(hdr.h0.pad)) }, 16w0x5e24, HashAlgorithm.crc16);
    }
}
control S7(inout standard_metadata_t sm, inout h1_t ph8, inout bit<9> p9, out bit<17> p10, in bit<4> p11) {
    int<65> x12 = ((int<65>)(((-64s1) |-| (true ? (-64s4030075251225912783) : (-64s1)))));
    bit<17> x13 = (sm.instance_type[20:4] & ((((int<127>)(x12)) < ((int<127>)(x12))) ? (p10 + ph8.f3) : sm.packet_length[16:0]));
    bool x14 = ((!((bool)(ph8.f1))) && (((int<54>)(x12)) >= (-54s1604893200858342)));
    int<127> x15 = ((127s0 | 127s4) |-| (((int<127>)(x12)) |+| ((int<127>)(x12))));
    action act16() {
        ph8.pad = (((ph8.pad ^ ph8.pad) |+| (((bit<6>)(sm.instance_type)) ^ ph8.pad)) |-| (ph8.pad | sm.ingress_port[6:1]));
        x15 = (x15 * ((x15 |-| ((int<127>)(x12))) & x15));
        x15 = ((int<127>)(x15));
    }
    action act17(in int<127> p18) {
        hash(ph8.pad, HashAlgorithm.csum16, 16w0x1000, { 9w0x4, ((bit<15>)(sm.egress_rid)), ((bit<112>)(ph8.f3)), ((bit<17>)(sm.checksum_error)) }, sm.packet_length);
        x12 = (~(~65s16777216));
        p9 = ((bit<9>)((((int<9>)(x15)) |-| ((int<9>)(p18)))));
    }
    direct_meter<bit<2>>(MeterType.packets) direct20;
    action act21() {
        bit<2> color22;
        direct20.read(color22);
        p9 = ((x14 ? (p9 >> 8w3) : (((bit<8>)(sm.packet_length)) ++ ((bit<1>)(sm.egress_rid)))) / sm.ingress_port);
        x14 = (((((bit<8>)(sm.priority)) |-| ((bit<8>)(sm.ingress_port))) >> 8w7) >= ((8w0x7f * ((bit<8>)(ph8.f3))) ^ ((bit<8>)(((int<8>)(x12))))));
    }
    table t19 {
        key = {
            ((bit<31>)(ph8.pad)) : ternary @name("k0");
            ((bit<2>)(sm.priority)) : ternary @name("k1");
        }
        actions = { act21; NoAction; }
        default_action = NoAction();
        meters = direct20;
    }
    apply {
        x15 = 127s0;
        int<7> x30 = ((int<7>)(x12));
        for (bit<8> i31 = 0; i31 < 4; i31 = i31 + 1) {
            act17(x15);
            act17(((-127s14230124546304242502938508476906767717) | ((int<127>)(x12))));
            if (((p9 > ((bit<9>)(ph8.pad))) == ph8.isValid())) { break; }
            ph8.f0 |+|= ((ph8.f0 / sm.priority) & p10[15:13]);
        }
    }
}
control S32(inout headers hdr, inout metadata meta, inout standard_metadata_t sm, out bit<9> p33, in int<127> p34) {
    bit<17> x35 = (meta.m3[32:16] ^ meta.m0[106:90]);
    bit<17> x36 = meta.m2[56:40];
    h0_t lh37;
    counter(8, CounterType.packets) c38;
    register<int<65>>(8) r39;
    meter(4, MeterType.bytes) meter40;
    action act42(bit<1> p43) {
        hash(sm.priority, HashAlgorithm.identity, 16w0xffff, { ((bit<7>)(hdr.u.b.f0)), sm.egress_rid }, sm.packet_length);
        lh37.setValid();
        hdr.h1.f3 = ((bit<17>)(((int<17>)(((int<9>)(meta.m0))))));
    }
    action act44(bit<8> p45, bit<128> p46) {
        meter40.execute_meter((bit<32>)(hdr.u.a.f0), hdr.u.b.f2);
        hdr.h1.f1 += (sm.checksum_error + (((bit<119>)(sm.egress_rid)))[81:81]);
        meta.m2 = ((false || ((bool)(hdr.h1.f1))) ? (meta.m2 << 8w19) : meta.m2);
        hdr.u.b.f2 = (((bit<53>)((((bit<19>)(x36)))[18:4])) << ((bit<7>)(sm.checksum_error)));
    }
    action act47(bit<24> p48) {
        lh37.pad = (((118w0x800000000000000000000000000)[37:32] >> 8w15) ^ ((meta.m2 != meta.m2) ? hdr.u.a.f1[91:86] : (((bool)(hdr.u.b.f1)) ? hdr.u.a.pad : lh37.pad)));
    }
    table t41 {
        key = {
            2w0x1 : exact @name("k0");
            (hdr.h1.f1 & (((bool)(sm.checksum_error)) ? 1w0x1 : 1w0x1)) : exact @name("k1");
            sm.checksum_error : exact @name("k2");
        }
        actions = { act42; act44; act47; NoAction; }
        default_action = NoAction();
    }
    apply {
        bit<17> x56 = (((bit<62>)(sm.egress_rid)))[21:5];
        if (((-(((bit<90>)(hdr.h1.pad)))[25:18]) >= ((~((bit<8>)(hdr.u.b.f0))) - ((bit<8>)(hdr.u.a.f0))))) {
            x36 = hdr.h1.f3;
        }
        else {
            meta.m0 = (((int<127>)(hdr.u.a.f1)) | (meta.m0 & p34));
        }
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S7() I_S7;
    S32() I_S32;
    bit<17> x57 = meta.m0[72:56];
    int<65> x58 = 65s4503599627370496;
    bool x59 = ((x58 >= (meta.m2 >> 8w8)) && ((((bool)(sm.checksum_error)) && ((bool)(sm.checksum_error))) == ((bool)(sm.checksum_error))));
    counter(4, CounterType.packets) c60;
    counter(8, CounterType.packets_and_bytes) c61;
    register<bit<8>>(8) r62;
    meter(7, MeterType.packets) meter63;
    action act64(in bool p65, inout bit<17> p66) {
        hdr.u.b.f2 = ((bit<53>)((sm.packet_length & (32w0x7fffffff & 32w0x9))));
        p66 = (hdr.u.b.f1 ++ (sm.egress_rid - (((bit<16>)(meta.m1)) | 16w0x1)));
        hdr.h0.f1 = (((((int<127>)(meta.m0)) << ((bit<7>)(hdr.u.b.f2))) | ((int<127>)(x58))) << 8w18);
        x59 = x59;
    }
    action act68() {
        hdr.h0.pad = (((hdr.u.a.pad | hdr.h1.pad) + ((bit<6>)(6s0))) << 8w2);
        hdr.u.b.f2 = ((bit<53>)(((((int<53>)(hdr.u.b.f2)) >> ((bit<8>)(hdr.h1.pad))) ^ ((int<53>)(meta.m0)))));
    }
    table t67 {
        key = {
            ((((bit<1>)(hdr.u.b.f1)) - 1w0x1) >> 8w0) : exact @name("k0");
            hdr.u.b.pad[3:0] : lpm @name("k1");
            ((bit<2>)(x57)) : exact @name("k2");
        }
        actions = { act68; NoAction; }
        default_action = NoAction();
    }
    action act76() {
        meta.m3 = ((int<65>)(meta.m3));
        hdr.u.b.f3[14:11] = ((((bit<4>)(meta.m1)) |-| ((bit<4>)(hdr.h1.pad))) |+| (((bit<4>)(hdr.h0.pad)) |-| ((bit<4>)(sm.ingress_port))));
        if (((sm.ingress_port >> 8w15) > (95w0x20000000000000000000000)[9:1])) { exit; }
        hdr.h1.setInvalid();
    }
    action act77(bit<46> p78, bit<6> p79) {
        hdr.h0.f1 = (~(((int<127>)(((int<7>)(meta.m0)))) - (hdr.u.a.f1 * ((int<127>)(meta.m2)))));
        if ((hdr.h0 != hdr.u.a)) {
            hdr.u.b.f3 = x57;
        }
        if (sm.instance_type == 0 && (((bool)(sm.checksum_error)) || hdr.u.a.isValid())) { clone_preserving_field_list(CloneType.I2E, 4, 1); }
    }
    action act80(bit<7> p81) {
        r62.write((bit<32>)(((sm.priority >> ((bit<4>)(hdr.u.b.f3))) << (-8w0x8a))), ((bit<8>)(((90w0x1ffffffffffffffffffffff ^ ((bit<90>)(hdr.u.a.f0))))[54:44])));
    }
    table t75 {
        key = {
            meta.m3[64:63] : exact @name("k0");
        }
        actions = { act76; act77; act80; NoAction; }
        default_action = NoAction();
        const entries = {
            (2w0x2) : act80(7w0x1);
            (2w0x0) : NoAction();
            (2w0x3) : act77(46w0x6, 6w0x37);
        }
    }
    apply {
        I_S7.apply(sm, hdr.u.b, meta.m1, x57, ((bit<4>)(hdr.h0.pad)));
        I_S32.apply(hdr, meta, sm, meta.m1, ((((int<127>)(meta.m2)) |-| 127s1) >> 8w0));
        sm.egress_spec = ((bit<9>)(((int<9>)(hdr.u.a.f1)))) & 9w7;
        hdr.h1.f0 = ((bit<3>)(((((bit<8>)(hdr.h1.pad)) >> 8w7) ^ (((bit<8>)(hdr.h1.f2)) |-| 8w0x1))));
        hash(meta.m1, HashAlgorithm.csum16, 16w0x1, { ((bit<9>)(hdr.h1.f3)) }, 32w0xa009b7fa);
        sm.priority = hdr.u.b.f0[2:0];
        r62.write((bit<32>)(hdr.u.b.f0), (meta.m1[7:0] - sm.ingress_port[8:1]));
        hdr.h1.f1 = ((meta.m0[115:73])[19:19] ^ (hdr.u.b.f1 |+| 1w0x0));
        if (((sm.instance_type[21:14] >> (2w0x1 * ((bit<2>)(hdr.h1.f2)))) >= ((bit<8>)(hdr.u.b.f0)))) {
            hdr.h0.pad = (((hdr.h0.pad |+| ((bit<6>)(meta.m1))) << ((bit<1>)(true))) * ((((bit<6>)(x57)) >> 8w14) >> (-5w0x0)));
            if (((((bit<17>)(sm.ingress_port)) > (hdr.u.b.f3 ^ hdr.u.b.f3)) && ((!x59) && (!((bool)(hdr.u.b.f1)))))) {
                bit<17> x82 = (17w0x1 |+| ((hdr.h1.f3 << 4w0x0) << sm.egress_rid[12:6]));
            }
            meta.m0 -= (127s0 * (-127s36028797018963968));
        }
        x59 = x59;
        act64(((((bool)(sm.checksum_error)) && true) && x59), hdr.u.b.f3);
        hdr.u.b.f1 = ((bit<1>)(hdr.u.b.pad));
        if (t75.apply().hit) {
            hdr.v.z = (((((bit<8>)(hdr.u.b.f2)) + ((bit<8>)(hdr.u.b.f1))) << 8w14) |-| (hdr.h1.f3[9:2] - (((bit<8>)(hdr.h1.f0)) >> 8w0)));
        }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S7() E_S7;
    S32() E_S32;
    int<7> x83 = (((int<7>)(hdr.u.a.f1)) |+| 7s0);
    int<127> x84 = ((hdr.u.a.f1 & hdr.u.a.f1) >> 8w2);
    bit<9> x85 = 9w0xd9;
    int<127> x86 = ((-hdr.h0.f1) | (meta.m0 * hdr.h0.f1));
    h1_t lh87;
    counter(5, CounterType.packets) c88;
    register<int<7>>(4) r89;
    register<bit<17>>(6) r90;
    action act91(inout bit<9> p92) {
        hash(hdr.h0.f0, HashAlgorithm.csum16, 16w0x1, { 7w0x30, ((bit<127>)(meta.m0)) }, sm.instance_type);
        p92 = hdr.u.b.f2[50:42];
        hdr.u.b.f2 -= 53w0x1;
        x83 = 7s1;
    }
    action act93(in int<7> p94, inout int<65> p95, in int<7> p96) {
        bit<9> x97 = x86[13:5];
    }
    direct_counter(CounterType.packets_and_bytes) direct99;
    action act100(bit<11> p101, bit<11> p102) {
        direct99.count();
        hdr.u.b.f3[6:1] = (meta.m3[36:31] + (6w0x1 + 6w0x9));
    }
    action act103(bit<25> p104) {
        direct99.count();
        hdr.u.b.f1 = hdr.h1.f1;
        int<65> x105 = (((78w0x8000000)[54:39] == (sm.egress_rid | ((bit<16>)(lh87.f1)))) ? meta.m2 : ((meta.m2 - ((int<65>)(meta.m0))) | (((int<65>)(x86)) >> 8w17)));
        hdr.h0.setValid();
        hdr.h1.f3 = ((((bit<14>)(sm.egress_rid)) >> 8w1) ++ (((bit<3>)(p104)) << (((bit<3>)(sm.egress_rid)) >> 8w13)));
    }
    action act106(bit<53> p107) {
        r89.write((bit<32>)(((hdr.u.b.f0 - sm.priority) |+| (hdr.u.b.f0 + hdr.u.a.f0))), (-(-7s37)));
        hdr.u.b.f1 = (((hdr.u.b.f1 - ((bit<1>)(lh87.f2))) % lh87.f1) / lh87.f1);
        sm.priority = (~((3w0x7 |-| sm.priority) |-| (3w0x0 + 3w0x1)));
    }
    table t98 {
        key = {
            2w0x1 : range @name("k0");
        }
        actions = { act100; act103; act106; NoAction; }
        default_action = act106(53w0x1117a01474f5de);
        counters = direct99;
    }
    direct_counter(CounterType.packets_and_bytes) direct112;
    action_selector(HashAlgorithm.crc32, 32w16, 32w8) profile113;
    action act114(bit<11> p115) {
        direct112.count();
        meta.m1 = meta.m1;
        hash(lh87.f0, HashAlgorithm.crc16, 16w0x5, { 7w0x0 }, sm.instance_type);
    }
    table t111 {
        key = {
            ((bit<2>)((((bool)(lh87.f1)) ? sm.ingress_port : sm.ingress_port))) : exact @name("k0");
            ((bit<15>)(hdr.h1.f0)) : selector @name("s0");
        }
        actions = { act114; NoAction; }
        default_action = NoAction();
        counters = direct112;
        implementation = profile113;
    }
    apply {
        E_S7.apply(sm, lh87, x85, hdr.u.b.f3, ((bit<4>)(hdr.h1.pad)));
        E_S32.apply(hdr, meta, sm, x85, ((true ? x86 : meta.m0) - (hdr.h0.f1 << 8w16)));
        if (((meta.m2 |-| meta.m2) < (meta.m2 >> 8w10))) { return; }
        x85 = ((~(((bit<9>)(hdr.u.b.pad)) >> 8w19)) >> hdr.h0.pad[5:1]);
        if (((bool)(sm.checksum_error))) {
            hdr.h1.setValid();
            x84 = (((hdr.u.a.f1 << 8w15) << (((bit<1>)(hdr.h0.pad)) | 1w0x1)) * ((int<127>)((~((int<9>)(meta.m2))))));
            if ((((int<65>)((((int<33>)(meta.m2)) >> 8w0x7f))) <= ((-65s3236571156531439863) * meta.m3))) {
                hdr.h0.setValid();
            }
            else {
                hdr.h1.f0 = hdr.h1.f0[2:0];
            }
        }
        hdr.u.b.f1 = (((-hdr.h1.f1) |-| (((bool)(hdr.h1.f1)) ? ((bit<1>)(sm.priority)) : sm.checksum_error)) >> 8w14);
        hdr.h1.f0[1:1] = ((123w0x0)[13:13] | ((bit<1>)(((bit<127>)(sm.ingress_port)))));
        bit<1> x118 = meta.m1[0:0];
        c88.count((bit<32>)((((bit<3>)(((bit<8>)(hdr.u.b.f1)))) << 8w14)));
        x86 = (((int<127>)(((int<15>)(((int<22>)(hdr.h0.f1)))))) ^ ((-x86) & ((int<127>)(((int<84>)(x84))))));
        hdr.u.b.f0 = (~hdr.u.b.f3[10:8]);
    }
}
control C(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum_with_payload(hdr.h1.isValid(), { ((bit<9>)(hdr.u.a.pad)), 36w0x80 }, hdr.u.b.f3, HashAlgorithm.xor16);
    }
}
control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
