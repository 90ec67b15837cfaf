// The CRC of IRATI's SDU protection: Linux's crc32_le with the start value 0, in little-endian order.
//
// CRC-32 as v1model has it begins with all ones and inverts its result. To begin with zero is the same as to invert the
// first four bytes.

bit<32> inverted_little_endian(in bit<32> number) {
    bit<32> inverted = ~number;
    return inverted[7:0] ++ inverted[15:8] ++ inverted[23:16] ++ inverted[31:24];
}

control ComputeCrc(in headers_t hdr, out bit<32> crc) {
    apply {
        bit<32> sum;
        if (hdr.ttl.isValid()) {
            hash(sum, HashAlgorithm.crc32, 32w0,
                 { ~(hdr.ttl.ttl ++ hdr.irati.version ++ hdr.irati.dst), hdr.irati.src, hdr.irati.qos_id, hdr.irati.dst_cep,
                   hdr.irati.src_cep, hdr.irati.type, hdr.irati.flags, hdr.irati.length, hdr.irati.sequence, hdr.sdu.data },
                 64w0x100000000);
        } else {
            hash(sum, HashAlgorithm.crc32, 32w0,
                 { ~(hdr.irati.version ++ hdr.irati.dst ++ hdr.irati.src[15:8]), hdr.irati.src[7:0], hdr.irati.qos_id,
                   hdr.irati.dst_cep, hdr.irati.src_cep, hdr.irati.type, hdr.irati.flags, hdr.irati.length,
                   hdr.irati.sequence, hdr.sdu.data },
                 64w0x100000000);
        }
        crc = inverted_little_endian(sum);
    }
}
