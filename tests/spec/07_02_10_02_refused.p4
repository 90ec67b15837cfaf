// Section 7.2.10: an extern object has no variables.
// Section 7.2.10.1: an extern function that does not exist, or is given other arguments, is not called.
// Section 7.2.10.2: parsers and controls are not overloaded; overloads of methods differ in number or names of parameters; a
// constructor has the extern's name and no result.

#include <core.p4>
#include <v1model.p4>

extern void measure(in bit<8> x, out bit<8> y);

extern Meter {
    Meter(bit<32> size);
    void set(in bit<32> index);
    void set(in bit<8> index);  //~ E0201
    void Meter();               //~ E0201
}

parser p(packet_in packet, out bit<32> value) {
    state start {
        value = 1;
        transition accept;
    }
}

parser p(packet_in packet, out bit<8> other) { //~ E0201
    state start {
        other = 1;
        transition accept;
    }
}

control Work(inout bit<8> x) {
    Meter(5) meter;
    apply {
        measure(x);             //~ E0304
        gauge(x);               //~ E0200
        meter.get(1);           //~ E0203
        Meter local;            //~ E0308
    }
}
