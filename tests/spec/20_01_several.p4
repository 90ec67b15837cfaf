// Section 20: one name is used for structured or unstructured annotations of an element, and for one structured one only.
// Section 20.2.1: no key twice, no name twice, no name for both kinds.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    @my_anno(1)
    @my_anno[2] table a {       //~ E0201
        actions = { NoAction; }
    }
    @my_anno[1]
    @my_anno[2] table b {       //~ E0201
        actions = { NoAction; }
    }
    @DupKey[k1=4, k1=5]         //~ E0201
    table c {
        actions = { NoAction; }
    }
    apply {
        a.apply();
        b.apply();
        c.apply();
    }
}
