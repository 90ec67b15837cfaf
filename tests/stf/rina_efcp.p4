// The RINA interior router of p4/rina: PDUs in the syntax with a header checksum, all checks, the control plane.

#include "../../p4/rina/interior.p4"
