// Section 18.2: arguments of constructors are known while compiling.

#include <core.p4>
#include <v1model.p4>

control Inner(inout bit<8> x)(bit<8> n) {
    apply { }
}

control Outer(inout bit<8> x)(bit<8> n) {
    Inner(n + 1) known;
    Inner(x) unknown;           //~ E0400
    apply { }
}
