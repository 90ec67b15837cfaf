// Section 12.5: functions do not exit.

#include <core.p4>
#include <v1model.p4>

bit<8> f(in bit<8> x) {
    exit;                       //~ E0310
    return x;
}
