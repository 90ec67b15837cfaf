// The IP router of p4/router, by the checklist of RFC 1812.

#include "../../p4/router/ip.p4"
