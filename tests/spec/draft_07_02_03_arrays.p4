// Section draft 7.2.3: arrays of numbers and of structs: elements are read and written by index, arrays are assigned as a whole.

#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<8> a;
    bit<8> b;
}

header data_t {
    bit<8> i;
    bit<8> r0;
    bit<8> r1;
    bit<8> r2;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bit<8>[4] numbers;
        pair_t[2] pairs;
        numbers[0] = 0x10;
        numbers[1] = 0x11;
        numbers[2] = 0x12;
        numbers[3] = 0x13;
        numbers[d.i] = 0x2f;
        bit<8>[4] copy = numbers;
        numbers[1] = 0;
        pairs[0] = { 1, 2 };
        pairs[1] = { 3, 4 };
        pairs[1].a = 5;
        d.r0 = copy[1];
        d.r1 = copy[3];
        d.r2 = pairs[0].b + pairs[1].a + pairs[1].b;
    }
}

#include "../stf/frame/one_header.p4"
