// Section 6.4.1: names are letters, digits and underscores; keywords that the context makes unambiguous are names, too.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> actions;
    bit<8> apply;
    bit<8> state;
    bit<8> _x1_Y;
    bit<8> X1_y;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bit<8> key = d.key;
        bit<8> priority = key + 1;
        bit<8> entries = priority + 1;
        d.actions = key + entries;
        d.apply = entries;
        d.state = priority;
        d._x1_Y = 0x0a;
        d.X1_y = 0x0b;          // not the same name as d._x1_Y: case matters
    }
}

#include "../stf/frame/one_header.p4"
