// The control plane may set another default action; without any the default does nothing.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> result;
    bit<8> none;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> value) {
        d.result = value;
    }

    action touch() {
        d.none = 0xff;
    }

    table changed {
        key = { d.key : exact; }
        actions = { set; }
        default_action = set(1);
    }

    table without {
        key = { d.key : exact; }
        actions = { touch; }
    }

    apply {
        changed.apply();
        without.apply();
    }
}

#include "frame/one_header.p4"
