// The RINA interior router of p4/rina: IPv4 beside EFCP.

#include "../../p4/rina/interior.p4"
