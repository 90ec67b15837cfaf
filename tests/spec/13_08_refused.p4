// Section 13.8: a `packet_in` is not instantiated.
// Section 13.8.1: only headers of fixed size are extracted with one argument.
// Section 13.8.2: only headers with a varbit field are extracted with two.
// Section 13.8.3: what is looked ahead has a fixed size.

#include <core.p4>
#include <v1model.p4>

header fixed_t {
    bit<8> x;
}

header variable_t {
    varbit<80> v;
}

header two_t {
    varbit<8> a;
    varbit<8> b;
}

struct pair_t {
    bit<8> a;
}

parser P(packet_in packet, out fixed_t f, out variable_t v, out two_t t, out bit<8> x, out pair_t s) {
    state start {
        packet.extract(x);          //~ E0308
        packet.extract(s);          //~ E0308
        packet.extract(v);          //~ E0308
        packet.extract(f, 8);       //~ E0308
        packet.extract(t, 8);       //~ E0308
        packet.extract(v, 16w8);    //~ E0300
        v = packet.lookahead<variable_t>(); //~ E0308
        transition accept;
    }
}

control Work(out fixed_t f) {
    packet_in() own;                //~ E0406
    apply { }
}
