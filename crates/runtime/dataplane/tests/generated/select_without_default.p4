#include <core.p4>
#include <v1model.p4>
header h0_t {
    bit<3> f0;
    bit<6> f1;
    bit<33> f2;
    bit<14> f3;
}
header h1_t {
    bit<4> f0;
    int<65> f1;
    bit<3> pad;
}
header h2_t {
    bit<3> f0;
    bit<6> f1;
    int<65> f2;
    bit<65> f3;
    bit<12> f4;
    bit<124> f5;
    bit<5> pad;
}
header s_t {
    bit<1> more;
    bit<7> x;
}
header_union u_t { h0_t a; h1_t b; }
struct rec_t {
    bit<60> f0;
    bit<33> f1;
    bit<33> f2;
}
struct headers {
    h0_t h0;
    h1_t h1;
    h2_t h2;
    s_t[2] s;
    u_t u;
}
struct metadata {
    bit<6> m0;
    int<65> m1;
    int<65> m2;
    rec_t rec;
}
bit<2> fn1(in bit<6> p2, inout int<65> p3) {
    p3 = (~p3);
    p3 = (true ? p3 : (p3 - (p3 >> ((bit<2>)(p2)))));
    p3 = ((((int<65>)(((bit<65>)(p2)))) + ((int<65>)(p3))) |-| (~(-65s8)));
    return 2w0x3;
}
bit<72> fn4(in bit<10> p5, in bit<14> p6) {
    return ((bit<72>)(p6));
}
parser Q7(packet_in packet, out h2_t h, inout bit<113> p8) {
    bit<6> x9 = ((((bit<6>)(p8)) |+| ((bit<6>)(p8))) | (((bit<6>)(p8)) << ((bit<2>)(p8))));
    state start {
        packet.extract(h);
        h.f0 = (-((((bit<85>)(x9)) & 85w0x40000000000))[18:16]);
        p8 = ((((bit<113>)(9w0x198)) |+| (p8 / p8)) << ((bit<1>)(h.f4)));
        transition select(h.f0) { 3w4: more; default: accept; }
    }
    state more {
        h.f3 = ((h.f2 > (h.f2 >> 8w10)) ? (-(h.f3 & h.f3)) : (((bit<46>)(p8)) ++ h.f2[35:17]));
        h.f4 = (((bit<12>)((false ? ((int<12>)(h.f4)) : ((int<12>)(h.f2))))) |+| ((((bit<1>)(x9)) ++ 11w0x7ff) ^ (false ? 12w0xd : h.f4)));
        transition accept;
    }
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    Q7() p_Q7;
    int<39> x10 = ((int<39>)(meta.m2));
    state start { transition parse_h0; }
    state parse_h0 {
        packet.extract(hdr.h0);
        transition select(hdr.h0.f0) {
            3w4 .. 3w7: accept;
            3w2 &&& 3w5: parse_s;
            default: parse_h1;
        }
    }
    state parse_h1 {
        packet.extract(hdr.h1);
        bit<3> look11 = packet.lookahead<bit<3>>();
        meta.rec.f2 = (((((bit<19>)(sm.ingress_port)) ++ ((bit<14>)(meta.m0))) |+| ((bit<33>)(hdr.h0.f1))) - (((bit<33>)(meta.rec.f2)) - ((bit<33>)(sm.ingress_port))));
        transition select(hdr.h1.f0) {
            4w0: parse_s;
            default: parse_h2;
        }
    }
    state parse_h2 {
        bit<113> x12 = (((bit<88>)(meta.m0)) ++ ((bit<25>)(sm.ingress_port)));
        p_Q7.apply(packet, hdr.h2, x12);
        packet.advance(24);
        transition select(hdr.h2.f0) {
            3w4: parse_s;
            3w7 &&& 3w4: parse_s;
            default: parse_u;
        }
    }
    state parse_u {
        transition select(packet.lookahead<bit<1>>()) { 1w0: parse_u_a; default: parse_u_b; }
    }
    state parse_u_a {
        packet.extract(hdr.u.a);
        transition parse_s;
    }
    state parse_u_b {
        packet.extract(hdr.u.b);
        transition parse_s;
    }
    state parse_s {
        packet.extract(hdr.s.next);
        x10 = (((int<39>)(meta.m2)) |+| ((int<39>)(meta.m1)));
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
    bool x13 = hdr.h0.isValid();
    int<65> x14 = ((int<65>)(hdr.u.b.f1));
    int<65> x15 = x14;
    rec_t lr16 = { ((((bit<106>)(hdr.u.a.f2)) >> ((bit<8>)(hdr.h2.f0))))[84:25], meta.rec.f1, (x14[58:26] ^ (meta.rec.f2 * ((bit<33>)(hdr.h2.f0)))) };
    counter(5, CounterType.packets_and_bytes) c17;
    counter(6, CounterType.packets) c18;
    register<bit<6>>(8) r19;
    register<bit<14>>(5) r20;
    action act21(in bit<33> p22) {
        hdr.u.a.f1 = (hdr.u.a.f1 >> 8w17);
        lr16.f1[17:8] = x14[54:45];
        meta.m2 = ((int<65>)(((3s0 ^ ((int<3>)(hdr.u.b.pad))) - ((int<3>)(x14)))));
    }
    action act24() {
        hash(meta.rec.f0, HashAlgorithm.crc16, 16w0x7fff, { ((bit<14>)(hdr.h0.f1)), 9w0xff }, sm.instance_type);
        hdr.u.a.f2 = (((((bit<127>)(lr16.f0)) < ((bit<127>)(hdr.h2.f5))) && (79s8 != ((int<79>)(hdr.h1.f1)))) ? (-hdr.h0.f2) : (-((bit<33>)(hdr.u.a.f0))));
        meta.rec.f1 = (((((bit<31>)(hdr.u.a.f1)) ++ ((bit<2>)(hdr.h2.pad))) |-| (hdr.u.a.f2 ^ ((bit<33>)(sm.priority)))) << 8w0);
        hdr.u.b.f1 = (((int<65>)(meta.m2)) | x15);
    }
    table t23 {
        key = {
            sm.checksum_error : exact @name("k0");
            ((bit<2>)(hdr.u.a.f2)) : exact @name("k1");
            ((bit<4>)(meta.m0)) : exact @name("k2");
        }
        actions = { act24; NoAction; }
        default_action = NoAction();
    }
    direct_counter(CounterType.packets_and_bytes) direct32;
    direct_meter<bit<2>>(MeterType.bytes) direct33;
    action act34(bit<82> p35) {
        direct32.count();
        lr16.f2[30:1] = (hdr.h2.f3[47:18] * ((bit<30>)(hdr.h1.pad)));
        hdr.u.a.f0 = ((95w0xc - ((bit<95>)(lr16.f2))))[58:56];
        hdr.u.a.f0[2:2] = ((sm.checksum_error / sm.checksum_error) | (sm.checksum_error | ((bit<1>)(hdr.u.b.pad))));
    }
    action act36() {
        direct32.count();
        hdr.u.b.pad = ((((int<65>)(meta.m2)) >= (x15 << 8w5)) ? 3w0x7 : ((hdr.h2.f0 ^ ((bit<3>)(hdr.h2.f1))) & (~((bit<3>)(lr16.f1)))));
        hdr.u.a.f3[11:11] = sm.checksum_error;
        hdr.s[(((bit<1>)(sm.priority)) ^ ((bit<1>)(sm.instance_type)))].more = (sm.checksum_error ^ (false ? sm.checksum_error : ((bit<1>)(hdr.h2.f3))));
    }
    table t31 {
        key = {
            sm.checksum_error : exact @name("k0");
            hdr.h1.f0 : lpm @name("k1");
            sm.checksum_error : exact @name("k2");
        }
        actions = { act34; act36; NoAction; }
        default_action = NoAction();
        counters = direct32;
        meters = direct33;
    }
    direct_counter(CounterType.packets_and_bytes) direct44;
    action act45(bit<1> p46) {
        direct44.count();
        hdr.h1.f0 = (4w0x0 & ((((bit<79>)(lr16.f1)))[23:20] | (hdr.u.b.f0 >> 8w8)));
        hdr.h1.f0 = (hdr.h1.f0 ^ hdr.h1.f0);
    }
    action act47(bit<63> p48, bit<31> p49) {
        direct44.count();
        hdr.h2.f0 = ((!(33w0x400 <= meta.rec.f1)) ? ((3w0x1 |-| 3w0x1) & (((bool)(sm.checksum_error)) ? hdr.h2.f0 : hdr.h1.pad)) : ((hdr.h2.f0 |-| hdr.u.a.f0) |+| (hdr.h1.pad << 1w0x1)));
        hdr.h0.f3 = (((-hdr.u.a.f3) + (((bit<14>)(meta.rec.f0)) << 8w5)) / hdr.u.a.f3);
        c18.count((bit<32>)(p49[12:10]));
        x14 *= (((int<65>)(((int<31>)(hdr.h1.f1)))) >> 8w5);
    }
    table t43 {
        key = {
            sm.priority : exact @name("k0");
            ((bit<3>)(hdr.h2.f5)) : exact @name("k1");
            ((bit<2>)(meta.rec.f0)) : exact @name("k2");
        }
        actions = { act45; act47; NoAction; }
        default_action = act45(1w0x1);
        counters = direct44;
    }
    apply {
        sm.egress_spec = ((9w0xab >> 6w0x33) & sm.packet_length[16:8]) & 9w7;
        t23.apply();
        hdr.s[((-1w0x1) ^ ((bit<1>)(sm.instance_type)))].x = ((bit<7>)(meta.m0));
        bool x56 = true;
        hdr.h1.pad = (hdr.h0.f0 | (~hdr.u.b.pad));
        hdr.u.a.f3 = ((bit<14>)(sm.egress_rid));
        hdr.h2.f1 = ((meta.rec.f1[10:5] |-| (((bit<6>)(meta.rec.f0)) - hdr.h2.f1)) * ((hdr.h1.f0 |+| hdr.u.b.f0) ++ (sm.checksum_error ++ sm.checksum_error)));
        r20.read(hdr.u.a.f3, (bit<32>)(((bit<3>)(hdr.h2.pad))));
        hdr.h0.setValid();
        switch (3w0x1) {
            3w2: {
                bit<15> x57 = ((bit<15>)(sm.checksum_error));
            }
            3w3: {
                hdr.h0.f1 = hdr.h2.f1;
            }
            3w5: {
                meta.rec.f1 = lr16.f2[32:0];
            }
        }
        meta.rec.f0 = meta.rec.f0;
        meta.rec.f1 = ((bit<33>)(lr16.f0));
        if (((x13 || x13) || (false || x13))) { mark_to_drop(sm); }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    bool x58 = ((bool)(sm.checksum_error));
    bit<14> x59 = (((x58 || x58) ? hdr.h2.f3[49:36] : ((bit<14>)(hdr.h1.f0))) & ((((bool)(sm.checksum_error)) && ((bool)(sm.checksum_error))) ? (hdr.u.a.f3 / hdr.u.a.f3) : (hdr.h0.f3 << 8w4)));
    bit<17> x60 = ((((bit<111>)(hdr.h2.pad)))[59:43] |+| ((bit<17>)((sm.instance_type + sm.packet_length))));
    h2_t lh61;
    counter(5, CounterType.bytes) c62;
    meter(5, MeterType.packets) meter63;
    direct_counter(CounterType.packets_and_bytes) direct65;
    action act66() {
        direct65.count();
        for (bit<8> i67 = 0; i67 < 3; i67 = i67 + 1) {
            x58 = ((33w0x18ea27dd0 == hdr.u.b.f1[38:6]) && ((!((bool)(sm.checksum_error))) || (((bit<10>)(lh61.f3)) <= ((bit<10>)(hdr.h0.f2)))));
            hdr.h0.f1 = ((((bit<54>)(hdr.h2.f4)))[47:9])[37:32];
        }
    }
    table t64 {
        key = {
            sm.checksum_error : range @name("k0");
            hdr.h1.f0 : optional @name("k1");
            (111w0x1b773462f2ee6a4ca613899adc97 * ((bit<111>)(hdr.h0.f0))) : optional @name("k2");
        }
        actions = { act66; NoAction; }
        default_action = NoAction();
        counters = direct65;
    }
    apply {
        hdr.h1.f0 = hdr.u.b.f0;
        bit<6> x74 = (((2w0x2 ++ hdr.u.b.f0) % hdr.h2.f1) ^ (6w0x4 ^ lh61.f1));
        hdr.u.b.f1 = ((lh61.f2 |-| ((int<65>)(lh61.f3))) |+| (x58 ? ((int<65>)(hdr.h1.f1)) : hdr.u.b.f1));
        switch (t64.apply().action_run) {
            NoAction: {
                if ((!(((bit<33>)(128w0x7fffffffffffffffffffffffffffffff)) != (hdr.u.a.f2 % meta.rec.f2)))) {
                    bit<14> x75 = (hdr.h0.f3[13:0] |-| x59);
                }
                bool x76 = ((bool)(sm.checksum_error));
            }
            default: {
                hdr.u.b.pad = ((bit<3>)(3s1));
            }
        }
        hdr.h0.f1 = ((bit<6>)((((int<6>)(hdr.h2.f2)) + (((int<6>)(hdr.h2.f1)) + ((int<6>)(meta.m2))))));
        bool x77 = ((meta.rec.f1[17:10] |-| (((bit<14>)(hdr.u.b.pad)))[13:6]) == ((bit<8>)(lh61.pad)));
        hdr.h2.f1 = ((1w0x0 >> 8w18) ++ (5w0x1b % hdr.h2.pad));
        if (((bool)(sm.checksum_error))) {
            bit<33> x78 = lh61.f2[49:17];
        }
        lh61.f1 = (-((6w0x4 << ((bit<7>)(hdr.h2.pad))) ^ (6w0x1b |+| hdr.h0.f1)));
        if (((((bit<84>)(hdr.h0.f1)))[29:13] < meta.rec.f1[19:3])) { mark_to_drop(sm); }
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
