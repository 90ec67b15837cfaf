// Section 8.21: arguments of constructors are known while compiling, as many as needed, and of the right names.
// Section 14.2.1.6: a property has a value of the kind that it needs.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    action_profile((bit<32>) x) p;      //~ E0400
    action_profile() q;                 //~ E0304
    action_profile(length = 5) r;       //~ E0304
    table t {
        key = { x: exact; }
        actions = { NoAction; }
        size = true;                    //~ E0311
    }
    apply {
        t.apply();
    }
}
