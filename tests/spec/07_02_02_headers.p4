// Section 7.2.2: headers without fields, with structs in them, with names of methods as fields; a local header starts invalid.

#include <core.p4>
#include <v1model.p4>

header empty_t { }

struct address_t {
    bit<8>  high;
    bit<8>  low;
}

struct both_t {
    address_t from;
    address_t to;
}

header data_t {
    bit<4>    version;
    bool      flag;
    bit<3>    rest;
    both_t    a;
    bit<8>    isValid;
    bit<8>    minSizeInBits;
    bit<8>    setValid;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        empty_t e;
        data_t other;
        if (e.isValid() || other.isValid()) {
            d.isValid = 0xff;
        } else {
            d.isValid = 1;
        }
        e.setValid();
        d.minSizeInBits = e.isValid() ? 8w1 : 2;
        d.flag = true;
        both_t swapped = { d.a.to, d.a.from };
        d.a = swapped;
        d.setValid = d.isValid() ? d.version ++ d.rest ++ 1w1 : 0;
    }
}

#include "../stf/frame/one_header.p4"
