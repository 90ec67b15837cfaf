#include <core.p4>
#include <v1model.p4>
header h0_t {
    bit<3> f0;
    bit<33> f1;
    int<127> f2;
    bit<5> pad;
}
header h1_t {
    bit<4> f0;
    int<64> f1;
    bit<1> f2;
    bit<1> f3;
    bit<1> f4;
    bit<1> pad;
}
header s_t {
    bit<1> more;
    bit<7> x;
}
header v_t { bit<4> n; bit<4> k; varbit<64> data; bit<8> z; }
header_union u_t { h0_t a; h1_t b; }
struct rec_t {
    bit<33> f0;
}
struct headers {
    h0_t h0;
    h1_t h1;
    s_t[3] s;
    v_t v;
    v_t w;
    u_t u;
}
struct metadata {
    bit<108> m0;
    bit<8> m1;
    bit<33> m2;
    bool m3;
    rec_t rec;
}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start { transition parse_h0; }
    state parse_h0 {
        packet.extract(hdr.h0);
        bit<9> look1 = packet.lookahead<bit<9>>();
        hdr.h0.f0 = (((meta.m3 ? hdr.h0.f0 : hdr.h0.f0) >> 8w7) & (-(3w0x1 >> 8w17)));
        transition select(hdr.h0.f0) {
            3w7: parse_u;
            3w0 .. 3w3: parse_h1;
            default: parse_v;
        }
    }
    state parse_v {
        bit<8> v_first = packet.lookahead<bit<8>>();
        packet.extract(hdr.v, (bit<32>)(v_first[7:4]) * 8);
        bit<7> look2 = packet.lookahead<bit<7>>();
        hdr.h0.f1 = ((meta.m2[29:0] + (((bit<30>)(sm.ingress_port)) - 30w0x3fffffff)) ++ hdr.h0.f0);
        transition select(hdr.v.k) {
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
        packet.advance(16);
        transition select(hdr.s.last.more) {
            1w1: parse_s;
            default: parse_h1;
        }
    }
    state parse_h1 {
        packet.extract(hdr.h1);
        verify(((127s0 == hdr.h0.f2) && (meta.m3 || ((bool)(hdr.h1.f3)))), error.HeaderTooShort);
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) {
    apply {
    }
}
control S3(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    bit<4> x4 = ((((bit<43>)(128w0x1)))[25:5])[3:0];
    h0_t lh5;
    rec_t lr6 = { (((bit<33>)(hdr.u.b.f0)) & (meta.m2 |-| lh5.f1)) };
    counter(5, CounterType.bytes) c7;
    register<bit<33>>(5) r8;
    action act10(bit<63> p11) {
        hash(lh5.f1, HashAlgorithm.identity, 16w0xb6d3, { sm.checksum_error, ((bit<127>)(sm.packet_length)), ((bit<33>)(sm.egress_rid)) }, sm.instance_type);
        hdr.v.z = sm.packet_length[11:4];
    }
    action act12(bit<71> p13, bit<1> p14) {
        meta.m3 = hdr.h0.isValid();
        hdr.h1.f0 = hdr.h1.f0;
    }
    table t9 {
        key = {
            ((meta.m3 || ((bool)(hdr.u.b.pad))) ? (meta.m3 ? 3w0x4 : lh5.f0) : (sm.priority + sm.priority)) : exact @name("k0");
            ((bit<2>)(sm.instance_type)) : range @name("k1");
        }
        actions = { act10; act12; NoAction; }
        default_action = act10(63w0x4000);
    }
    apply {
        hdr.s[2].more = (hdr.u.b.f3 & ((bit<1>)(hdr.u.a.f0)));
        switch (t9.apply().action_run) {
            act10: {
                meta.m0[44:11] = ((((bit<62>)(hdr.u.b.f4)) ++ ((bit<61>)(sm.egress_rid))))[80:47];
            }
            act12: {
                hdr.h1.f0 = ((((bit<2>)(sm.egress_rid)) ++ ((bit<2>)(sm.egress_rid))) + 4w0x1);
            }
            NoAction: {
                hdr.w = hdr.v;
            }
            default: {
                meta.rec = meta.rec;
            }
        }
        meta.rec.f0 ^= ((((bool)(hdr.h1.f4)) == true) ? meta.m2 : (meta.rec.f0 % hdr.u.a.f1));
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S3() I_S3;
    bool x15 = (((int<8>)(hdr.h0.f2)) > (((int<8>)(hdr.u.a.f2)) & (((int<8>)(hdr.u.a.f2)) |-| ((int<8>)(meta.m1)))));
    int<127> x16 = hdr.u.a.f2;
    bit<65> x17 = (-(meta.m3 ? (((bit<63>)(sm.egress_rid)) ++ ((bit<2>)(hdr.h1.f4))) : (((bit<18>)(hdr.h1.pad)) ++ ((bit<47>)(hdr.u.b.f3)))));
    bool x18 = ((~(-meta.rec.f0)) < (~(((bit<77>)(hdr.h1.f3)))[49:17]));
    action act20(bit<16> p21) {
        x16 = (-127s42535295865117307932921825928971026431);
        hdr.u.b.f2[0:0] = (hdr.u.b.f3 >> 1w0x1);
        hdr.s.pop_front(2);
        hdr.h0.f0 = (hdr.u.a.f0 |+| ((((bit<2>)(hdr.h1.f3)) ++ 1w0x1) - (((bit<3>)(sm.egress_rid)) << 8w3)));
    }
    action act22(bit<8> p23, bit<64> p24, bit<7> p25) {
        int<127> x26 = ((int<127>)((((int<14>)(x16)) + ((int<14>)(x16)))));
        hdr.u.b.f3 = ((hdr.u.b.f0 - hdr.h1.f0))[3:3];
    }
    action act27(bit<9> p28, bit<57> p29) {
        hdr.w = hdr.v;
        hdr.s[1].more = (hdr.u.b.f2 << p28[7:1]);
        hdr.h0.f0 = (((hdr.h1.f2 * ((bit<1>)(hdr.u.b.pad))) << (((bit<36>)(sm.egress_rid)))[31:27]) ++ (~((bit<2>)(p29))));
    }
    table t19 {
        key = {
            ((((bit<95>)(hdr.h1.f0)))[57:56] ++ hdr.u.b.f4) : exact @name("k0");
            hdr.h1.f3 : exact @name("k1");
        }
        actions = { act20; act22; act27; NoAction; }
        default_action = NoAction();
    }
    direct_counter(CounterType.packets_and_bytes) direct31;
    action act32() {
        hdr.u.b.f0 = (((bit<4>)((((bit<111>)(sm.egress_rid)))[64:1])) | ((hdr.u.b.f0 << 6w0x3f) << 8w10));
        hdr.u.a.pad = (((8w0xe >= meta.m1) ? ((bit<5>)(hdr.h1.f3)) : hdr.u.a.pad) |+| (hdr.h0.pad[4:0] << ((bit<2>)(hdr.h1.f0))));
    }
    table t30 {
        key = {
            hdr.h0.f0 : exact @name("k0");
            x16[53:51] : exact @name("k1");
        }
        actions = { act32; NoAction; }
        default_action = NoAction();
        counters = direct31;
        const entries = {
            (3w0x3, 3w0x0) : act32();
            (3w0x0, 3w0x3) : act32();
        }
    }
    apply {
        I_S3.apply(hdr, meta, sm);
        sm.egress_spec = (((bit<9>)(meta.m1)) + sm.ingress_port) & 9w7;
        hdr.w = hdr.v;
        bit<33> x33 = (((-((bit<29>)(meta.m2))) ^ ((bit<29>)(hdr.h1.f3))) ++ ((4w0x2 << 8w14) - (hdr.h1.f0 |+| 4w0x7)));
        hdr.s[1].more = ((bit<1>)(((bit<12>)(meta.rec.f0[31:1]))));
        switch (t30.apply().action_run) {
            default: {
                hdr.h0.pad = (-(~(hdr.h0.pad >> hdr.u.b.f0)));
            }
        }
        for (bit<8> i34 in 8w0 .. (bit<8>)(((bit<2>)(meta.m2)))) {
            hdr.h1.f1 = (((int<64>)(hdr.u.a.f2)) << 8w14);
            int<8> x35 = ((((int<8>)(hdr.u.a.f2)) >> 8w10) + ((((int<8>)(hdr.u.b.f1)) |+| ((int<8>)(x16))) + ((int<8>)(((int<9>)(sm.ingress_port))))));
            x17 = (((x17 << 8w0) >> sm.priority) |-| hdr.h0.f2[118:54]);
            if ((!meta.m3)) { break; }
            hdr.u.b.f2 = (((((bit<107>)(hdr.u.b.f3)) & ((bit<107>)(sm.checksum_error))) >> (hdr.h0.pad | hdr.u.a.pad)))[28:28];
        }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    S3() E_S3;
    bit<56> x36 = ((bit<56>)((((int<56>)(hdr.u.b.f1)) >> 8w18)));
    bool x37 = hdr.u.a.isValid();
    bit<127> x38 = ((bit<127>)(((((bit<58>)(hdr.h1.f3)))[47:13] << (~hdr.u.a.pad))));
    int<127> x39 = ((127s1 << 8w9) + ((-127s85070591730234615865843651857942052863) | ((int<127>)(hdr.u.b.f1))));
    counter(6, CounterType.bytes) c40;
    counter(7, CounterType.packets_and_bytes) c41;
    register<bit<8>>(6) r42;
    action act43(out bool p44) {
        hdr.h1.f2 = hdr.h1.f4;
        meta.rec = meta.rec;
        r42.read(meta.m1, (bit<32>)(((bit<3>)(hdr.h0.f1))));
        hdr.u.b.f2 = (hdr.h1.f4 * hdr.h1.f3);
    }
    direct_counter(CounterType.packets_and_bytes) direct46;
    action act47(bit<63> p48, bit<65> p49, bit<18> p50) {
        meta.rec = { f0 = (((bit<22>)(sm.instance_type)) ++ ((bit<11>)(hdr.u.a.f0))) };
        assume(9w0xbf != 9w0x8);
        hdr.h1.f3 = ((hdr.u.b.f2 |-| ((bit<1>)(sm.priority))) / hdr.u.b.pad);
    }
    action act51(bit<14> p52, bit<31> p53, bit<9> p54) {
        direct46.count();
        hdr.v.setInvalid();
        hdr.u.b.f3 |+|= ((hdr.u.b.f3 ^ hdr.h1.f3) - 1w0x1);
        hdr.u.b.setInvalid();
    }
    table t45 {
        key = {
            ((bit<1>)(x38)) : exact @name("k0");
            1w0x1 : exact @name("k1");
        }
        actions = { act47; act51; NoAction; }
        default_action = act47(63w0x5d537cec795fbbcb, 65w0x19525eece3d630b2b, 18w0x1ffff);
        counters = direct46;
        const entries = {
            (1w0x0, 1w0x1) : act47(63w0x6654826b5ee61e20, 65w0xffffffffffffffff, 18w0x3ffff);
        }
    }
    direct_counter(CounterType.packets_and_bytes) direct56;
    action act57(bit<62> p58, bit<63> p59, bit<33> p60) {
        direct56.count();
        hdr.v.setValid();
        hdr.h1.pad = 1w0x1;
        hdr.u.a.setValid();
    }
    action act61() {
        direct56.count();
        hdr.h1.f0 = ((hdr.u.b.f0 ^ (hdr.h1.f0 >> 8w13)) & ((hdr.h1.f3 ++ hdr.h0.f0) - hdr.u.b.f0));
        hdr.u.a.f2 = (((int<127>)(x39)) >> 8w8);
    }
    table t55 {
        key = {
            sm.ingress_port : lpm @name("k0");
            hdr.h1.f0 : exact @name("k1");
            sm.priority : exact @name("k2");
        }
        actions = { act57; act61; NoAction; }
        default_action = NoAction();
        counters = direct56;
        const entries = {
            (9w0x8 &&& 9w0x1ff, 4w0x7, 3w0x7) : act57(62w0x3fffffffffffffff, 63w0x570524b77d51cc32, 33w0x1);
            (9w0x80 &&& 9w0x180, 4w0x0, 3w0x3) : NoAction();
            (9w0x0 &&& 9w0x100, 4w0x7, 3w0x7) : act57(62w0x8, 63w0x1, 33w0x196f59551);
            (9w0x0 &&& 9w0x100, 4w0x7, 3w0x0) : NoAction();
            (9w0x1c0 &&& 9w0x1c0, 4w0x8, 3w0x0) : act57(62w0x1, 63w0x2000000000000, 33w0x0);
            (9w0x0 &&& 9w0x1f8, 4w0xa, 3w0x7) : act57(62w0x22ffc2a6ecc9e50a, 63w0x0, 33w0x805a709);
        }
    }
    apply {
        E_S3.apply(hdr, meta, sm);
        meta.m1 = (8w0xff ^ ((bit<8>)(hdr.u.a.f0)));
        x39 = ((int<127>)(((true ? ((bit<127>)(hdr.u.b.f3)) : x38) % x38)));
        hdr.u.b.f0 |+|= (((bit<4>)(hdr.u.b.f3)) >> (sm.priority * sm.priority));
        if (((bool)(hdr.h1.pad))) {
            x37 = ((-(false ? meta.m1 : 8w0xff)) != ((((bit<6>)(hdr.u.a.f1)) ++ ((bit<2>)(hdr.u.b.pad))) |+| (5w0x1 ++ ((bit<3>)(sm.priority)))));
            hdr.u.a = hdr.h0;
            hdr.h0.pad = (((bit<44>)(sm.instance_type)))[5:1];
        }
        else {
            x38 = ((bit<127>)(127s41538374868278621028243970633760768));
            hdr.v.setValid();
            t55.apply();
        }
        hdr.h1.setValid();
        hdr.h1.pad = (((bit<1>)(meta.m3)) << (hdr.u.b.pad ++ ((bit<2>)(hdr.u.a.f1))));
        hdr.h1.pad = hdr.h1.pad;
        E_S3.apply(hdr, meta, sm);
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
