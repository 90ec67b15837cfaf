// Section 13.8: the methods that extract can fail, and are for parsers only.

#include <core.p4>
#include <v1model.p4>

header fixed_t {
    bit<8> x;
}

control Work(packet_in packet, out fixed_t f) {
    apply {
        packet.extract(f);          //~ E0310
        packet.advance(8);          //~ E0310
    }
}
