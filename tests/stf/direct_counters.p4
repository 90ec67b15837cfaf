// Direct counters: each entry its own, of packets, of bytes and of both; misses and default actions count nowhere.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> result;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    direct_counter(CounterType.packets) number;
    direct_counter(CounterType.bytes) size;
    direct_counter(CounterType.packets_and_bytes) both;

    action counted(bit<8> v) {
        number.count();
        d.result = d.result + v;
    }

    action sized() {
        size.count();
    }

    action twice() {
        both.count();
        both.count();
    }

    table exact_table {
        key = { d.key : exact; }
        actions = { counted; NoAction; }
        counters = number;
        default_action = NoAction();
    }

    table ternary_table {
        key = { d.key : ternary; }
        actions = { sized; }
        counters = size;
    }

    table lpm_table {
        key = { d.key : lpm; }
        actions = { twice; NoAction; }
        counters = both;
    }

    apply {
        exact_table.apply();
        ternary_table.apply();
        lpm_table.apply();
    }
}

#include "frame/one_header.p4"
