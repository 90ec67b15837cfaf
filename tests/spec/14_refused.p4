// Section 14: a control has no parsers; its declarations are private.
// Section 14.1: actions apply no tables, controls and parsers; they have no extern parameters; action data come last.
// Section 14.2: properties come once; a table has actions.

#include <core.p4>
#include <v1model.p4>

parser p(packet_in packet) {
    state start {
        transition accept;
    }
}

control c(inout bit<8> x) {
    apply { }
}

control Work(inout bit<8> x) {
    p() parse;                  //~ E0406
    c() inner;
    action first(bit<8> data, inout bit<8> y) { } //~ E0317
    action holds(counter k) { } //~ E0308
    table t {
        key = { x: exact; }
        actions = { NoAction; }
        size = 5;
        size = 6;               //~ E0201
    }
    table u {                   //~ E0311
        key = { x: exact; }
    }
    action applies() {
        t.apply();              //~ E0310
    }
    action calls() {
        inner.apply(x);         //~ E0310
    }
    apply {
        t.apply();
        u.apply();
    }
}
