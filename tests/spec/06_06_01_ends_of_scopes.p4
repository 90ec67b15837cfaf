// Section 6.6.1: a name is unknown before its declaration, and behind the block or declaration that encloses it.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

T same<T>(in T value) {
    return value;
}

T wrong(in bit<8> value) {      //~ E0200
    return value;
}

control Work(inout data_t d) {
    apply {
        d.x = later;            //~ E0200
        bit<8> later = 1;
        {
            bit<8> within = 1;
        }
        d.x = within;           //~ E0200
        d.x = x;                //~ E0200
    }
}
