// Each VDP of the SwitchBlade platform has rates of its own, in packets and in bytes. One that exceeds them does not disturb the others.

#include "../../p4/switchblade/platform.p4"
