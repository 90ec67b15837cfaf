// Section 12.7.2: a switch over numbers, enums of both kinds and errors; labels are constants, and take the type of what is
// switched over.
// Section 12.7: the expression's effects come first; without a label that fits and without `default` nothing runs.

#include <core.p4>
#include <v1model.p4>

enum Plain { A, B, C }
enum bit<8> Numbered { One = 1, Two = 2 }

const bit<16> LABEL = 0xbeef;

header data_t {
    bit<16> kind;
    int<8>  n;
    bit<8>  r0;
    bit<8>  r1;
    bit<8>  r2;
    bit<8>  r3;
    bit<8>  r4;
    bit<8>  calls;
}

bit<16> count(inout bit<8> calls, in bit<16> x) {
    calls = calls + 1;
    return x;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        switch (count(d.calls, d.kind)) {
            0x86dd: { d.r0 = d.calls; }
            0x0800:
            0x0802: { d.r0 = 2; }
            0xcafe: { d.r0 = 3; }
            LABEL: { d.r0 = 4; }
            default: { d.r0 = 5; }
        }
        switch (d.n) {
            -3: { d.r1 = 1; }
            4 - 1: { d.r1 = 2; }
        }
        Plain p = d.n == 0 ? Plain.A : Plain.B;
        switch (p) {
            Plain.A:
            Plain.C: { d.r2 = 1; }
            default: { d.r2 = 2; }
        }
        switch ((Numbered) (bit<8>) d.n) {
            Numbered.One: { d.r3 = 1; }
            Numbered.Two: { d.r3 = 2; }
            default: { d.r3 = 3; }
        }
        switch (std.parser_error) {
            error.NoError: { d.r4 = 1; }
            default: { d.r4 = 2; }
        }
    }
}

#include "../stf/frame/one_header.p4"
