// Digests of several types, from actions, ingress and egress, of packets that are dropped, and with the values of the moment.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  what;
    bit<48> address;
    bit<8>  n;
}

struct seen_t {
    bit<48> address;
    bit<9>  port;
}

struct wide_t {
    bit<100> wide;
    bool     flag;
    int<8>   small;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action learn() {
        digest<seen_t>(1, { d.address, std.ingress_port });
    }

    table stations {
        key = { d.address: exact; }
        actions = { NoAction; learn; }
        default_action = learn();
    }

    apply {
        if (d.what == 1) {
            stations.apply();
        } else if (d.what == 2) {
            digest<wide_t>(2, { 52w0 ++ d.address, d.n == 5, (int<8>)d.n });
            d.n = d.n + 1;
            digest<wide_t>(2, { 100w1 << 99, d.n == 5, -1 });
        } else if (d.what == 3) {
            mark_to_drop(std);
            digest<seen_t>(1, { d.address, 9w0x1ff });
            exit;
        }
    }
}

#include "frame/one_header.p4"
