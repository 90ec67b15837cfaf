// Section 8.15: a set is for cases and entries, not for values.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    apply {
        x = 1 .. 3;             //~ E0111
    }
}
