// Section 18.3.1.3: a key whose expression has no name needs one.
// Section 18.3.1.2: a table is declared in a control.
// Section 18.3.1.4: an action's name is known where it is declared.
// Section 18.3.3: a table's actions are those that its control knows.

#include <core.p4>
#include <v1model.p4>

control Other(inout bit<8> x) {
    action hidden() { }
    apply { }
}

control Work(inout bit<8> x) {
    table t {
        key = { x + 1: exact; } //~ E0311
        actions = {
            NoAction;
            hidden;             //~ E0200
        }
    }
    apply {
        t.apply();
    }
}
