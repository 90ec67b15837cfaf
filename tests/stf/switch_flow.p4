// return, break and continue inside a switch inside a loop; nested switches; a label shared by the default.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
    bit<8> flow;
    bit<8> nested;
    bit<8> tail;
    bit<8> wide;
}

bit<8> name(in bit<8> x) {
    switch (x) {
        1: { return 0x11; }
        2: { return 0x22; }
    }
    return 0xff;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        for (bit<8> i in 8w0..9) {
            switch (i) {
                2: { continue; }
                5: { break; }
                default: {}
            }
            d.flow = d.flow + i;
        }
        switch (d.x) {
            1:
            2: {
                switch (d.x) {
                    1: { d.nested = 0x1a; }
                    default: { d.nested = 0x2b; }
                }
            }
            3:
            default: { d.nested = 0x3c; }
        }
        switch (16w0x100 * (bit<16>)d.x) {
            0x100: { d.wide = name(d.x); }
            0xff00: { d.wide = 0xf0; return; }
        }
        d.tail = name(d.x + 1);
    }
}

#include "frame/one_header.p4"
