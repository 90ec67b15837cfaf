// Controls with parameters of every direction and kind: headers, stacks, structs, unions of values, named
// arguments, expressions.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
    bit<8> e;
    bit<8> f;
}

header small_t {
    bit<8> x;
}

struct pair_t {
    bit<8> x;
    bit<8> y;
}

control Header(inout small_t h, in small_t other, out small_t fresh) {
    apply {
        if (h.isValid()) {
            h.x = h.x + other.x;
        }
        h.setInvalid();
        if (!fresh.isValid()) {
            fresh.setValid();
            fresh.x = h.x;
        }
    }
}

control Stack(inout small_t[3] s, out pair_t p) {
    apply {
        s.push_front(1);
        s[0].setValid();
        s[0].x = 0x40;
        p = { s[0].x, s[1].x };
    }
}

control Sum(in bit<8> x, in bit<8> y, out bit<8> sum) {
    apply {
        sum = x + (y << 1);
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Header() header_control;
    Stack() stack_control;
    Sum() sum;
    small_t h;
    small_t other;
    small_t fresh;
    small_t[3] s;
    pair_t p;

    apply {
        h.setValid();
        h.x = d.a;
        other.setValid();
        other.x = d.b;
        fresh.setValid();
        fresh.x = 0x77;
        header_control.apply(h, other, fresh);
        d.c = fresh.x + (h.isValid() ? 8w0x80 : 0) + (fresh.isValid() ? 8w0x40 : 0);
        s[0].setValid();
        s[0].x = d.a;
        stack_control.apply(s, p);
        stack_control.apply(s, p);
        d.e = p.x + p.y + (s[2].isValid() ? s[2].x : 8w0);
        sum.apply(y = d.a, sum = d.f, x = d.b + 1);
    }
}

#include "frame/one_header.p4"
