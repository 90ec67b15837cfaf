// The sizes of tables and of what each virtual data plane (VDP) has, and what a chip may be too small for.
//
//   VDPS=n         sizes for a chip with VDPs 1 to n. Without it they are those of software: 255 VDPs, and large tables
//   NO_MULTICAST   entries whose action is `replicate` send packets to the CPU port, as exceptions

#ifdef VDPS
const bit<32> VDP_COUNT  = VDPS + 1; // 0 is what belongs to no VDP
const bit<32> MACS       = 4 * VDPS;
const bit<32> ROUTES     = 256 * VDPS;
const bit<32> EXACT      = 256 * VDPS;
const bit<32> EXCEPTIONS = 64 * VDPS;
const bit<32> NEIGHBOURS = 64 * VDPS;
#else
const bit<32> VDP_COUNT  = 256;
const bit<32> MACS       = 1024;
const bit<32> ROUTES     = 1600000;  // prefixes of a table
const bit<32> EXACT      = 1600000;  // entries of a table that is looked up by hash or key
const bit<32> EXCEPTIONS = 65536;
const bit<32> NEIGHBOURS = 65536;
#endif
