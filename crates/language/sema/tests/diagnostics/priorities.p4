#include <core.p4>

control ranked(inout bit<8> b) {
    action act() { }
    table largest {
        key = { b : ternary; }
        actions = { act; }
        default_action = act();
        entries = {
            priority = 20 : 1 &&& 1 : act();
            priority = 30 : 2 &&& 2 : act();    //~ W0038
            4 &&& 4 : act();
            priority = 20 : 8 &&& 8 : act();    //~ W0037
        }
    }
    table smallest {
        key = { b : ternary; }
        actions = { act; }
        default_action = act();
        largest_priority_wins = false;
        priority_delta = 10;
        entries = {
            priority = 20 : 1 &&& 1 : act();
            priority = 10 : 2 &&& 2 : act();    //~ W0038
            4 &&& 4 : act();                    //~ W0037
            8 &&& 8 : act();
        }
    }
    table plain {
        key = { b : ternary; }
        actions = { act; }
        default_action = act();
        entries = { 1 &&& 1 : act(); 2 &&& 2 : act(); }
    }
    apply { largest.apply(); smallest.apply(); plain.apply(); }
}
control C(inout bit<8> b);
package Top(C c);
Top(ranked()) main;
