// Section 13.10: a parser calls parsers that are declared before it, and itself never; controls are not called.

#include <core.p4>
#include <v1model.p4>

header item_t {
    bit<8> x;
}

control c(inout bit<8> x) {
    apply { }
}

parser early(packet_in packet, out item_t h) {
    later() inner;              //~ E0200
    state start {
        transition accept;
    }
}

parser later(packet_in packet, out item_t h) {
    later() inner;              //~ E0310
    c() control_;               //~ E0406
    state start {
        transition accept;
    }
}
