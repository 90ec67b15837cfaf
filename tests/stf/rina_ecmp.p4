// The RINA interior router of p4/rina: equal-cost paths, paths by QoS id.

#include "../../p4/rina/interior.p4"
