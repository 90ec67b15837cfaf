// Functions: early return, nested calls, values of every kind, named arguments and default values.

#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<8> low;
    bit<8> high;
}

header data_t {
    bit<8> x;
    bit<8> class;
    bit<8> larger;
    bit<8> low;
    bit<8> high;
    bit<8> named;
    bit<8> defaulted;
    bit<8> generic;
    bit<8> effect;
}

bit<8> classify(in bit<8> x) {
    if (x == 0) {
        return 1;
    }
    if (x < 10) {
        if (x == 5) {
            return 2;
        }
        return 3;
    } else if (x < 100) {
        return 4;
    }
    return 5;
}

bit<8> max(in bit<8> a, in bit<8> b) {
    return a > b ? a : b;
}

pair_t split(in bit<8> x) {
    return { low = x & 0xf, high = x >> 4 };
}

bit<8> subtract(in bit<8> from, in bit<8> what = 1) {
    return from - what;
}

T choose<T>(in bool first, in T a, in T b) {
    if (first) {
        return a;
    }
    return b;
}

void effect(inout bit<8> x) {
    if (x == 0) {
        return;
    }
    x = 0xee;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.class = classify(d.x);
        d.larger = max(max(d.x, 7), max(6, 9));
        pair_t p = split(d.x);
        d.low = p.low;
        d.high = p.high;
        d.named = subtract(what = 2, from = d.x);
        d.defaulted = subtract(d.x);
        d.generic = choose(d.x > 50, 8w1, 8w2);
        effect(d.effect);
    }
}

#include "frame/one_header.p4"
