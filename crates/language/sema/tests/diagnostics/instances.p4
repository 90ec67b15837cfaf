#include <core.p4>

control Proto<H>(inout H h, in bit<8> x);
parser Reader<H>(packet_in p, out H h);
package Top<H>(Reader<H> r, Proto<H> c);
header A { bit<8> v; }
header B { bit<8> v; }
extern Obj { Obj(bit<32> n); void go(); }
extern Signed { Signed(int<4> n); }

parser read_a(packet_in p, out A h) { state start { transition accept; } }
control c_a(inout A h, in bit<8> x) { apply { } }
control c_b(inout B h, in bit<8> x) { apply { } }
control c_short(inout A h) { apply { } }
control c_dir(in A h, in bit<8> x) { apply { } }
control with(inout A h, in bit<8> x)(bit<32> n) {
    Obj(n) o;
    apply { o.go(); }
}
control dirs(inout A h)(in bit<8> n) { apply { } } //~ E0317

control user(inout A h, in bit<8> x) {
    with(3) w;
    with() w0;                  //~ E0304
    with((bit<32>) x) wx;       //~ E0400
    with(0xffff_ffff) widest;
    with(1 << 40) too_wide;     //~ W0002
    Obj(1 << 40) too_many;      //~ E0402
    Signed(-8) lowest;
    Signed(-17) too_low;        //~ E0402
    Proto<A>() proto;           //~ E0406
    apply {
        this.go();              //~ E0310
    }
}

c_a() outside;                  //~ E0406
Top(read_a(), c_b()) t1;        //~ E0300
Top(read_a(), c_short()) t2;    //~ E0300
Top(read_a(), c_dir()) t3;      //~ E0300
Top(c_a(), read_a()) t4;        //~ E0300
Top(read_a()) t5;               //~ E0304
Top(read_a(), 5) t6;            //~ E0300
Top<B>(read_a(), c_b()) t7;     //~ E0300
Obj(3) main;                    //~ E0404
