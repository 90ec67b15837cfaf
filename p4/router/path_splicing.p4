// The fast path of an IPv4 router with Path Splicing: splicing.p4 says what that is, ip.p4 the rest.

#define WITHOUT_IPV6
#define PATH_SPLICING
#include "ip.p4"
