// switch on values: cases that share a block, default, expressions and serialisable enums.

#include <core.p4>
#include <v1model.p4>

enum bit<8> Color {
    Red = 1,
    Green = 2,
    Blue = 0x80
}

header data_t {
    bit<8> x;
    Color  color;
    bit<8> on_bits;
    bit<8> on_enum;
    bit<8> no_default;
    bit<8> on_sum;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        switch (d.x) {
            0: { d.on_bits = 0x10; }
            1:
            2: { d.on_bits = 0x12; }
            0xff: {}
            default: { d.on_bits = 0xdd; }
        }
        switch (d.color) {
            Color.Red: { d.on_enum = 0xaa; }
            Color.Green:
            Color.Blue: { d.on_enum = 0xbb; }
            default: { d.on_enum = 0xcc; }
        }
        switch (d.x) {
            1: { d.no_default = 1; }
        }
        switch (d.x + 1) {
            0: { d.on_sum = 0xf0; }
            3: { d.on_sum = 0xf3; }
        }
    }
}

#include "frame/one_header.p4"
