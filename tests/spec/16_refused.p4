// Section 16: `emit` is for headers.
// Section 16.1: numbers, enums, errors, and structs with them are not emitted.

#include <core.p4>
#include <v1model.p4>

enum E { A }

header item_t {
    bit<8> x;
}

struct wrong_t {
    item_t h;
    E      e;
}

control Emits(packet_out packet, in item_t h, in E e, in wrong_t w) {
    apply {
        packet.emit(h.x);               //~ E0308
        packet.emit(e);                 //~ E0308
        packet.emit(error.NoError);     //~ E0308
        packet.emit(w);                 //~ E0308
    }
}
