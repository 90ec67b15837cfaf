// The index types of newer v1model, and a register passed to two controls by their constructors.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header data_t {
    bit<8> index;
    bit<8> previous;
    bit<8> seen_before;
    bit<8> total;
}

control Count(out bit<8> total, in bit<8> amount)(register<bit<8>, bit<1>> where) {
    apply {
        where.read(total, 0);
        total = total + amount;
        where.write(0, total);
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    register<bit<8>, bit<8>>(3) last;
    register<bit<1>, bit<2>>(4) seen;
    register<bit<8>, bit<1>>(1) total;
    counter<bit<8>>(3, CounterType.packets) counted;
    Count(total) one;
    Count(total) two;

    apply {
        last.read(d.previous, d.index);
        last.write(d.index, d.index + 1);
        bit<1> before;
        seen.read(before, d.index[1:0]);
        seen.write(d.index[1:0], 1);
        d.seen_before = (bit<8>)before;
        counted.count(d.index);
        one.apply(d.total, 1);
        two.apply(d.total, 0x10);
    }
}

#include "frame/one_header.p4"
