// error in metadata-like structs, as parameter, result, key of a table and in switch-like chains; compared, never
// ordered.

#include <core.p4>
#include <v1model.p4>

error {
    Mine,
    Yours
}

header data_t {
    bit<8> a;
    bit<8> by_table;
    bit<8> by_function;
}

struct holder_t {
    error e;
}

error pick(in bit<8> a) {
    if (a == 0) {
        return error.NoError;
    }
    return a == 1 ? error.Mine : a == 2 ? error.Yours : error.StackOutOfBounds;
}

bit<8> number(in error e) {
    if (e == error.Mine) {
        return 1;
    } else if (e == error.Yours) {
        return 2;
    } else if (e != error.NoError) {
        return 3;
    }
    return 0;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    holder_t h;

    action set(bit<8> v) {
        d.by_table = v;
    }

    table t {
        key = { h.e : exact; }
        actions = { set; NoAction; }
        default_action = NoAction();
        const entries = {
            error.NoError : set(0x10);
            error.Mine : set(0x11);
            error.Yours : set(0x12);
        }
    }

    apply {
        d.by_function = number(h.e);
        h.e = pick(d.a);
        t.apply();
        d.by_function = d.by_function << 4 | number(h.e);
    }
}

#include "frame/one_header.p4"
