#include <core.p4>
#include <v1model.p4>
header h0_t {
    bit<3> f0;
    bit<76> f1;
    bit<1> pad;
}
header h1_t {
    bit<4> f0;
    bit<4> f1;
    bit<76> f2;
    bit<76> f3;
    bit<4> f4;
    bit<4> pad;
}
header h3_t {
    bit<8> f0;
    bit<13> f1;
    bit<3> pad;
}
struct rec_t {
    bit<4> f0;
    bit<12> f1;
    bit<4> f2;
}
struct headers {
    h0_t h0;
    h1_t h1;
    h1_t h2;
    h3_t h3;
}
struct metadata {
    @field_list(1, 2)
    bit<4> m0;
    bit<4> m1;
    bit<12> m2;
    rec_t rec;
    bit<76>[3] ar;
    @field_list(1)
    h3_t mh;
}
void take_h0_t(packet_in packet, out h0_t h) { packet.extract(h); }
void take_h1_t(packet_in packet, out h1_t h) { packet.extract(h); }
void take_h3_t(packet_in packet, out h3_t h) { packet.extract(h); }
void exchange(register<bit<76>> cells, in bit<8> at, inout bit<76> value) {
    bit<76> old;
    cells.read(old, (bit<32>) at);
    cells.write((bit<32>) at, value);
    value = old;
}
parser Q1(packet_in packet, out h3_t h) {
    bit<4> x2 = (((19w0x1)[16:5] < 12w0x800) ? ((4w0xf >> 8w16) |-| (3w0x4 ++ 1w0x0)) : 4w0x7);
    state start {
        packet.extract(h);
        h.pad = ((bit<3>)(((int<3>)(h.pad))));
        h.f0 = ((bit<8>)(48w0xa));
        transition select(h.f0) { 8w252: more; default: accept; }
    }
    state more {
        bit<4> x3 = (((x2 |+| x2) ^ x2) |-| ((bit<4>)(((int<4>)(x2)))));
        x2 = x2;
        transition accept;
    }
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    Q1() p_Q1;
    bit<48> x4 = (((bit<2>)(meta.ar[2])) ++ ((((bit<46>)(meta.ar[1])) ^ ((bit<46>)(meta.mh.f1))) |+| ((bit<46>)(meta.rec.f2))));
    value_set<bit<4>>(4) set5;
    value_set<bit<8>>(4) set6;
    state start { transition parse_h0; }
    state parse_h0 {
        take_h0_t(packet, hdr.h0);
        hdr.h0.f0 = (((bit<65>)(meta.m0)))[49:47];
        meta.mh.f0 = (((-((bit<40>)(meta.rec.f2))) & ((bit<40>)(x4))))[39:32];
        bit<12> x7 = (((bit<12>)(((bit<113>)(meta.mh.f1)))) << 8w3);
        transition select(hdr.h0.f0) {
            default: parse_h1;
        }
    }
    state parse_h1 {
        take_h1_t(packet, hdr.h1);
        bit<6> look8 = packet.lookahead<bit<6>>();
        meta.ar[1] = meta.ar[2][75:0];
        transition select(hdr.h1.f0, (false ? hdr.h1.pad : hdr.h1.f1)) {
            (_, set5): parse_h2;
            (set5, _): parse_h3;
            default: parse_h2;
        }
    }
    state parse_h2 {
        take_h1_t(packet, hdr.h2);
        meta.mh.pad = (((((bit<1>)(meta.m0)) % hdr.h0.pad) ^ (~hdr.h0.pad)) ++ ((bit<2>)(meta.ar[1])));
        transition select(hdr.h2.f0, (((bit<4>)(meta.ar[0])) << meta.mh.f0)) {
            (set5, 4w12 &&& 4w0): parse_h3;
            default: parse_h3;
        }
    }
    state parse_h3 {
        if ((hdr.h1.f2[15:4] <= meta.rec.f1)) {
            p_Q1.apply(packet, hdr.h3);
            meta.m1 = (4w0xf | (hdr.h1.f1[3:0] << hdr.h0.f0));
        }
        else {
            packet.extract(hdr.h3);
        }
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) {
    apply {
    }
}
control S9(inout headers hdr, inout metadata meta, inout standard_metadata_t sm, inout h3_t ph10) {
    bit<76> x11 = ((76w0x3cd1697f9b99e9b4323 ^ ((bit<76>)(((bit<5>)(meta.m0))))) >> (((bit<7>)(hdr.h1.f4)) ++ (((bit<1>)(hdr.h1.f2)) |+| 1w0x0)));
    bit<8> x12 = x11[49:42];
    bit<12> x13 = (((meta.rec.f1 |-| ((bit<12>)(hdr.h2.f1))) |+| sm.packet_length[26:15]) << ((~1w0x1) | (sm.checksum_error | hdr.h0.pad)));
    bit<4> x14 = (~(meta.rec.f0 & (hdr.h2.f1 + hdr.h1.f0)));
    counter(5, CounterType.bytes) c15;
    counter(4, CounterType.packets_and_bytes) c16;
    register<bit<12>>(8) r17;
    direct_counter(CounterType.packets_and_bytes) direct19;
    direct_meter<bit<2>>(MeterType.packets) direct20;
    action act21(bit<48> p22, bit<13> p23, bit<2> p24) {
        c15.count((bit<32>)(((hdr.h3.pad | ((bit<3>)(x14))) - (3w0x1 + ((bit<3>)(hdr.h2.f1))))));
        hdr.h2.pad = (((meta.rec.f0 / meta.m0) | (((bit<4>)(hdr.h2.f0)) |-| 4w0x2)) << (5w0x0 >> (p24 & 2w0x1)));
        if (false) { exit; }
    }
    action act25(bit<63> p26, bit<15> p27) {
        direct19.count();
        bit<2> color28;
        direct20.read(color28);
        hdr.h1.f4 = 4w0xc;
        meta.m1 = (hdr.h2.f0 & sm.instance_type[28:25]);
    }
    action act29(bit<5> p30, bit<4> p31) {
        direct19.count();
        bit<2> color32;
        direct20.read(color32);
        hdr.h3.pad = ((((bit<82>)(sm.checksum_error)) * (((bool)(sm.checksum_error)) ? ((bit<82>)(ph10.f0)) : ((bit<82>)(meta.mh.f0)))))[8:6];
    }
    table t18 {
        key = {
            ((((bit<2>)(meta.mh.f1)) - 2w0x1) ++ ((bit<1>)(((bit<7>)(hdr.h3.f1))))) : exact @name("k0");
            ((bit<7>)(meta.mh.pad)) : lpm @name("k1");
            hdr.h0.pad : exact @name("k2");
        }
        actions = { act21; act25; act29; NoAction; }
        default_action = NoAction();
        counters = direct19;
        meters = direct20;
    }
    apply {
        meta.ar[1] = meta.ar[((~(((bit<61>)(hdr.h2.f0)))[11:9]) ^ ((bit<3>)(sm.instance_type)))];
        hdr.h1.f4[3:3] = (sm.checksum_error[0:0] >> 8w18);
        meta.ar[1] = ((bit<76>)(ph10.f0));
        hdr.h1.f2 = ((bit<76>)(hdr.h1.f2));
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S9() I_S9;
    bit<12> x42 = (((bit<12>)((((int<12>)(meta.m2)) |+| (-12s16)))) << 8w1);
    bit<12> x43 = ((((bit<7>)(hdr.h1.f3)) ++ (((bit<5>)(hdr.h2.f0)) | ((bit<5>)(meta.m1)))) ^ ((((bool)(sm.checksum_error)) == true) ? (~((bit<12>)(meta.ar[1]))) : (((bit<12>)(hdr.h1.f0)) - 12w0xfb7)));
    bit<12> x44 = (((116w0xfffffffffffffffffffffffffffff |-| ((bit<116>)(hdr.h3.pad))))[17:6] | sm.packet_length[31:20]);
    counter(5, CounterType.packets_and_bytes) c45;
    counter(7, CounterType.packets_and_bytes) c46;
    register<bit<76>>(6) r47;
    meter(5, MeterType.bytes) meter48;
    action act49(inout bit<76> p50) {
        bit<12> x51 = ((bit<12>)(meta.m2));
    }
    direct_meter<bit<2>>(MeterType.bytes) direct53;
    action_selector(HashAlgorithm.identity, 32w16, 32w8) profile54;
    action act55(bit<8> p56, bit<10> p57, bit<57> p58) {
        bit<2> color59;
        direct53.read(color59);
        meta.mh.pad = (~(((bit<3>)(meta.ar[0])) | ((bit<3>)((-3s1)))));
    }
    action act60(bit<82> p61, bit<6> p62) {
        bit<2> color63;
        direct53.read(color63);
        meta.rec.f1 = (((((bit<4>)(hdr.h1.pad)) << 8w2) > (4w0x7 |-| hdr.h2.f4)) ? ((bit<12>)((~((bit<86>)(meta.m0))))) : meta.rec.f1);
        hdr.h2.f2 = ((((bit<78>)(sm.egress_rid)))[77:2] ^ (((bit<66>)(color63)) ++ (((bit<101>)(x43)))[64:55]));
    }
    table t52 {
        key = {
            3w0x7 : exact @name("k0");
            sm.checksum_error : exact @name("k1");
            meta.rec.f1 : selector @name("s0");
        }
        actions = { act55; act60; NoAction; }
        default_action = NoAction();
        meters = direct53;
        implementation = profile54;
    }
    action_selector(HashAlgorithm.identity, 32w16, 32w8) profile66;
    action act67() {
        meta.ar[1] = ((hdr.h2.f2[75:0] | (((bool)(sm.checksum_error)) ? meta.ar[2] : ((bit<76>)(hdr.h1.pad)))) << ((1w0x0 ++ 1w0x1) << 8w5));
        hdr.h1.f0 = (((((bool)(hdr.h0.pad)) || ((bool)(hdr.h0.pad))) == ((bool)(hdr.h0.pad))) ? meta.rec.f2 : ((48w0x3)[26:25] ++ (((bool)(sm.checksum_error)) ? ((bit<2>)(meta.ar[2])) : ((bit<2>)(x42)))));
        meta.mh.f0 = 8w0x0;
        sm.priority = ((hdr.h3.isValid() ? (meta.mh.pad |+| ((bit<3>)(hdr.h3.pad))) : (meta.mh.pad << 8w1)) / hdr.h0.f0);
    }
    table t65 {
        key = {
            2w0x2 : range @name("k0");
            ((bit<2>)(sm.packet_length)) : range @name("k1");
            (((bool)(hdr.h0.pad)) ? 31w0x1 : (31w0x3fffffff >> 8w17)) : range @name("k2");
            48w0xe12c867c826 : selector @name("s0");
        }
        actions = { act67; NoAction; }
        default_action = NoAction();
        implementation = profile66;
    }
    apply {
        I_S9.apply(hdr, meta, sm, hdr.h3);
        sm.egress_spec = ((sm.ingress_port << ((bit<2>)(hdr.h3.f1))) << 8w18) & 9w7;
        bit<122> x70 = ((bit<122>)(sm.packet_length));
        x42 -= (-(12w0x7ff + x42));
        hdr.h2.pad = sm.packet_length[30:27];
        meta.ar = { 76w0x1000000000000000000, (false ? hdr.h2.f2 : 76w0x8), ((bit<76>)(((bit<11>)(meta.rec.f1)))) };
        x42 = 12w0xd;
        hash(hdr.h1.pad, HashAlgorithm.xor16, 16w0xa46a, { 12w0x2, meta.rec.f2, 127w0x6242238ef5e5a1f12dad13944e96ceba, hdr.h2.f0 }, sm.instance_type);
        meta.ar[(sm.priority ^ ((bit<3>)(sm.instance_type)))] = (meta.ar[1] & (~hdr.h2.f2));
        act49(meta.ar[1]);
        hash(meta.mh.f0, HashAlgorithm.xor16, 16w0x4000, { x42 }, ((bit<32>)(hdr.h2.f0)));
        t52.apply();
        if (hdr.h3.isValid()) { truncate((bit<32>)(((6w0x28 |-| ((bit<6>)(sm.packet_length))) - (((bit<6>)(hdr.h2.f4)) >> meta.mh.f0)))); }
        hash(hdr.h2.f3, HashAlgorithm.identity, 16w0x27b8, { hdr.h1.pad, hdr.h1.f0 }, sm.instance_type);
        t65.apply();
        x70 = ((((bit<122>)(meta.mh.f0)) / x70) >> 8w9);
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S9() E_S9;
    bit<12> x71 = meta.m2;
    h1_t lh72;
    rec_t lr73 = { hdr.h1.f4[3:0], meta.rec.f1, (((bit<4>)((-4s6))) ^ (lh72.f0 |+| 4w0x4)) };
    counter(8, CounterType.packets) c74;
    register<bit<76>>(7) r75;
    register<bit<76>>(7) r76;
    meter(7, MeterType.bytes) meter77;
    direct_counter(CounterType.packets_and_bytes) direct79;
    direct_meter<bit<2>>(MeterType.packets) direct80;
    action act81(bit<16> p82) {
        direct79.count();
        bit<2> color83;
        direct80.read(color83);
        meta.mh.f1 = meta.mh.f1;
        hdr.h0.f0 = meta.mh.f1[8:6];
        meta.mh.pad = ((bit<3>)(hdr.h3.f0));
        meta.ar[1] = hdr.h0.f1[75:0];
    }
    action act84() {
        direct79.count();
        for (bit<76> i85 in (list<bit<76>>){ hdr.h2.f3[75:0], ((bit<76>)(((bit<40>)(lh72.f1)))) }) {
            meta.m1 = (hdr.h2.pad & ((4w0x0 |-| ((bit<4>)(lh72.f3))) | (-meta.m1)));
            lh72.f2 |= ((((bool)(sm.checksum_error)) ? 76w0xc : 76w0x0) ^ (hdr.h2.f2 << 8w14));
            if (((((bool)(hdr.h0.pad)) && true) && hdr.h3.isValid())) { break; }
            bit<4> x86 = meta.rec.f2;
        }
    }
    table t78 {
        key = {
            hdr.h0.pad : exact @name("k0");
            ((bit<2>)(meta.ar[0])) : exact @name("k1");
            1w0x0 : exact @name("k2");
        }
        actions = { act81; act84; NoAction; }
        default_action = NoAction();
        counters = direct79;
        meters = direct80;
    }
    action act89() {
        lr73.f1 = hdr.h1.f2[20:9];
        x71 = (((((bit<12>)(sm.priority)) + lr73.f1) / x71) |-| ((((bit<24>)(hdr.h3.f0)) ++ ((bit<49>)(sm.packet_length))))[52:41]);
        x71 = (((12w0xaa % meta.m2) / lr73.f1) & meta.m2);
        hdr.h2.f1 = hdr.h0.f1[63:60];
    }
    action act90() {
        meta.m1 &= ((meta.rec.f0 & hdr.h2.f4) + meta.mh.f1[11:8]);
        hdr.h3.pad = hdr.h0.f0;
    }
    table t88 {
        key = {
            hdr.h3.pad : exact @name("k0");
        }
        actions = { act89; act90; NoAction; }
        default_action = NoAction();
    }
    apply {
        E_S9.apply(hdr, meta, sm, hdr.h3);
        hdr.h1.f0 = (((meta.m1 & hdr.h1.pad) / hdr.h1.f1) % meta.m1);
        for (bit<8> i95 = 0; i95 < 1; i95 = i95 + 1) {
            c74.count((bit<32>)((((bit<3>)(lh72.f4)) * (~hdr.h0.f0))));
            bit<4> x96 = (((meta.m2 | meta.rec.f1) == ((bit<12>)(((bit<71>)(hdr.h3.f0))))) ? 4w0x7 : ((((bit<4>)(hdr.h1.f0)) & lr73.f0) | lh72.f1[3:0]));
            if ((((((bool)(sm.checksum_error)) ? ((bit<31>)(sm.packet_length)) : ((bit<31>)(sm.priority))) |-| 31w0x3fffffff) > hdr.h1.f3[45:15])) {
                hdr.h0.f1 = meta.ar[2];
                lr73.f2 = hdr.h1.f1;
            }
            else {
                hdr.h2.f4 = ((((bit<12>)(meta.m0)) == (lr73.f1 - meta.rec.f1)) ? (sm.egress_rid[15:12] ^ (meta.rec.f0 ^ lh72.f4)) : 4w0x7);
            }
            if (lh72.isValid()) { break; }
            lr73 = { f0 = ((bit<4>)(hdr.h1.f3)), f1 = x71, f2 = (lr73.f0 << 4w0x7) };
        }
    }
}
control C(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum((((bit<16>)(hdr.h2.f4)) <= ((bit<16>)(hdr.h0.f0))), { ((bit<6>)(hdr.h1.f1)) }, hdr.h1.f3, HashAlgorithm.xor16);
    }
}
control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.h0);
        packet.emit(hdr.h1);
        packet.emit(hdr.h3);
        packet.emit(hdr.h2);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
