// Section 7.6: a new type is another type than the one that it is made of: values are cast.
// Section 8.23: values of a new type are assigned, compared and cast.

#include <core.p4>
#include <v1model.p4>

type bit<32> U32;
type bit<9> PortId_t;
type U32 Deeper;
type bool Flag;

const U32 FIVE = (U32) 5;

header data_t {
    U32     x;
    U32     y;
    bit<32> z;
    bit<8>  compared;
    bit<8>  port;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        U32 x = (U32) 0;
        PortId_t port = (PortId_t) std.ingress_port;
        d.x = FIVE;
        d.y = (U32) ((bit<32>) d.x + 1);
        Deeper deeper = (Deeper) d.y;
        Flag f = (Flag) true;
        d.compared = 0;
        if (d.x == (U32) d.z) {
            d.compared = d.compared + 1;
        }
        if ((bit<32>) d.x == d.z) {
            d.compared = d.compared + 2;
        }
        if (d.x != d.y && (U32) deeper == d.y && (bool) f && x != d.x) {
            d.compared = d.compared + 4;
        }
        if (port == (PortId_t) 9w3) {
            d.port = 3;
        }
    }
}

#include "../stf/frame/one_header.p4"
