#include <core.p4>
#include <v1model.p4>
header h0_t {
    bit<8> f0;
    bit<1> f1;
    bit<1> f2;
    bit<48> f3;
    bit<102> f4;
    bit<1> f5;
    bit<7> pad;
}
header h1_t {
    bit<4> f0;
    bit<102> f1;
    int<2> f2;
    int<2> f3;
    bit<102> f4;
    bit<4> pad;
}
struct headers {
    h0_t h0;
    h1_t h1;
    h1_t h2;
    h1_t h3;
}
struct metadata {
    @field_list(2)
    bool m0;
    @field_list(1, 2)
    int<9> m1;
    @field_list(2)
    bit<48> m2;
    @field_list(2)
    bit<7> m3;
    @field_list(1)
    int<2> m4;
    bit<7> m5;
    @field_list(2)
    bit<102>[4] ar;
    @field_list(2)
    h1_t mh;
}
void take_h1_t(packet_in packet, out h1_t h) { packet.extract(h); }
bit<9> plus(int k, in bit<9> x) { return (x + k) ^ (k >> 1); }
void exchange(register<int<2>> cells, in bit<8> at, inout int<2> value) {
    int<2> old;
    cells.read(old, (bit<32>) at);
    cells.write((bit<32>) at, value);
    value = old;
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    bool x1 = true;
    value_set<bit<4>>(4) set2;
    state start { transition parse_h0; }
    state parse_h0 {
        packet.extract(hdr.h0);
        verify((meta.m1[7:1] < (meta.m5 % hdr.h0.pad)), error.NoMatch);
        transition select(hdr.h0.f0) {
            8w255: parse_h3;
            8w16: parse_h2;
            default: parse_h1;
        }
    }
    state parse_h1 {
        take_h1_t(packet, hdr.h1);
        hdr.h1.f4 = ((bit<102>)(meta.mh.pad));
        if (meta.m0) {
            x1 = (((meta.m0 ? ((bit<121>)(hdr.h0.f5)) : ((bit<121>)(sm.ingress_port))))[117:16] >= (meta.ar[2] * (((bit<102>)(meta.mh.pad)) / meta.ar[3])));
        }
        hdr.h0.f2 = (meta.mh.f0[0:0] << 8w15);
        transition select(hdr.h1.f0, sm.ingress_port[4:1]) {
            (set2, _): parse_h3;
            default: parse_h2;
        }
    }
    state parse_h2 {
        take_h1_t(packet, hdr.h2);
        bit<19> look3 = packet.lookahead<bit<19>>();
        hdr.h2.f0 = meta.mh.f0;
        transition select(hdr.h2.f0, (meta.mh.f0 >> 8w8)) {
            (set2, _): parse_h3;
            default: parse_h3;
        }
    }
    state parse_h3 {
        take_h1_t(packet, hdr.h3);
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) {
    apply {
    }
}
control S4(inout standard_metadata_t sm, inout h0_t ph5, in int<64> p6, out bit<48> p7, in bool p8) {
    int<16> x9 = ((((int<16>)(p6)) & ((-16s5293) - (-16s26570))) - (((int<16>)(sm.egress_rid)) << 8w10));
    bit<102> x10 = (((((bit<11>)(ph5.f0)) << ((bit<5>)(sm.checksum_error))) ++ (91w0xae3650c90f336ad7d9e69a ^ 91w0x4a22aa7476755c8155657b2)) - ((bit<102>)(ph5.f1)));
    bit<102> x11 = (((bit<78>)(x10)) ++ 24w0xc);
    h1_t lh12;
    register<int<2>>(4) r13;
    register<int<8>>(4) r14;
    action_selector(HashAlgorithm.crc32, 32w16, 32w8) profile16;
    action act17() {
        for (bit<8> i18 in 8w1 .. (bit<8>)((((bool)(ph5.f5)) ? ((bit<2>)(lh12.f0)) : ((bit<2>)(ph5.f0))))) {
            ph5.f1 = (((p8 || ((bool)(sm.checksum_error))) ? (((bit<88>)(lh12.f4)))[10:10] : (~1w0x0)) - (ph5.f2 << 8w0));
            lh12.f3 = ((2s0 << ph5.f1) & lh12.f3);
        }
    }
    action act19() {
        ph5.f1 = (-ph5.f1);
        x9 = (((-16s1) ^ (p8 ? (-16s1) : 16s13356)) << 8w7);
        int<2> x20 = ((-2s1) |+| lh12.f3);
    }
    table t15 {
        key = {
            ((ph5.f1 >> 8w3) |+| (ph5.f1 & sm.checksum_error)) : exact @name("k0");
            4w0x0 : lpm @name("k1");
            lh12.pad : exact @name("k2");
            ph5.pad : selector @name("s0");
        }
        actions = { act17; act19; NoAction; }
        default_action = NoAction();
        implementation = profile16;
    }
    apply {
        t15.apply();
        ph5.f5 = (ph5.f5 ^ ((bit<1>)(ph5.f0[6:0])));
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S4() I_S4;
    int<2> x29 = (-hdr.h1.f3);
    bool x30 = hdr.h0.isValid();
    h1_t lh31;
    counter(4, CounterType.packets) c32;
    register<int<2>>(5) r33;
    meter(4, MeterType.bytes) meter34;
    action act35(inout int<2> p36) {
        hdr.h0.f4 = ((meta.m0 ? (meta.m0 ? meta.ar[3] : 102w0x1fffffffffffffffffffffffff) : (meta.ar[2] >> 8w0xff)) |+| ((meta.mh.f4 ^ meta.ar[2]) / meta.mh.f1));
        hdr.h0.f3[47:11] = ((bit<37>)(meta.ar[0]));
        hdr.h0.pad = (((bit<50>)((((bool)(hdr.h0.f5)) ? hdr.h0.pad : meta.m3))))[21:15];
    }
    action act37(in bit<7> p38, in bool p39) {
        hdr.h1.f4 = ((bit<102>)(hdr.h1.f4));
        hdr.h0.f0 = (meta.mh.f4[83:76] + ((((bit<96>)(sm.instance_type)))[73:66] | (~hdr.h0.f0)));
        hdr.h2.f2 = meta.m4;
        hdr.h0.f2 = hdr.h3.f4[51:51];
    }
    direct_counter(CounterType.packets_and_bytes) direct41;
    action act42(bit<11> p43) {
        direct41.count();
        hdr.h0.f3 = ((false ? (((bit<83>)(hdr.h1.f4)))[73:26] : ((bit<48>)(((bit<33>)(hdr.h1.f1))))) % meta.m2);
        c32.count((bit<32>)(hdr.h3.f4[69:67]));
        meta.ar[0] = ((bit<102>)(lh31.f1));
    }
    action act44(bit<16> p45, bit<65> p46, bit<1> p47) {
        direct41.count();
        hdr.h0.f2 = ((bit<1>)(sm.instance_type));
    }
    table t40 {
        key = {
            ((bit<2>)(meta.mh.f0)) : ternary @name("k0");
            10w0x9 : range @name("k1");
        }
        actions = { act42; act44; NoAction; }
        default_action = NoAction();
        counters = direct41;
    }
    direct_counter(CounterType.packets_and_bytes) direct51;
    direct_meter<bit<2>>(MeterType.packets) direct52;
    action_profile(32w16) profile53;
    action act54(bit<8> p55, bit<8> p56) {
        bit<2> color57;
        direct52.read(color57);
        hdr.h2.f4 = ((bit<102>)(hdr.h3.f1[20:14]));
    }
    action act58(bit<7> p59, bit<6> p60, bit<1> p61) {
        direct51.count();
        bit<2> color62;
        direct52.read(color62);
        lh31.f4 = (((!x30) ? (((bit<123>)(meta.mh.f1)))[121:2] : ((bit<120>)(lh31.f4))))[106:5];
        meta.m0 = ((((bit<101>)(hdr.h0.f5)))[49:42] < ((hdr.h0.f0 / hdr.h0.f0) % hdr.h0.f0));
        meta.ar[3] = hdr.h1.f1;
    }
    table t50 {
        key = {
            hdr.h0.f2 : exact @name("k0");
            2w0x1 : exact @name("k1");
        }
        actions = { act54; act58; NoAction; }
        default_action = NoAction();
        counters = direct51;
        meters = direct52;
        implementation = profile53;
    }
    direct_counter(CounterType.packets_and_bytes) direct65;
    action act66() {
        direct65.count();
        meta.mh.pad ^= hdr.h1.pad;
        hdr.h1.f4 = meta.ar[(hdr.h0.f3[43:41] ^ ((bit<3>)(sm.instance_type)))];
    }
    action act67(bit<14> p68, bit<48> p69, bit<1> p70) {
        direct65.count();
        if ((x30 == (!(hdr.h0.f0 != 8w0xff)))) {
            meta.m1 = (meta.m1 |+| ((int<9>)(((int<33>)(hdr.h3.f2)))));
        }
        hash(hdr.h0.f5, HashAlgorithm.crc16, 16w0x0, { ((bit<48>)(lh31.f4)), hdr.h0.f3, ((bit<1>)(meta.m5)), sm.checksum_error }, 32w0x20);
    }
    table t64 {
        key = {
            ((bit<12>)(hdr.h0.f1)) : optional @name("k0");
            ((bit<99>)(meta.ar[1])) : ternary @name("k1");
            3w0x5 : range @name("k2");
        }
        actions = { act66; act67; NoAction; }
        default_action = NoAction();
        counters = direct65;
        const entries = {
            (12w0x200, 99w0x0 &&& 99w0x3ffffffffffffffffffffffff, 3w0x1 .. 3w0x7) : act66();
            (12w0x2, 99w0x0 &&& 99w0x1, 3w0x0 .. 3w0x5) : act66();
        }
    }
    apply {
        I_S4.apply(sm, hdr.h0, ((int<64>)((((bit<64>)(lh31.f4)) ^ 64w0x96ccbd54723f2cb3))), hdr.h0.f3, x30);
        sm.egress_spec = (((bool)(hdr.h0.f1)) ? (sm.ingress_port ^ ((bit<9>)(meta.mh.f1))) : (sm.ingress_port << 1w0x1)) & 9w7;
        meta.mh.pad = ((bit<4>)(((int<4>)(meta.m1))));
        for (bit<8> i71 = 0; i71 < 4; i71 = i71 + 1) {
            meta.m3 = (((((bit<7>)(hdr.h2.pad)) | meta.m5) >> 8w7) << 8w17);
            hash(hdr.h3.pad, HashAlgorithm.csum16, 16w0x7fff, { sm.ingress_port }, sm.packet_length);
            hdr.h0.f5 = 1w0x0;
            if (sm.instance_type == 0 && ((bool)(hdr.h0.f1))) { resubmit_preserving_field_list(1); }
            if (sm.instance_type == 0 && (!(true && x30))) { resubmit_preserving_field_list(3); }
            hdr.h1.pad = meta.mh.f4[52:49];
        }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S4() E_S4;
    bit<102> x72 = hdr.h2.f4[101:0];
    bit<127> x73 = ((bit<127>)(hdr.h0.pad));
    int<2> x74 = hdr.h1.f2;
    h0_t lh75;
    register<int<2>>(6) r76;
    register<bit<102>>(6) r77;
    action act78() {
        r76.write((bit<32>)(3w0x1), hdr.h2.f3);
        hdr.h3.f4 = (((bit<102>)(lh75.f2)) >> (meta.m0 ? (7w0x1 >> hdr.h0.f5) : (meta.m0 ? 7w0x20 : ((bit<7>)(sm.packet_length)))));
        hdr.h0.f4 = hdr.h1.f1[101:0];
        meta.m0 = (((meta.m0 ? ((bit<8>)(sm.checksum_error)) : hdr.h0.f0) < (-lh75.f0)) == (meta.m0 == (hdr.h1.f4 < ((bit<102>)(hdr.h0.f1)))));
    }
    action act79(in bool p80, in bit<48> p81, inout bit<102> p82) {
        bool x83 = hdr.h0.isValid();
        hdr.h1.f0 = (((bit<4>)(hdr.h0.f4)) / hdr.h1.f0);
    }
    direct_meter<bit<2>>(MeterType.bytes) direct85;
    action act86(bit<31> p87) {
        meta.m2[16:3] = ((18w0x3ffff & ((bit<18>)(meta.m3))))[15:2];
    }
    action act88(bit<16> p89, bit<10> p90, bit<65> p91) {
        bit<2> color92;
        direct85.read(color92);
        meta.mh.setValid();
        meta.mh.pad = ((1w0x1 |+| 1w0x1) ++ ((sm.priority / sm.priority) << 8w8));
    }
    table t84 {
        key = {
            (hdr.h2.f0[2:0] |-| (sm.priority |-| sm.priority)) : exact @name("k0");
            hdr.h1.pad : exact @name("k1");
        }
        actions = { act86; act88; NoAction; }
        default_action = act88(16w0x10c5, 10w0x1, 65w0x0);
        meters = direct85;
    }
    apply {
        E_S4.apply(sm, lh75, (64s4611686018427387903 |-| ((-64s9223372036854775807) << 8w8)), hdr.h0.f3, ((lh75.f0 < ((bit<8>)(hdr.h0.f5))) && (lh75 != hdr.h0)));
        lh75.f0 = (((((bit<8>)(meta.mh.f0)) ^ hdr.h0.f0) << 8w0) ^ ((bit<8>)(((int<8>)(hdr.h0.f0)))));
        meta.m4 = ((int<2>)(hdr.h2.f2));
        lh75.f4 = meta.ar[(((-3w0x1) << (((bool)(lh75.f1)) ? ((bit<2>)(hdr.h1.f4)) : ((bit<2>)(sm.checksum_error)))) ^ ((bit<3>)(sm.instance_type)))];
        if (((((bit<39>)(meta.ar[0])) ++ (meta.m0 ? ((bit<63>)(sm.egress_rid)) : ((bit<63>)(meta.mh.pad)))) != hdr.h2.f1)) {
            meta.m1 = (-((9s0 << 1w0x1) & (true ? ((int<9>)(meta.mh.f3)) : meta.m1)));
        }
        for (bit<33> i97 in (list<bit<33>>){ hdr.h2.f1[97:65], (((bit<33>)(hdr.h2.f0)) | 33w0x8acb3684), (33w0x1ffffffff |+| ((bit<33>)(hdr.h2.f0))) }) {
            lh75.f3 = 48w0x0;
            meta.m5 = (meta.m3 * ((meta.m5 % meta.m5) |-| (meta.m5 - lh75.pad)));
            lh75.f3 = meta.m2;
            hdr.h2.f4 = hdr.h1.f1;
            if ((!true)) { break; }
            meta.m0 = (i97[30:23] >= lh75.f0);
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
