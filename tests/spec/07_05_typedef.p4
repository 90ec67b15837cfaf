// Section 7.5: other names for numbers, structs, stacks and generic types with arguments are the same types.

#include <core.p4>
#include <v1model.p4>

typedef bit<32> u32;
typedef struct Point { int<32> x; int<32> y; } Pt;

header item_t {
    bit<8> x;
}

typedef item_t[3] stack_t;

struct S<T> {
    T field;
}

typedef S<bit<32>> X;

header data_t {
    u32     sum;
    bit<8>  third;
    int<32> distance;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bit<32> plain = 5;
        u32 named = plain;
        S<bit<32>> s = { named };
        X x = s;
        d.sum = d.sum + x.field;
        stack_t stack;
        stack[2] = { 9 };
        item_t[3] same = stack;
        d.third = same[2].x;
        Point p = { 1, -3 };
        Pt q = p;
        d.distance = q.y - q.x;
    }
}

#include "../stf/frame/one_header.p4"
