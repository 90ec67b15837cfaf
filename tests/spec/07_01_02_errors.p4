// Section 7.1.2: errors of several declarations are one type, beside those of the core library.
// Section 8.2: errors are compared for equality.

#include <core.p4>
#include <v1model.p4>

error { Early, Late }
error { Never }

header data_t {
    bit<8> same;
    bit<8> other;
    bit<8> parsed;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        error e = error.Late;
        d.same = e == error.Late && e != error.Early ? 8w1 : 2;
        e = error.PacketTooShort;
        d.other = e != error.Never && e == error.PacketTooShort ? 8w1 : 2;
        if (std.parser_error != error.NoError) {
            d.parsed = 2;
        } else {
            d.parsed = 1;
        }
    }
}

#include "../stf/frame/one_header.p4"
