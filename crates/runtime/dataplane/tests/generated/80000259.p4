#include <core.p4>
#include <v1model.p4>
header h0_t {
    bit<3> f0;
    bit<1> f1;
    bit<4> pad;
}
header h1_t {
    bit<3> f0;
    bit<15> f1;
    bit<12> f2;
    bit<2> pad;
}
header v_t { bit<4> n; bit<4> k; varbit<64> data; bit<8> z; }
header_union u_t { h0_t a; h1_t b; }
struct rec_t {
    int<10> f0;
}
struct headers {
    h0_t h0;
    h1_t h1;
    v_t v;
    v_t w;
    u_t u;
}
struct metadata {
    bit<17> m0;
    bit<12> m1;
    bit<14> m2;
    rec_t rec;
    varbit<64> vb;
}
bit<14> fn1(inout bit<12> p2) {
    p2 = (((((bit<109>)(p2)))[37:26] / p2) / p2);
    p2 = ((!false) ? ((p2 >> ((bit<2>)(p2))) - (p2 | p2)) : (~(p2 >> 8w4)));
    return 14w0x2000;
}
parser Q3(packet_in packet, out h1_t h, in bit<12> p4) {
    bit<14> x5 = (((((bit<14>)(p4)) & ((bit<14>)(p4))) >> (5w0x0 >> 3w0x4)) >> 8w12);
    state start {
        packet.extract(h);
        bit<15> x6 = (p4[11:2] ++ (((bit<5>)(55w0x0)) * (((bit<81>)(p4)))[52:48]));
        h.f1 = (h.f1[14:0] ^ ((~((bit<15>)(h.pad))) ^ (x6 << 8w18)));
        transition select(h.f0) { 3w5: more; default: accept; }
    }
    state more {
        h.f0 = (x5[5:3] >> ((bit<6>)((((bit<128>)(h.pad)) + ((bit<128>)(p4))))));
        h.f0 = (((bit<52>)(x5)))[25:23];
        transition accept;
    }
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    Q3() p_Q3;
    bit<16> x7 = ((12w0x1 != 12w0x441) ? (16w0x7fff * ((bit<16>)(meta.m2))) : ((bit<16>)(sm.ingress_port)));
    value_set<bit<3>>(4) set8;
    value_set<bit<3>>(4) set9;
    state start { transition parse_h0; }
    state parse_h0 {
        packet.extract(hdr.h0);
        transition select(hdr.h0.f0) {
            set8: parse_v;
            default: parse_h1;
        }
    }
    state parse_h1 {
        p_Q3.apply(packet, hdr.h1, ((8w0x2 ++ hdr.h0.pad) & ((bit<12>)(((bit<70>)(meta.m0))))));
        transition select(hdr.h1.f0, hdr.h0.f0[2:0]) {
            (set8, set8): parse_u;
            (set8, set9): parse_u;
            (set8, _): parse_v;
            default: parse_v;
        }
    }
    state parse_v {
        bit<8> v_first = packet.lookahead<bit<8>>();
        packet.extract(hdr.v, (bit<32>)(v_first[7:4]) * 8);
        meta.m0 = (meta.m0[16:0] ^ meta.m0);
        meta.m2 = (x7[14:1] + ((((bit<117>)(meta.m2)) << 8w18))[25:12]);
        transition select(hdr.v.k) {
            4w1 .. 4w7: parse_u;
            4w0: reject;
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
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    bool x10 = (hdr.h1.f1 >= 15w0x5324);
    counter(6, CounterType.bytes) c11;
    counter(6, CounterType.packets) c12;
    register<bit<8>>(5) r13;
    action act14() {
        hdr.u.b.pad = ((bit<2>)((meta.m1[7:0] * (((bit<8>)(sm.ingress_port)) |+| ((bit<8>)(hdr.h1.f2))))));
        hdr.u.b.pad = (((bit<2>)(sm.packet_length)) & (((bit<2>)(sm.priority)) + (((bit<2>)(hdr.h0.f1)) >> 8w6)));
        hdr.u.a.f1 = (sm.packet_length[11:11] - hdr.h0.f1);
    }
    action act15() {
        hdr.h1.f1 = (hdr.u.b.f1[14:0] >> 8w3);
        hdr.u.a.f1 = (-hdr.h0.f1);
        meta.m1[6:2] = meta.rec.f0[6:2];
        varbit<64> vb16 = hdr.v.data;
        hdr.v.data = meta.vb;
        meta.vb = vb16;
    }
    direct_counter(CounterType.packets_and_bytes) direct18;
    action act19(bit<5> p20, bit<1> p21, bit<6> p22) {
        hdr.w = hdr.v;
        hdr.u.a.f0 = 3w0x1;
        meta.rec.f0 = (-10s11);
        bit<15> x23 = (((((bit<15>)(meta.m0)) >> 3w0x7) - hdr.h1.f1) >> ((bit<3>)(sm.ingress_port)));
    }
    action act24() {
        direct18.count();
        hdr.u.a.f0 = 3w0x5;
        bit<12> x25 = (((((bit<110>)(sm.priority)) >> 8w7))[73:62] >> 8w10);
    }
    table t17 {
        key = {
            ((((bit<51>)(hdr.h1.f0)) << ((bit<2>)(hdr.h1.pad))) & (((bit<86>)(sm.instance_type)))[62:12]) : optional @name("k0");
        }
        actions = { act19; act24; NoAction; }
        default_action = NoAction();
        counters = direct18;
    }
    action_selector(HashAlgorithm.crc32, 32w16, 32w8) profile28;
    action act29(bit<33> p30, bit<16> p31) {
        x10 = (!false);
        rec_t lr32 = { 10s1 };
        meta.m2[3:3] = ((~hdr.h0.f1) << (((bit<1>)(hdr.h0.pad)) |-| hdr.h0.f1));
    }
    action act33(bit<25> p34, bit<63> p35, bit<64> p36) {
        bit<14> x37 = fn1(meta.m1);
        hdr.u.b.f0 = ((bit<3>)((((int<3>)(hdr.h1.f0)) - ((int<3>)(hdr.h1.f0)))));
        hdr.u.a.setValid();
        hdr.u.b.f0 = (hdr.h0.f0 >> ((bit<1>)((x10 && x10))));
    }
    table t27 {
        key = {
            ((bit<3>)(hdr.u.a.pad)) : exact @name("k0");
            3w0x6 : exact @name("k1");
            ((-hdr.h0.f1) | (((bit<83>)(sm.ingress_port)))[63:63]) : lpm @name("k2");
            ((bit<8>)(hdr.h1.f1)) : selector @name("s0");
        }
        actions = { act29; act33; NoAction; }
        default_action = act29(33w0x6, 16w0xffff);
        implementation = profile28;
    }
    apply {
        sm.egress_spec = sm.ingress_port & 9w7;
        hdr.u.a.pad = hdr.h0.pad;
        if (x10) {
            meta.m2 = sm.instance_type[22:9];
        }
        hdr.h1.f2 = 12w0x0;
        meta.m0 = (meta.m0 | ((~((bit<17>)(hdr.u.a.f1))) & sm.packet_length[23:7]));
        hdr.u.b.f2 = (((bit<6>)(hdr.u.a.f1)) ++ (((bit<4>)(sm.checksum_error)) ++ hdr.u.b.pad));
        hdr.u.b.setValid();
        hdr.u.b.pad |+|= (((bit<2>)(((int<2>)(meta.rec.f0)))) |-| hdr.u.b.f0[1:0]);
        bit<24> x41 = (((((bit<24>)(sm.priority)) - ((bit<24>)(sm.ingress_port))) | (meta.m2 ++ ((bit<10>)(sm.instance_type)))) * (((bit<24>)(((bit<64>)(hdr.u.a.f0)))) |+| ((bit<24>)(sm.priority))));
        t27.apply();
        hdr.h0.f0 = meta.rec.f0[4:2];
        act14();
        hdr.h1.pad = (((((bool)(hdr.u.a.f1)) ? meta.m2 : meta.m2) <= (((bool)(hdr.u.a.f1)) ? meta.m2 : meta.m2)) ? (-(hdr.u.b.pad - hdr.h1.pad)) : ((((bit<2>)(meta.m1)) | hdr.u.b.pad) |+| hdr.h1.pad));
        hdr.h0.f1 = ((bit<1>)(sm.packet_length));
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    bool x42 = (((bit<12>)((true ? (-12s2047) : ((int<12>)(hdr.u.b.f2))))) >= ((~meta.m1) |+| (((bit<12>)(hdr.h1.pad)) << 4w0x7)));
    h0_t lh43;
    rec_t lr44 = { ((10s4 ^ meta.rec.f0) |+| (x42 ? meta.rec.f0 : (-10s32))) };
    counter(7, CounterType.packets_and_bytes) c45;
    action act46() {
        bit<14> x47 = fn1(hdr.h1.f2);
        hdr.h1.f0 = meta.m0[9:7];
    }
    direct_counter(CounterType.packets_and_bytes) direct49;
    direct_meter<bit<2>>(MeterType.packets) direct50;
    action act51(bit<127> p52, bit<34> p53) {
        direct49.count();
        bit<2> color54;
        direct50.read(color54);
        hdr.h1.f1[13:13] = ((((bit<8>)(sm.egress_rid)) < ((bit<8>)(meta.m2))) ? ((bit<1>)(x42)) : hdr.u.a.f1);
        c45.count((bit<32>)(hdr.h1.f1[7:5]));
        hdr.u.a.f0 = hdr.h0.f0;
    }
    action act55() {
        direct49.count();
        hdr.h0.pad = meta.rec.f0[7:4];
        meta.rec.f0 = ((lr44.f0 + (meta.rec.f0 - meta.rec.f0)) >> 8w19);
        hash(meta.m2, HashAlgorithm.crc16, 16w0xf, { meta.m2, ((bit<63>)(hdr.u.a.pad)), ((bit<7>)(lh43.pad)) }, sm.instance_type);
    }
    table t48 {
        key = {
            lh43.f1 : exact @name("k0");
            ((bit<1>)(lh43.pad)) : exact @name("k1");
        }
        actions = { act51; act55; NoAction; }
        default_action = NoAction();
        counters = direct49;
        meters = direct50;
    }
    apply {
        if ((meta.rec != lr44)) {
            lr44 = meta.rec;
        }
        else {
            bit<14> x57 = fn1(hdr.u.b.f2);
        }
        bit<15> x58 = (((73w0xffffffffffffffffff << 8w7) << 8w11))[66:52];
        lh43.setValid();
        meta.m2 |-|= (meta.m2 |+| (meta.m2 ^ 14w0xc));
        hdr.u.b.pad = sm.packet_length[25:24];
        bit<48> x59 = (((bit<48>)(((bit<128>)(x58)))) * ((bit<48>)(hdr.h1.f0)));
        for (bit<8> i60 = 0; i60 < 5; i60 = i60 + 1) {
            bit<14> x61 = fn1(hdr.h1.f2);
            lr44.f0 = ((meta.rec.f0 & lr44.f0) & meta.rec.f0);
            hdr.u.b.pad = hdr.h1.pad;
        }
    }
}
control C(inout headers hdr, inout metadata meta) {
    apply {
    }
}
control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.h0);
        packet.emit(hdr.v);
        packet.emit(hdr.w);
        packet.emit(hdr.u);
        packet.emit(hdr.h1);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
