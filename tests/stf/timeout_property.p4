// Tables with support_timeout, size, unknown annotations and @hidden parts match like others.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> r;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    @hidden
    action set(bit<8> v) {
        d.r = v;
    }

    @name("renamed")
    @my_own(1, "two", three = 3)
    table t {
        key = {
            d.a : exact @name("key") @refers_to(x, y);
        }
        actions = {
            @tableonly set;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        support_timeout = true;
        size = 1;
    }

    apply {
        t.apply();
    }
}

#include "frame/one_header.p4"
