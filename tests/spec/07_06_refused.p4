// Section 7.6: only numbers and truth values make new types; a value is not of a new type without a cast.
// Section 8.23: there is no arithmetic and no order.

#include <core.p4>
#include <v1model.p4>

type bit<32> U32;

header data_t {
    U32     x;
    bit<32> z;
}

type data_t Wrong;              //~ E0308

control Work(inout data_t d) {
    apply {
        d.x = d.z;              //~ E0300
        d.z = d.x;              //~ E0300
        d.x = d.x + d.x;        //~ E0301
        if (d.x < d.x) { }      //~ E0301
        if (d.x == d.z) { }     //~ E0301
    }
}
