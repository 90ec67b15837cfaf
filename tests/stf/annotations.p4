// Annotations of every form on everything are read over: with text, lists, key-value pairs, unbalanced-looking
// strings, @pragma.

#include <core.p4>
#include <v1model.p4>

@deprecated("old") @noWarn("unused")
const bit<8> OLD = 3;

@my_struct[1, 2, 3] @empty @pairs[a = 1, b = "x"]
struct s_t {
    @field("with ) and ] inside") bit<8> x;
}

@pragma something or other
header data_t {
    @units("bytes") bit<8> a;
    @alias("other") bit<8> b;
}

@free(anything + at - all)
bit<8> f(@optional_like in bit<8> x) {
    return x + OLD;
}

@hidden
control Work(@inout_like inout data_t d, inout standard_metadata_t std) {
    @name(".top_level") action set(@description("value") bit<8> v) {
        d.b = v;
    }

    @brief("a table") table t {
        @order(1) key = { d.a : exact @name("k") @format(HEX); }
        @order(2) actions = { @common set; @defaultonly NoAction; }
        @order(3) const entries = {
            1 : set(0x11) @likely;
        }
    }

    apply {
        {
            d.b = f(d.b);
        }
        t.apply();
    }
}

#include "frame/one_header.p4"
