// Section 7.2.3: the size of a stack is a positive number known while compiling; stacks are not nested.

#include <core.p4>
#include <v1model.p4>

header mpls_t {
    bit<32> label;
}

typedef mpls_t[2] two_t;
typedef two_t[3] nested_t;      //~ E0308

control Work(inout bit<8> b) {
    apply {
        mpls_t[(b)] variable;   //~ E0400
    }
}
