// Checksums adjusted to words that were exchanged: lists at byte boundaries and not, wide numbers, lists of no whole
// words, nothing removed, nothing added, and the two zeros.

#include <core.p4>
#include <v1model.p4>
#include <internet_checksum.p4>

header data_t {
    bit<16> c;
    bit<16> a;
    bit<32> b;
    bit<128> w;
    bit<7> x;
    bit<9> y;
    bit<8> z;
    bit<16> r0;
    bit<16> r1;
    bit<16> r2;
    bit<16> r3;
    bit<16> r4;
    bit<16> r5;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.r0 = d.c;
        adjust_checksum(d.r0, d.a, d.b);
        d.r1 = d.c;
        adjust_checksum(d.r1, { d.a, d.b, d.w }, { 16w0, d.b + 1 });
        d.r2 = d.c;
        adjust_checksum(d.r2, { d.x, d.y }, { d.y, d.x, 16w0xfedc });
        d.r3 = d.c;
        adjust_checksum(d.r3, { d.z }, { d.w, d.x });
        d.r4 = d.c;
        adjust_checksum(d.r4, { d.a, d.a, d.x ++ d.y }, { 16w0 });
        d.r5 = d.c;
        adjust_checksum(d.r5, 16w0, d.w);
    }
}

#include "frame/one_header.p4"
