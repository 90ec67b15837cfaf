#include <core.p4>
control C(inout bit<8> b);
package Top(C c);
extern Obj { Obj(); }

control sub(inout bit<8> b) {
    @name(".shared") action act() { }
    @name(".fixed") table t {   //~ W0030
        key = { b : exact; }
        actions = { act; }
        default_action = act();
    }
    apply { t.apply(); }
}
control main_c(inout bit<8> b) {
    sub() one;
    sub() two;
    @name("x") Obj() o1;
    @name("x") Obj() o2;        //~ W0030
    @name("a") action a1() { }
    @name("a") action a2() { }  //~ W0030
    table t {
        actions = { a1; a2; }
        default_action = a1();
    }
    apply { one.apply(b); two.apply(b); t.apply(); }
}
Top(main_c()) main;
