// Section 8.26: `...` stands for the default value of what is initialised, or of the rest of it.

#include <core.p4>
#include <v1model.p4>

struct S {
    bit<32> b32;
    bool    b;
}

enum int<8> N0 { one = 1, zero = 0, two = 2 }

enum N1 { A, B, C, F }

enum bit<8> NoZero { five = 5 }

struct T {
    S  s;
    N0 n0;
    N1 n1;
}

header H {
    bit<16> f1;
    bit<8>  f2;
}

header data_t {
    bit<8> enums;
    bit<8> structs;
    bit<8> nested;
    bit<8> tuples;
    bit<8> headers;
    bit<8> fields;
    bit<8> others;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        N0 n0 = ...;
        N1 n1 = ...;
        NoZero nz = ...;
        d.enums = (n0 == N0.zero ? 8w1 : 0) + (n1 == N1.A ? 8w2 : 0) + ((bit<8>) nz == 0 ? 8w4 : 0);
        S s0 = ...;
        S s1 = { 1, ... };
        S s2 = { b = true, ... };
        d.structs = (s0 == (S) { 0, false } ? 8w1 : 0) + (s1 == (S) { 1, false } ? 8w2 : 0)
            + (s2 == (S) { 0, true } ? 8w4 : 0);
        T t0 = ...;
        T t1 = { s = ..., ... };
        d.nested = (t0 == t1 ? 8w1 : 0) + (t0.s == s0 && t0.n0 == N0.zero && t0.n1 == N1.A ? 8w2 : 0);
        tuple<N0, N1> p = { ... };
        d.tuples = p[0] == N0.zero && p[1] == N1.A ? 8w1 : 0;
        H h1 = ...;
        H h2 = { f2 = 5, ... };
        H h3 = { ... };
        d.headers = (h1.isValid() ? 8w1 : 0) + (h2.isValid() ? 8w2 : 0) + (h3.isValid() ? 8w4 : 0);
        d.fields = h2.f1[7:0] + h2.f2 + h3.f1[7:0] + h3.f2;
        error e = ...;
        bool flag = ...;
        int<8> number = ...;
        d.others = e == error.NoError && !flag && number == 0 ? 8w1 : 0;
    }
}

#include "../stf/frame/one_header.p4"
