// Section 20.3.3: `@name` replaces an object's own name; `@hidden` hides it from the control plane.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
    bit<8> y;
}

control c(inout data_t d) {
    action set(bit<8> v) { d.x = v; }

    @name("do_it") action other(bit<8> v) { d.y = v; }

    @name("t1") table t {
        key = { d.x: exact @name("the_key"); }
        actions = { set; NoAction; }
        default_action = NoAction();
    }

    @name(".absolute.t2") table u {
        key = { d.x: exact; }
        actions = { other; NoAction; }
        default_action = NoAction();
    }

    @hidden table invisible {
        actions = { other; }
        default_action = other(7);
    }

    apply {
        if (d.y == 1) {
            invisible.apply();
        }
        u.apply();
        t.apply();
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    c() c_inst;

    apply {
        c_inst.apply(d);
    }
}

#include "../stf/frame/one_header.p4"
