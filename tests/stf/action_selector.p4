// A selector picks a group's member by a hash over its keys: number hash modulo the sum of the weights, members in the
// order of their numbers.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> flow;
    bit<4> part;
    bit<4> rest;
    bit<8> by;
    bit<8> hit;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    // The hash is the byte itself, and for the other the first eight bytes of 12 bits filled up to two bytes.
    action_selector(HashAlgorithm.identity, 16, 8) byte;
    action_selector(HashAlgorithm.identity, 16, 14) odd;
    direct_counter(CounterType.packets) hits;

    action say(bit<8> v) {
        d.by = v;
    }

    action miss() {
        d.by = 0xff;
    }

    table t {
        key = {
            d.key : exact;
            d.flow : selector;
        }
        actions = { say; miss; }
        default_action = miss();
        implementation = byte;
        counters = hits;
    }

    table u {
        key = {
            d.part : selector;
            d.key : lpm;
            d.flow : selector;
        }
        actions = { say; @defaultonly NoAction; }
        default_action = NoAction();
        implementation = odd;
    }

    apply {
        if (d.rest == 0) {
            d.hit = t.apply().hit ? 8w1 : 8w0;
        } else {
            u.apply();
        }
    }
}

#include "frame/one_header.p4"
