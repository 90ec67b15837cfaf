// switch on 128 bits, on int, on an enum and on an expression; labels that share a block; no default; an empty
// block.

#include <core.p4>
#include <v1model.p4>

enum bit<8> Kind {
    A = 1,
    B = 2,
    C = 7
}

header data_t {
    bit<8> what;
    bit<8> kind;
    bit<128> key;
    bit<8> r;
    bit<8> wide;
    bit<8> signed;
    bit<8> e;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        switch (d.what) {
            1:
            2: { d.r = 0x12; }
            3: { d.r = 0x30; }
            0xff: { d.r = 0x99; }
            default: { d.r = 0xdd; }
        }
        d.wide = 0;
        switch (d.key) {
            128w1 << 127: { d.wide = 1; }
            5: { d.wide = 2; }
            0xffffffffffffffffffffffffffffffff: { d.wide = 3; }
        }
        switch ((int<8>) d.what) {
            -1: { d.signed = 1; }
            -128: { d.signed = 2; }
            127: { d.signed = 3; }
            default: { d.signed = 9; }
        }
        switch ((Kind) d.kind) {
            Kind.A:
            Kind.B: { d.e = 1; }
            Kind.C: { d.e = 2; }
            default: { d.e = 3; }
        }
        switch (d.what + d.kind) {
            0: {}
            default: {}
        }
    }
}

#include "frame/one_header.p4"
