// Section 18.3.1.5: two objects have two names.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    counter(1, CounterType.packets) c;
    counter(2, CounterType.packets) c;  //~ E0201
    apply {
        c.count(0);
    }
}
