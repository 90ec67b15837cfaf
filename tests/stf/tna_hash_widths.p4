// `Hash` of a Tofino: data that are not whole bytes are filled up at their beginning; results wider than the CRC repeat it.

#include <core.p4>
#include <tna.p4>

header data_t {
    bit<8>  which;
    bit<32> a;
    bit<32> b;
    bit<64> hash;            // written
}

struct headers_t {
    data_t data;
}

struct metadata_t { }

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.data);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Hash<bit<32>>(HashAlgorithm_t.CRC16) crc16_32;
    Hash<bit<20>>(HashAlgorithm_t.CRC16) crc16_20;
    Hash<bit<12>>(HashAlgorithm_t.CRC16) crc16_12;
    Hash<bit<48>>(HashAlgorithm_t.CRC32) crc32_48;
    Hash<bit<64>>(HashAlgorithm_t.CRC32) crc32_64;
    Hash<bit<32>>(HashAlgorithm_t.CRC8) crc8_32;
    CRCPolynomial<bit<16>>(16w0x1021, false, false, true, 16w0xffff, 16w0) extended;
    Hash<bit<32>>(HashAlgorithm_t.CUSTOM, extended) custom_extended;
    CRCPolynomial<bit<16>>(16w0x1021, false, false, false, 16w0xffff, 16w0) single;
    Hash<bit<32>>(HashAlgorithm_t.CUSTOM, single) custom_single;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) crc16;
    Hash<bit<32>>(HashAlgorithm_t.CRC32) crc32;
    Hash<bit<8>>(HashAlgorithm_t.CRC8) crc8;
    Hash<bit<16>>(HashAlgorithm_t.XOR8) xor8;
    Hash<bit<48>>(HashAlgorithm_t.IDENTITY) identity;

    apply {
        ig_tm_md.ucast_egress_port = 2;
        if (hdr.data.which == 0) {
            hdr.data.hash = (bit<64>) crc16_32.get({ hdr.data.a, hdr.data.b });
        } else if (hdr.data.which == 1) {
            hdr.data.hash = (bit<64>) crc16_20.get({ hdr.data.a, hdr.data.b });
        } else if (hdr.data.which == 2) {
            hdr.data.hash = (bit<64>) crc16_12.get({ hdr.data.a, hdr.data.b });
        } else if (hdr.data.which == 3) {
            hdr.data.hash = (bit<64>) crc32_48.get({ hdr.data.a, hdr.data.b });
        } else if (hdr.data.which == 4) {
            hdr.data.hash = crc32_64.get({ hdr.data.a, hdr.data.b });
        } else if (hdr.data.which == 5) {
            hdr.data.hash = (bit<64>) crc8_32.get({ hdr.data.a, hdr.data.b });
        } else if (hdr.data.which == 6) {
            hdr.data.hash = (bit<64>) custom_extended.get({ hdr.data.a, hdr.data.b });
        } else if (hdr.data.which == 7) {
            hdr.data.hash = (bit<64>) custom_single.get({ hdr.data.a, hdr.data.b });
        // Data of 9, 35, 60, 65 and 9 bits.
        } else if (hdr.data.which == 8) {
            hdr.data.hash = (bit<64>) crc16.get({ hdr.data.a[8:0] });
        } else if (hdr.data.which == 9) {
            hdr.data.hash = (bit<64>) crc32.get({ hdr.data.a, hdr.data.b[2:0] });
        } else if (hdr.data.which == 10) {
            hdr.data.hash = (bit<64>) crc32.get({ hdr.data.a[27:0], hdr.data.b });
        } else if (hdr.data.which == 11) {
            hdr.data.hash = (bit<64>) crc16.get({ hdr.data.a, 1w1, hdr.data.b });
        } else if (hdr.data.which == 12) {
            hdr.data.hash = (bit<64>) crc8.get({ hdr.data.a[8:0] });
        } else if (hdr.data.which == 13) {
            hdr.data.hash = (bit<64>) custom_single.get({ hdr.data.a[8:0] });
        // Other functions repeat nothing.
        } else if (hdr.data.which == 14) {
            hdr.data.hash = (bit<64>) xor8.get({ hdr.data.a });
        } else {
            hdr.data.hash = (bit<64>) identity.get({ hdr.data.a });
        }
    }
}

#include "frame/tna.p4"
