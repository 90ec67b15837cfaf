// Ethernet and IPv4 with its checksum verified and updated, then the ports of TCP and UDP: what the IPv4 programs share.

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    ports_t    ports;
}

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            TYPE_IPV4: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.protocol) {
            (5, PROTOCOL_TCP): ports;
            (5, PROTOCOL_UDP): ports;
            default: accept;
        }
    }
    state ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

#define OWN_CHECKSUMS

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_CHECKED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control Update(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_CHECKED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}
