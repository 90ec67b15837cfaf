// Section draft 12.8: loops with three clauses, over ranges, lists, stacks and arrays; `break`, `continue`; the list is evaluated
// once.

#include <core.p4>
#include <v1model.p4>

header item_t {
    bit<8> x;
}

header data_t {
    bit<8> n;
    bit<8> clauses;
    bit<8> range;
    bit<8> list;
    bit<8> stack;
    bit<8> breaks;
    bit<8> continues;
    bit<8> once;
    bit<8> nested;
    bit<8> two;
}

bit<8> count(inout bit<8> calls) {
    calls = calls + 1;
    return calls;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        for (bit<8> i = 0; i < d.n; i = i + 1) {
            d.clauses = d.clauses + i;
        }
        for (bit<8> i in 2 .. 4) {
            d.range = d.range + i;
        }
        for (bit<8> i in (list<bit<8>>) { 1, d.n, 0x20 }) {
            d.list = d.list + i;
        }
        item_t[3] s = { { 1 }, { 2 }, { 4 } };
        for (item_t h in s) {
            d.stack = d.stack + h.x;
        }
        for (bit<8> i = 0; i < 10; i = i + 1) {
            if (i == d.n) break;
            d.breaks = d.breaks + 1;
        }
        for (bit<8> i = 0; i < 5; i = i + 1) {
            if (i == d.n) continue;
            d.continues = d.continues + 1;
        }
        bit<8> calls = 0;
        for (bit<8> i in count(calls) .. 3) {
            d.once = d.once + calls;
        }
        for (bit<8> i in 1 .. 2) {
            for (bit<8> j in 1 .. 3) {
                if (j == 3) break;
                d.nested = d.nested + i * j;
            }
        }
        for (bit<8> i = 0, bit<8> j = 8; i < j; i = i + 1, j = j - 1) {
            d.two = d.two + 1;
        }
    }
}

#include "../stf/frame/one_header.p4"
