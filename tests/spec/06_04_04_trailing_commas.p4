// Section 6.4.4: a comma may follow the last element of a list, which conditional lines make use of.

#include <core.p4>
#include <v1model.p4>

#define WITH_B 1

enum Plain { A, B, C }
enum Trailing { A, B, C, }
enum Picked {
#if WITH_A
    A,
#endif
#if WITH_B
    B,
#endif
    C,
}
enum bit<8> Numbers { X = 3, Y = 4, }
error { Late, }

struct pair_t {
    bit<8> a;
    bit<8> b;
}

header data_t {
    bit<8> last;
    bit<8> first;
    bit<8> number;
    bit<8> sum;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        pair_t positions = { 1, 2, };
        pair_t names = { b = 4, a = 3, };
        d.last = Plain.C == Plain.C && Trailing.C != Trailing.B ? 8w1 : 2;
        d.first = Picked.B != Picked.C ? 8w1 : 2;
        d.number = Numbers.Y;
        d.sum = positions.a + positions.b + names.a + names.b;
    }
}

#include "../stf/frame/one_header.p4"
