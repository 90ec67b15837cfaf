// Section 14.2.1.4: an entry has a set for each key, an action of the table and all its data; a table without keys has no
// entries.
// Section 14.2.1.4.1: constant entries have no priorities; with priorities the first entry has one; they are positive.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    action set(bit<8> v) { x = v; }
    action other() { }
    table t {
        key = { x: ternary; }
        actions = { set; NoAction; }
        const entries = {
            (1, 2): set(1);     //~ E0313
            3: other();         //~ E0312
            4: set();           //~ E0304
            16w5: set(1);       //~ E0300
            priority = 3: 6: set(1); //~ E0311
        }
    }
    table u {
        key = { x: ternary; }
        actions = { set; NoAction; }
        entries = {
            1: set(1);          //~ E0311
            priority = 5: 2: set(2);
        }
    }
    table none {
        actions = { set; NoAction; }
        entries = {
            1: set(1);          //~ E0313
        }
    }
    table defaults {
        key = { x: exact; }
        actions = { set; @defaultonly NoAction; }
        const entries = {
            1: NoAction();      //~ E0312
        }
    }
    apply {
        t.apply();
        u.apply();
        none.apply();
        defaults.apply();
    }
}
