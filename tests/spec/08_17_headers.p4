// Section 8.17: headers are made valid by values, compared with their validity, copied with it, and made invalid by `{#}`.

#include <core.p4>
#include <v1model.p4>

header H {
    bit<32> x;
    bit<32> y;
}

header data_t {
    bit<8> positions;
    bit<8> names;
    bit<8> equal;
    bit<8> invalid;
    bit<8> copied;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        H h;
        H g;
        d.invalid = h == g ? 8w1 : 0;
        h = { 10, 12 };
        d.positions = h.isValid() ? h.x[7:0] : 0;
        d.equal = h == g ? 8w1 : 0;
        g = { y = 12, x = 10 };
        d.names = g.isValid() ? g.y[7:0] : 0;
        d.equal = d.equal + (h == g ? 8w2 : 0);
        g.y = 13;
        d.equal = d.equal + (h != g ? 8w4 : 0);
        g = {#};
        if (g == {#}) {
            d.invalid = d.invalid + 2;
        }
        d.invalid = d.invalid + (g.isValid() ? 8w4 : 0);
        g.setValid();
        g.setInvalid();
        h = g;
        d.copied = h.isValid() ? 8w1 : 2;
    }
}

#include "../stf/frame/one_header.p4"
