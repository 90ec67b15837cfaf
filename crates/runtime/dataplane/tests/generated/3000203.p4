#include <core.p4>
#include <v1model.p4>
header h0_t {
    bit<8> f0;
    bit<106> f1;
    int<4> f2;
    bit<106> f3;
    int<31> f4;
    int<15> f5;
    bit<2> pad;
}
header h1_t {
    bit<8> f0;
    int<15> f1;
    bit<1> pad;
}
struct rec_t {
    bool f0;
    bool f1;
    int<2> f2;
}
struct headers {
    h0_t h0;
    h1_t h1;
}
struct metadata {
    int<2> m0;
    int<15> m1;
    int<31> m2;
    int<31> m3;
    int<15> m4;
    rec_t rec;
}
int<31> fn1(in bit<106> p2, inout bit<106> p3, in int<4> p4) {
    p3[86:84] = ((bit<3>)(p2));
    p3 += (((bit<106>)(((int<106>)(p3)))) << 8w12);
    p3 = (~(((bit<106>)(p3)) * (((bit<121>)(p3)))[119:14]));
    return ((int<31>)(p4));
}
int<2> fn5(in bit<76> p6, in bit<33> p7, out int<15> p8) {
    p8 = (((p8 ^ p8) >> 8w5) & (-p8));
    p8 = (15s64 |+| ((true ? p8 : p8) << p8[7:1]));
    return ((((int<2>)(((bit<2>)(p7)))) | ((int<2>)(p8))) |-| (-2s1));
}
parser Q9(packet_in packet, out h1_t h, inout bool p10, in int<15> p11) {
    bit<106> x12 = ((106w0x800000000000000000000 * 106w0x3ffffffffffffffffffffffffff) << p11[13:8]);
    state start {
        packet.extract(h);
        x12 = (((-x12) |-| (x12 - x12)) % x12);
        h.f0[5:4] = (((bit<2>)(x12)) |+| ((bit<2>)(((bit<65>)(x12)))));
        transition select(h.f0) { 8w255: more; default: accept; }
    }
    state more {
        p10 = (8w0x4 >= p11[9:2]);
        int<2> x13 = ((int<2>)(p11));
        transition accept;
    }
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    Q9() p_Q9;
    int<31> x14 = (((int<31>)(meta.m2)) * meta.m2);
    state start { transition parse_h0; }
    state parse_h0 {
        packet.extract(hdr.h0);
        transition select(hdr.h0.f0) {
            8w32 &&& 8w64: parse_h1;
            default: accept;
        }
    }
    state parse_h1 {
        p_Q9.apply(packet, hdr.h1, meta.rec.f0, ((meta.m1 + (-15s16383)) |+| 15s4));
        bit<8> look15 = packet.lookahead<bit<8>>();
        hdr.h1.pad = ((4s0 < (~hdr.h0.f2)) ? ((bit<1>)(hdr.h1.f0)) : (((bit<1>)(look15)) |-| (hdr.h1.pad >> 8w15)));
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) {
    apply {
        verify_checksum(hdr.h1.isValid(), { ((bit<13>)(hdr.h0.pad)), ((bit<71>)(hdr.h0.f3)) }, 16w0x1, HashAlgorithm.crc16);
    }
}
control S16(inout standard_metadata_t sm, inout h0_t ph17) {
    bit<98> x18 = (((((bit<98>)(sm.ingress_port)) - 98w0x8) >> (~((bit<3>)(sm.instance_type)))) |-| (((bool)(sm.checksum_error)) ? (((bit<98>)(ph17.pad)) |+| ((bit<98>)(sm.priority))) : (((bit<98>)(sm.ingress_port)) + ((bit<98>)(sm.packet_length)))));
    int<4> x19 = 4s7;
    bool x20 = (((int<2>)(ph17.f2)) > ((int<2>)((((bit<125>)(ph17.pad)))[98:97])));
    int<31> x21 = (((-31s268435456) - ph17.f4) * (-ph17.f4));
    counter(8, CounterType.packets) c22;
    register<int<15>>(7) r23;
    action act24() {
        ph17.f3 = ph17.f1;
        x20 = ph17.isValid();
        ph17.pad = ph17.pad;
        ph17.f2 = ph17.f2;
    }
    apply {
        if (true) { return; }
        switch (((bit<31>)((((bit<4>)(ph17.f1)) << 8w1)))) {
            31w1073741823: {
                x20 = ((x20 == (((bool)(sm.checksum_error)) || x20)) == (((int<2>)(x21)) != fn5(((bit<76>)(ph17.f1)), ((bit<33>)(sm.packet_length)), ph17.f5)));
            }
            default: {
                sm.priority = ((!(((int<31>)(x21)) != x21)) ? (~sm.priority) : sm.priority[2:0]);
            }
        }
        rec_t lr25 = { (((int<15>)(ph17.f2)) < ph17.f5), ((ph17.f5 > 15s8191) && x20), (((int<2>)(ph17.f2)) - ((int<2>)(ph17.f2))) };
        lr25 = { f0 = (!(true || lr25.f1)), f1 = (((-31s231243565) - ((int<31>)(lr25.f2))) < (31s0 * ((int<31>)(ph17.f4)))), f2 = (lr25.f2 >> 8w17) };
        x18 = ph17.f1[100:3];
    }
}
control S26(inout standard_metadata_t sm, inout h0_t ph27, inout bool p28) {
    int<17> x29 = ((int<17>)(ph27.f4));
    int<31> x30 = ph27.f4;
    counter(6, CounterType.packets) c31;
    counter(8, CounterType.packets_and_bytes) c32;
    register<int<4>>(8) r33;
    register<int<31>>(6) r34;
    action act35(in int<4> p36, in bit<106> p37, in int<4> p38) {
        x30 = ((ph27.f4 <= ph27.f4) ? ((int<31>)(ph27.f2)) : ((int<31>)(15s8191)));
    }
    action act39(out int<31> p40) {
        bool x41 = (p28 == ((!((bool)(sm.checksum_error))) || p28));
        if (ph27.isValid()) {
            ph27.pad = ((2w0x0 |-| (40w0x1)[16:15]) + (-(ph27.pad % ph27.pad)));
        }
        rec_t lr42 = { ((ph27.f3 == ph27.f3) == ph27.isValid()), ph27.isValid(), 2s1 };
    }
    apply {
        bit<47> x43 = ph27.f1[103:57];
        x30 = (~(((int<31>)(ph27.f5)) * ph27.f4));
        ph27.f3[37:16] = ((p28 == ((bool)(sm.checksum_error))) ? (((bit<22>)(sm.egress_rid)) << ((bit<6>)(x43))) : (22w0x40 * ((bit<22>)(sm.egress_rid))));
        hash(ph27.f0, HashAlgorithm.xor16, 16w0x0, { 106w0x0, ((bit<15>)(sm.instance_type)), sm.checksum_error, 31w0x7fffffff }, ((bit<32>)(ph27.f3)));
        ph27.f0 = (((ph27.f0 |-| ph27.f0) |+| ph27.f4[20:13]) - (ph27.f0 ^ ((bit<8>)(x43))));
        ph27.f5 = (((!((bool)(sm.checksum_error))) && ph27.isValid()) ? ph27.f5 : ((int<15>)((-128s81473382714420930696280820919145906971))));
        x43 = (47w0x1 - (ph27.f1[69:23] << sm.packet_length[22:15]));
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S16() I_S16;
    S26() I_S26;
    int<15> x44 = (hdr.h0.f5 | (meta.m4 |-| (hdr.h0.f5 + hdr.h0.f5)));
    int<2> x45 = (meta.m0 - ((int<2>)(hdr.h0.pad)));
    int<4> x46 = (hdr.h0.f2 - ((-hdr.h0.f2) | (meta.rec.f1 ? hdr.h0.f2 : hdr.h0.f2)));
    int<2> x47 = meta.rec.f2;
    h0_t lh48;
    counter(7, CounterType.bytes) c49;
    register<bit<106>>(6) r50;
    direct_counter(CounterType.packets_and_bytes) direct52;
    action act53() {
        direct52.count();
        x46 = ((~(((bool)(hdr.h1.pad)) ? hdr.h0.f2 : x46)) |+| hdr.h0.f2);
        hdr.h0.f0 = ((bit<8>)(((int<8>)(x46))));
        lh48.f0 -= (hdr.h1.f0 |-| (hdr.h1.f0 / hdr.h1.f0));
    }
    table t51 {
        key = {
            ((bit<42>)(sm.egress_rid)) : ternary @name("k0");
            10w0x3d8 : ternary @name("k1");
        }
        actions = { act53; NoAction; }
        default_action = NoAction();
        counters = direct52;
    }
    direct_counter(CounterType.packets_and_bytes) direct55;
    action act56() {
        direct55.count();
        hdr.h0.f2 = hdr.h0.f2;
    }
    table t54 {
        key = {
            ((bit<13>)(sm.instance_type)) : optional @name("k0");
            ((((bit<35>)(hdr.h0.f0)) >> 8w9) ^ ((bit<35>)(sm.egress_rid))) : optional @name("k1");
            ((bit<15>)(lh48.f0)) : range @name("k2");
        }
        actions = { act56; NoAction; }
        default_action = NoAction();
        counters = direct55;
    }
    apply {
        I_S16.apply(sm, lh48);
        I_S26.apply(sm, lh48, meta.rec.f1);
        sm.egress_spec = ((sm.ingress_port << 2w0x1) * (sm.ingress_port / sm.ingress_port)) & 9w7;
        int<31> x57 = (((((int<31>)(hdr.h1.f1)) >> 1w0x0) >> 8w19) << lh48.f4[11:11]);
        for (int<31> i58 in (list<int<31>>){ (((int<31>)(x46)) & x57), (meta.rec.f0 ? ((int<31>)(x45)) : ((int<31>)(lh48.f4))) }) {
            if ((meta.m1 < hdr.h0.f5)) { exit; }
            int<4> x59 = (((-4s3) >> 8w11) & (-4s3));
            lh48.setInvalid();
            c49.count((bit<32>)(lh48.f4[30:28]));
            meta.rec = { f0 = ((false || false) || hdr.h0.isValid()), f1 = ((8w0x7f + lh48.f0) < 8w0xff), f2 = (-(x47 & x45)) };
        }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S16() E_S16;
    S26() E_S26;
    int<15> x60 = (hdr.h1.f1 | (~((int<15>)(44s6636144744505))));
    int<31> x61 = ((int<31>)(((int<128>)(meta.m0))));
    int<31> x62 = (((~hdr.h0.f4) >> 8w4) |+| (~((int<31>)(meta.m4))));
    h0_t lh63;
    rec_t lr64 = { (!(meta.rec.f0 || meta.rec.f0)), ((!((bool)(hdr.h1.pad))) && meta.rec.f1), ((int<2>)((meta.rec.f2 * meta.m0))) };
    counter(5, CounterType.packets_and_bytes) c65;
    counter(6, CounterType.packets_and_bytes) c66;
    register<bit<1>>(8) r67;
    action act69(bit<93> p70, bit<78> p71) {
        sm.priority[1:0] = ((((bit<71>)(sm.packet_length)))[13:12] ^ (2w0x1 & ((bit<2>)(hdr.h0.pad))));
        lh63.setValid();
    }
    table t68 {
        key = {
            ((bit<1>)(lh63.f1)) : exact @name("k0");
        }
        actions = { act69; NoAction; }
        default_action = NoAction();
    }
    direct_counter(CounterType.packets_and_bytes) direct73;
    action act74(bit<118> p75, bit<11> p76, bit<12> p77) {
        direct73.count();
        lh63.f4 = (-31s536870911);
    }
    action act78(bit<9> p79) {
        direct73.count();
        lh63.f5 = (((int<15>)((((bit<15>)(hdr.h1.f1)) + ((bit<15>)(hdr.h0.f0))))) * meta.m4);
    }
    action act80() {
        direct73.count();
        lh63.f2 = ((int<4>)(((((int<16>)(hdr.h1.f1)) * ((int<16>)(x61))) >> (((bool)(sm.checksum_error)) ? ((bit<7>)(hdr.h1.f0)) : 7w0x3f))));
    }
    table t72 {
        key = {
            lh63.pad : exact @name("k0");
        }
        actions = { act74; act78; act80; NoAction; }
        default_action = act74(118w0x0, 11w0x200, 12w0x20);
        counters = direct73;
    }
    apply {
        E_S16.apply(sm, lh63);
        E_S26.apply(sm, lh63, lr64.f1);
        if ((!(!true))) { exit; }
        int<2> x81 = fn5((~(((bit<76>)(hdr.h0.f1)) |+| ((bit<76>)(hdr.h1.pad)))), ((bit<33>)(lh63.pad)), hdr.h0.f5);
        meta.m3 = (((lh63.f4 << 8w12) << 8w2) + (31s536870911 & ((int<31>)(x62))));
        hdr.h0.f3 = ((~106w0x1ba2eabbc618dcbf3fb3c68969c) ^ (lh63.f1[105:0] ^ (hdr.h0.f3 - ((bit<106>)(hdr.h0.f3)))));
        lh63.setInvalid();
        lh63.f0[4:0] = ((bit<5>)(hdr.h0.f1));
        bool x82 = (hdr.h0 == lh63);
        hdr.h0.f4 = (~((-x61) | 31s1073741823));
        x60 = ((int<15>)(x60));
        int<15> x83 = (-15s8191);
        lh63.pad = ((bit<2>)(x81));
        t68.apply();
        sm.priority = ((((bit<3>)(sm.egress_rid)) >> (((bit<7>)(lh63.pad)) | ((bit<7>)(hdr.h0.f3)))) ^ 3w0x3);
        hdr.h0.f2 = 4s0;
        if (((hdr.h0.f5 >> ((bit<4>)(sm.priority))) <= (-15s4))) { mark_to_drop(sm); }
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
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
