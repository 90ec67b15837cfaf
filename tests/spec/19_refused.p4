// Section 19: an assertion that is false ends the compilation; the message is a string.

#include <core.p4>
#include <v1model.p4>

const bool CHECKED = static_assert(1 > 2, "one is less than two"); //~ E0403
const bool ALSO = static_assert(false);         //~ E0403

control Work(inout bit<8> x) {
    apply {
        static_assert(true, 5);                 //~ E0300
    }
}
