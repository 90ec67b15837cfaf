// log_msg with and without values changes nothing; assert and assume that hold neither; one that fails drops the
// packet.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        log_msg("start");
        log_msg("a = {}, b = {}", { d.a, d.b });
        assert(d.a != 0xee);
        d.b = d.a + 1;
        assume(d.b != 0x10);
        log_msg("both {} and a percent sign % and braces", { d.b });
    }
}

#include "frame/one_header.p4"
