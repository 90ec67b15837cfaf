// Section 15.1: a generic control is applied directly with its types. Sections 13.2 and 14 have parser and control declarations
// without type parameters only; Hopwright accepts what this section's example needs.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  a;
    bit<8>  b;
    bit<32> c;
    bit<32> d;
}

control Swap<T>(inout T left, inout T right) {
    apply {
        T kept = left;
        left = right;
        right = kept;
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        Swap<bit<32>>.apply(d.c, d.d);
        Swap<bit<8>>.apply(d.a, d.b);
    }
}

#include "../stf/frame/one_header.p4"
