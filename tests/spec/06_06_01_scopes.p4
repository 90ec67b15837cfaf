// Section 6.6.1: declarations hold from where they stand to the end of what encloses them; type variables to the end of their
// declaration.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
    bit<8> inner;
    bit<8> outer;
}

extern Holder<T> {
    Holder();
    void put(in T value);
    T get();
}

T same<T>(in T value) {
    T copy = value;
    return copy;
}

struct T {                      // not the type variable, whose scope has ended
    bit<8> x;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    bit<8> v = 1;

    apply {
        {
            bit<8> v = d.x;     //~ W0001
            v = v + 1;
            d.inner = v;
        }
        T t = { 5 };
        d.outer = v + same(t).x;
    }
}

#include "../stf/frame/one_header.p4"
