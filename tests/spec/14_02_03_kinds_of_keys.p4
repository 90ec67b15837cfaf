// Section 14.2.3: effects of later keys change no earlier key: neither a field, nor an expression, nor a header's validity.

#include <core.p4>
#include <v1model.p4>

header item_t {
    bit<8> x;
}

header data_t {
    bit<8> a;
    bit<8> fields;
    bit<8> validity;
}

bit<8> bump(inout bit<8> x) {
    x = x + 0x10;
    return x;
}

bit<1> invalidate(inout item_t[2] s) {
    s[1].setInvalid();
    s[0] = { 0x55 };
    return 1;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    item_t[2] s;

    action hit_fields() { d.fields = 1; }
    action hit_validity() { d.validity = 1; }

    table fields {
        key = {
            d.a: exact @name("k0");
            d.a & 0x0f: ternary @name("k1");
            bump(d.a): exact @name("k2");
            d.a: exact @name("k3");
            bump(d.a) + d.a: exact @name("k4");
        }
        actions = { hit_fields; NoAction; }
        const entries = {
            (0x05, 0x05, 0x15, 0x15, 0x4a): hit_fields();
        }
        default_action = NoAction();
    }

    table validity {
        key = {
            s[1].isValid(): exact @name("v0");
            s[1].x: exact @name("v1");
            s[0].isValid(): exact @name("v2");
            invalidate(s): exact @name("v3");
            s[0].isValid(): exact @name("v4");
        }
        actions = { hit_validity; NoAction; }
        const entries = {
            (true, 0x33, false, 1, true): hit_validity();
        }
        default_action = NoAction();
    }

    apply {
        s[1] = { 0x33 };
        fields.apply();
        validity.apply();
    }
}

#include "../stf/frame/one_header.p4"
