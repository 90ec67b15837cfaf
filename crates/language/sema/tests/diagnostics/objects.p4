#include <core.p4>

extern Timer {
    Timer();
    bit<8> now();
    abstract bit<8> first(in bit<8> x);
    abstract bit<8> second(in bit<8> x);
}
extern State { State(bit<32> size); bit<8> get(in bit<8> index); }
extern Pool { Pool(State s); void go(); }

const bit<8> no_object = this.now(); //~ E0310

control user(inout bit<8> b) {
    State(8) state;
    Timer() good = {
        State(4) state_of_good;
        bit<8> first(in bit<8> x) { return x + this.now() + state_of_good.get(x); }
        bit<8> second(in bit<8> x) { return this.first(x); }
    };
    Timer() early = {
        bit<8> first(in bit<8> x) { return this.second(x); }    //~ E0310
        bit<8> second(in bit<8> x) { return x; }
    };
    Timer() itself = {
        bit<8> first(in bit<8> x) { return this.first(x); }     //~ E0310
        bit<8> second(in bit<8> x) { return x; }
    };
    Timer() twice = {
        bit<8> first(in bit<8> x) { return x; }
        bit<8> first(in bit<8> x) { return x; }                 //~ E0201
        bit<8> second(in bit<8> x) { return x; }
    };
    Timer() value = {
        bit<8> first(in bit<8> x) { return this; }              //~ E0202
        bit<8> second(in bit<8> x) { return this.third(x); }    //~ E0203
    };
    Pool(State(3)) pool;
    apply {
        b = good.first(b) + good.second(2);
        b = state_of_good.get(b);   //~ E0200
        b = this.now();             //~ E0310
        pool.go();
        b = State(8).get(b) + State(8).get(b);
        State(8).put(b);            //~ E0203
    }
}
bit<8> without_objects(in bit<8> x) {
    return State(8).get(x);         //~ E0406
}

// Default values that depend on type parameters.
control Proto<H>(inout H h);
control Nothing<H>(inout H h) { apply { } }
control Bytes(inout bit<8> h) { apply { } }
control Words(inout bit<16> h) { apply { } }
package Two<H>(Proto<H> c = Nothing<H>(), Proto<H> d = Nothing<H>());
package Fixed(Proto<bit<8>> c = Bytes());
package Wrong(Proto<bit<8>> c = Words());   //~ E0300
package Some<H>(Proto<H> c = Bytes());
Two(d = Words()) two;
Two<bit<4>>() four;
Two() none;                     //~ E0303
Some() bytes;
Some<bit<16>>() words;          //~ E0300
Fixed() fixed;

control Further(inout bit<8> h, in bit<8> x = 3);
package Shorter(Further f);
Shorter(Bytes()) shorter;

// Type arguments that nothing needs.
control Unused<H>(inout bit<8> h) { apply { } }
package Plain(Bytes b);
package Of(Proto<bit<8>> p);
Of(Unused<_>()) of_unused;
extern Half<A, B> { Half(A a); B get(); void put(in A a); }
extern Full<A, B> { Full(A a); B get(); void put(in B b); }
extern T make<T>(in bit<8> x);
extern T copied<T>(in T x);
control results(inout bit<8> b) {
    Half<bit<8>, void>(1) half;
    Full<bit<8>, void>(1) full;         //~ E0303
    action data(bit<8>[4] array, tuple<bit<8>, bool> pair, error e) { b = array[1] + pair[0]; }
    action varies(varbit<0> none) { }   //~ E0308
    apply {
        half.get();
        half.put(b);
        make<void>(b);
        copied<void>(b);                //~ E0300
        data({ 1, 2, 3, 4 }, { 1, true }, error.NoError);
    }
}

@deprecated("use State") extern Old { Old(); }
@deprecated("use bit<8>") typedef bit<8> Byte;
@deprecated("use b") const bit<8> A = 1;
@deprecated(true) struct Record { }     //~ E0308
control deprecated(inout Byte b) {      //~ W0003
    Old() o;                            //~ W0003
    apply { b = A; }                    //~ W0003
}
