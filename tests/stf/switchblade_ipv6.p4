// The SwitchBlade platform as an IPv6 router: longest prefix of the whole address, hop limit.

#include "../../p4/switchblade/platform.p4"
