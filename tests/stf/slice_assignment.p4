// Slices on the left: of fields, of slices by nesting, across bytes; what is outside stays.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<32> whole;
    bit<12> odd;
    bit<4>  rest;
    bit<8>  one_bit;
    bit<16> compound;
    bit<8>  from_result;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.whole[23:8] = 0xabcd;
        d.odd[7:4] = d.whole[15:12];
        d.rest[0:0] = 1;
        d.one_bit[7:7] = d.whole[31:31];
        d.one_bit[3:0] = d.whole[3:0];
        d.compound[11:4] += 0x11;
        d.from_result = (d.whole + 1)[7:0];
    }
}

#include "frame/one_header.p4"
