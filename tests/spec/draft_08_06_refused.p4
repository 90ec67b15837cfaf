// Section draft 8.6: a string is joined with a string only, and not compared.

#include <core.p4>
#include <v1model.p4>

const string A = "a" ++ 8w1;    //~ E0301
const bool B = "a" < "b";       //~ E0301
