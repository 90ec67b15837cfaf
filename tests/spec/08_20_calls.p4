// Section 8.20: arguments by position, by name, and by name in another order, evaluated as they stand; results and `out`
// arguments that nobody needs.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  position;
    bit<8>  name;
    bit<8>  other_order;
    bit<8>  effects;
    bit<8>  generic;
    bit<8>  literal;
}

bit<8> f(in bit<8> x, out bit<8> y) {
    y = x + 1;
    return x + 2;
}

bit<8> digit(inout bit<8> n) {
    n = n + 1;
    return n;
}

bit<8> join(in bit<8> high, in bit<8> low) {
    return high[3:0] ++ low[3:0];
}

T pick<T>(in bool first, in T a, in T b) {
    return first ? a : b;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bit<8> xa = 5;
        f(xa, d.position);
        f(x = xa, y = d.name);
        f(y = d.other_order, x = xa);
        f(x = 9, y = _);
        f(7, _);
        bit<8> n = 0;
        d.effects = join(low = digit(n), high = digit(n));
        d.generic = pick<bit<8>>(d.effects == 0x21, 3, 4) + pick(first = true, b = 8w1, a = 2);
        d.literal = join(1, 2);
    }
}

#include "../stf/frame/one_header.p4"
