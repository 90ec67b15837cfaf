// Lookup modes of the SwitchBlade platform: flows that are exceptions next to longest prefixes, by hash and by the whole key; everything to the CPU.

#include "../../p4/switchblade/platform.p4"
