// Extern objects as parameters: of functions, of functions that functions call, of controls whose tables use them, and of
// parsers. Each application has the object that it names.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
    bit<8> at;
    bit<16> value;
}

struct headers_t {
    data_t data;
    data_t more;
}

struct meta_t {
    bit<16> read;
}

void put(register<bit<16>> cells, in bit<8> at, in bit<16> value) {
    cells.write((bit<32>) at, value);
}

bit<16> exchange(register<bit<16>> cells, in bit<8> at, in bit<16> value) {
    bit<16> old;
    cells.read(old, (bit<32>) at);
    put(cells, at, value);
    return old;
}

parser More(packet_in packet, register<bit<16>> seen, out data_t data) {
    state start {
        packet.extract(data);
        bit<16> count;
        seen.read(count, 0);
        seen.write(0, count + 1);
        transition accept;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<16>>(1) parsed;
    More() more;
    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.what) {
            4: another;
            default: accept;
        }
    }
    state another {
        more.apply(packet, parsed, hdr.more);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control Add(inout data_t data, register<bit<16>> sums, counter packets) {
    action add(bit<16> more) {
        bit<16> sum;
        sums.read(sum, (bit<32>) data.at);
        sum = sum + data.value + more;
        sums.write((bit<32>) data.at, sum);
        data.value = sum;
        packets.count((bit<32>) data.at);
    }
    table which {
        key = { data.at: exact; }
        actions = { add; NoAction; }
        const default_action = NoAction;
    }
    apply {
        which.apply();
    }
}

// Actions of tables that call one function with different objects.
control Exchange(inout data_t data) {
    register<bit<16>>(4) own;
    register<bit<16>>(4) others;
    action first() { data.value = exchange(own, data.at, data.value); }
    action second() { data.value = exchange(others, data.at, data.value); }
    table which {
        key = { data.at: exact; }
        actions = { first; second; }
        const default_action = first;
        const entries = { 2: second(); }
    }
    apply {
        which.apply();
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<16>>(4) left;
    register<bit<16>>(4) right;
    counter(4, CounterType.packets) counts;
    Add() add_left;
    Add() add_right;
    Exchange() other;
    action swap() {
        hdr.data.value = exchange(left, hdr.data.at, hdr.data.value);
    }
    apply {
        std.egress_spec = 2;
        if (hdr.data.what == 0) {
            add_left.apply(hdr.data, left, counts);
        } else if (hdr.data.what == 1) {
            add_right.apply(hdr.data, right, counts);
        } else if (hdr.data.what == 2) {
            swap();
            meta.read = exchange(right, hdr.data.at, hdr.data.value);
        } else if (hdr.data.what == 5) {
            other.apply(hdr.data);
        } else {
            add_left.apply(hdr.data, left, counts);
            add_left.apply(hdr.data, left, counts);
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
