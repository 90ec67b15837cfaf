// Entries in the program: every match kind; the first that matches wins unless it is the longest prefix; priorities.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> exact_result;
    bit<8> mixed_result;
    bit<8> lpm_result;
    bit<8> ranked_result;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set_exact(bit<8> v) { d.exact_result = v; }
    action set_mixed(bit<8> v) { d.mixed_result = v; }
    action set_lpm(bit<8> v) { d.lpm_result = v; }
    action set_ranked(bit<8> v) { d.ranked_result = v; }

    table exact_entries {
        key = { d.a : exact; d.b : exact; }
        actions = { set_exact; }
        const default_action = set_exact(0xff);
        const entries = {
            (1, 2) : set_exact(0x12);
            (2, 1) : set_exact(0x21);
        }
    }

    table mixed {
        key = { d.a : ternary; d.b : range; }
        actions = { set_mixed; }
        const default_action = set_mixed(0xff);
        const entries = {
            (0x10 &&& 0xf0, 10 .. 20) : set_mixed(1);
            (0x11, _) : set_mixed(2);
            (_, 15 .. 30) : set_mixed(3);
            (0x12 &&& 0x12, 5) : set_mixed(4);
        }
    }

    table prefixes {
        key = { d.a : lpm; }
        actions = { set_lpm; }
        const entries = {
            0x80 &&& 0x80 : set_lpm(1);
            0xa0 &&& 0xf0 : set_lpm(4);
            0xa5 : set_lpm(8);
            _ : set_lpm(0xd0);
        }
    }

    table ranked {
        key = { d.a : ternary; }
        actions = { set_ranked; }
        largest_priority_wins = false;
        entries = {
            const priority = 30: 0x01 &&& 0x01 : set_ranked(0x30);
            const priority = 10: 0x02 &&& 0x02 : set_ranked(0x10);
            priority = 20: 0x04 &&& 0x04 : set_ranked(0x20);
        }
    }

    apply {
        exact_entries.apply();
        mixed.apply();
        prefixes.apply();
        ranked.apply();
    }
}

#include "frame/one_header.p4"
