// Section 7.2.4: members of a union are headers with different names; a union has no methods but `isValid`.

#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<8> x;
}

header_union wrong_t {
    bit<8> x;                   //~ E0308
}

header_union twice_t {
    h_t a;
    h_t a;                      //~ E0201
}

header_union u_t {
    h_t a;
    h_t b;
}

control Work(inout u_t u) {
    apply {
        u.setValid();           //~ E0203
        u.setInvalid();         //~ E0203
    }
}
