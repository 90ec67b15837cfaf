// Structs in structs: a copy is deep, parts are assigned and compared, functions return them.

#include <core.p4>
#include <v1model.p4>

struct inner_t {
    bit<8> x;
    bit<8> y;
}

struct middle_t {
    inner_t inner;
    bool    flag;
}

struct outer_t {
    middle_t middle;
    inner_t  other;
}

inner_t swap(in inner_t i) {
    return { i.y, i.x };
}

bit<8> sum(in inner_t i) {
    return i.x + i.y;
}

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> inner;
    bit<8> copied;
    bit<8> changed;
    bit<8> equal;
    bit<8> from_function;
    bit<8> deep;
    bit<8> outer_equal;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        outer_t o = { { { d.a, d.b }, d.a == d.b }, { d.b, d.a } };
        outer_t copy = o;
        o.middle.inner.x = o.middle.inner.y;
        d.inner = o.middle.inner.x;
        d.copied = copy.middle.inner.x;
        copy.other = copy.middle.inner;
        copy.other.y = copy.other.y + 1;
        d.changed = copy.other.y;
        d.equal = o.middle.flag ? 8w1 : 0;
        d.from_function = sum(swap(copy.middle.inner));
        copy.middle = { inner = { y = 3, x = d.a + d.a }, flag = false };
        d.deep = copy.middle.inner.x;
        outer_t again = copy;
        d.outer_equal = again == copy && again.middle != o.middle || d.a + d.a == d.b && d.b == 3 ? 8w1 : 0;
    }
}

#include "frame/one_header.p4"
