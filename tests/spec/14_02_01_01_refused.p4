// Section 14.2.1.1: a key has a match kind, and a type that it can compare; a mask of an `lpm` key is a prefix.

#include <core.p4>
#include <v1model.p4>

header item_t {
    bit<8> x;
}

control Work(inout bit<8> x, inout item_t h) {
    table t {
        key = {
            x: unknown;         //~ E0311
            h: exact;           //~ E0311
        }
        actions = { NoAction; }
    }
    table l {
        key = { x: lpm; }
        actions = { NoAction; }
        const entries = {
            0x0f &&& 0x0f: NoAction();  //~ E0313
        }
    }
    table e {
        key = { x: exact; }
        actions = { NoAction; }
        const entries = {
            0x0f &&& 0x0f: NoAction();  //~ E0313
        }
    }
    apply {
        t.apply();
        l.apply();
        e.apply();
    }
}
