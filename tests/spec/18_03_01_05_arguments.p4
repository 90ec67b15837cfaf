// Section 18.3.1.5: an object that is made as an argument has the name of the parameter, below the instance that has the
// parameter.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

control Callee(inout data_t d)(counter e_in) {
    apply {
        e_in.count(0);
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Callee(counter(1, CounterType.packets)) c1;
    Callee(counter(1, CounterType.packets)) c2;

    apply {
        c1.apply(d);
        c2.apply(d);
        c2.apply(d);
    }
}

#include "../stf/frame/one_header.p4"
