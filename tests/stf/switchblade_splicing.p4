// The SwitchBlade platform as a Path Splicing router: the lowest index of the splicing header chooses the slice, and is shifted out.

#include "../../p4/switchblade/platform.p4"
