// Section 7.1.6.5: parameters of actions are not of type int; others of type int have no direction.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    action set(int n) {         //~ E0308
        x = 1;
    }
    apply { }
}

bit<8> f(in int n) {            //~ E0317
    return 1;
}
