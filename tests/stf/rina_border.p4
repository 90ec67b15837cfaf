// The RINA border router of p4/rina: two levels of DIFs, over Ethernet, in a VLAN and by UDP over IPv4.

#include "../../p4/rina/border.p4"
