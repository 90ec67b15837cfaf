#include <core.p4>

extern Virtual {
    Virtual();
    abstract bit<8> f(in bit<8> x);
}
extern Obj { Obj(); void go(); bit<64> wide(); }
typedef bit<8>[4] Array;
typedef tuple<bit<8>>[4] Tuples; //~ E0308
header H { bit<8> a; }

control byref(Obj o) {
    apply { o.go(); }
}
control wide(in int n) { apply { } } //~ E0317

parser p(packet_in pk, out H h) {
    state start {
        transition accept;
    }
}

control c(inout H[4] hs, in bit<64> i, inout bit<8> b) {
    Virtual() v = { bit<8> f(in bit<8> x) { return x; } };
    Virtual() w;                //~ E0307
    Obj() o;
    apply {
        b = hs[o.wide()].a;     //~ E0500
    }
}

control nested(packet_in pk, out H h) {
    p() inner;                  //~ E0406
    apply { }
}
parser within(packet_in pk, out H h) {
    byref() inner;              //~ E0406
    state start {
        transition select(h) {  //~ E0315
            _: accept;
        }
    }
}
extern Result {
    void Result();              //~ E0201
}
control ranked(in H h) {
    table t {
        key = { h.a : ternary; }
        actions = { NoAction; }
        const entries = {
            priority = 3 : 1 : NoAction(); //~ E0311
        }
    }
    apply { t.apply(); }
}
