// Section 7.1.6.2: widths are known while compiling, not negative, and expressions stand in parentheses.

#include <core.p4>
#include <v1model.p4>

const int N = -1;

header data_t {
    bit<(N)> negative;          //~ E0402
}

control Work(inout bit<8> b) {
    apply {
        bit<(b)> variable = 1;  //~ E0400
    }
}
