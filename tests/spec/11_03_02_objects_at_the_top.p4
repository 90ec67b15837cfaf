// Section 11.3.2: objects of externs and constants stand at the top; all controls share such an object.

#include <core.p4>
#include <v1model.p4>

const bit<32> SIZE = 4;

counter(SIZE, CounterType.packets) shared;

header data_t {
    bit<8> x;
}

control Inner(inout data_t d) {
    apply {
        shared.count(1);
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Inner() inner;

    apply {
        shared.count(1);
        inner.apply(d);
    }
}

#include "../stf/frame/one_header.p4"
