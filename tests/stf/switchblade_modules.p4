// Each bit of the SwitchBlade platform's module bitmap: MAC addresses, TTL, checksum, IPv6 hop limit.

#include "../../p4/switchblade/platform.p4"
