// Section draft 8.6: strings are joined while compiling: arguments of externs, names for the control plane, constants of
// constants.

#include <core.p4>
#include <v1model.p4>

const string FIRST = "ta";
const string BOTH = FIRST ++ "ble";

header data_t {
    bit<8> x;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> v) {
        d.x = v;
    }

    @name(BOTH ++ "_" ++ "one")
    table t {
        key = { d.x: exact; }
        actions = { set; NoAction; }
        default_action = NoAction();
    }

    apply {
        log_msg("a message, " ++
                "continued, " ++ BOTH);
        t.apply();
    }
}

#include "../stf/frame/one_header.p4"
