// The fast path of an IPv4 router: see ip.p4.

#define WITHOUT_IPV6
#include "ip.p4"
