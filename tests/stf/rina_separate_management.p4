// The RINA interior router of p4/rina with a CPU port for layer management.

#define SEPARATE_MANAGEMENT
#include "../../p4/rina/interior.p4"
