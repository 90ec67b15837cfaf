// Section 8.13: each field has one value, and only fields have values; `...` stands last.

#include <core.p4>
#include <v1model.p4>

struct S {
    bit<32> a;
    bit<32> b;
}

control Work(inout S s) {
    apply {
        s = { a = 1 };          //~ E0300
        s = { a = 1, b = 2, a = 3 }; //~ E0201
        s = { a = 1, b = 2, c = 3 }; //~ E0203
    }
}
