// Section 7.2.2: what cannot be a field of a header: headers, stacks, errors, strings, enums without numbers, structs with these.

#include <core.p4>
#include <v1model.p4>

enum Plain { A, B }

header inner_t {
    bit<8> x;
}

struct holds_header_t {
    inner_t h;
}

header data_t {
    inner_t   h;                //~ E0308
    inner_t[2] s;               //~ E0308
    error     e;                //~ E0308
    Plain     p;                //~ E0308
    holds_header_t i;           //~ E0308
    bit<8>    x;
    bit<8>    x;                //~ E0201
}
