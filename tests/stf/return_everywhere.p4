// return in a function, an action, a control, inside if, switch and loops: what follows is skipped, locals die.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
    bit<8> f;
    bit<8> a;
    bit<8> c;
    bit<8> after;
}

bit<8> f(in bit<8> x) {
    if (x == 0) {
        return 1;
    } else if (x == 1) {
        for (bit<8> i in 8w0..9) {
            if (i == 4) {
                return i;
            }
        }
        return 0xff;
    }
    switch (x) {
        2: { return 0x22; }
        3: {
            if (x > 1) {
                return 0x33;
            }
        }
        default: {}
    }
    {
        bit<8> y = x * 2;
        if (y > 100) {
            return y;
        }
    }
    return 0x99;
}

control Sub(in bit<8> what, inout bit<8> c) {
    apply {
        c = 1;
        if (what == 2) {
            return;
        }
        c = 2;
        for (bit<8> i in 8w0..3) {
            switch (i) {
                2: {
                    if (what == 3) {
                        return;
                    }
                }
                default: { c = c + 0x10; }
            }
        }
        c = c + 1;
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Sub() sub;

    action act(in bit<8> what) {
        d.a = 1;
        if (what > 2) {
            d.a = 2;
            return;
        }
        d.a = 3;
    }

    apply {
        d.f = f(d.what);
        act(d.what);
        sub.apply(d.what, d.c);
        d.after = 1;
        if (d.what == 7) {
            return;
        }
        d.after = 2;
    }
}

#include "frame/one_header.p4"
