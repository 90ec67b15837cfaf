// bool in locals, fields, structs, arguments and comparisons; casts to and from one bit.

#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bool x;
    bool y;
}

bool both(in bool x, in bool y) {
    return x && y;
}

header data_t {
    bool t;
    bool u;
    bool conjunction;
    bool disjunction;
    bool exclusive;
    bool negated;
    bool same;
    bit<1> as_bit;
    bool from_bit;
    bool chosen;
    bit<6> count;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    bit<6> n = 0;

    action tally(in bool flag) {
        n = n + (flag ? 6w1 : 0);
    }

    apply {
        pair_t p = { d.t, d.u };
        d.conjunction = p.x && p.y;
        d.disjunction = p.x || p.y;
        d.exclusive = p.x != p.y;
        d.negated = !p.x;
        d.same = p == { true, true };
        d.as_bit = (bit<1>) d.u;
        d.from_bit = (bool) (d.as_bit ^ 1);
        d.chosen = p.x ? p.y : !p.y;
        tally(d.t);
        tally(d.u);
        tally(both(d.t, d.u));
        d.count = n;
    }
}

#include "frame/one_header.p4"
