// Copying a parameter out to a member of a header union is an assignment: the union holds that member afterwards, or none if
// it is invalid (P4-16 6.8, 8.20). Assignments of members to themselves and of `{#}` are no different.

#include <core.p4>
#include <v1model.p4>

header a_t {
    bit<8> x;
}

header b_t {
    bit<8> y;
}

header_union u_t {
    a_t a;
    b_t b;
}

header data_t {
    bit<8> op;
    bit<8> valid;
    bit<8> value;
}

void nothing(inout b_t h) {}

void make(out b_t h) {
    h = { 7 };
}

void make_none(out b_t h) {
    h = { 7 };
    h.setInvalid();
}

void both(inout a_t x, inout b_t y) {}

void both_valid(inout a_t x, inout b_t y) {
    y = { x.x + 1 };
}

void turned(inout b_t y, inout a_t x) {
    y = { x.x + 1 };
}

bit<8> of_both(inout b_t y, in a_t x) {
    y = { 1 };
    return x.isValid() ? x.x : 0xee;
}

control Sub(inout b_t h) {
    apply {
        if (h.isValid()) {
            h.y = 0xee;
        }
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Sub() sub;
    u_t u;
    u_t[2] us;

    action leave(inout b_t h) {
        if (d.op == 9) {
            d.valid = 0x80;
            exit;
        }
    }

    apply {
        u.a = { 0x21 };
        us[0].a = { 1 };
        us[1].b = { 2 };
        bit<8> i = d.op;
        d.value = 0;
        switch (d.op) {
            1: { nothing(u.b); }
            2: { make(u.b); }
            3: { make_none(u.b); }
            4: { both(u.a, u.b); }
            5: { both_valid(u.a, u.b); }
            6: { turned(u.b, u.a); }
            7: { d.value = of_both(u.b, u.a); }
            8: { sub.apply(u.b); }
            9: { leave(u.b); }
            10: { u.b = u.b; }
            11: { u.a = u.a; }
            12: { u.b = {#}; }
            13: { u.b = us[i].b; }
            14: { us[i].a.setInvalid(); }
            15: { u.b = us[1].b; }
            16: { u = us[1]; u.a.setInvalid(); }
        }
        d.valid = (u.a.isValid() ? 8w1 : 0) + (u.b.isValid() ? 8w2 : 0) + (us[0].a.isValid() ? 8w4 : 0)
            + (us[1].b.isValid() ? 8w8 : 0);
        if (u.a.isValid()) {
            d.value = d.value + u.a.x;
        }
        if (u.b.isValid()) {
            d.value = d.value + u.b.y;
        }
    }
}

#include "frame/one_header.p4"
