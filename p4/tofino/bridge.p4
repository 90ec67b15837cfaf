// The bridge header: what the border router's pipe and the AES pipes tell each other about a packet, in front of it.
//
// A packet passes the border router's ingress twice. The first time it gets a bridge header and leaves for the AES pipes, the second
// time it comes back with its MACs. Between them it passes an egress of the border router, which knows how long the packet is;
// ingress does not.

header bridge_t {
    bit<16>  ingress_port;   // port by which the packet came in
    bit<16>  length;         // bytes behind this header
#if AES_PIPES
    bit<16>  back;           // port at which it comes back to the border router
    bit<2>   key;            // 0: the AS's key, otherwise one more than the slot of the other key
    bit<2>   rounds_done;    // in threes
    bit<1>   check;          // encrypt `block`
    bit<1>   check_next;     // encrypt `block_next`
    bit<2>   reserved;
    bit<128> block;          // of the current hop: the message, then AES's state, then the MAC
    bit<128> block_next;     // ... at a segment change, of the next hop
#endif
}

#if AES_PIPES
const bit<16> BRIDGE_BYTES = 39;
#else
const bit<16> BRIDGE_BYTES = 4;
#endif

// Each pipe's recirculation port: what leaves there comes back to the pipe's ingress.
const bit<7> RECIRCULATION_PORT = 6;

// Those of the AES pipes.
const PortId_t FIRST_AES_PORT = 2w1 ++ RECIRCULATION_PORT;
const PortId_t SECOND_AES_PORT = 2w2 ++ RECIRCULATION_PORT;

struct bridge_headers_t {
    bridge_t bridge;
}

struct no_metadata_t { }

parser BridgeEgressParser(packet_in packet, out bridge_headers_t hdr, out no_metadata_t meta,
                          out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        packet.extract(hdr.bridge);
        transition accept;
    }
}

control BridgeDeparser(packet_out packet, inout bridge_headers_t hdr, in no_metadata_t meta) {
    apply {
        packet.emit(hdr);
    }
}
