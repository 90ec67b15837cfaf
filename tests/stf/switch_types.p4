// switch on an error, on bool and on a plain enum; labels that share a block.

#include <core.p4>
#include <v1model.p4>

enum Size {
    Small,
    Middle,
    Big
}

header data_t {
    bit<8> a;
    bit<8> by_error;
    bit<8> by_bool;
    bit<8> by_enum;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        switch (std.parser_error) {
            error.NoError: { d.by_error = 1; }
            error.PacketTooShort: { d.by_error = 2; }
            default: { d.by_error = 3; }
        }
        switch (d.a < 4) {
            true: { d.by_bool = 1; }
            false: { d.by_bool = 2; }
        }
        Size size = d.a < 4 ? Size.Small : d.a < 8 ? Size.Middle : Size.Big;
        switch (size) {
            Size.Small: { d.by_enum = 1; }
            Size.Middle:
            Size.Big: { d.by_enum = 2; }
        }
    }
}

#include "frame/one_header.p4"
