// Section 11.3: an extern without constructor has no objects.
// Section 11.3.2: controls and parsers are not instantiated at the top.

#include <core.p4>
#include <v1model.p4>

extern NoConstructor {
    void go();
}

control c(inout bit<8> x) {
    NoConstructor() n;          //~ E0406
    apply { }
}

parser p(in bit<8> x) {
    state start {
        transition accept;
    }
}

c() c1;                         //~ E0406
p() p1;                         //~ E0406
