// Action data of many widths, bool and enum keys, keys and data wider than 64 bits.

#include <core.p4>
#include <v1model.p4>

enum bit<8> Kind {
    One = 1,
    Two = 2
}

header data_t {
    Kind     kind;
    bit<1>   flag;
    bit<7>   seven;
    int<8>   negative;
    bit<9>   nine;
    bit<31>  thirty_one;
    bit<64>  sixty_four;
    bit<65>  sixty_five;
    bit<15>  fifteen;
    bit<128> long;
    bit<100> key;
    bit<4>   zero;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<1> flag, bit<7> seven, int<8> negative, bit<9> nine, bit<31> thirty_one, bit<64> sixty_four,
               bit<65> sixty_five, bit<15> fifteen, bit<128> long) {
        d.flag = flag;
        d.seven = seven;
        d.negative = negative;
        d.nine = nine;
        d.thirty_one = thirty_one;
        d.sixty_four = sixty_four;
        d.sixty_five = sixty_five;
        d.fifteen = fifteen;
        d.long = long;
    }

    table t {
        key = {
            d.kind : exact;
            d.key : exact;
            d.flag == 1 : exact @name("flagged");
        }
        actions = { set; }
    }

    apply {
        t.apply();
    }
}

#include "frame/one_header.p4"
