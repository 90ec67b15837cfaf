// Section 6.4.3.2: integer literals with bases, widths, signs and underscores.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<32> decimal;
    bit<32> decimal_too;
    bit<32> hex;
    int<32> signed_;
    bit<8>  binary;
    bit<8>  grouped;
    bit<8>  plain;
    int<8>  negative;
    bit<16> no_octal;
    bit<16> octal;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.decimal = 32w255;
        d.decimal_too = 32w0d255;
        d.hex = 32w0XfF;
        d.signed_ = 32s0xFF;
        d.binary = 8w0b10101010;
        d.grouped = 8w0B_1010_1010;
        d.plain = 8w1_7_0;
        d.negative = 8s0b1010_1010;
        d.no_octal = 16w0377;
        d.octal = 16w0O377;
    }
}

#include "../stf/frame/one_header.p4"
