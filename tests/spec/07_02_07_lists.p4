// Section 7.2.7: a list has any number of values of one type.
// Section 8.14: a list is written with its type; it is an argument of constructors, and what a loop goes through.

#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<16> a;
    bit<32> b;
}

extern Holder {
    Holder(list<pair_t> data);
    Holder(list<int> numbers, list<string> names, list<bool> flags);
}

header data_t {
    bit<8>  factor;
    bit<16> sum;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bit<16> sum = 0;
        for (bit<16> n in (list<bit<16>>) { 1, 20, 300 }) {
            sum = sum + n * (bit<16>) d.factor;
        }
        for (pair_t p in (list<pair_t>) { { 2, 3 }, { 4, 5 } }) {
            sum = sum + p.a + p.b[15:0];
        }
        d.sum = sum;
    }
}

#include "../stf/frame/one_header.p4"
