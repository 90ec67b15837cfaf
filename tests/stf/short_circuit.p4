// &&, || and ?: evaluate only what they need, from left to right.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> and_calls;
    bit<8> or_calls;
    bit<8> choice_calls;
    bit<8> chosen;
}

bool ask(inout bit<8> calls, in bit<8> step, in bit<8> answer) {
    calls = calls * 16 + step;
    return answer != 0;
}

bit<8> number(inout bit<8> calls, in bit<8> step) {
    calls = calls * 16 + step;
    return 0xa0 | step;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bool both = ask(d.and_calls, 1, d.a) && ask(d.and_calls, 2, d.b);
        bool either = ask(d.or_calls, 1, d.a) || ask(d.or_calls, 2, d.b);
        d.chosen = d.a == d.b ? number(d.choice_calls, 3) : number(d.choice_calls, 4);
        d.chosen = d.chosen + (both ? 8w0x10 : 0) + (either ? 8w0x20 : 0);
    }
}

#include "frame/one_header.p4"
