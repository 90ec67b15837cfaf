// The SwitchBlade platform as an IPv4 router: longest prefix, neighbours, TTL, checksum; what it drops and what goes to the CPU.

#include "../../p4/switchblade/platform.p4"
