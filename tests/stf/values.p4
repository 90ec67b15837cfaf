// Values of packet tests: masks, addresses, names of entries with a dollar, registers that are checked.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<48>  mac;
    bit<32>  ip;
    bit<16>  kind;
    bit<128> wide;
    bit<8>   hit;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    register<bit<48>>(4) macs;
    register<bit<32>>(4) ips;
    direct_counter(CounterType.packets) hits;

    action mark(bit<8> v) { d.hit = v; }
    action rewrite(bit<48> mac, bit<32> ip) {
        d.mac = mac;
        d.ip = ip;
    }

    table by_mask {
        key = { d.kind: ternary; d.ip: ternary; }
        actions = { mark; NoAction; }
        counters = hits;
    }
    table by_range {
        key = { d.ip: range; }
        actions = { mark; NoAction; }
    }
    table by_mac {
        key = { d.mac: exact; }
        actions = { rewrite; NoAction; }
    }
    table by_prefix {
        key = { d.wide: lpm; }
        actions = { mark; NoAction; }
    }

    apply {
        macs.write(0, d.mac);
        ips.read(d.ip, 1);
        if (d.kind[0:0] == 0) {
            by_mask.apply();
        } else if (d.kind[1:1] == 1) {
            by_prefix.apply();
        } else {
            by_range.apply();
        }
        by_mac.apply();
    }
}

#include "frame/one_header.p4"
