// Section 12: a statement ends with a semicolon.
// Section 12.2: only `;` alone is an empty statement.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    apply {
        x = 1                   //~ E0111
        x = 2;
    }
}
