// Section 11.1: constants of numbers and structs, made of constants.

#include <core.p4>
#include <v1model.p4>

const bit<32> COUNTER = 32w0x10;

struct Version {
    bit<32> major;
    bit<32> minor;
}

const Version VERSION = { 32w2, 32w3 };
const bit<32> TOTAL = COUNTER + VERSION.major * VERSION.minor;
const bit<(VERSION.minor + 5)> BYTE = 0x7f;

header data_t {
    bit<32> total;
    bit<8>  byte;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    const bit<32> LOCAL = TOTAL + 1;

    apply {
        const bit<32> INNER = LOCAL + 1;
        d.total = INNER;
        d.byte = BYTE;
    }
}

#include "../stf/frame/one_header.p4"
