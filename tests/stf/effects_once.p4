// Expressions with effects are evaluated exactly once, or once for every turn, and in the order of the text.

#include <core.p4>
#include <v1model.p4>

header op_t {
    bit<8> calls;
    bit<8> list;
    bit<8> argument;
    bit<8> sum;
    bit<8> turns;
    bit<8> chosen;
    bit<8> returned;
}

header item_t {
    bit<8> x;
}

struct headers_t {
    op_t      op;
    item_t[4] items;
}

struct meta_t {}

struct pair_t {
    bit<8> x;
    bit<8> y;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.op);
        packet.extract(hdr.items.next);
        packet.extract(hdr.items.next);
        packet.extract(hdr.items.next);
        packet.extract(hdr.items.next);
        transition accept;
    }
}

bit<8> step(inout bit<8> i) {
    i = i + 1;
    return i;
}

bit<8> join(inout bit<8> x, in bit<8> y, in bool z) {
    bit<8> before = x;
    x = 0xab;
    return before + y + (z ? 8w0x80 : 0);
}

// The value is taken before the parameter is copied out.
bit<8> twice(inout bit<8> x) {
    for (bit<8> i in 8w1..3) {
        x = x + i;
        if (x > 4) {
            return x + step(x);
        }
    }
    return 0;
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        bit<8> i = 0;
        // One call for reading and writing.
        hdr.items[step(i)].x += 0x10;
        hdr.items[step(i)].x[7:4] |= 4w8;
        hdr.op.calls = i;

        i = 0;
        pair_t p = { step(i), step(i) };
        pair_t q = { x = step(i), y = step(i) };
        hdr.op.list = p.x[0:0] ++ p.y[1:0] ++ q.x[1:0] ++ q.y[2:0];

        i = 0;
        // The element is chosen before the later arguments move i.
        hdr.op.argument = join(hdr.items[i].x, step(i), i == 1 && step(i) == 2) + i;

        i = 0;
        bit<8> turns = 0;
        for (bit<8> j = step(i); step(i) < 10; j = j + step(i)) {
            turns = turns + 1;
            hdr.op.sum = j;
        }
        hdr.op.turns = turns * 16 + i;

        i = 0;
        switch (step(i)) {
            0: { hdr.op.chosen = 0xf0; }
            1: { hdr.op.chosen = i; }
            2: { hdr.op.chosen = 0xf2; }
        }
        i = 2;
        hdr.op.returned = twice(i);
        hdr.op.chosen = hdr.op.chosen * 16 + i;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"
