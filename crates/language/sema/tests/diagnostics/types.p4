#include <core.p4>

typedef bit<4096> Wide;         //~ E0402
typedef bit<0x1_0000_0000> Wider; //~ E0402
const bit<8> N = 8;
typedef bit<N> Byte;
header Inner { bit<8> a; }
header Bad {
    Inner inner;                //~ E0308
    tuple<bit<8>> t;            //~ E0308
    int i;                      //~ E0308
}
header_union U { Byte b; }      //~ E0308
typedef Inner[0] Stack0;        //~ E0402
typedef Inner[100000] StackN;   //~ E0402
enum bool Eb { A = true }       //~ E0308
enum bit<8> Later { A = 1, B = A + 1, C = B * 2 }
struct Pair<X, Y> { X x; Y y; }
typedef Pair<bit<8>> P1;        //~ E0204
typedef Pair<bit<8>, bit<8>> P2;
typedef Byte<bit<8>> P3;        //~ E0204
typedef Pair<packet_in, bool> P4; //~ E0308
header Gen<X> { X x; }
typedef Gen<string> P5;         //~ E0308
type Inner New;                 //~ E0308
const int I = 1;
typedef bit<I> One;

struct L1 { bit<8>  a; bit<8>  b; bit<8>  c; bit<8>  d; }
struct L2 { L1 a; L1 b; L1 c; L1 d; L1 e; L1 f; L1 g; L1 h; L1 i; L1 j; L1 k; L1 l; L1 m; L1 n; L1 o; L1 p; }
struct L3 { L2 a; L2 b; L2 c; L2 d; L2 e; L2 f; L2 g; L2 h; L2 i; L2 j; L2 k; L2 l; L2 m; L2 n; L2 o; L2 p; }
struct L4 { L3 a; L3 b; L3 c; L3 d; L3 e; L3 f; L3 g; L3 h; L3 i; L3 j; L3 k; L3 l; L3 m; L3 n; L3 o; L3 p; }
struct L5 { L4 a; L4 b; L4 c; L4 d; L4 e; L4 f; L4 g; L4 h; L4 i; L4 j; L4 k; L4 l; L4 m; L4 n; L4 o; L4 p; } //~ E0402

control c(inout bit<8> b, packet_in p) {
    int i;                      //~ E0308
    string s;                   //~ E0308
    packet_in q;                //~ E0308
    Pair<bit<8>, bool> ok = { 1, true };
    Pair<bit<8>, bool> mix = { true, 1 }; //~ E0300 E0300
    Pair<bit<8>, bool> few = { 1 }; //~ E0300
    Pair<bit<8>, bool> named = { y = true, x = 1 };
    Pair<bit<8>, bool> unknown = { z = 1, x = 1 }; //~ E0203
    Pair<bit<8>, bool> lacks = { x = 1 }; //~ E0300
    Pair<bit<8>, bool> rest = { x = 1, ... };
    Pair<bit<8>, bool> twice = { x = 1, x = 2 }; //~ E0201
    apply {}
}
typedef tuple<L4, L4, L4, L4, L4, L4, L4, L4, L4, L4, L4, L4, L4, L4, L4, L4> TooWide; //~ E0402
header Many { bit<1> a; bit<1> b; bit<1> c; bit<1> d; }
header_union MU { Many a; Many b; Many c; Many d; Many e; Many f; Many g; Many h; Many i; Many j; Many k; Many l; Many m; Many n; Many o; Many p; }
typedef MU[1000] TooMany;       //~ E0402

@p4runtime_translation("x", bool)   //~ E0308
type bit<9> Translated;
@p4runtime_translation("x", bit<32>)
type bit<9> WellTranslated;
@p4runtime_translation("x", string)
type bit<9> Named;

@name(4) void misnamed() { }    //~ E0308
const string NAME = "a";
@name(NAME ++ "b") void well_named() { }
