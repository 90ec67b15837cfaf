// Section 20.3.3: a name is a string.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    @name(5)                    //~ E0308
    table v {
        actions = { NoAction; }
    }
    apply {
        v.apply();
    }
}
