// Section 14.2.2: `hit` and `miss` of a table in conditions, `action_run` in a switch, whose action may end the control.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> host;
    bit<8> prefix;
    bit<8> branch;
    bit<8> routed;
    bit<8> after;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action found() { }
    action route(bit<8> v) { d.routed = v; }
    action drop() { d.routed = 0xff; }

    table host {
        key = { d.host: exact; }
        actions = { found; NoAction; }
        const entries = { 1: found(); }
        default_action = NoAction();
    }

    table lpm_ {
        key = { d.prefix: lpm; }
        actions = { route; NoAction; }
        const entries = { 0x10 &&& 0xf0: route(5); }
        default_action = NoAction();
    }

    table dmac {
        key = { d.prefix: exact; }
        actions = { route; drop; NoAction; }
        const entries = { 0x1f: drop(); }
        default_action = NoAction();
    }

    apply {
        if (host.apply().hit) {
            d.branch = 1;
        } else {
            d.branch = 2;
        }
        if (host.apply().miss) {
            lpm_.apply();
        }
        switch (dmac.apply().action_run) {
            drop: { return; }
        }
        d.after = 1;
    }
}

#include "../stf/frame/one_header.p4"
