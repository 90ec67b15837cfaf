// Section 6.4.3.3: strings with quotes and line ends in them, and strings that are joined while compiling.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
}

const string SIMPLE = "simple";
const string QUOTED = "a \" within \\";
const string TWO_LINES = "one
two";
const string JOINED = "one \" quote;" ++ (" " ++ "and more");

@name("first" ++ "_" ++ "second")
@description(SIMPLE)
control Inner(inout data_t d) {
    action add(bit<8> n) {
        d.x = d.x + n;
    }

    @name("the" ++ "_" ++ "table")
    table t {
        key = { d.x: exact @name("k" ++ "ey"); }
        actions = { add; NoAction; }
        default_action = NoAction();
    }

    apply {
        log_msg(QUOTED);
        log_msg(TWO_LINES);
        log_msg(JOINED);
        t.apply();
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Inner() inner;

    apply {
        inner.apply(d);
    }
}

#include "../stf/frame/one_header.p4"
