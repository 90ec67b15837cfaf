// Where an EFCP PDU goes: what a relay of IPC processes checks, and its forwarding by destination address and QoS id.

// Addresses in all DIFs together, and pairs of address and QoS id.
#define DESTINATIONS 65536
#define QOS_DESTINATIONS 65536

control VerifyEfcp(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.efcp.isValid(),
                        { hdr.efcp.version, hdr.efcp.dst, hdr.efcp.src, hdr.efcp.qos_id, hdr.efcp.dst_cep, hdr.efcp.src_cep,
                          hdr.efcp.type, hdr.efcp.flags, hdr.efcp.length, hdr.efcp.sequence },
                        hdr.efcp.checksum, HashAlgorithm.csum16);
    }
}

control RelayPdu(in headers_t hdr, inout meta_t meta, in standard_metadata_t std) {
    ComputeCrc() compute_crc;
    bit<16> dst_cep = 0;
    bit<16> src_cep = 0;
    bit<16> header_bytes = EFCP_BYTES;
    bit<32> overhead = 0;    // bytes beside the PDU
    bit<8> version = 0;

    action known() { }

    action end(bit<8> reason) {
        meta.reason = (Reason) reason;
    }

    table pdu_types {
        key = { meta.pdu_type: exact @name("pdu_type"); }
        actions = { known; @defaultonly end; }
        const default_action = end((bit<8>) Reason.UNKNOWN_PDU_TYPE);
        const entries = {
            PDU_MANAGEMENT: known();
            PDU_DATA: known();
            PDU_CONTROL_ACK: known();
            PDU_ACK: known();
            PDU_NACK: known();
            PDU_FLOW: known();
            PDU_ACK_FLOW: known();
            PDU_NACK_FLOW: known();
            PDU_SACK: known();
            PDU_SNACK: known();
            PDU_SACK_FLOW: known();
            PDU_SNACK_FLOW: known();
            PDU_RENDEZVOUS: known();
        }
    }

    action via(bit<16> next_hop) {
        meta.next_hop = next_hop;
    }

    action multipath(bit<16> group) {
        meta.group = group;
    }

    // An address of the router.
    action local() {
        meta.reason = meta.pdu_type == PDU_MANAGEMENT ? Reason.MANAGEMENT : Reason.LOCAL_PDU;
    }

    action unknown() {
        meta.reason = meta.pdu_type == PDU_MANAGEMENT ? Reason.NO_ROUTE_MANAGEMENT : Reason.NO_DESTINATION;
    }

    // PDUs of different QoS ids take different paths to this address: see qos_destinations.
    action by_qos() { }

    table destinations {
        key = {
            meta.dif: exact @name("dif");
            meta.dst: exact @name("dst");
        }
        actions = { via; multipath; local; by_qos; unknown; }
        default_action = unknown();
        size = DESTINATIONS;
    }

    table qos_destinations {
        key = {
            meta.dif: exact @name("dif");
            meta.dst: exact @name("dst");
            meta.qos_id: exact @name("qos_id");
        }
        actions = { via; multipath; unknown; }
        default_action = unknown();
        size = QOS_DESTINATIONS;
    }

    apply {
        if (hdr.efcp.isValid()) {
            version = hdr.efcp.version;
            meta.dst = hdr.efcp.dst;
            meta.src = hdr.efcp.src;
            meta.qos_id = (bit<16>) hdr.efcp.qos_id;
            meta.pdu_type = hdr.efcp.type;
            meta.pdu_bytes = hdr.efcp.length;
            dst_cep = hdr.efcp.dst_cep;
            src_cep = hdr.efcp.src_cep;
        } else if (hdr.rlite.isValid()) {
            header_bytes = RLITE_BYTES;
            version = EFCP_VERSION;    // rlite leaves that byte of its buffers as it is, and does not read it
            meta.dst = from_little_endian(hdr.rlite.dst);
            meta.src = from_little_endian(hdr.rlite.src);
            meta.qos_id = from_little_endian(hdr.rlite.qos_id);
            meta.pdu_type = hdr.rlite.type;
            meta.pdu_bytes = from_little_endian(hdr.rlite.length);
            dst_cep = hdr.rlite.dst_cep;
            src_cep = hdr.rlite.src_cep;
        } else {
            header_bytes = IRATI_BYTES;
            version = hdr.irati.version;
            meta.dst = from_little_endian(hdr.irati.dst);
            meta.src = from_little_endian(hdr.irati.src);
            meta.qos_id = from_little_endian(hdr.irati.qos_id);
            meta.pdu_type = hdr.irati.type;
            meta.pdu_bytes = from_little_endian(hdr.irati.length);
            dst_cep = hdr.irati.dst_cep;
            src_cep = hdr.irati.src_cep;
            overhead = (bit<32>) (bit<1>) hdr.ttl.isValid() + ((bit<32>) (bit<1>) hdr.crc.isValid() << 2);
        }
        if (hdr.vlan.isValid()) {
            overhead = overhead + VLAN_BYTES;
        }
        // Ethernet has no length: a short frame is padded.
        if (meta.pdu_bytes < header_bytes
            || ETHERNET_BYTES + overhead + (bit<32>) meta.pdu_bytes > std.packet_length) {
            meta.reason = Reason.MALFORMED;
            return;
        }
        if (hdr.efcp.isValid() && std.checksum_error == 1) {
            meta.reason = Reason.BAD_CHECKSUM;
            return;
        }
        if (hdr.crc.isValid()) {
            bit<32> crc;
            compute_crc.apply(hdr, crc);
            if (crc != hdr.crc.value) {
                meta.reason = Reason.BAD_CRC;
                return;
            }
        }
        if (version != EFCP_VERSION) {
            meta.reason = Reason.UNKNOWN_VERSION;
            return;
        }
        if (hdr.rlite.isValid()) {
            // Control PDUs of rlite acknowledge, give credit or do both.
            bool is_control = meta.pdu_type[7:4] == 0xc && meta.pdu_type[3:2] != 0;
            if (!is_control && meta.pdu_type != PDU_MANAGEMENT && meta.pdu_type != PDU_DATA) {
                meta.reason = Reason.UNKNOWN_PDU_TYPE;
            } else if (hdr.rlite.dst_high != 0) {
                // Addresses of 16 bits have entries.
                unknown();
            }
        } else {
            pdu_types.apply();
        }
        if (meta.reason != Reason.FORWARDED) {
            return;
        }
        if (meta.dst == 0) {
            meta.reason = meta.pdu_type == PDU_MANAGEMENT ? Reason.MANAGEMENT : Reason.NO_DESTINATION;
            return;
        }
        switch (destinations.apply().action_run) {
            by_qos: {
                qos_destinations.apply();
            }
        }
        if (meta.reason == Reason.FORWARDED && hdr.ttl.isValid() && hdr.ttl.ttl <= 1) {
            meta.reason = Reason.LIFETIME;
        }
        // rlite sends a PDU on whose TTL is 0 then.
        if (meta.reason == Reason.FORWARDED && hdr.rlite.isValid() && hdr.rlite.ttl == 0) {
            meta.reason = Reason.LIFETIME;
        }
        if (meta.group != 0) {
            hash(meta.flow, HashAlgorithm.crc32, 16w0,
                 { meta.hash_seed, meta.src, meta.dst, dst_cep, src_cep, meta.qos_id }, 32w0x10000);
        }
    }
}

// What changes in a PDU on its way: its protection.
control ProtectPdu(inout headers_t hdr, in meta_t meta) {
    apply {
        if (meta.next_ttl == 0) {
            hdr.ttl.setInvalid();
        } else if (hdr.ttl.isValid()) {
            hdr.ttl.ttl = hdr.ttl.ttl - 1;
        } else {
            hdr.ttl.setValid();
            hdr.ttl.ttl = TTL_INITIAL;
        }
        if (meta.next_crc == 0) {
            hdr.crc.setInvalid();
        }
    }
}

// Counts the TTL of a PDU in rlite's syntax down, and its checksum up: a sum of little-endian numbers.
control AgeRlite(inout headers_t hdr) {
    apply {
        hdr.rlite.ttl = from_little_endian(from_little_endian(hdr.rlite.ttl) - 1);
        if (hdr.rlite.checksum != 0) {
            bit<16> sum = from_little_endian(hdr.rlite.checksum);
            sum = sum == 0xffff ? 16w1 : sum + 1;
            hdr.rlite.checksum = from_little_endian(sum);
        }
    }
}
