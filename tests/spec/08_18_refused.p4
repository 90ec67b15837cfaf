// Section 8.18: constant indices are within the stack; amounts are known; `next`, `last` and `lastIndex` are for parsers; sizes
// are fixed.

#include <core.p4>
#include <v1model.p4>

header item_t {
    bit<8> x;
}

parser P(packet_in packet, inout item_t[4] s, out bit<32> i) {
    state start {
        packet.extract(s.next);
        s.lastIndex = 1;        //~ E0305
        s.size = 1;             //~ E0305
        i = s.lastIndex;
        transition accept;
    }
}

control Work(inout item_t[4] s, inout item_t[3] t, inout bit<8> x) {
    apply {
        s[4] = { 1 };           //~ E0405
        x = s[-1].x;            //~ E0405
        s.push_front(x);        //~ E0400
        x = s.last.x;           //~ E0310
        s.next = { 1 };         //~ E0310
        x = (bit<8>) s.lastIndex; //~ E0310
        s = t;                  //~ E0300
        if (s == t) { }         //~ E0301
    }
}
