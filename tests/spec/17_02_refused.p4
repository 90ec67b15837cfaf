// Section 17.1: two pipelines that pass data to each other agree on its type.
// Section 17.2: parser and control of a package agree on the type that both have.

#include <core.p4>
#include <v1model.p4>

parser Prs<T>(packet_in packet, out T result);
control Pipe<T>(in T data);
package Tiny<T>(Prs<T> p, Pipe<T> map);
package Half<T, H>(Prs<T> p, Pipe<H> map);
package Whole<T>(Half<T, _> first, Half<T, _> second);

parser P(packet_in packet, out bit<32> index) {
    state start {
        index = 1;
        transition accept;
    }
}

parser P8(packet_in packet, out bit<8> index) {
    state start {
        index = 1;
        transition accept;
    }
}

control Pipe1(in bit<32> data) {
    apply { }
}

control Pipe2(in bit<8> data) {
    apply { }
}

Tiny(P(), Pipe1()) right;
Tiny(P(), Pipe2()) wrong;                       //~ E0300
Tiny<bit<8>>(P(), Pipe1()) given;               //~ E0300
Half(P(), Pipe2()) half32;
Half(P8(), Pipe2()) half8;
Half(P(), Pipe1()) other32;
Whole(half32, other32) whole;
Whole(half32, half8) mixed;                     //~ E0300
