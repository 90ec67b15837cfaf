// The IP router of p4/router with VLANs (IEEE 802.1Q) as interfaces, and VRFs.

#include "../../p4/router/ip.p4"
