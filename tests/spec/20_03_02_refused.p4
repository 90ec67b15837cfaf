// Section 20.3.2: an action for entries is no default action, one for defaults is in no entry.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    action b() { }
    action c() { }
    table t {
        key = { x: exact; }
        actions = {
            @tableonly b;
            @defaultonly c;
        }
        default_action = b();   //~ E0312
        const entries = {
            1: b();
            2: c();             //~ E0312
        }
    }
    apply {
        t.apply();
    }
}
