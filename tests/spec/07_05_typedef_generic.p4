// Section 7.5: a generic type has another name only with its arguments.

#include <core.p4>
#include <v1model.p4>

struct S<T> {
    T field;
}

typedef S X;                    //~ E0204
