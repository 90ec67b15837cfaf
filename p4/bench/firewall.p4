// A stateful firewall: a connection opened from inside (port 1) is remembered in two registers by two hashes; from outside
// only answers to remembered ones pass.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

const port_t INSIDE = 1;

struct meta_t {
    bit<32> first;
    bit<32> second;
}

#include "ipv4.p4"

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<1>>(65536) opened_a;
    register<bit<1>>(65536) opened_b;

    action drop() {
        mark_to_drop(std);
    }
    action forward(port_t port) {
        std.egress_spec = port;
    }
    table routes {
        key = { hdr.ipv4.dst: exact; }
        actions = { forward; drop; }
        default_action = drop();
        size = 1048576;
    }
    action positions(bit<32> inside, bit<32> outside, bit<16> inside_port, bit<16> outside_port) {
        hash(meta.first, HashAlgorithm.crc16, 32w0,
            { inside, outside, hdr.ipv4.protocol, inside_port, outside_port }, 32w65536);
        hash(meta.second, HashAlgorithm.crc32, 32w0,
            { inside, outside, hdr.ipv4.protocol, inside_port, outside_port }, 32w65536);
    }
    apply {
        if (!hdr.ports.isValid() || std.checksum_error == 1) {
            drop();
        } else if (routes.apply().hit) {
            if (std.ingress_port == INSIDE) {
                positions(hdr.ipv4.src, hdr.ipv4.dst, hdr.ports.src, hdr.ports.dst);
                opened_a.write(meta.first, 1);
                opened_b.write(meta.second, 1);
            } else {
                bit<1> a;
                bit<1> b;
                positions(hdr.ipv4.dst, hdr.ipv4.src, hdr.ports.dst, hdr.ports.src);
                opened_a.read(a, meta.first);
                opened_b.read(b, meta.second);
                if (a == 0 || b == 0) {
                    drop();
                }
            }
        }
    }
}

#include "tail.p4"
