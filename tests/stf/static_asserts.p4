// static_assert of what is true compiles to nothing; its arguments are constants of any kind.

#include <core.p4>
#include <v1model.p4>

const bit<8> SIZE = 12;
const bool CHECKED = static_assert(SIZE > 4, "a header must fit");

header data_t {
    bit<8> a;
    bit<8> b;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        static_assert(SIZE == 12);
        d.b = d.a + SIZE + (CHECKED ? 8w1 : 0);
    }
}

#include "frame/one_header.p4"
