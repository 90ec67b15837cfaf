// Section 8.19: unions and their members as arguments: what is copied back is assigned, member by member, in the order of the
// parameters.
// Section 6.8: arguments that overlap are copies of their own.

#include <core.p4>
#include <v1model.p4>

header A {
    bit<8> x;
}

header B {
    bit<8> x;
    bit<8> y;
}

header_union U {
    A a;
    B b;
}

struct S {
    U      u;
    bit<8> n;
}

header data_t {
    bit<8> op;
    bit<8> r;
    bit<8> s;
    bit<8> t;
}

/// 0x10 for the union, 1 for `a`, 2 for `b`.
bit<8> validity(in U u) {
    return (u.isValid() ? 8w0x10 : 0) + (u.a.isValid() ? 8w1 : 0) + (u.b.isValid() ? 8w2 : 0);
}

void invalidate_a(inout U u) {
    u.a.setInvalid();
}

void set_b(inout U u) {
    u.b = { 7, 8 };
}

void all_parts(inout U u, inout A a, inout B b) {
    a = { 0x21 };
    b.setInvalid();
}

void union_and_part(inout U u, inout A a) {
    u.b = { 1, 2 };
}

void new_parts(out U u, out A a) {
    a = { 5 };
}

void new_b(out B b) { }

void swap(inout A a, inout A c) {
    A kept = a;
    a = c;
    c = kept;
}

control Sub(inout U u, inout A a) {
    apply {
        a.setInvalid();
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Sub() sub;

    apply {
        U u;
        U[3] us;
        A none;
        A one = { 1 };
        B no_b;
        bit<8> i = 1;
        u.b = { 0x30, 0x31 };
        switch (d.op) {
            1: { invalidate_a(u); d.r = validity(u); }
            2: { u.a = one; set_b(u); d.r = validity(u); d.s = u.b.y; }
            3: { all_parts(u, u.a, u.b); d.r = validity(u); }
            4: { union_and_part(u, u.a); d.r = validity(u); }
            5: { new_parts(u, u.a); d.r = validity(u); d.s = u.a.x; }
            6: { u.a = one; new_b(u.b); d.r = validity(u); }
            7: {
                us[1].a = one;
                us[2] = us[1];
                us[1].b.setInvalid();
                d.r = validity(us[1]);
                d.s = validity(us[2]);
                d.t = us[1] == us[0] ? 8w1 : 2;
            }
            8: {
                us[i].a = one;
                us[i].b.setInvalid();
                d.r = validity(us[1]);
                us[i].b = no_b;
                d.s = validity(us[1]);
                us[i].b = { 1, 2 };
                d.t = validity(us[1]);
            }
            9: { sub.apply(u, u.a); d.r = validity(u); }
            10: {
                S s;
                s.u = u;
                S t = s;
                t.u.a.setInvalid();
                d.r = validity(t.u);
                d.s = validity(s.u);
            }
            11: { us[0].a = { 4 }; us[1].a = { 5 }; swap(us[0].a, us[1].a); d.r = us[0].a.x; d.s = us[1].a.x; }
            12: { swap(u.a, none); d.r = validity(u); }
            13: { u.a = u.a; d.r = validity(u); }
            14: { u.b = u.b; d.r = validity(u); d.s = u.b.x; }
        }
    }
}

#include "../stf/frame/one_header.p4"
