// Section 7.1.6.2: a width that is an expression stands in parentheses. p4c accepts others, and so does Hopwright, with a warning unless it
// is a name.

#include <core.p4>
#include <v1model.p4>

const bit<32> X = 6;
typedef bit<X + 2> byte_t;      //~ W0036
typedef varbit<X * 4> bytes_t;  //~ W0036
typedef bit<(X + 2)> in_parentheses_t;
typedef bit<X> named_t;

header data_t {
    byte_t a;
    in_parentheses_t b;
    named_t c;
    bit<2> d;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.a = d.a + 1;
    }
}

#include "../stf/frame/one_header.p4"
