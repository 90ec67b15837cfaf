// Section 8.24: a function for any type declares variables of it, which it assigns, passes on and returns.

#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<8> a;
    bit<8> b;
}

header data_t {
    bit<8>  a;
    bit<8>  b;
    bit<16> wide;
    bit<8>  valid;
}

header item_t {
    bit<8> x;
}

void swap<T>(inout T left, inout T right) {
    T kept = left;
    left = right;
    right = kept;
}

T second<A, T>(in A a, in T t) {
    T x;
    x = t;
    return x;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        swap(d.a, d.b);
        pair_t p = { 1, 2 };
        pair_t q = { 3, 4 };
        swap(p, q);
        d.wide = second(p, q.a ++ p.b);
        item_t h = { 5 };
        item_t none;
        swap(h, none);
        d.valid = (h.isValid() ? 8w1 : 0) + (none.isValid() ? none.x : 0);
    }
}

#include "../stf/frame/one_header.p4"
