// Section 12.7: no two labels are equal; `default` is the last.
// Section 12.7.1: labels are actions of the table.
// Section 12.7.2: labels are constants of a fitting type; structs and truth values are not switched over.

#include <core.p4>
#include <v1model.p4>

enum bit<8> E { A = 1 }

struct S {
    bit<8> a;
}

control Work(inout bit<8> x, inout S s) {
    action a() { }
    action b() { }
    table t {
        key = { x: exact; }
        actions = { a; NoAction; }
        default_action = NoAction();
    }
    apply {
        switch (x) {
            1: { }
            2 - 1: { }          //~ E0314
        }
        switch (x) {
            x: { }              //~ E0400
            16w1: { }           //~ E0300
            true: { }           //~ E0300
        }
        switch (s) {            //~ E0314
            default: { }
        }
        switch (t.apply().action_run) {
            a: { }
            b: { }              //~ E0312
        }
    }
}
