// The header by which a packet chooses its slices (Motiwala, Elmore, Feamster, Vempala: Path Splicing, SIGCOMM 2008, section 3.2),
// between the IPv4 header and the transport protocol.

const bit<8> PROTOCOL_SPLICING = 253;  // RFC 3692: for experiments

// Bits of an index: the network has 2^SPLICING_BITS slices.
#ifndef SPLICING_BITS
#define SPLICING_BITS 2
#endif

header splicing_t {
    bit<8>   protocol;       // of what follows
    bit<8>   reserved;
    bit<112> indices;        // this hop's in the lowest bits, behind it the next hop's, and so on; zeros behind the last
}
