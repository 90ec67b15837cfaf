// Section 14.2.2: `action_run` is for switches; the result of `apply` has three fields; a table is not applied with arguments.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    table t {
        key = { x: exact; }
        actions = { NoAction; }
    }
    apply {
        if (t.apply().found) { }        //~ E0203
        if (t.apply()) { }              //~ E0300
        if (t.apply().action_run == 1) { } //~ E0310
        t.apply(x);                     //~ E0304
    }
}
