// Section 12: an expression is no statement; a statement ends with a semicolon.
// Section 12.3: what a block declares is unknown behind it.
// Section 12.6: a condition is a truth value.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    apply {
        {
            bit<8> local = 1;
        }
        x = local;              //~ E0200
        if (x) { }              //~ E0300
        break;                  //~ E0310
    }
}
