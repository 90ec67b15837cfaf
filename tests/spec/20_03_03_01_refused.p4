// Section 20.3.3.1: an element has one name at most, and no name if it is hidden.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    @name("a") @name("b")       //~ E0201
    table t {
        actions = { NoAction; }
    }
    @name("a") @hidden          //~ E0201
    table u {
        actions = { NoAction; }
    }
    apply {
        t.apply();
        u.apply();
    }
}
