// Section 7.2.1: enums without and with an underlying type; values of the latter are fields of headers.
// Section 7.2: a derived type of each kind that a program declares: enum, header, struct, header union, tuple, stack.

#include <core.p4>
#include <v1model.p4>

enum Suits { Clubs, Diamonds, Hearts, Spades }

enum bit<16> EtherType {
    VLAN = 0x8100,
    QINQ = 0x9100,
    MPLS = 0x8847,
    IPV4 = 0x0800,
    IPV6 = 0x86dd
}

typedef bit<8> octet_t;
typedef octet_t small_t;

enum small_t Small { One = 1, Two = One + 1 }
enum int<8> Signed { Minus = -3, Plus = 3 }

header data_t {
    EtherType kind;
    bit<8>    which;
    bit<8>    suit;
    Signed    s;
    Small     two;
}

struct pair_t {
    Suits     suit;
    EtherType kind;
}

header_union u_t {
    data_t d;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        pair_t pair = { Suits.Hearts, d.kind };
        tuple<Suits, bit<8>> t = { Suits.Spades, 1 };
        u_t[2] none;
        if (pair.kind == EtherType.IPV4) {
            d.which = 4;
        } else if (pair.kind == EtherType.IPV6) {
            d.which = 6;
        }
        d.suit = pair.suit == Suits.Hearts && t[0] != pair.suit && !none[1].isValid() ? 8w1 : 2;
        if (d.s == Signed.Minus) {
            d.s = Signed.Plus;
        }
        d.two = Small.Two;
    }
}

#include "../stf/frame/one_header.p4"
