// Section 8.18: `last` is no l-value, unlike `next`.

#include <core.p4>
#include <v1model.p4>

header item_t {
    bit<8> x;
}

parser P(packet_in packet, inout item_t[4] s) {
    state start {
        packet.extract(s.next);
        s.next = { 1 };
        s.last = { 1 };         //~ E0305
        s.last.x = 1;           //~ E0305
        packet.extract(s.last); //~ E0305
        transition accept;
    }
}
