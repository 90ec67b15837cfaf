// Section 8.17: only headers of one type are compared; methods that change a header need an l-value; `{#}` is no struct.

#include <core.p4>
#include <v1model.p4>

header H {
    bit<32> x;
}

header G {
    bit<32> x;
}

struct S {
    bit<32> x;
}

H make() {
    return { 1 };
}

control Work(inout H h, inout G g, inout S s, in H fixed) {
    apply {
        if (h == g) { }         //~ E0301
        h = g;                  //~ E0300
        s = {#};                //~ E0300
        make().setValid();      //~ E0305
        fixed.setInvalid();     //~ E0305
        if (make().isValid()) { }
    }
}
