// Section 20.3.7: what is deprecated is warned of where it is used, with its message, which may be joined of several strings.

#include <core.p4>
#include <v1model.p4>

#define SINCE "Deprecated in 2.0"

header data_t {
    bit<8> x;
}

@deprecated("use increment. " ++ SINCE)
bit<8> plus_one(in bit<8> x) {
    return x + 1;
}

@noWarn("unused")
bit<8> never_used(in bit<8> x) {
    return x;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.x = plus_one(d.x);    //~ W0003
    }
}

#include "../stf/frame/one_header.p4"
