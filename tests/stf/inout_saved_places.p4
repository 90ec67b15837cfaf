// Arguments keep the value that they had when they were reached (P4-16 6.8): slices, elements at run-time indices, stacks,
// header unions, table keys, named arguments, externs, an instance that is applied twice, `exit`.

#include <core.p4>
#include <v1model.p4>

header x_t {
    bit<8> v;
}

header y_t {
    bit<8> w;
}

header_union u_t {
    x_t x;
    y_t y;
}

struct pair_t {
    bit<8> a;
    bit<8> b;
}

header data_t {
    bit<8> op;
    bit<8> a;
    bit<8> b;
    bit<8> c;
    bit<8> r;
}

bit<8> set(out bit<8> v) {
    v = 0x55;
    return 1;
}

bit<8> inc(inout bit<8> v) {
    v = v + 1;
    return v;
}

bit<16> inc_wide(inout bit<16> v) {
    v = v + 1;
    return v;
}

void keep(inout bit<8> z, in bit<8> k) {}

void add(inout bit<8> z, in bit<8> k) {
    z = z + k;
}

void add_low(inout bit<4> z, in bit<8> k) {
    z = z + 1;
}

void add_to_header(inout x_t z, in bit<8> k) {
    z.v = z.v + k;
}

void add_to_stack(inout x_t[2] z, in bit<8> k) {
    z[0].v = z[0].v + k;
}

bit<8> shift(inout x_t[2] z) {
    z.push_front(1);
    z[0] = { 0x77 };
    return 1;
}

bit<8> first(in x_t[2] z, in bit<8> k) {
    return z[0].v + k;
}

void keep_union(inout u_t z, in bit<8> k) {}

bit<8> other(inout u_t z) {
    z.y = { 0x99 };
    return 1;
}

bit<8> which(in u_t z, in bit<8> k) {
    return (z.x.isValid() ? 8w0x10 : 0) + (z.y.isValid() ? 8w0x20 : 0) + k;
}

control Sub(inout pair_t z, in bit<8> k) {
    apply {
        z.b = z.b + k;
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Sub() sub;

    action leave(inout bit<8> z, in bit<8> k) {
        z = z + k;
        exit;
    }

    action hit() {
        d.r = 0x88;
    }

    table t {
        key = {
            d.a: exact @name("before");
            inc(d.a): exact @name("after");
        }
        actions = { hit; NoAction; }
        const entries = {
            (0x12, 0x13): hit();
        }
        default_action = NoAction();
    }

    apply {
        bit<8> i = 0;
        bit<16> sum = d.a ++ d.b;
        x_t[2] s;
        s[0] = { d.a };
        s[1] = { d.b };
        u_t u;
        u.x = { d.a };
        pair_t p = { d.a, d.b };
        pair_t q = { d.a, d.b };
        switch (d.op) {
            1: { add_low(d.a[3:0], set(d.a)); }
            2: { add(s[i].v, inc(i)); d.a = s[0].v; d.b = s[1].v; d.r = i; }
            3: { add_to_stack(s, shift(s)); d.a = s[0].v; d.b = s[1].v; }
            4: { d.r = first(s, shift(s)); d.a = s[0].v; d.b = s[1].v; }
            5: { keep_union(u, other(u)); d.a = which(u, 0); d.r = u.x.v; }
            6: { d.r = which(u, other(u)); d.a = which(u, 0); }
            7: { keep(k = set(d.a), z = d.a); }
            8: { t.apply(); }
            9: { add_to_header(s[i], inc(i)); d.a = s[0].v; d.b = s[1].v; d.r = i; }
            10:
            11: {
                update_checksum(checksum = sum, data = { inc_wide(sum) }, condition = d.op == 11,
                    algo = HashAlgorithm.csum16);
                d.a = sum[15:8];
                d.b = sum[7:0];
            }
            12: { leave(d.a, set(d.a)); }
            13: { sub.apply(p, set(p.a)); sub.apply(q, set(q.a)); d.a = p.a; d.b = p.b; d.c = q.a; d.r = q.b; }
        }
    }
}

#include "frame/one_header.p4"
