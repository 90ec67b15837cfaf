// Section 14.4: a control calls an instance of another: its tables and counters are the instance's own, its variables start anew.

#include <core.p4>
#include <v1model.p4>

header ipv4_t {
    bit<8> ttl;
    bit<8> key;
    bit<8> trace;
}

control Callee(inout ipv4_t ipv4) {
    bit<8> calls = 1;
    counter(1, CounterType.packets) seen;

    action add(bit<8> n) {
        ipv4.trace = ipv4.trace + n;
    }

    table t {
        key = { ipv4.key: exact; }
        actions = { add; NoAction; }
        default_action = NoAction();
    }

    apply {
        ipv4.ttl = ipv4.ttl - calls;
        calls = calls + 1;
        seen.count(0);
        t.apply();
    }
}

struct data_holder_t {
    ipv4_t d;
}

header data_t {
    bit<8> ttl;
    bit<8> key;
    bit<8> trace;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Callee() once;
    Callee() twice;

    apply {
        ipv4_t ipv4 = { d.ttl, d.key, d.trace };
        once.apply(ipv4);
        twice.apply(ipv4);
        twice.apply(ipv4);
        d = { ipv4.ttl, ipv4.key, ipv4.trace };
    }
}

#include "../stf/frame/one_header.p4"
