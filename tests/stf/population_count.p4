// How many bits of a value are ones, at several widths, of fields, of computed values, and of a call's own result.

#include <core.p4>
#include <v1model.p4>
#include <bits.p4>

header data_t {
    bit<1> a1;
    bit<7> a7;
    bit<8> a8;
    bit<33> a33;
    bit<64> a64;
    bit<65> a65;
    bit<135> a135;
    bit<1> n1;
    bit<7> n7;
    bit<8> n8;
    bit<33> n33;
    bit<64> n64;
    bit<65> n65;
    bit<135> n135;
    bit<16> sum;
    bit<8> twice;
    bit<6> padding;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.n1 = population_count(d.a1);
        d.n7 = population_count(d.a7);
        d.n8 = population_count(d.a8);
        d.n33 = population_count(d.a33);
        d.n64 = population_count(d.a64);
        d.n65 = population_count(d.a65);
        d.n135 = population_count(d.a135);
        d.sum = population_count(d.a7 ++ d.a8 ++ 1w1) + population_count((bit<16>) d.a33);
        d.twice = population_count(population_count(d.a64)[7:0]);
    }
}

#include "frame/one_header.p4"
