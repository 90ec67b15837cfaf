// Section 8.19: a union starts invalid; it becomes valid by assignment to a member or by `setValid`, and then its other members
// are invalid.

#include <core.p4>
#include <v1model.p4>

header H1 {
    bit<8> f;
}

header H2 {
    bit<16> g;
}

header_union U {
    H1 h1;
    H2 h2;
}

header data_t {
    bit<8> start;
    bit<8> assigned;
    bit<8> list;
    bit<8> set;
    bit<8> unset;
    bit<8> from_invalid;
    bit<8> copied;
    bit<8> reset;
}

/// 0x10 for the union, 1 for `h1`, 2 for `h2`.
bit<8> validity(in U u) {
    return (u.isValid() ? 8w0x10 : 0) + (u.h1.isValid() ? 8w1 : 0) + (u.h2.isValid() ? 8w2 : 0);
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        U u;
        d.start = validity(u);
        H1 my_h1 = { 8w5 };
        u.h1 = my_h1;
        d.assigned = validity(u) + u.h1.f;
        u.h2 = { 16w1 };
        d.list = validity(u);
        u.h1.setValid();
        d.set = validity(u);
        U w;
        w.h2 = { 7 };
        U copy = w;
        d.copied = validity(copy) + copy.h2.g[7:0];
        copy = u;
        d.reset = validity(copy);
        // Making any member invalid makes the union invalid.
        u.h2.setInvalid();
        d.unset = validity(u);
        H2 none;
        w.h2 = none;
        d.from_invalid = validity(w);
    }
}

#include "../stf/frame/one_header.p4"
