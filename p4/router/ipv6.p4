// The fast path of an IPv6 router: see ip.p4.

#define WITHOUT_IPV4
#include "ip.p4"
