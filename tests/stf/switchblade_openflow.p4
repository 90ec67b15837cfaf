// The SwitchBlade platform as a flow switch: the ten-tuple of OpenFlow 0.9, by hash and as a whole, and what a miss tells the controller.

#include "../../p4/switchblade/platform.p4"
