// A control instantiated twice: constructor arguments, state and tables of its own for each instance.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> first;
    bit<8> second;
    bit<8> shared;
    bit<8> counted_first;
    bit<8> counted_second;
}

control Adder(in bit<8> key, inout bit<8> value, out bit<8> seen)(bit<8> step, bool twice) {
    register<bit<8>>(1) calls;

    action add(bit<8> amount) {
        value = value + amount;
    }

    table amounts {
        key = { key : exact; }
        actions = { add; NoAction; }
        default_action = add(step);
    }

    apply {
        amounts.apply();
        if (twice) {
            value = value + value;
        }
        calls.read(seen, 0);
        seen = seen + 1;
        calls.write(0, seen);
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Adder(1, false) one;
    Adder(0x10, true) two;

    apply {
        one.apply(d.key, d.first, d.counted_first);
        two.apply(d.key, d.second, d.counted_second);
        // The same instance again: the same table and the same register.
        if (d.key == 9) {
            one.apply(d.key, d.shared, d.counted_first);
        }
    }
}

#include "frame/one_header.p4"
