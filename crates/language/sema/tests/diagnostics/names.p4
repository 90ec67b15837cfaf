#include <core.p4>

const bit<8> A = B;             //~ E0200
const bit<8> B = 1;
const bit<8> B = 2;             //~ E0201
struct S { bit<8> f; bit<8> f; } //~ E0201
enum E { X, X }                 //~ E0201
error { Mine, Mine }            //~ E0201
match_kind { exact }            //~ E0201
header H { bit<8> value; }
typedef H Hdr;

extern Thing {
    Thing();
    void go(bit<8> a);
    void go(bit<8> a);          //~ E0201
}

control c(inout Hdr h, bit<8> x, bit<8> x) { //~ E0201
    const bit<8> k = undefined_name; //~ E0200
    bit<8> v = h.valeu;         //~ E0203
    bit<8> B2 = E.X;            //~ E0300
    E e = E.Y;                  //~ E0203
    error er = error.Nothing;   //~ E0203
    NoAction n;                 //~ E0202
    apply {
        k = 1;
        bit<8> c2 = Thing;      //~ E0202
        c2 = .B;
        bit<8> c2 = 3;          //~ E0201
    }
}
