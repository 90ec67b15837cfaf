// Section 8.18: stacks are moved by positive numbers of elements.

#include <core.p4>
#include <v1model.p4>

header item_t {
    bit<8> x;
}

control Work(inout item_t[4] s) {
    apply {
        s.pop_front(0);         //~ E0402
        s.push_front(0);        //~ E0402
        s.push_front(-1);       //~ E0402
    }
}
