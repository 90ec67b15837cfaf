// Section 7.2.11: generic types and what they are for given types: registers, structs in structs, headers, stacks, unions.

#include <core.p4>
#include <v1model.p4>

struct S<T> {
    T    field;
    bool valid;
}

struct G<T> {
    S<T> s;
}

header H<T> {
    T field;
}

header_union HU<T> {
    H<bit<32>> h32;
    H<bit<8>>  h8;
    H<T>       ht;
}

const S<bit<32>> ONE = { field = 32w1, valid = false };
const G<bit<32>> TWO = { s = { field = 2, valid = true } };
const H<bit<8>> THREE = { field = 3 };

header data_t {
    bit<8>  i;
    bit<8>  sum;
    bit<32> before;
    bit<8>  unions;
    bit<8>  stack;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    register<bit<32>>(128) bank;

    apply {
        bank.read(d.before, (bit<32>) d.i);
        bank.write((bit<32>) d.i, d.before + ONE.field);
        d.sum = (ONE.field + TWO.s.field)[7:0] + THREE.field + (TWO.s.valid && !ONE.valid ? 8w0x10 : 0);
        HU<bit<16>> u;
        u.ht = { 0x1234 };
        u.h8 = { 0x56 };
        d.unions = !u.ht.isValid() && !u.h32.isValid() && u.h8.isValid() ? u.h8.field : 0;
        H<bit<8>>[10] stack;
        stack[9] = { 0x78 };
        d.stack = stack[8].isValid() ? 0 : stack[9].field;
    }
}

#include "../stf/frame/one_header.p4"
