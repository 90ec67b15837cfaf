// Section 14.2.3: keys are evaluated in their order, each into a value of its own, which effects of later keys do not change.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
    bit<8> y;
    bit<8> hit;
    bit<8> written_out;
}

bit<8> f1(in bit<8> a, inout bit<8> b) {
    b = a + 5;
    return a >> 1;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    bit<8> tmp_1;
    bit<8> tmp_2;
    bit<8> tmp_3;

    action hit(bit<8> v) { d.hit = v; }
    action same(bit<8> v) { d.written_out = v; }

    table t1 {
        key = {
            d.y & 0x7: exact @name("masked_y");
            f1(d.x, d.y): exact @name("f1");
            d.y: exact;
        }
        actions = { hit; NoAction; }
        default_action = NoAction();
    }

    table t2 {
        key = {
            tmp_1: exact @name("masked_y");
            tmp_2: exact @name("f1");
            tmp_3: exact @name("y");
        }
        actions = { same; NoAction; }
        default_action = NoAction();
    }

    apply {
        bit<8> x = d.x;
        bit<8> y = d.y;
        t1.apply();
        tmp_1 = y & 0x7;
        tmp_2 = f1(x, y);
        tmp_3 = y;
        t2.apply();
    }
}

#include "../stf/frame/one_header.p4"
