// The RINA interior router of p4/rina: PDUs in rlite's syntax.

#include "../../p4/rina/interior.p4"
