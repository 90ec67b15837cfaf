// Headers, stacks and unions as values: returned, chosen, compared, in structs and as arguments.

#include <core.p4>
#include <v1model.p4>

header small_t {
    bit<8> x;
}

header data_t {
    bit<8> a;
    bit<8> from_function;
    bit<8> chosen;
    bit<8> compared;
    bit<8> stacks;
    bit<8> copied;
}

struct box_t {
    small_t    one;
    small_t[2] two;
}

small_t make(in bit<8> x) {
    small_t s = { x };
    if (x == 0) {
        s.setInvalid();
    }
    return s;
}

void bump(inout small_t s) {
    if (s.isValid()) {
        s.x = s.x + 1;
    } else {
        s = { 0x40 };
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        small_t made = make(d.a);
        d.from_function = made.isValid() ? made.x : 0xff;

        small_t other = { 9 };
        small_t best = d.a > 8 ? made : other;
        d.chosen = best.x;

        // Two invalid headers are equal whatever their fields hold.
        small_t p = { 1 };
        small_t q = { 2 };
        d.compared = (bit<8>)(bit<1>)(p == q);
        p.setInvalid();
        d.compared = d.compared | (bit<8>)(bit<1>)(p == q) << 1;
        q.setInvalid();
        d.compared = d.compared | (bit<8>)(bit<1>)(p == q) << 2;

        box_t box;
        box.two[1] = made;
        box_t twin = box;
        d.stacks = (bit<8>)(bit<1>)(box.two == twin.two) | (bit<8>)(bit<1>)(box == twin) << 1;
        bump(twin.two[0]);
        bump(twin.two[1]);
        d.stacks = d.stacks | (bit<8>)(bit<1>)(box.two == twin.two) << 2 | (bit<8>)(bit<1>)twin.one.isValid() << 3;
        d.copied = twin.two[0].x + twin.two[1].x;
    }
}

#include "frame/one_header.p4"
