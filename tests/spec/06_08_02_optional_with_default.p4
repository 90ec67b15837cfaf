// Section 6.8.2: an optional parameter has no default value.

#include <core.p4>
#include <v1model.p4>

extern void remind(in bit<32> at, @optional in bool urgent = true); //~ E0317
