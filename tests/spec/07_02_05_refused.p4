// Section 7.2.5: names of fields differ; a struct has no fields that other types would need.

#include <core.p4>
#include <v1model.p4>

struct twice_t {
    bit<8> a;
    bit<8> a;                   //~ E0201
}

struct wrong_t {
    int    n;                   //~ E0308
    packet_in p;                //~ E0308
}
