// Section 7.2.1: the underlying type of an enum is a number with a width; names and values are known; without a type they have no
// numbers.

#include <core.p4>
#include <v1model.p4>

enum bool Truth { No = false }  //~ E0308
enum bit<8> Unknown { A = B }   //~ E0200
enum Plain { A, A }             //~ E0201

header data_t {
    Plain p;                    //~ E0308
}
