#include <core.p4>
#include <v1model.p4>
#include <bits.p4>
#include <internet_checksum.p4>
match_kind { masked }
header h0_t {
    bit<8> f0;
    bit<1> f1;
    bit<8> f2;
    bit<7> pad;
}
header h1_t {
    bit<3> f0;
    bit<1> f1;
    bit<1> f2;
    bit<6> f3;
    bit<5> pad;
}
header h3_t {
    bit<8> f0;
    bit<1> f1;
    bit<6> f2;
    bit<48> f3;
    bit<1> pad;
}
struct headers {
    h0_t h0;
    h1_t h1;
    h1_t h2;
    h3_t h3;
}
struct metadata {
    bool m0;
    bit<8> m1;
    bit<48> m2;
    bool m3;
    bool[2] ar;
}
void take_h3_t(packet_in packet, out h3_t h) { packet.extract(h); }
parser Q1(packet_in packet, out h3_t h) {
    bit<48> x2 = (48w0x7fffffffffff + 48w0x7d839c37400a);
    state start {
        packet.extract(h);
        h.f2 = (((((bit<2>)(h.pad)) ++ 4w0x2) << (((bit<8>)(h.f2)) >> ((bit<7>)(h.f1)))) - ((((bool)(h.f1)) ? 6w0x1 : h.f2) |-| (((bit<6>)(h.f3)) << 8w2)));
        h.f1 = (((h.f1 ^ h.f1) >> h.f3[11:5]) |+| h.pad);
        transition select(h.f0) { 8w15: more; default: accept; }
    }
    state more {
        h.f0 = (h.f3[30:23] |+| (-h.f0));
        h.f1 = (false ? ((h.f1 ^ ((bit<1>)(h.pad))) << (((bit<7>)(h.f3)) + ((bit<7>)(h.f2)))) : (((bit<1>)(((bit<16>)(h.f1)))) |-| ((bit<1>)(h.f2))));
        transition accept;
    }
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    Q1() p_Q1;
    state start { transition parse_h0; }
    state parse_h0 {
        packet.extract(hdr.h0);
        transition select(hdr.h0.f0) {
            8w4 &&& 8w112: parse_h1;
            8w0: accept;
            default: parse_h1;
        }
    }
    state parse_h1 {
        packet.extract(hdr.h1);
        packet.advance(8);
        transition select(hdr.h1.f0) {
            3w3 &&& 3w3: reject;
            3w3: accept;
            default: parse_h2;
        }
    }
    state parse_h2 {
        packet.extract(hdr.h2);
        transition select(hdr.h2.f0) {
            default: parse_h3;
        }
    }
    state parse_h3 {
        p_Q1.apply(packet, hdr.h3);
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) {
    apply {
        verify_checksum((!false), { ((bit<11>)(hdr.h0.f2)), ((bit<16>)(hdr.h0.f2)), ((bit<128>)(hdr.h0.f2)), ((bit<15>)(hdr.h0.f2)) }, ((bit<16>)(hdr.h0.f1)), HashAlgorithm.csum16);
    }
}
control S3(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    bool x4 = ((meta.m1 <= hdr.h0.f0) || ((((bit<46>)(meta.m2)) << 8w17) < (((bit<46>)(hdr.h2.f2)) << 8w4)));
    counter(5, CounterType.packets_and_bytes) c5;
    counter(6, CounterType.bytes) c6;
    register<bit<8>>(8) r7;
    register<bit<6>>(5) r8;
    meter(6, MeterType.packets) meter9;
    apply {
        if ((((((bit<8>)(hdr.h1.f0)) % hdr.h0.f2) + hdr.h3.f0) < 8w0x1)) {
            hdr.h1.f3 = (((hdr.h2.f3 << 8w5) ^ (hdr.h2.f3 >> 8w8)) % hdr.h2.f3);
            hdr.h3.f3 = (((bit<48>)(hdr.h1.f3)) >> ((bit<7>)((((int<7>)(hdr.h0.pad)) |-| ((int<7>)(hdr.h0.pad))))));
        }
        else {
            meta.ar[1] = meta.m3;
            hdr.h1.f3 = sm.instance_type[28:23];
        }
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S3() I_S3;
    bit<48> x10 = (((bit<97>)(meta.m1)))[80:33];
    bool x11 = ((14s1076 - 14s0) <= (-14s128));
    bool x12 = (hdr.h3.isValid() == false);
    bit<12> x13 = sm.egress_rid[11:0];
    h0_t lh14;
    counter(8, CounterType.packets_and_bytes) c15;
    counter(6, CounterType.bytes) c16;
    register<bit<6>>(7) r17;
    register<bit<6>>(6) r18;
    meter(6, MeterType.bytes) meter19;
    action act20() {
        hdr.h2.f2 = ((hdr.h2.f2 |+| hdr.h1.f1) << (((bit<4>)(hdr.h1.pad)) >> sm.egress_rid[12:5]));
        hdr.h1.f0 = sm.priority;
        hdr.h1.setValid();
    }
    action act22(bit<7> p23, bit<26> p24, bit<65> p25) {
        hdr.h2.pad = (sm.instance_type[7:7] ++ ((bit<4>)(hdr.h2.f1)));
        hdr.h0.f2 = (((bit<8>)(p24)) << 8w15);
        bool x26 = (hdr.h3.f3[47:2] <= (meta.ar[0] ? (((bit<46>)(hdr.h2.f1)) + ((bit<46>)(hdr.h3.f2))) : ((bit<46>)(lh14.pad))));
        hdr.h2.f2 = (hdr.h2.f2 - (1w0x1 - (hdr.h2.f1 |-| hdr.h3.pad)));
    }
    action act27() {
        lh14.f0 = (((bit<88>)(hdr.h0.f0)))[74:67];
        hdr.h2.f0 = 3w0x1;
    }
    action act28(bit<15> p29, bit<5> p30, bit<19> p31) {
        hdr.h1.f1 = (hdr.h2.f2 % hdr.h2.f2);
        hdr.h0.f2 = meta.m1;
        x12 = meta.ar[0];
    }
    table t21 {
        key = {
            ((bit<123>)(hdr.h2.f2)) : ternary @name("k0");
            hdr.h1.f0 : exact @name("k1");
        }
        actions = { act22; act27; act28; NoAction; }
        default_action = NoAction();
    }
    apply {
        I_S3.apply(hdr, meta, sm);
        sm.egress_spec = ((9w0x1ff ^ ((bit<9>)(x10))) |+| (9w0x40 |-| ((bit<9>)(hdr.h1.f3)))) & 9w7;
        hdr.h0.f0[7:7] = 1w0x0;
        hash(lh14.f0, HashAlgorithm.crc16, 16w0x7fff, { ((bit<61>)(sm.checksum_error)), 56w0x1, lh14.f0 }, ((bit<32>)(x10)));
        if (meta.m0) {
            hdr.h2.f0 = population_count(((bit<3>)(lh14.pad)));
            if (hdr.h3.isValid()) {
                hdr.h1.f1 = population_count(((((bit<1>)(x13)) | hdr.h1.f2) - (hdr.h3.pad |+| hdr.h1.f1)));
                x11 = ((lh14 == hdr.h0) || ((1w0x0 == hdr.h1.f1) && false));
            }
            else {
                hdr.h1.f0 = (((((bit<63>)(lh14.f0)))[43:41] >> (((bit<2>)(sm.packet_length)) ++ sm.priority)) |-| population_count((hdr.h2.f0 & hdr.h2.f0)));
                meta.m1[7:6] = ((bit<2>)(x13));
            }
        }
        else {
            x11 = hdr.h0.isValid();
            t21.apply();
            meta.m3 = (!(((bit<67>)(62w0x3fffffffffffffff)) <= (((bit<53>)(lh14.f1)) ++ ((bit<14>)(hdr.h1.f0)))));
            hash(hdr.h1.f1, HashAlgorithm.csum16, 16w0x1000, { ((bit<46>)(lh14.f1)), ((bit<46>)(hdr.h3.f3)), hdr.h3.pad }, 32w0x800);
            lh14.pad = ((bit<7>)(((bit<120>)(sm.egress_rid))));
            hash(hdr.h1.f2, HashAlgorithm.csum16, 16w0xc251, { 1w0x1 }, sm.instance_type);
        }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S3() E_S3;
    bit<48> x36 = (((~meta.m2) * hdr.h3.f3) |-| (((bit<48>)(31w0x1000000)) - meta.m2));
    h0_t lh37;
    counter(5, CounterType.bytes) c38;
    counter(5, CounterType.bytes) c39;
    action act40(in bit<46> p41, in bit<46> p42) {
        meta.m0 = meta.ar[(sm.ingress_port[8:6] ^ ((bit<3>)(sm.instance_type)))];
        meta.ar[0] = (((meta.m0 || meta.m3) && (meta.ar[0] && false)) || (!(meta.m0 || ((bool)(hdr.h3.f1)))));
        hdr.h0.pad = (lh37.pad ^ (lh37.pad & (lh37.pad & lh37.pad)));
    }
    action act43(inout bool p44, out bool p45, inout int<2> p46) {
        lh37.f1 = ((population_count(1w0x1) - (lh37.f1 % hdr.h3.f1)) << 8w17);
        if ((((hdr.h0.f2 |-| ((bit<8>)(hdr.h1.pad))) - ((bit<8>)(hdr.h1.f3))) != ((hdr.h0.f2 * meta.m1) * (8w0xff * 8w0x0)))) {
            hdr.h1.f3 = population_count(((((bit<29>)(hdr.h0.f1)))[22:17] ^ (6w0x1b * hdr.h2.f3)));
        }
        else {
            hdr.h2.f1 = 1w0x0;
        }
    }
    action act48(bit<6> p49, bit<15> p50) {
        lh37.f2 = ((bit<8>)(lh37.pad));
        meta.m2[37:28] = (10w0x3ff - p50[10:1]);
    }
    table t47 {
        key = {
            (hdr.h0.f1 >> sm.packet_length[3:1]) : exact @name("k0");
            ((3w0x1 % hdr.h2.f0) |-| 3w0x6) : exact @name("k1");
            hdr.h3.f3[37:36] : exact @name("k2");
        }
        actions = { act48; NoAction; }
        default_action = NoAction();
    }
    action act54(bit<4> p55) {
        c39.count((bit<32>)((-(((bool)(hdr.h3.f1)) ? sm.priority : hdr.h2.f0))));
        hdr.h1.f1 = (((hdr.h3.pad | ((bit<1>)(hdr.h1.pad))) |-| (1w0x1 & hdr.h0.f1)) / hdr.h2.f1);
    }
    action act56(bit<6> p57, bit<110> p58) {
        hdr.h0.pad = ((bit<7>)(sm.ingress_port));
    }
    table t53 {
        key = {
            hdr.h3.f1 : optional @name("k0");
            ((bit<2>)(hdr.h2.f1)) : range @name("k1");
        }
        actions = { act54; act56; NoAction; }
        default_action = act56(6w0xe, 110w0x2bae4990d2c44a26820a0e52a692);
    }
    apply {
        E_S3.apply(hdr, meta, sm);
        bit<8> x63 = ((sm.packet_length[20:13] * ((bit<8>)(((bit<64>)(hdr.h1.pad))))) |+| ((8w0x80 + hdr.h0.f0) >> ((bit<2>)(sm.egress_rid))));
        hdr.h1.f0 = hdr.h1.f0[2:0];
        hdr.h3.f1 = ((bit<1>)((lh37.isValid() && (8w0x2 >= lh37.f0))));
        x36 = population_count((~(((bit<89>)(hdr.h3.f2)))[68:21]));
        if ((hdr.h0 != lh37)) {
            E_S3.apply(hdr, meta, sm);
            hdr.h3.f2 = 6w0x3f;
        }
        if ((((8w0x0 << hdr.h2.f1) == (((bit<25>)(hdr.h1.f1)))[9:2]) && ((hdr.h1 != hdr.h2) == (meta.m0 == meta.ar[1])))) {
            int<2> x64 = ((2s1 - 2s0) |-| ((6w0x20 <= hdr.h2.f3) ? (2s1 << 8w14) : 2s0));
            act43(meta.m3, meta.m3, x64);
        }
        else {
            bool x65 = (sm.instance_type[9:2] == ((lh37.f0 - 8w0x56) ^ (x63 >> lh37.f1)));
        }
        hdr.h0.pad = ((lh37.pad[6:1] / hdr.h2.f3) ++ (((bit<1>)(meta.m2)) % hdr.h1.f1));
        hdr.h0.f1 = ((~(1w0x1 << 8w12)) - 1w0x1);
        if (((-hdr.h2.f1) <= (hdr.h2.f2 |-| lh37.f1))) { mark_to_drop(sm); }
    }
}
control C(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum_with_payload((68w0x8357062cb7cb50a4c <= ((bit<68>)(hdr.h1.pad))), { 55w0x53e60657149de1 }, hdr.h3.f3, HashAlgorithm.csum16);
    }
}
control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.h0);
        packet.emit(hdr.h3);
        packet.emit(hdr.h2);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
