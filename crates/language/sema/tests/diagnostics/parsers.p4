#include <core.p4>

header H { bit<8> a; bit<16> b; }
enum bit<8> Kind { A = 1 }

parser nostart(packet_in p) {   //~ E0207
    state begin { transition accept; }
}

parser p(packet_in pk, out H h, out H[3] hs) {
    value_set<bit<8>>(4) vs;
    value_set<tuple<bit<8>, bit<16>>>(4) pair;
    value_set<bit<8>>(-1) negative; //~ E0402
    bit<8> local = 3;
    state start {
        pk.extract(hs.next);
        transition select(hs.last.a, h.b) {
            (1, 2): accept;
            (1, 2, 3): accept;  //~ E0313
            1: accept;          //~ E0313
            (1 &&& 0xf, 3 .. 5): next;
            (true, _): accept;  //~ E0300
            (_, 5 .. 4): accept; //~ W0008
            pair: next;
            vs: next;           //~ E0313
            (1, 1): nxet;       //~ E0206
            default: next;
            (3, 3): accept;     //~ W0006
        }
    }
    state next {
        transition select(h.a) {
            vs: accept;
            Kind.A: accept;
            local: reject;
        }
    }
    state next { transition accept; } //~ E0201
    state other {
        transition select("h") { //~ E0315
            default: accept;
        }
    }
    state last {
        bit<32> n = hs.lastIndex;
        transition nowhere;     //~ E0206
    }
}

parser endless(packet_in pk) {  //~ E0318
    state start {
        transition select(pk.lookahead<bit<8>>()) {
            1: more;
            _: start;
        }
    }
    state more { transition start; }
}

parser tuples(packet_in pk) {
    tuple<bit<8>, bit<8>> pair;
    state start {
        pair = { 1, 2 };
        transition select(pair, { pair[0], 8w3 }) {
            (pair, { 1, 2 }): accept;
            (default, { 1, 2, 3 }): accept; //~ E0300
            (1, _): accept;     //~ E0300
            default: reject;
        }
    }
}

parser no_transition(packet_in p) {
    state start { } //~ W0029
}
