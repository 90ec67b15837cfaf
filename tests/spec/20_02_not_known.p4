// Section 20.2: values of structured annotations are strings, integers and truth values, known while compiling.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    @Unknown[x]                 //~ E0400
    table d {
        actions = { NoAction; }
    }
    @Wide[{ 1, 2 }]             //~ E0400
    table e {
        actions = { NoAction; }
    }
    apply {
        d.apply();
        e.apply();
    }
}
