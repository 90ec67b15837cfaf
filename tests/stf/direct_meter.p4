// A meter in each entry of a table: measured at each hit, read by the actions that want to know.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> flow;
    bit<8> color;
    bit<8> arg;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    direct_meter<bit<8>>(MeterType.packets) m;
    direct_meter<bit<8>>(MeterType.bytes) n;
    direct_counter(CounterType.packets) c;
    action_selector(HashAlgorithm.identity, 4, 8) members;

    action read(bit<8> v) {
        m.read(d.color);
        d.arg = v;
    }

    action silent(bit<8> v) {
        d.arg = v;
    }

    table t {
        key = { d.key : exact; }
        actions = { read; silent; }
        default_action = read(0xdd);
        meters = m;
        counters = c;
    }

    action twice(bit<8> v) {
        n.read(d.color);
        bit<8> again;
        n.read(again);
        d.color = d.color << 4 | again;
        d.arg = v;
    }

    table u {
        key = {
            d.key : lpm;
            d.flow : selector;
        }
        actions = { twice; }
        default_action = twice(0xee);
        meters = n;
        implementation = members;
    }

    apply {
        if (d.key < 0x80) {
            t.apply();
        } else {
            u.apply();
        }
    }
}

#include "frame/one_header.p4"
