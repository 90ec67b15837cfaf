// Operands with effects from left to right: in sums, comparisons, struct lists, indices, arguments, and on both
// sides of =.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> sum;
    bit<8> compare;
    bit<8> list;
    bit<8> nested;
    bit<8> concat;
    bit<8> chosen;
    bit<8> calls;
    bit<8> target;
}

struct pair_t {
    bit<8> x;
    bit<8> y;
}

bit<8> next(inout bit<8> n) {
    n = n + 1;
    return n;
}

bit<8> digits(in bit<8> x, in bit<8> y) {
    return x << 4 | y;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        bit<8> n = 0;
        // 1 - 2 * 3
        d.sum = next(n) - next(n) * next(n);
        // 4 < 5
        d.compare = next(n) < next(n) ? 8w1 : 0;
        pair_t p = { next(n), next(n) };
        d.list = digits(p.x, p.y);
        // Inner calls first: digits(8, digits(9, 10))
        d.nested = digits(next(n), digits(next(n), next(n)));
        n = 0;
        d.concat = next(n)[3:0] ++ next(n)[3:0];
        // Only one of the two: the counter stands at 3 afterwards.
        d.chosen = n == 2 ? next(n) : digits(next(n), next(n));
        d.calls = n;
        // The old value of n is added to what the call makes of it.
        d.target = n + next(n) + n;
    }
}

#include "frame/one_header.p4"
