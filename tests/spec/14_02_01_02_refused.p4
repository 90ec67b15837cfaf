// Section 14.2.1.2: parameters with directions are bound in the list, others are not; arguments apply no tables.
// Section 14.2.1.3: the default action is one of the list, with its arguments and all action data.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    bit<8> z = 0;
    action a(in bit<8> x) { }
    action b(inout bit<8> x, bit<8> data) { }
    action c() { }
    table other {
        key = { x: exact; }
        actions = { NoAction; }
    }
    table t1 {
        key = { x: exact; }
        actions = { a; }        //~ E0304
    }
    table t2 {
        key = { x: exact; }
        actions = { b(z, 3); }  //~ E0304
    }
    table t3 {
        key = { x: exact; }
        actions = { b(); }      //~ E0304
    }
    table t4 {
        key = { x: exact; }
        actions = { a(other.apply().hit ? 8w5 : 3); } //~ E0310
    }
    table t6 {
        key = { x: exact; }
        actions = { a(5); b(z); }
        default_action = a(z);  //~ E0312
    }
    table t7 {
        key = { x: exact; }
        actions = { a(5); b(z); }
        default_action = b(z);  //~ E0304
    }
    table t8 {
        key = { x: exact; }
        actions = { a(5); b(z); }
        default_action = b(x, 3); //~ E0312
    }
    table t9 {
        key = { x: exact; }
        actions = { a(5); }
        default_action = c();   //~ E0312
    }
    apply {
        t1.apply();
        t2.apply();
        t3.apply();
        t4.apply();
        t6.apply();
        t7.apply();
        t8.apply();
        t9.apply();
    }
}
