// Section 19: an assertion is known while compiling.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    apply {
        static_assert(x == 1, "not known");     //~ E0400
    }
}
