// Section 12: a statement of each kind in a control: assignment, call, `if`, empty, block, `switch`, `for`, `exit`, `return`.
// Section 12.2: an empty statement does nothing.
// Section 12.3: a block's declarations are known within it only.
// Section 12.6: an `else` belongs to the innermost `if` without one.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
    bit<8> y;
    bit<8> branch;
    bit<8> trace;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action mark() {
        d.trace = d.trace + 1;
    }

    apply {
        ;
        mark();
        {
            bit<8> local = 2;
            {
                bit<8> deeper = local + 1;
                d.trace = d.trace + deeper;
                ;;
            }
            const bit<8> ONE = 1;
            d.trace = d.trace + ONE;
        }
        if (d.x == 1)
            if (d.y == 1) d.branch = 1;
            else d.branch = 2;
        if (d.x == 2) {
            if (d.y == 1) d.branch = 3;
        } else d.branch = d.branch + 0x10;
        if (d.x == 3) ; else { d.trace = d.trace + 0x20; }
        switch (d.y) { 7: { d.trace = 0x77; } }
        for (bit<8> i in 0 .. 2) d.trace += i;
        if (d.x == 4) return;
        if (d.x == 5) exit;
        d.trace = d.trace + 0x40;
    }
}

#include "../stf/frame/one_header.p4"
