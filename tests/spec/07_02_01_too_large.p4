// Section 7.2.1: values of an enum fit its underlying type.

#include <core.p4>
#include <v1model.p4>

enum bit<8> Failing {
    first = 1,
    second = 2,
    third = 3,
    unrepresentable = 300       //~ E0402
}

enum int<4> AlsoFailing {
    smallest = -8,
    largest = 7,
    larger = 8                  //~ E0402
}
