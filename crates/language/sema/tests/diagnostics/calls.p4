#include <core.p4>

extern void two(in bit<8> a, out bit<8> b);
extern T same<T>(in T a, in T b);
extern T make<T>();
extern void over(in bit<8> a);
extern void over(in bit<8> a, in bit<8> b);
extern void text(in string s);  //~ E0317
@deprecated("use two") extern void old();
extern Box<T> {
    Box(bit<32> size);
    void put(in T v);
    T get(in bit<32> i);
}
extern NoConstructor { void go(); }
header Fixed { bit<8> a; }
header Var { varbit<80> v; }

bit<8> f(in bit<8> x) { return x; }
bit<8> g(inout bit<8> x) { x = x + 1; return x; }
bit<8> noreturn(in bit<8> x) { if (x == 1) { return x; } } //~ E0309
void v(in bit<8> x) { return x; } //~ E0309
bit<8> r() { return; }          //~ E0309
T id<T>(in T x) { return x; }
T bad<T>(in T x) { return x + 1; } //~ E0301
void inreadonly(in bit<8> x) { x = 1; } //~ E0305
void outdefault(out bit<8> x = 1) { } //~ E0317
bit<8> opt(@optional in bit<8> x) { return x; } //~ E0317

parser p(packet_in pk, out Fixed fx, out Var vr, out bit<8> n) {
    state start {
        pk.extract(fx);
        pk.extract(vr);         //~ E0308
        pk.extract(vr, 8);
        pk.extract(fx, 8);      //~ E0308
        pk.extract(n);          //~ E0308
        pk.extract<Fixed>(_);
        n = pk.lookahead<bit<8>>();
        n = pk.lookahead<bit<16>>(); //~ E0300
        bit<8> inferred = pk.lookahead();
        pk.extrct(fx);          //~ E0203
        verify(n == 1, error.NoMatch);
        transition accept;
    }
}

control c(inout bit<8> b, inout Fixed h, in bit<8> ro, packet_in pk) {
    Box<bit<8>>(16) box;
    Box(16) open;               //~ E0303
    Box<bit<8>>((bit<32>) b) variable; //~ E0400
    Box<bit<8>>() none;         //~ E0304
    NoConstructor() nc;         //~ E0406
    action a(bit<8> data) { b = data; }
    action dir(inout bit<8> x, bit<8> data) { x = data; }
    action wrong(bit<8> data, inout bit<8> x) { } //~ E0317
    action st(Fixed x) { }
    apply {
        two(1, b);
        two(b = b, a = 1);
        two(1);                 //~ E0304
        two(1, b, 2);           //~ E0304
        two(1, 2);              //~ E0305
        two(1, b + 1);          //~ E0305
        two(1, ro);             //~ E0305
        two(1, _);
        two(_, b);              //~ E0317
        two(a = 1, bb = b);     //~ E0304
        two(a = 1, b);          //~ E0304
        two(a = 1, a = 2);      //~ E0304
        tow(1, b);              //~ E0200
        b = same(b, 1);
        b = same(1, 2);
        same(1, 2);             //~ E0303
        b = same(b, true);      //~ E0300
        b = same<bit<8>, bit<8>>(b, b); //~ E0204
        b = make();
        make();                 //~ E0303
        over(1);
        over(1, 2);
        over(1, 2, 3);          //~ E0316
        old();                  //~ W0003
        b = two(1, b);          //~ E0300
        b = f(b);
        b = g(f(1));            //~ E0305
        b = id(b);
        b = id(true);           //~ E0300
        box.put(1);
        b = box.get(1);
        box.put(true);          //~ E0300
        box.gte(1);             //~ E0203
        a(1);
        dir(b, 2);
        dir(1, 2);              //~ E0305
        a<bit<8>>(1);           //~ E0204
        b(1);                   //~ E0306
        h.setValid();
        h.setValid(1);          //~ E0304
        b = h.isValid();        //~ E0300
        bool valid = h.isValid; //~ E0306
        b.setValid();           //~ E0203
        verify(true, error.NoError); //~ E0310
        b = f;                  //~ E0202
    }
}
