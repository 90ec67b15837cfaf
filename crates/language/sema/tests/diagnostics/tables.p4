#include <core.p4>

match_kind { range, optional }
header H { bit<8> a; bit<16> b; bool f; }
extern profile { profile(bit<32> size); }

control c(inout H h, inout bit<8> m) {
    profile(4) shared;
    action set(bit<8> v) { h.a = v; }
    action move(inout bit<8> x, bit<8> v) { x = v; }
    action only() { }
    action unlisted() { }
    table good {
        key = {
            h.a : exact;
            h.b : lpm;
            h.isValid() : exact @name("h.valid");
        }
        actions = { set; move(m); @defaultonly only; NoAction; }
        default_action = set(3);
        size = 64;
        const entries = {
            (1, 0x0a00 &&& 0xff00, true) : set(1);
            (2, _, true) : move(m, 2);
            (3, 1, true) : move(h.a, 2); //~ E0312
            (4, 1, true) : only();  //~ E0312
            (5, 1, true) : unlisted(); //~ E0312
            (6, 0x0a00 &&& 0x0ff0, true) : set(1); //~ E0313
            (_, 1, true) : set(1);  //~ E0313
            (7, 1, true) : set();   //~ E0304
            (8, 1, true) : set(m);  //~ E0400
            (8, 1) : set(1);        //~ E0313
            (h.a, 1, true) : set(1); //~ E0400
        }
        implementation = shared;
    }
    table no_actions {              //~ E0311
        key = { h.a : exact; }
    }
    table twice {
        key = { h.a : exact; }
        key = { h.b : exact; }      //~ E0201
        actions = { set; set; }     //~ E0201
        default_action = unlisted;  //~ E0312
        colour = 1;                 //~ W0007
        size = m;                   //~ E0400
    }
    table kinds {
        key = {
            h.a : exacct;           //~ E0311
            h.f : lpm;              //~ E0311
            h : exact;              //~ E0311
            1 : exact;              //~ E0311
            h.a + 1 : exact;        //~ E0311
            h.a + 2 : exact @name("sum");
            h.b & 0xff : exact;
        }
        actions = { move; }         //~ E0304
        default_action = 5;         //~ E0311
    }
    table bound {
        key = { h.a : range; h.b : optional; }
        actions = { move(1); NoAction; } //~ E0305
        entries = {
            priority = 10 : (1 .. 4, _) : NoAction();
            (1, 2 &&& 3) : NoAction(); //~ E0313
        }
    }
    table exacts {
        key = { h.a : exact; }
        actions = { NoAction; }
        entries = {
            priority = 1 : 1 : NoAction(); //~ E0311
        }
    }
    table order {
        actions = { NoAction; }
        entries = { 1 : NoAction(); } //~ E0311
        key = { h.a : exact; }
    }
    table nokeys {
        actions = { NoAction; }
        entries = { 1 : NoAction(); } //~ E0313
    }
    table nested {
        key = { good.apply().hit : exact @name("hit"); }
        actions = { m; NoAction; }    //~ E0311
    }
    apply {}
}
