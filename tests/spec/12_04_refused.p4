// Section 12.4: a parser does not return; only functions with results return values.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    action a() {
        return 1;               //~ E0309
    }
    apply {
        a();
        return x;               //~ E0309
    }
}
