// Section 8.3: names of an enum stand behind its name; numbers become enums by a cast only, and enums without numbers not at all.

#include <core.p4>
#include <v1model.p4>

enum X { v1, v2, v3 }
enum bit<8> E1 { e1 = 0, e2 = 1, e3 = 2 }
enum bit<8> E2 { e1 = 10, e2 = 11, e3 = 12 }

control Work(inout bit<8> n) {
    apply {
        X x = v1;               //~ E0200
        E1 a = E1.e1;
        E2 b = E2.e2;
        a = b;                  //~ E0300
        a = (E1) b;
        a = E1.e1 + 1;          //~ E0300
        a = (E1) (E1.e1 + 1);
        a = E1.e1 + E1.e2;      //~ E0300
        a = (E1) (E2.e1 + E2.e2);
        a = n;                  //~ E0300
        n = (bit<8>) x;         //~ E0302
        x = (X) n;              //~ E0302
        if (x < X.v2) { }       //~ E0301
        n = a + b;
        if (a > b) { }
        if (x == X.v4) { }      //~ E0203
    }
}
