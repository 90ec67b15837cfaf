// The RINA interior router of p4/rina without what hardware does not have: EFCP with a header checksum and IPv4, untagged and in VLANs.

#define NO_IRATI
#define NO_SELECTOR
#include "../../p4/rina/interior.p4"
