// Section 18.4.1: blocks marked as atomic: a register that a packet reads and writes through two tables.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<32> gap;
    bit<32> flowlet;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    register<bit<32>>(1) r;

    action read() {
        r.read(d.flowlet, 0);
    }

    action write() {
        @atomic {
            bit<32> old;
            r.read(old, 0);
            r.write(0, old + 1);
        }
    }

    table flowlet {
        actions = { read; }
        default_action = read();
    }

    table new_flowlet {
        actions = { write; }
        default_action = write();
    }

    apply {
        @atomic {
            flowlet.apply();
            if (d.gap > 0x100)
                new_flowlet.apply();
        }
    }
}

#include "../stf/frame/one_header.p4"
