// Section 7.1: every base type that can be written: bool, error, string, int, bit, bit<W>, int<W>, varbit<W>, with widths in
// parentheses.

#include <core.p4>
#include <v1model.p4>

const int N = 4;

header data_t {
    bit      one;
    bit<(N + 3)> seven;
    int<8>   signed_;
    int<(2 * N)> signed_too;
    bool     flag;
    bit<7>   rest;
}

struct all_t {
    error       code;
    bool        flag;
    varbit<(8 * N)> bytes;
    tuple<bit, int<8>> pair;
}

const string TEXT = "text";

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        all_t all;
        all.code = error.NoError;
        all.flag = all.code == std.parser_error;
        all.pair = { d.one, d.signed_ };
        d.flag = all.flag;
        d.signed_too = all.pair[1];
        d.seven = (bit<7>) d.one;
        log_msg(TEXT);
    }
}

#include "../stf/frame/one_header.p4"
