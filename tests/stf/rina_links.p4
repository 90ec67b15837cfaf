// The RINA interior router of p4/rina: EFCP of both syntaxes and IPv4, untagged and in VLANs, in all combinations; DIFs by link.

#include "../../p4/rina/interior.p4"
