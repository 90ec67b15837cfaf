// Section 20: unstructured annotations may come several times; structured ones have their names for an element alone.
// Section 20.1: their bodies are any tokens with balanced parentheses.
// Section 20.2: structured bodies are lists of values, or of pairs.
// Section 20.2.1: an empty list, mixed values of macros and operators, pairs of strings, mixed pairs.

#include <core.p4>
#include <v1model.p4>

#define TEXT_CONST "hello"
#define NUM_CONST 6

header data_t {
    @unused_here(1) bit<8> x;
}

@my_anno(1)
@my_anno(2)
@other(a + (b, c) [ } ; "text" 8w5 transition)
control Inner(inout data_t d) {
    action add(@data bit<8> n) {
        d.x = d.x + n;
    }

    @my_anno(1) table t {
        key = { d.x: exact @name("k"); }
        actions = { add; NoAction; }
        default_action = NoAction();
    }

    @my_anno[2] table u {
        actions = { add; }
        default_action = add(1);
    }

    @Empty[] table v {
        actions = { add; }
        default_action = add(2);
    }

    @MixedExprList[1, TEXT_CONST, true, 1 == 2, 5 + NUM_CONST]
    @Labels[short="Short Label", hover="My Longer Label"]
    @MixedKV[label="text", my_bool=true, int_val=2*3]
    table w {
        actions = { add; }
        default_action = add(4);
    }

    apply {
        t.apply();
        u.apply();
        v.apply();
        w.apply();
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Inner() inner;

    apply {
        inner.apply(d);
    }
}

#include "../stf/frame/one_header.p4"
