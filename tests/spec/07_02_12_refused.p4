// Section 7.2.12.1: a parser with other parameters does not fit the parser type.
// Section 7.2.12.2: a control with other parameters or directions does not fit the control type.
// Section 7.2.13: a package has no parameters with directions, and no blocks of other types.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

parser Reads<H>(packet_in packet, out H headers);
control Works<H>(inout H headers);
package Pair<H>(Reads<H> reads, Works<H> works);
package Directed(in bit<8> x);  //~ E0317

parser Right(packet_in packet, out data_t headers) {
    state start {
        transition accept;
    }
}

parser Longer(packet_in packet, out data_t headers, in bit<8> more) {
    state start {
        transition accept;
    }
}

control RightWork(inout data_t headers) {
    apply { }
}

control OtherWork(in data_t headers) {
    apply { }
}

Pair(Longer(), RightWork()) longer;    //~ E0300
Pair(Right(), OtherWork()) other;      //~ E0300
Pair(RightWork(), Right()) exchanged;  //~ E0300
