// Arrays of what is no header: in variables, metadata, structs and headers, of structs and of arrays; constant and computed
// indices, on both sides; as parameters, whole, compared, iterated, in lists and looked ahead for.

#include <core.p4>
#include <v1model.p4>

struct pair_t {
    bit<8> x;
    int<8> y;
}

header data_t {
    bit<8> what;
    bit<8> at;
    bit<8>[4] bytes;
    bit<4>[2] halves;
    bit<8> result;
}

struct headers_t {
    data_t data;
}

const bit<8>[4] POWERS = { 1, 2, 4, 8 };

struct meta_t {
    bit<8>[4] kept;
    pair_t[2] pairs;
    bit<8>[2][3] grid;
    bool[3] flags;
}

bit<8> sum(in bit<8>[4] values) {
    bit<8> total = 0;
    for (bit<8> v in values) {
        total = total + v;
    }
    return total;
}

void rotate(inout bit<8>[4] values) {
    bit<8> first = values[0];
    values[0] = values[1];
    values[1] = values[2];
    values[2] = values[3];
    values[3] = first;
}

bit<8>[4] doubled(in bit<8>[4] values) {
    return { values[0] * 2, values[1] * 2, values[2] * 2, values[3] * 2 };
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        bit<8>[3] ahead = packet.lookahead<bit<8>[3]>();
        meta.kept[3] = ahead[2];
        packet.extract(hdr.data);
        meta.kept[hdr.data.at] = 0x33;
        transition select(hdr.data.bytes[0], meta.kept[3]) {
            (0xff, _): reject;
            default: accept;
        }
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action set(bit<8> value) {
        hdr.data.bytes[hdr.data.at] = value;
    }
    table by_element {
        key = { hdr.data.bytes[1]: exact; }
        actions = { set; NoAction; }
        const entries = { 0x10: set(0x99); }
        const default_action = NoAction;
    }
    bit<8>[4] local = { 5, 6, 7, 8 };
    bit<8>[4] fresh;
    apply {
        std.egress_spec = 2;
        bit<8> what = hdr.data.what;
        bit<8> at = hdr.data.at;
        if (what == 0) {
            hdr.data.result = hdr.data.bytes[at];
        } else if (what == 1) {
            hdr.data.bytes[at] = 0xee;
        } else if (what == 2) {
            hdr.data.bytes[at][3:0] = 0xf;
            hdr.data.halves[at[0:0]] = 7;
        } else if (what == 3) {
            rotate(hdr.data.bytes);
            hdr.data.result = sum(hdr.data.bytes);
        } else if (what == 4) {
            local = hdr.data.bytes;
            hdr.data.bytes = doubled(local);
        } else if (what == 5) {
            hdr.data.result = hdr.data.bytes == local ? 8w1 : 2;
        } else if (what == 6) {
            meta.pairs[1] = { 3, -2 };
            meta.pairs[0] = meta.pairs[1];
            meta.pairs[at[0:0]].y = meta.pairs[at[0:0]].y - 1;
            hdr.data.result = meta.pairs[0].x == 3 ? (bit<8>) meta.pairs[0].y : 0;
        } else if (what == 7) {
            meta.grid[2] = { 1, 2 };
            meta.grid[at[1:0]][1] = 9;
            meta.grid[1] = meta.grid[2];
            hdr.data.result = meta.grid[1][0] ++ meta.grid[1][1] == 16w0x0109 ? 8w1 : meta.grid[at[1:0]][at[0:0]];
        } else if (what == 8) {
            hdr.data.result = POWERS[at] + fresh[2] + meta.kept[3] + meta.kept[0];
        } else if (what == 9) {
            by_element.apply();
        } else if (what == 10) {
            meta.flags[at] = true;
            hdr.data.result = (bit<8>) ((bit<1>) meta.flags[0] ++ (bit<1>) meta.flags[1] ++ (bit<1>) meta.flags[2]);
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
