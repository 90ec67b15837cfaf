// Section 8.9.2: shifts by run-time amounts and by constants beyond the width; right shifts keep the sign of signed numbers.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  x;
    bit<16> y;
    bit<16> left;
    bit<16> beyond;
    bit<16> right;
    int<16> arithmetic;
    int<16> signed_left;
    bit<8>  int_left;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.left = d.y << d.x;
        d.beyond = d.y << 1024; //~ W0027
        d.right = d.y >> d.x;
        d.arithmetic = (int<16>) d.y >> d.x;
        d.signed_left = (int<16>) d.y << d.x;
        d.int_left = 3 << 8w4;
    }
}

#include "../stf/frame/one_header.p4"
