// Section 7.1.3: a match kind is declared once, and a key needs one that is declared.
// Section 8.4: match kinds have no order.

#include <core.p4>
#include <v1model.p4>

match_kind { exact }            //~ E0201

header data_t {
    bit<8> x;
}

const bool WRONG = exact < lpm; //~ E0301

control Work(inout data_t d) {
    table t {
        key = { d.x: fuzzy; }   //~ E0311
        actions = { NoAction; }
    }
    apply {
        t.apply();
    }
}
