// A protocol that the SwitchBlade platform has never seen, configured by entries and registers alone.
// 
// Its header, behind EtherType 0x88b5: version 8, hops left 8, checksum of the header 16, label 20, flow 12, destination 64,
// source 64. A router forwards by label and destination, swaps the label, counts down the hops and corrects the checksum.

#include "../../p4/switchblade/platform.p4"
