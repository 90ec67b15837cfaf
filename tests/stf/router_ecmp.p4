// The IP router of p4/router: groups of equal-cost next hops.

#include "../../p4/router/ip.p4"
