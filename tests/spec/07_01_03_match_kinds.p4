// Section 7.1.3: the match kinds of the core library, and one that a declaration adds, in a table each.

#include <core.p4>
#include <v1model.p4>

match_kind { fuzzy }

header data_t {
    bit<8>  k;
    bit<8>  exact_;
    bit<8>  ternary_;
    bit<8>  lpm_;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action by_exact(bit<8> v) { d.exact_ = v; }
    action by_ternary(bit<8> v) { d.ternary_ = v; }
    action by_lpm(bit<8> v) { d.lpm_ = v; }

    table e {
        key = { d.k: exact; }
        actions = { by_exact; NoAction; }
        const entries = { 0x12: by_exact(1); }
        default_action = NoAction();
    }

    table t {
        key = { d.k: ternary; }
        actions = { by_ternary; NoAction; }
        const entries = { 0x02 &&& 0x0f: by_ternary(2); }
        default_action = NoAction();
    }

    table l {
        key = { d.k: lpm; }
        actions = { by_lpm; NoAction; }
        const entries = {
            0x10 &&& 0xf0: by_lpm(4);
            0x12 &&& 0xfe: by_lpm(7);
        }
        default_action = NoAction();
    }

    apply {
        e.apply();
        t.apply();
        l.apply();
    }
}

#include "../stf/frame/one_header.p4"
