// Section G: forms of the grammar that other programs here do not use: types of generic externs as results, names with dots as
// types, nested conditional operators, casts of casts, slices of slices, signs in a row, actions in braces without a semicolon,
// annotations on everything.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> a;
    bit<8>  choice;
    bit<8>  slices;
    bit<8>  signs;
    bit<8>  members;
}

struct pair_t<A, B> {
    A first;
    B second;
}

typedef pair_t<pair_t<bit<8>, bit<8>>, bit<16>> nested_t;

@inline bit<8> low(@in_anno in .data_t d) {
    return d.a[11:4][7:0];
}

control Work(@first inout .data_t d, inout standard_metadata_t std) {
    @local bit<8> x = 1;
    @action_ action set(@param bit<8> v) { x = v; { } }

    apply @applied {
        d.choice = d.a == 0 ? 8w1 : d.a == 1 ? 8w2 : d.a == 2 ? 8w3 : 4;
        d.slices = low(d);
        d.signs = (bit<8>) - - (int<8>) (+ 3) + ~ ~ 8w1;
        nested_t n = { { 1, 2 }, 3 };
        n.first.second = n.first.second + (bit<8>) (bit<4>) n.second;
        @block { d.members = n.first.second + ((nested_t) { { 7, 8 }, 9 }).first.first; }
        set(2);
        d.members = d.members + x;
    }
}

#include "../stf/frame/one_header.p4"
