// The RINA interior router of p4/rina: PDUs in IRATI's syntax, with and without TTL and CRC.

#include "../../p4/rina/interior.p4"
