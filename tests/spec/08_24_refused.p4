// Section 8.24: values whose type is a variable are only assigned and passed.

#include <core.p4>
#include <v1model.p4>

T wrong<T>(in T x, in T y) {
    if (x == y) { }             //~ E0301
    T z = 0;                    //~ E0300
    return x + y;               //~ E0301
}
