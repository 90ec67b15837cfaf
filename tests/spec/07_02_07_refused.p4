// Section 7.2.7: the elements of a list have one type.
// Section 8.14: a list holds values that its elements' type takes.

#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<16> a;
    bit<32> b;
}

extern Holder {
    Holder(list<pair_t> data);
}

control Work(inout bit<8> x) {
    Holder((list<pair_t>) { { 2, 3 }, { true, 5 } }) wrong;      //~ E0300
    Holder((list<bit<8>>) { 1 }) other;                          //~ E0300
    Holder((list<pair_t>) { { 2, 3, 4 } }) long;                 //~ E0300
    apply { }
}
