#include <core.p4>
#include <v1model.p4>
header h0_t {
    bit<3> f0;
    int<2> f1;
    bit<3> pad;
}
header h1_t {
    bit<3> f0;
    int<5> f1;
    int<10> f2;
    int<2> f3;
    int<2> f4;
    int<10> f5;
}
header h2_t {
    bit<3> f0;
    int<2> f1;
    int<2> f2;
    int<5> f3;
    bit<4> pad;
}
header_union u_t { h0_t a; h1_t b; }
struct rec_t {
    bit<94> f0;
    int<5> f1;
}
struct headers {
    h0_t h0;
    h1_t h1;
    h2_t h2;
    u_t u;
}
struct metadata {
    @field_list(2)
    int<2> m0;
    bit<94> m1;
    int<2> m2;
    rec_t rec;
    int<2>[5] ar;
    @field_list(2)
    h1_t mh;
}
int<2> fn1(in bit<94> p2, in int<2> p3) {
    return (p3 >> 8w6);
}
void take_h0_t(packet_in packet, out h0_t h) { packet.extract(h); }
parser Q4(packet_in packet, out h1_t h, out int<5> p5, in bit<111> p6) {
    bit<94> x7 = p6[95:2];
    state start {
        packet.extract(h);
        h.f0 = (((((bit<39>)(p6)) & ((bit<39>)(x7))) + (((bit<39>)(h.f0)) & ((bit<39>)(h.f0)))))[28:26];
        h.f1 = (-((((int<5>)(h.f3)) & p5) << 8w9));
        transition select(h.f0) { 3w7: more; default: accept; }
    }
    state more {
        h.f0 = (((((bit<14>)(h.f0)))[12:10] * p5[2:0]) * ((h.f0 |-| 3w0x3) | (((bit<3>)(x7)) |-| 3w0x4)));
        h.f3 = (fn1(x7, 2s1) << 8w1);
        transition accept;
    }
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    Q4() p_Q4;
    bit<28> x8 = (((true || true) || (false && false)) ? ((28w0x7566b1f |+| ((bit<28>)(meta.mh.f0))) << 8w5) : (((bit<28>)(meta.mh.f0)) |-| ((bit<28>)(sm.ingress_port))));
    value_set<bit<3>>(4) set9;
    value_set<bit<3>>(4) set10;
    state start { transition parse_h0; }
    state parse_h0 {
        take_h0_t(packet, hdr.h0);
        packet.advance(24);
        transition select(hdr.h0.f0, 3w0x7) {
            (3w3 &&& 3w7, set10): parse_u;
            (set10, set9): parse_h2;
            (set9, _): parse_h1;
            default: parse_h1;
        }
    }
    state parse_h1 {
        if ((meta.m1 <= meta.m1)) {
            p_Q4.apply(packet, hdr.h1, meta.mh.f1, (((bit<111>)(sm.ingress_port)) |-| ((bit<111>)(hdr.h0.pad))));
            x8 = ((bit<28>)(((((bit<15>)(x8)) - ((bit<15>)(meta.rec.f0))) >> ((bit<7>)(meta.m1)))));
        }
        else {
            packet.extract(hdr.h1);
        }
        x8 = ((bit<28>)((((bit<115>)(meta.rec.f0)) + ((bit<115>)(hdr.h0.f0)))));
        meta.m2 = hdr.h0.f1;
        meta.ar[1] = ((((int<2>)(meta.mh.f2)) >> ((bit<6>)(x8))) | (-((int<2>)(hdr.h1.f4))));
        x8 = x8;
        transition select(hdr.h1.f0) {
            3w5: reject;
            3w0 .. 3w3: parse_h2;
            default: parse_u;
        }
    }
    state parse_u {
        transition select(packet.lookahead<bit<1>>()) { 1w0: parse_u_a; default: parse_u_b; }
    }
    state parse_u_a {
        packet.extract(hdr.u.a);
        transition parse_h2;
    }
    state parse_u_b {
        packet.extract(hdr.u.b);
        transition parse_h2;
    }
    state parse_h2 {
        packet.extract(hdr.h2);
        meta.mh.f2 = ((~hdr.h1.f2) ^ ((hdr.h1.f5 >> 8w9) * ((int<10>)(((int<103>)(meta.ar[2]))))));
        meta.ar[4] = (((((bit<111>)(hdr.h0.pad)) == ((bit<111>)(x8))) ? (meta.m2 ^ (-2s1)) : fn1(94w0x1, ((int<2>)(meta.mh.f1)))) + ((meta.m2 >> hdr.h2.f0) - ((int<2>)(meta.ar[0]))));
        meta.ar[1] = meta.ar[4];
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) {
    apply {
        verify_checksum((((int<10>)(hdr.h0.f1)) >= ((int<10>)(hdr.h0.f1))), { ((bit<33>)(hdr.h0.f0)) }, ((bit<16>)(hdr.h0.pad)), HashAlgorithm.xor16);
    }
}
control S11(inout headers hdr, inout metadata meta, inout standard_metadata_t sm, inout h2_t ph12, register<int<2>> pr13) {
    bit<94> x14 = (meta.rec.f0 * (-meta.rec.f0));
    int<2> x15 = hdr.u.b.f3;
    h1_t lh16;
    rec_t lr17 = { meta.rec.f0[93:0], 5s11 };
    counter(5, CounterType.packets) c18;
    meter(8, MeterType.bytes) meter19;
    action act20(inout bit<128> p21) {
        hdr.u.a.f1 = (((hdr.h2.f2 >> sm.checksum_error) + ((int<2>)(meta.ar[3]))) |+| 2s0);
    }
    apply {
        hdr.h1.f4 = ((int<2>)((-(94s6192967150578219274249742226 ^ ((int<94>)(meta.mh.f5))))));
        ph12.f1 = meta.ar[0];
        assert(9w0x4 != 9w0x9);
        hdr.h1.f2 = ((int<10>)(lh16.f2));
        meta.ar[(((((bit<85>)(sm.checksum_error)) |-| ((bit<85>)(hdr.u.b.f0))))[84:82] ^ ((bit<3>)(sm.instance_type)))] = meta.m0;
        lr17 = { f0 = ((((bit<94>)(hdr.u.a.pad)) << ((bit<7>)(lr17.f0))) << (sm.priority & ((bit<3>)(sm.ingress_port)))), f1 = hdr.u.b.f1 };
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    register<int<2>>(4) I_S11_cells;
    S11() I_S11;
    int<2> x22 = ((int<2>)(((int<13>)(hdr.h0.f1))));
    h1_t lh23;
    counter(5, CounterType.packets_and_bytes) c24;
    counter(8, CounterType.packets) c25;
    register<int<2>>(4) r26;
    register<int<2>>(5) r27;
    meter(4, MeterType.bytes) meter28;
    action act30() {
        int<10> x31 = ((hdr.u.b.f5 |-| hdr.u.b.f2) * (~((int<10>)(10w0x316))));
    }
    action act32(bit<10> p33) {
        meta.ar[0] = (meta.m2 + hdr.u.b.f4);
    }
    table t29 {
        key = {
            (((bit<2>)(meta.ar[0])) << (((bit<125>)(hdr.h1.f0)))[3:2]) : exact @name("k0");
            ((bit<16>)(meta.mh.f0)) : lpm @name("k1");
            ((bit<2>)(hdr.h2.f1)) : exact @name("k2");
        }
        actions = { act30; act32; NoAction; }
        default_action = act32(10w0x15f);
    }
    action act41(bit<6> p42, bit<4> p43, bit<2> p44) {
        hash(hdr.u.a.pad, HashAlgorithm.identity, 16w0xd3d, { ((bit<10>)(p43)), 2w0x2 }, 32w0xe18880cc);
        hdr.h2.f3 = meta.mh.f1;
    }
    table t40 {
        key = {
            ((bit<2>)(lh23.f0)) : range @name("k0");
        }
        actions = { act41; NoAction; }
        default_action = NoAction();
    }
    action_profile(32w16) profile50;
    action act51(bit<9> p52) {
        int<2> x53 = fn1(((!((bool)(sm.checksum_error))) ? (meta.m1 / meta.rec.f0) : meta.rec.f0), 2s1);
        hash(sm.priority, HashAlgorithm.csum16, 16w0x1, { ((bit<10>)(sm.packet_length)) }, sm.packet_length);
    }
    action act54() {
        lh23.f3 = ((false || ((bool)(sm.checksum_error))) ? ((int<2>)(((bit<2>)(sm.egress_rid)))) : hdr.h2.f2);
        if (((bool)(sm.checksum_error))) { return; }
        lh23.f4 = ((int<2>)(((int<12>)(lh23.f3))));
    }
    table t49 {
        key = {
            ((((bit<1>)(sm.packet_length)) |+| ((bit<1>)(lh23.f0))) >> (((bool)(sm.checksum_error)) ? sm.checksum_error : sm.checksum_error)) : exact @name("k0");
            ((bit<2>)(sm.checksum_error)) : exact @name("k1");
        }
        actions = { act51; act54; NoAction; }
        default_action = NoAction();
        implementation = profile50;
    }
    apply {
        I_S11.apply(hdr, meta, sm, hdr.h2, I_S11_cells);
        sm.egress_spec = meta.mh.f5[9:1] & 9w7;
        hdr.h1.f5 |+|= (((int<10>)(meta.mh.f1)) |-| hdr.u.b.f2);
        int<2> x58 = fn1(((((bool)(sm.checksum_error)) || true) ? (((bit<124>)(meta.m1)))[103:10] : (meta.rec.f0 << 8w10)), ((((int<2>)(meta.mh.f5)) * ((int<2>)(lh23.f1))) |-| (meta.ar[3] + ((int<2>)(lh23.f3)))));
        lh23.setValid();
        rec_t lr59 = { ((((bool)(sm.checksum_error)) == true) ? (meta.m1 << sm.checksum_error) : (94w0x1fffffffffffffffffffffff ^ meta.m1)), (meta.mh.f1 >> (((bit<1>)(hdr.u.a.f0)) ++ 1w0x1)) };
        I_S11.apply(hdr, meta, sm, hdr.h2, I_S11_cells);
        int<2> x60 = fn1(meta.rec.f0, fn1(lr59.f0, hdr.u.a.f1));
        hdr.u.a.pad = 3w0x3;
        hdr.u.b.f3 += (~lh23.f4);
        t49.apply();
        if ((((((int<2>)(meta.rec.f1)) << ((bit<8>)(lh23.f0))) |-| (x22 ^ x60)) != (~2s0))) {
            int<2> x61 = fn1(((((bool)(sm.checksum_error)) == true) ? (((bit<94>)(sm.instance_type)) >> hdr.h2.pad) : ((bit<94>)(sm.packet_length))), 2s0);
        }
        else {
            hdr.h2.f3 = hdr.h1.f1;
        }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    register<int<2>>(4) E_S11_cells;
    S11() E_S11;
    bit<111> x62 = (meta.rec.f0[86:5] ++ ((((bit<29>)(meta.m1)) & ((bit<29>)(hdr.u.a.pad))) >> (~6w0xb)));
    rec_t lr63 = { (((bit<94>)(hdr.h2.pad)) + (((bit<94>)(hdr.h2.pad)) |-| meta.rec.f0)), hdr.h2.f3 };
    register<bit<9>>(7) r64;
    register<int<10>>(7) r65;
    action act66(in int<2> p67) {
        hdr.h2.f0 = (((((bool)(sm.checksum_error)) ? ((bit<3>)(sm.instance_type)) : ((bit<3>)(sm.ingress_port))) << 8w15) * ((sm.priority << 8w2) / hdr.u.a.f0));
        sm.priority = (((((bool)(sm.checksum_error)) || true) ? (63w0x1000000000000)[13:11] : (sm.checksum_error ++ ((bit<2>)(p67)))) << 8w15);
        hdr.h0.f1 = (((((bool)(sm.checksum_error)) ? ((int<2>)(hdr.h1.f2)) : hdr.h1.f3) - (meta.mh.f3 * 2s1)) ^ (~meta.ar[1]));
    }
    direct_counter(CounterType.packets_and_bytes) direct69;
    action act70() {
        direct69.count();
        bit<111> x71 = x62[110:0];
    }
    action act72() {
        direct69.count();
        hdr.h2.pad ^= hdr.h2.pad;
        meta.mh.f3 = ((int<2>)(hdr.u.b.f1));
        meta.ar[4] = ((meta.m2 |-| meta.ar[3]) * hdr.h1.f3);
        meta.mh.f5 = (((int<10>)((((int<15>)(hdr.h2.f1)) << 8w1))) ^ ((((bool)(sm.checksum_error)) ? meta.mh.f5 : hdr.h1.f5) | (meta.mh.f2 & hdr.h1.f5)));
    }
    table t68 {
        key = {
            sm.checksum_error : ternary @name("k0");
            8w0x2 : ternary @name("k1");
            ((bit<2>)(hdr.u.a.pad)) : ternary @name("k2");
        }
        actions = { act70; act72; NoAction; }
        default_action = NoAction();
        counters = direct69;
        const entries = {
            (1w0x0 &&& 1w0x0, 8w0x7f &&& 8w0xff, 2w0x0 &&& 2w0x1) : act70();
            (1w0x0 &&& 1w0x0, 8w0x4 &&& 8w0xe, 2w0x0 &&& 2w0x1) : act72();
            (1w0x1 &&& 1w0x1, 8w0x0 &&& 8w0x0, 2w0x2 &&& 2w0x2) : act72();
            (1w0x1 &&& 1w0x1, 8w0x0 &&& 8w0x0, 2w0x1 &&& 2w0x1) : act72();
            (1w0x0 &&& 1w0x0, 8w0x0 &&& 8w0xa0, 2w0x3 &&& 2w0x3) : NoAction();
            (1w0x0 &&& 1w0x0, 8w0x8d &&& 8w0xef, 2w0x1 &&& 2w0x1) : act70();
        }
    }
    direct_counter(CounterType.packets_and_bytes) direct74;
    action_selector(HashAlgorithm.crc32, 32w16, 32w8) profile75;
    action act76(bit<128> p77, bit<8> p78, bit<7> p79) {
        meta.mh.f0 = 3w0x0;
        meta.mh.f1 = hdr.u.b.f1;
        hdr.h0.pad &= ((3w0x3 / sm.priority) + (hdr.h0.f0 ^ 3w0x6));
        meta.ar = { meta.m0, fn1(94w0x1fffffffffffffffffffffff, meta.m2), (~((int<2>)(hdr.h2.f3))), 2s0, fn1(94w0x358ef7ef15ae78d228d5aec2, meta.mh.f3) };
    }
    table t73 {
        key = {
            ((bit<2>)(hdr.u.a.pad)) : exact @name("k0");
            hdr.h2.pad : exact @name("k1");
            hdr.h2.pad : exact @name("k2");
            sm.packet_length : selector @name("s0");
        }
        actions = { act76; NoAction; }
        default_action = NoAction();
        counters = direct74;
        implementation = profile75;
    }
    action act83() {
        meta.ar[4] = hdr.h2.f1;
    }
    action act84() {
        if (sm.instance_type == 0 && ((meta.ar[3] - ((int<2>)(meta.m0))) < ((int<2>)(hdr.h1.f5)))) { clone(CloneType.E2E, 2); }
        hdr.u.b.f0 = lr63.f0[17:15];
    }
    action act85() {
        meta.m0 = (fn1(94w0x1, ((int<2>)(meta.mh.f1))) ^ ((meta.ar[0] + 2s1) - (((bool)(sm.checksum_error)) ? (-2s1) : hdr.h1.f4)));
        if ((hdr.h1.isValid() == (((int<2>)(hdr.h1.f3)) < ((-2s1) >> 8w17)))) {
            meta.ar[3] -= (((int<2>)(((bit<2>)(hdr.h1.f0)))) |-| 2s0);
        }
        else {
            meta.mh.f2 = (meta.mh.f5 >> ((((bit<5>)(hdr.h0.pad)) << ((bit<7>)(sm.checksum_error))) + ((bit<5>)(hdr.h1.f1))));
        }
    }
    table t82 {
        key = {
            hdr.h2.pad : exact @name("k0");
            ((~sm.checksum_error) ^ (true ? sm.checksum_error : sm.checksum_error)) : exact @name("k1");
        }
        actions = { act83; act84; act85; NoAction; }
        default_action = NoAction();
        const entries = {
            (4w0x2, 1w0x0) : act85();
            (4w0x8, 1w0x0) : act84();
            (4w0x1, 1w0x1) : act83();
            (4w0x7, 1w0x0) : act83();
        }
    }
    apply {
        E_S11.apply(hdr, meta, sm, hdr.h2, E_S11_cells);
        hdr.u.b.setValid();
        sm.priority = (((bool)(sm.checksum_error)) ? ((bit<3>)(meta.m1)) : hdr.u.b.f1[2:0]);
        hdr.u.a.pad = ((meta.rec.f0[79:11] < (~((bit<69>)(sm.instance_type)))) ? hdr.h2.f0[2:0] : 3w0x0);
        for (int<2> i86 in (list<int<2>>){ (((int<2>)(hdr.u.a.f1)) | meta.ar[4]), (hdr.h1.f3 - ((int<2>)(meta.ar[4]))), ((int<2>)(meta.m0)) }) {
            hdr.u.b.f4 |+|= (meta.m0 << ((bit<6>)(hdr.h1.f0)));
            hdr.h2.f1 = ((hdr.h0.f1 ^ meta.ar[0]) - (-hdr.h2.f1));
            meta.ar[3] = ((true ? hdr.h2.f1 : meta.ar[4]) << 8w0);
            hdr.u.b.f5 = hdr.u.b.f5;
            meta.mh.f5 = hdr.u.b.f2;
            if (((meta.rec.f0 | lr63.f0) >= 94w0x26d7d9bbdd5a36ae77d1e183)) { continue; }
            meta.mh.f0 = ((hdr.u.b.isValid() ? ((bit<3>)(((bit<42>)(meta.m1)))) : (((bit<3>)(sm.egress_rid)) + meta.mh.f0)) * ((bit<3>)(sm.egress_rid)));
        }
    }
}
control C(inout headers hdr, inout metadata meta) {
    apply {
    }
}
control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.u);
        packet.emit(hdr.h0);
        packet.emit(hdr.h2);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
