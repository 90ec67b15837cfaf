#include <core.p4>
#include <v1model.p4>
header h0_t {
    bit<4> f0;
    bit<127> f1;
    bit<5> pad;
}
header h1_t {
    bit<8> f0;
    bit<1> f1;
    bit<7> pad;
}
header s_t {
    bit<1> more;
    bit<7> x;
    bit<32> y;
}
header v_t { bit<4> n; bit<4> k; varbit<64> data; bit<8> z; }
struct headers {
    h0_t h0;
    h1_t h1;
    h1_t h2;
    s_t[4] s;
    v_t v;
    v_t w;
}
struct metadata {
    bit<9> m0;
    bool m1;
    bit<13> m2;
    bit<9> m3;
}
int<79> fn1(inout bit<63> p2, inout bit<9> p3) {
    p2 = ((((bit<40>)(40s274877906943)) ++ (((bit<23>)(p3)) >> ((bit<8>)(p2)))) >> ((((bit<3>)(p2)) ^ ((bit<3>)(p2))) & (((bit<3>)(p3)) >> ((bit<2>)(p2)))));
    p3 = p3;
    p3 = p2[25:17];
    p3 = ((false ? (((bit<2>)(p3)) ^ ((bit<2>)(p2))) : (false ? 2w0x3 : 2w0x3)) ++ ((bit<7>)(p3)));
    return (~(~79s281466069179967202847810));
}
int<7> fn4(inout bit<127> p5, in bit<48> p6) {
    p5 = p5;
    p5 = ((p5 * p5) >> ((!true) ? (7w0x47 - ((bit<7>)(p5))) : (((bit<7>)(p6)) ^ 7w0x6a)));
    p5 |+|= (~p5);
    return ((int<7>)(p6[13:7]));
}
parser Q7(packet_in packet, out h1_t h, inout int<79> p8, out bit<8> p9) {
    bit<9> x10 = p8[75:67];
    state start {
        packet.extract(h);
        h.f0 = ((((bit<122>)(((bit<15>)(p9)))))[61:54] |-| ((((bool)(h.f1)) ? h.f0 : 8w0x1) << 8w0));
        h.pad = (((false && ((bool)(h.f1))) || (((bool)(h.f1)) || ((bool)(h.f1)))) ? (((bit<7>)(h.f1)) >> 8w10) : ((((bool)(h.f1)) ? 7w0x7c : 7w0x3f) << (((bit<4>)(h.f1)) * ((bit<4>)(h.pad)))));
        transition select(h.f0) { 8w239: more; default: accept; }
    }
    state more {
        h.pad = (((2w0x1 ++ ((bit<5>)(h.f0))) + (h.pad & h.pad)) << p8[1:1]);
        p9 = ((bit<8>)(((9w0x7 |+| x10) * (9w0xd * x10))));
        verify((((bool)(h.f1)) && ((bool)(h.f1))), error.NoMatch);
        transition accept;
    }
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    Q7() p_Q7;
    state start { transition parse_h0; }
    state parse_h0 {
        packet.extract(hdr.h0);
        transition select(hdr.h0.f0) {
            default: parse_s;
        }
    }
    state parse_s {
        packet.extract(hdr.s.next);
        transition select(hdr.s.last.more) {
            1w1: parse_s;
        }
    }
    state parse_h1 {
        int<79> x11 = (~((-79s17179869184) >> hdr.h0.f0));
        bit<8> x12 = (((((bit<8>)(sm.ingress_port)) >> 8w10) * (((bit<82>)(hdr.h0.f0)))[80:73]) * meta.m2[7:0]);
        p_Q7.apply(packet, hdr.h1, x11, x12);
        transition select(hdr.h1.f0) {
            8w58: parse_h2;
            default: parse_h2;
        }
    }
    state parse_h2 {
        int<79> x13 = ((79s0 |-| (79s1 + 79s1180591620717411303424)) << (((bit<1>)(hdr.h0.pad)) % hdr.h1.f1));
        p_Q7.apply(packet, hdr.h2, x13, hdr.h1.f0);
        transition select(hdr.h2.f0) {
            default: parse_v;
        }
    }
    state parse_v {
        bit<8> v_first = packet.lookahead<bit<8>>();
        packet.extract(hdr.v, (bit<32>)(v_first[7:4]) * 8);
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) {
    apply {
        verify_checksum((false == false), { ((bit<70>)(hdr.h0.f0)) }, ((bit<16>)(hdr.h0.pad)), HashAlgorithm.xor16);
    }
}
control S14(inout headers hdr, inout metadata meta, inout standard_metadata_t sm, inout h0_t ph15) {
    bit<127> x16 = ((bit<127>)(meta.m3));
    bit<127> x17 = ((false == meta.m1) ? ((ph15.f1 * ph15.f1) ^ (ph15.f1 |-| ph15.f1)) : hdr.h0.f1[126:0]);
    bit<9> x18 = (((meta.m1 ? sm.ingress_port : 9w0x178) | (true ? meta.m3 : meta.m0)) / meta.m0);
    h1_t lh19;
    counter(8, CounterType.bytes) c20;
    counter(4, CounterType.packets) c21;
    action act22(in bit<127> p23, inout int<7> p24, inout bit<32> p25) {
        hdr.s[2].setInvalid();
        hdr.w = hdr.v;
    }
    apply {
        if (hdr.h2.isValid()) {
            hdr.w = hdr.v;
            hdr.v.setValid();
        }
        hdr.h1.f1 = 1w0x0;
        lh19.pad = hdr.h1.pad;
        hdr.h2.f1 = hdr.h2.f0[6:6];
    }
}
control S26(inout headers hdr, inout metadata meta, inout standard_metadata_t sm, inout h1_t ph27, inout bool p28, inout bit<127> p29) {
    bit<6> x30 = (((hdr.h0.pad << 8w0) / hdr.h0.pad) ++ (hdr.h0.f1[104:54])[23:23]);
    h1_t lh31;
    counter(5, CounterType.bytes) c32;
    counter(4, CounterType.packets) c33;
    register<bit<9>>(7) r34;
    register<int<79>>(8) r35;
    direct_counter(CounterType.packets_and_bytes) direct37;
    action act38() {
        direct37.count();
        if ((!meta.m1)) {
            hdr.h2.f1 = hdr.h0.f1[31:31];
        }
        else {
            hdr.h2.f1 = ((-sm.checksum_error) << 8w2);
        }
    }
    action act39(bit<31> p40, bit<8> p41, bit<9> p42) {
        direct37.count();
        hdr.h2.setInvalid();
        c33.count((bit<32>)((p42[1:0] ++ (hdr.h2.f1 - hdr.h1.f1))));
        hdr.h0.f1 = ((bit<127>)(((bit<124>)(((bit<55>)(lh31.f0))))));
    }
    action act43(bit<6> p44, bit<98> p45, bit<65> p46) {
        direct37.count();
        hdr.h1.setInvalid();
    }
    table t36 {
        key = {
            2w0x3 : lpm @name("k0");
        }
        actions = { act38; act39; act43; NoAction; }
        default_action = NoAction();
        counters = direct37;
        const entries = {
            (2w0x0 &&& 2w0x0) : NoAction();
            (2w0x2 &&& 2w0x2) : act38();
            (2w0x1 &&& 2w0x3) : act43(6w0x4, 98w0x1ffffffffffffffffffffffff, 65w0xc7aef2e43efc63c0);
            (2w0x0 &&& 2w0x2) : act38();
        }
    }
    apply {
        if ((((((bit<9>)(hdr.h1.f0)) |+| meta.m0) <= ((bit<9>)(hdr.h2.f0))) || ((((bit<123>)(lh31.f0)))[97:90] >= (ph27.f0 / ph27.f0)))) {
            hdr.h0.f0 = ((-(((bit<2>)(hdr.h1.f1)) | ((bit<2>)(lh31.pad)))) ++ (((bit<2>)(((bit<64>)(sm.priority)))) | (2w0x0 << 8w6)));
        }
        hdr.v = hdr.w;
        lh31.setValid();
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S14() I_S14;
    S26() I_S26;
    bit<9> x47 = ((meta.m3 |+| (meta.m3 * ((bit<9>)(hdr.h2.pad)))) - 9w0xa);
    counter(6, CounterType.packets) c48;
    register<bit<9>>(4) r49;
    direct_counter(CounterType.packets_and_bytes) direct51;
    action act52(bit<3> p53) {
        meta.m0[6:0] = ((bit<7>)((((bit<3>)(p53)) ++ hdr.h1.pad)));
        meta.m2 = ((sm.instance_type[25:13] * (meta.m2 << ((bit<6>)(sm.checksum_error)))) * ((bit<13>)(hdr.h1.f1)));
        int<7> x54 = fn4(hdr.h0.f1, ((bit<48>)(sm.priority)));
        bit<9> x55 = (((9w0x7 + sm.ingress_port) + ((bit<9>)(((bit<19>)(sm.instance_type))))) |+| ((bit<9>)(hdr.h0.f1[76:14])));
    }
    action act56(bit<33> p57, bit<1> p58, bit<39> p59) {
        direct51.count();
        hash(hdr.h1.f1, HashAlgorithm.crc16, 16w0xbe32, { sm.egress_rid }, sm.instance_type);
        hash(hdr.h2.pad, HashAlgorithm.xor16, 16w0x3, { 1w0x0, ((bit<7>)(hdr.h2.f0)) }, 32w0x1000);
    }
    action act60() {
        direct51.count();
        hdr.h1.f0 = (hdr.h0.f1[118:3])[36:29];
        hdr.s[0].more = sm.priority[0:0];
    }
    table t50 {
        key = {
            16w0x1 : ternary @name("k0");
        }
        actions = { act52; act56; act60; NoAction; }
        default_action = NoAction();
        counters = direct51;
    }
    action act62(bit<7> p63) {
        sm.priority = (((bit<3>)(hdr.h1.f1)) & ((sm.priority |+| 3w0x0) | (sm.priority + sm.priority)));
        meta.m1 = meta.m1;
        sm.priority = (((bit<85>)(hdr.h0.f0)))[23:21];
    }
    action act64(bit<16> p65, bit<16> p66) {
        hdr.h1.pad = (((((bit<3>)(sm.egress_rid)) >> 8w15) ++ hdr.h0.f0) % hdr.h1.pad);
        c48.count((bit<32>)((-(((bit<3>)(hdr.h2.f1)) - sm.priority))));
        hdr.h1 = hdr.h2;
        hdr.v.setInvalid();
    }
    action act67(bit<127> p68, bit<2> p69) {
        meta.m2 = (((bit<39>)(sm.ingress_port)))[36:24];
    }
    table t61 {
        key = {
            2w0x1 : range @name("k0");
            ((sm.ingress_port >= 9w0x1ff) ? ((bit<11>)(sm.ingress_port)) : ((bit<11>)(11s1))) : optional @name("k1");
            sm.priority : exact @name("k2");
        }
        actions = { act62; act64; act67; NoAction; }
        default_action = act67(127w0x7fffffffffffffffffffffffffffffff, 2w0x1);
    }
    direct_counter(CounterType.packets_and_bytes) direct71;
    action act72(bit<11> p73) {
        bit<9> x74 = (meta.m0 >> 8w14);
    }
    action act75(bit<9> p76, bit<65> p77, bit<33> p78) {
        direct71.count();
        hash(sm.priority, HashAlgorithm.crc16, 16w0x0, { hdr.h2.f1, hdr.h1.pad }, ((bit<32>)(sm.ingress_port)));
        r49.read(meta.m3, (bit<32>)(sm.priority));
    }
    table t70 {
        key = {
            ((((bit<101>)(sm.egress_rid)) + ((bit<101>)(sm.packet_length))))[45:44] : ternary @name("k0");
        }
        actions = { act72; act75; NoAction; }
        default_action = NoAction();
        counters = direct71;
    }
    apply {
        I_S14.apply(hdr, meta, sm, hdr.h0);
        I_S26.apply(hdr, meta, sm, hdr.h1, meta.m1, hdr.h0.f1);
        sm.egress_spec = meta.m3[8:0] & 9w7;
        meta.m3 = (((bit<9>)(((bit<31>)(hdr.h1.f0)))) << hdr.h1.f1);
        meta.m0 = ((((bit<21>)(((bit<12>)(hdr.h2.f0)))) << ((bit<2>)(sm.ingress_port))))[11:3];
        hdr.h0.pad = ((bit<5>)((hdr.h0.f1[33:7] ++ (hdr.h2.pad |+| hdr.h1.pad))));
        sm.priority = (3w0x7 + 3w0x6);
        bit<9> x79 = sm.instance_type[11:3];
        for (bool i80 in (list<bool>){ (((bit<8>)(hdr.h1.f1)) != hdr.h2.f0) }) {
            int<79> x81 = ((int<79>)((35s8589934591 |-| (35s0 * (-35s17179869183)))));
            if ((!false)) {
                bool x82 = (((-x79) % sm.ingress_port) >= (x79 % meta.m3));
            }
            else {
                hdr.h2.setValid();
            }
            if ((meta.m1 == (((int<7>)(hdr.h1.pad)) < 7s0))) { continue; }
            hdr.h2.f1 = hdr.h1.f1;
        }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S14() E_S14;
    S26() E_S26;
    bool x83 = ((-((int<79>)(64s4611686018427387903))) <= (hdr.h1.isValid() ? (-79s7) : 79s10851745283837805397431));
    bit<9> x84 = (9w0xc1 << (sm.packet_length[21:19] << 8w13));
    bool x85 = (!x83);
    bool x86 = ((((bit<9>)(hdr.h2.pad)) > ((bit<9>)(((int<9>)(x84))))) && ((!x83) && (true == ((bool)(hdr.h1.f1)))));
    register<bit<9>>(7) r87;
    register<bit<9>>(6) r88;
    action act90(bit<13> p91, bit<64> p92, bit<123> p93) {
        hdr.h1.pad -= (x85 ? (hdr.h2.pad >> sm.priority) : hdr.h2.pad);
        hdr.h0.f0 = hdr.h0.f0;
    }
    action act94(bit<63> p95, bit<11> p96, bit<1> p97) {
        hdr.h1.f1 = 1w0x1;
        meta.m1 = (((93w0x1fffffffffffffffffffffff)[75:68] > hdr.h2.f0) && hdr.h0.isValid());
    }
    action act98(bit<1> p99, bit<10> p100, bit<15> p101) {
        hash(hdr.h2.pad, HashAlgorithm.crc32, 16w0x2000, { p99, x84, hdr.h1.f1, hdr.h1.pad }, 32w0x0);
    }
    table t89 {
        key = {
            (125w0xfffffffffffffffffffffffffffffff)[67:65] : range @name("k0");
        }
        actions = { act90; act94; act98; NoAction; }
        default_action = NoAction();
        const entries = {
            (3w0x0 .. 3w0x4) : act90(13w0x1c67, 64w0x0, 123w0x0);
            (3w0x1 .. 3w0x1) : act90(13w0xcc7, 64w0x0, 123w0xb);
            (3w0x0 .. 3w0x7) : act90(13w0x3c3, 64w0x0, 123w0x3ffffffffffffffffffffffffffffff);
            (3w0x3 .. 3w0x3) : act98(1w0x1, 10w0x80, 15w0x0);
        }
    }
    action act103(bit<65> p104, bit<13> p105) {
        hdr.h2.f0 = (-((((bit<6>)(p105)) ^ 6w0x10) ++ (((bit<2>)(meta.m3)) - ((bit<2>)(sm.egress_rid)))));
        hdr.s[0].y = sm.packet_length;
    }
    action act106(bit<99> p107, bit<1> p108) {
        if ((hdr.h2.f0 > meta.m0[8:1])) {
            hdr.h1.pad = hdr.h1.pad;
        }
        else {
            meta.m1 = false;
        }
        hdr.h2.pad ^= (7w0x1 |-| ((bit<7>)(((bit<9>)(p107)))));
    }
    action act109(bit<39> p110, bit<32> p111) {
        hdr.h2.pad = ((bit<7>)(hdr.h2.f0[7:2]));
        int<79> x112 = 79s302231454903657293676543;
    }
    table t102 {
        key = {
            hdr.h1.f1 : ternary @name("k0");
        }
        actions = { act103; act106; act109; NoAction; }
        default_action = NoAction();
        const entries = {
            (1w0x0 &&& 1w0x1) : act109(39w0x7fffffffff, 32w0x7fffffff);
            (1w0x1 &&& 1w0x1) : NoAction();
            (1w0x0 &&& 1w0x0) : NoAction();
        }
    }
    action act114(bit<48> p115) {
        hdr.s[(((bit<2>)((-2s1))) ^ ((bit<2>)(sm.instance_type)))].y = sm.instance_type;
        meta.m3 = (((bit<9>)(hdr.h1.pad)) - ((9w0x4 / meta.m3) - ((bit<9>)(hdr.h2.f1))));
        x84 = sm.egress_rid[11:3];
    }
    table t113 {
        key = {
            (((bit<6>)(hdr.h1.pad)) | (6w0x3b |+| ((bit<6>)(meta.m3)))) : lpm @name("k0");
        }
        actions = { act114; NoAction; }
        default_action = NoAction();
    }
    apply {
        E_S14.apply(hdr, meta, sm, hdr.h0);
        E_S26.apply(hdr, meta, sm, hdr.h1, meta.m1, hdr.h0.f1);
        t102.apply();
        hdr.h2.f1 = hdr.h2.f1;
        x84 = x84[8:0];
        if (((bool)(hdr.h2.f1))) {
            hdr.h1.setValid();
            hdr.v.setValid();
            E_S14.apply(hdr, meta, sm, hdr.h0);
        }
        else {
            hdr.h0.f0 = (hdr.h0.f0 - ((hdr.h0.f0 + ((bit<4>)(hdr.h0.f1))) * (4w0x4 + ((bit<4>)(meta.m3)))));
            x84 = ((false ? (hdr.h0.f0 ++ hdr.h0.pad) : ((bit<9>)(9s60))) & ((((bool)(hdr.h1.f1)) ? ((bit<9>)(hdr.h2.pad)) : meta.m0) & (meta.m0 ^ meta.m3)));
            x86 = ((hdr.h1.isValid() || hdr.h0.isValid()) == (((bool)(sm.checksum_error)) || (x84 == 9w0x20)));
        }
        if ((((bit<127>)(x84)) == hdr.h0.f1)) {
            hdr.h0.f1 = ((bit<127>)(sm.instance_type));
        }
        sm.priority |= sm.priority;
        r87.write((bit<32>)((sm.packet_length[8:7] ++ (hdr.h1.f1 * sm.checksum_error))), 9w0x0);
    }
}
control C(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum_with_payload((((bool)(hdr.h1.f1)) || ((bool)(hdr.h1.f1))), { 8w0x0, ((bit<26>)(hdr.h1.pad)), ((bit<12>)(hdr.h0.pad)), ((bit<7>)(hdr.h0.f1)) }, hdr.h1.f0, HashAlgorithm.csum16);
    }
}
control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
