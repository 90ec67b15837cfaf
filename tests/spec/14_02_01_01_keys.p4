// Section 14.2.1.1: keys of several match kinds; the longest prefix wins, among ternary entries the highest priority; a table
// without keys has its default action only.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> dst;
    bit<4>  version;
    bit<4>  rest;
    bit<8>  exact_and_ternary;
    bit<8>  lpm_;
    bit<8>  none;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action both(bit<8> v) { d.exact_and_ternary = v; }
    action prefix(bit<8> v) { d.lpm_ = v; }
    action without() { d.none = d.none + 1; }

    table fwd {
        key = {
            d.dst: ternary;
            d.version: exact;
        }
        actions = { both; NoAction; }
        default_action = NoAction();
    }

    table route {
        key = { d.dst: lpm; }
        actions = { prefix; NoAction; }
        default_action = NoAction();
    }

    table keyless {
        actions = { without; }
        default_action = without();
    }

    table empty_key {
        key = { }
        actions = { without; }
        default_action = without();
    }

    apply {
        fwd.apply();
        route.apply();
        if (!keyless.apply().hit && empty_key.apply().miss) {
            d.none = d.none + 0x10;
        }
    }
}

#include "../stf/frame/one_header.p4"
