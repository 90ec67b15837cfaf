// Several uses of a cipher, and fields behind several headers of variable size, in one packet, with a register that keeps packets
// apart: a hardware target can serve all uses with few engines.

#include <core.p4>
#include <v1model.p4>
#include <crypto.p4>

header gap_t {
    bit<8> len;   // of what follows, 31 at most
    varbit<248> bytes;
}

header block_t {
    bit<8> slot;
    bit<128> block;
}

struct headers_t {
    gap_t gap1;
    block_t first;
    gap_t gap2;
    block_t second;
    gap_t gap3;
    block_t third;
}

struct metadata_t {
    bit<32> seen;
}

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.gap1, 8 * (bit<32>) packet.lookahead<bit<8>>()[4:0]);
        packet.extract(hdr.first);
        packet.extract(hdr.gap2, 8 * (bit<32>) packet.lookahead<bit<8>>()[4:0]);
        packet.extract(hdr.second);
        packet.extract(hdr.gap3, 8 * (bit<32>) packet.lookahead<bit<8>>()[4:0]);
        packet.extract(hdr.third);
        transition accept;
    }
}

control Nothing(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Work(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    AesCmac(2) one;
    AesCmac(1) other;
    Aes128WithKey() cipher;
    register<bit<32>>(4) last;
    bit<128> key = 0;

    apply {
        one.mac((bit<32>) hdr.first.slot, hdr.first.block, hdr.first.block);
        one.mac((bit<32>) hdr.second.slot, hdr.second.block, key);
        cipher.encrypt(key, hdr.second.block, hdr.second.block);
        other.mac(0, hdr.third.block, key);
        cipher.encrypt(key, hdr.third.block, hdr.third.block);
        // What a packet writes depends on what it reads, some stages later.
        last.read(meta.seen, (bit<32>) hdr.first.slot);
        meta.seen = (meta.seen << (bit<8>) hdr.third.slot) + meta.seen + (bit<32>) hdr.second.slot + 1;
        last.write((bit<32>) hdr.first.slot, meta.seen);
        hdr.first.slot = meta.seen[7:0];
        std.egress_spec = std.ingress_port;
    }
}

control Leave(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(Parse(), Nothing(), Work(), Leave(), Nothing(), Deparse()) main;
