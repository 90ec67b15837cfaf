#include <core.p4>

extern bit<8> runtime();
const int BIG = 1 << 100;
const bit<8> A = 10 / 0;        //~ E0401
const int B = -10 % 3;          //~ E0401
const bit<8> C = runtime();     //~ E0400
const int D = 1 << 1000000;     //~ E0401
const bool T = static_assert(BIG > 5, "big");
const bool F = static_assert(BIG < 5, "not so small"); //~ E0403
const bool G = static_assert(BIG < 5); //~ E0403
const string S = "a" ++ "b";
const tuple<bit<8>, bool> P = { 1, true };
const bit<8> P0 = P[0];
const bit<8> P1 = P[1];         //~ E0300
const bit<8> P2 = P[2];         //~ E0405
struct St { bit<8> x; bool y; }
const St K = { y = true, x = 3 };
typedef bit<(K.x)> Three;
const Three OK = 7;
const bit<8> SL = 0xabcd[11:4]; //~ E0301
const bit<8> SM = 16w0xabcd[11:4];
typedef bit<(runtime())> R;     //~ E0400

control c(in bit<8> b)(bit<8> n) {
    const bit<8> k = b;         //~ E0400
    const bit<8> ok = n;
    bit<(n)> x;                 //~ E0400
    apply { }
}
const string S1 = "0123456789abcdef" ++ "0123456789abcdef";
const string S2 = S1 ++ S1 ++ S1 ++ S1 ++ S1 ++ S1 ++ S1 ++ S1 ++ S1 ++ S1 ++ S1 ++ S1 ++ S1 ++ S1 ++ S1 ++ S1;
const string S3 = S2 ++ S2 ++ S2 ++ S2 ++ S2 ++ S2 ++ S2 ++ S2 ++ S2 ++ S2 ++ S2 ++ S2 ++ S2 ++ S2 ++ S2 ++ S2;
const string S4 = S3 ++ S3 ++ S3 ++ S3 ++ S3 ++ S3 ++ S3 ++ S3 ++ S3 ++ S3 ++ S3 ++ S3 ++ S3 ++ S3 ++ S3 ++ S3; //~ E0402
