// Section 7.2.11: a generic type has arguments for all its variables, and no others.

#include <core.p4>
#include <v1model.p4>

struct S<T> {
    T field;
}

struct two_t<A, B> {
    A a;
    B b;
}

struct wrong_t {
    S           s;              //~ E0204
    S<bit<8>, bit<8>> t;        //~ E0204
    two_t<bit<8>> u;            //~ E0204
}

control Work(inout bit<8> x) {
    register(16) open;          //~ E0303
    apply { }
}
