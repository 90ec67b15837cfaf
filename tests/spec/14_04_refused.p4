// Section 14.4: an instance is applied with its parameters; no control uses itself.

#include <core.p4>
#include <v1model.p4>

control Callee(inout bit<8> x) {
    apply { }
}

control Again(inout bit<8> x) {
    Again() again;              //~ E0310
    apply { }
}

control Work(inout bit<8> x) {
    Callee() callee;
    apply {
        callee.apply();         //~ E0304
        callee.apply(5);        //~ E0305
        callee(x);              //~ E0306
    }
}
