#include <core.p4>

header H { bit<8> a; }
enum E { X, Y, Z }

parser sub(packet_in p, out H h) { state start { transition accept; } }
control inner(inout bit<8> x) { apply { x = 1; } }

bit<8> leave(in bit<8> x) {
    exit;                       //~ E0310
    return x;
}

control c(inout bit<8> b, inout H[4] hs, in E e, packet_in pk) {
    inner() i;
    sub() s; //~ E0406
    action set() { b = 1; t.apply(); } //~ E0310
    action drop() { exit; }
    action never() { }
    table t {
        key = { b : exact; }
        actions = { set; drop; }
    }
    action late() { t.apply(); } //~ E0310
    apply {
        b = hs[0].a;
        b = hs[4].a;            //~ E0405
        b = hs[b].a;
        b = hs[true].a;         //~ E0300
        b = hs.last.a;          //~ E0310
        hs.push_front(1);
        hs.push_front(b);       //~ E0400
        hs.size = 1;            //~ E0305
        break;                  //~ E0310
        for (bit<8> k in 0 .. 3) { b = b + k; continue; }
        for (bit<8> k in { 1, 2, 3 }) { if (k == b) break; }
        for (H k in hs) { b = k.a; }
        for (bool k in hs) { }  //~ E0300
        for (bit<8> n = 0; n < 4; n += 1) { b |= n; }
        i.apply(b);
        i.apply(1);             //~ E0305
        s.apply(pk, hs[0]);
        i.run(b);               //~ E0203
        if (b) { }              //~ E0300
        if (t.apply().hit) { b = 2; } else if (!t.apply().miss) { b = 3; }
        if (t.apply()) { }      //~ E0300
        t();                    //~ E0306
        switch (t.apply().action_run) {
            set: { b = 1; }
            drop:
            default: { b = 2; }
        }
        switch (t.apply().action_run) {
            set: { }
            set: { }            //~ E0314
            never: { }          //~ E0312
            b: { }              //~ E0314
        }
        switch (b) {
            1: { b = 2; }
            2:
            3: { b = 4; }
            3: { }              //~ E0314
            true: { }           //~ E0300
            default: { }
        }
        switch (b) {
            default: { }
            1: { }              //~ E0314
        }
        switch (b) {
            1:                  //~ W0005
        }
        switch (e) { E.X: { b = 1; } E.Y: { } }
        switch (hs) { }         //~ E0314
        bit<8> x = 1;
        { bit<8> x = 2; b = x; } //~ W0001
        return;
        return 1;               //~ E0309
    }
}
