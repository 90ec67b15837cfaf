// Arguments of externs are evaluated from left to right (P4-16 6.8): an `in` argument has the value from before the effects of those
// behind it.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> kind;
    bit<8> a;
    bit<8> b;
    bit<16> c;
}

bit<8> bump(inout bit<8> x) {
    x = x + 1;
    return x;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    register<bit<8>>(8) cells;
    apply {
        if (d.kind == 0) {
            // In the cell of the old a.
            cells.write((bit<32>)d.a, bump(d.a));
        } else if (d.kind == 1) {
            // From the cell of the old a, to a.
            cells.read(d.a, (bit<32>)bump(d.a));
        } else if (d.kind == 2) {
            // The base is the old a, the list has the new one.
            hash(d.c, HashAlgorithm.identity, d.a, { bump(d.a) }, 16w0x100);
        } else if (d.kind == 3) {
            // The order is that of the call: the old a, in the cell of the new one.
            cells.write(value = d.a, index = (bit<32>)bump(d.a));
        } else {
            // The list has the old a and the new one.
            hash(d.c, HashAlgorithm.identity, 16w0, { d.a, bump(d.a) }, 32w0x10000);
        }
        d.b = d.a;
    }
}

#include "frame/one_header.p4"
