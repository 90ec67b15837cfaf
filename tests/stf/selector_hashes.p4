// A selector's hash is its algorithm's whole result, whatever output width the program names.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<72> flow;
    bit<8> by;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action_selector(HashAlgorithm.crc16, 8, 4) sixteen;
    action_selector(HashAlgorithm.crc32, 8, 4) thirty_two;
    action_selector(HashAlgorithm.csum16, 8, 4) sum;
    action_selector(HashAlgorithm.xor16, 8, 4) xor;

    action say(bit<8> v) {
        d.by = v;
    }

    table by_crc16 {
        key = { d.key : exact; d.flow : selector; }
        actions = { say; NoAction; }
        implementation = sixteen;
        default_action = NoAction();
    }

    table by_crc32 {
        key = { d.key : exact; d.flow : selector; }
        actions = { say; NoAction; }
        implementation = thirty_two;
        default_action = NoAction();
    }

    table by_sum {
        key = { d.key : exact; d.flow : selector; }
        actions = { say; NoAction; }
        implementation = sum;
        default_action = NoAction();
    }

    table by_xor {
        key = { d.key : exact; d.flow : selector; }
        actions = { say; NoAction; }
        implementation = xor;
        default_action = NoAction();
    }

    apply {
        by_crc16.apply();
        by_crc32.apply();
        by_sum.apply();
        by_xor.apply();
    }
}

#include "frame/one_header.p4"
