#include <core.p4>

type bit<9> Port;
enum bit<8> Kind { A = 1, B = 2 }
enum Plain { X, Y }
header H { bit<8> a; }

control c(inout bit<8> b, inout bit<16> w, inout int<8> s, inout bool t, inout H h, inout Port p, inout Kind k) {
    apply {
        b = w;                  //~ E0300
        b = b + w;              //~ E0301
        b = b + 1;
        b = b + s;              //~ E0301
        b = s;                  //~ E0300
        b = (bit<8>) s;
        w = (bit<16>) s;        //~ E0302
        b = t;                  //~ E0300
        b = (bit<8>) t;         //~ E0302
        t = b;                  //~ E0300
        t = b && t;             //~ E0301
        t = !b;                 //~ E0301
        b = ~t;                 //~ E0301
        t = b == w;             //~ E0301
        t = b == 3;
        t = h == h;
        t = h < h;              //~ E0301
        t = t < t;              //~ E0301
        b = b << w;
        b = b << s;             //~ E0301
        b = b << -1;            //~ E0401
        b = 1 << b;             //~ E0307
        w = b ++ b;
        w = b ++ 1;             //~ E0301
        b = t ? 1 : 2;          //~ E0307
        b = t ? b : 2;
        b = t ? b : w;          //~ E0300
        b = b / 0;              //~ E0401
        b = b / -1;             //~ E0401
        s = s / s;              //~ E0301
        b = 1 |+| 2;            //~ E0301
        b = w[7:0];
        b = w[8:0];             //~ E0300
        b = w[16:9];            //~ E0405
        b = w[0:7];             //~ E0405
        b = w[b:0];             //~ E0400
        t = w[0:0];             //~ E0300
        t = h[0:0] == 1;        //~ E0301
        b = h[0];               //~ E0301
        p = 5;
        p = (Port) 5;
        p = b;                  //~ E0300
        p = p + 1;              //~ E0301
        t = p == 1;
        k = 1;                  //~ E0300
        k = (Kind) 1;
        b = k;
        b = k + 1;
        t = k == Kind.B;
        k = Kind.A + 1;         //~ E0300
        t = Plain.X == Plain.Y;
        t = Plain.X < Plain.Y;  //~ E0301
        b = 300;                //~ W0002
        b = 8w300;              //~ W0002
        s = -128;
        h = {#};
        h = { 1 };
        h = (H) { a = 1 };
        t = h == { 1 };
        b = {#};                //~ E0300
        b = "text";             //~ E0300
        b = "a" ++ "b";         //~ E0300
    }
}
