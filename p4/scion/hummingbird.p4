// Path type Hummingbird: a SCION path whose hops may carry reservations of bandwidth ("flyovers"). An experiment, with the macro
// HUMMINGBIRD only.
//
// A hop field with a flyover has two words more, which name a reservation of this AS between two of its interfaces. Its MAC is the hop's
// MAC xor the flyover's:
//
//   Ak  = AES-128(secret value of the AS, interface it enters by (2 bytes), leaves by (2), ResID and bandwidth (4), start (4),
//                 duration (2), zeros (2))
//   MAC = AES-128(Ak, destination AS (8), length of the SCION packet (2), start offset (2), MillisTimestamp and Counter (4)), 48 bits
//
// As long as a packet is in the AS it carries that MAC; it leaves with the hop's own, so that its path can be reversed. Here the
// flyover's MAC is taken out first, so that everything else sees a SCION path, and put back if the packet stays in the AS.
//
// Who has reserved gets priority, if the reservation is valid now, the packet is fresh, and those of the reservation come no faster
// than it says. Everybody else is served as without: a flyover never makes a packet worse, except that its MAC must be right.
//
// The design: doc/dev/design/Hummingbird.rst of the reference's pull request 4928.

#ifdef HUMMINGBIRD

// The queue for packets with a reservation, where a port has queues.
const bit<3> RESERVED_PRIORITY = 7;

// A reservation's bandwidth is in units of 64 bytes a second; its bucket holds what comes in a second.
const bit<64> FLYOVER_BYTES_PER_UNIT = 64;
const bit<64> FLYOVER_BURST_US       = 1000000;

// A packet is fresh for a second, and clocks may differ by one.
const bit<64> FLYOVER_FRESH_US = 1000000;

// What becomes of a hop's reservation.
enum bit<3> Flyover {
    NONE      = 0,               // the hop has none
    PRIORITY  = 1,
    NOT_VALID = 2,               // before its start, or after its end
    NOT_FRESH = 3,               // the packet was sent too long ago, or will be sent only later
    OVER_RATE = 4,               // the reservation's packets come faster than it says
    NO_BUCKET = 5                // another reservation in use has the bucket
}

const bit<7> TWO_HOPS = 6;       // words

// The AS's secret value.
Aes128(1) flyover_secret;

// Takes the flyover's MAC out of the hop's. What is wrong with it shows when the hop's MAC is checked.
control TakeOutFlyover(inout headers_t hdr, inout metadata_t meta) {
    Aes128WithKey() flyover_cipher;
    bit<1> peering = 0;
    bit<128> flyover_key = 0;
    bit<128> tag = 0;

    apply {
        // Where the packet enters the AS and where it leaves; at a segment change, of two hops.
        peering = hdr.info.peering & (meta.first_of_segment | meta.last_of_segment);
        if (hdr.info.cons_dir == 1) {
            meta.flyover_ingress = hdr.hop.cons_ingress;
            meta.flyover_egress = hdr.hop.cons_egress;
        } else {
            meta.flyover_ingress = hdr.hop.cons_egress;
            meta.flyover_egress = hdr.hop.cons_ingress;
        }
        if (hdr.hop_next.isValid() && peering == 0) {
            meta.flyover_egress = hdr.info_next.cons_dir == 1 ? hdr.hop_next.cons_egress : hdr.hop_next.cons_ingress;
        } else if (hdr.hop_prev.isValid()) {
            meta.flyover_ingress = hdr.info_prev.cons_dir == 1 ? hdr.hop_prev.cons_ingress : hdr.hop_prev.cons_egress;
        }
        meta.flyover_start = hdr.hummingbird.base_timestamp - (bit<32>) hdr.flyover.start_offset;
        flyover_secret.encrypt(0, meta.flyover_ingress ++ meta.flyover_egress ++ hdr.flyover.res_id ++ hdr.flyover.bandwidth
                                  ++ meta.flyover_start ++ hdr.flyover.duration ++ 16w0, flyover_key);
        flyover_cipher.encrypt(flyover_key, hdr.scion.dst_ia ++ (meta.path_bytes + hdr.scion.payload_len)
                                            ++ hdr.flyover.start_offset ++ hdr.hummingbird.millis ++ hdr.hummingbird.counter, tag);
        meta.flyover_mac = tag[127:80];
        hdr.hop.mac = hdr.hop.mac ^ meta.flyover_mac;
    }
}

// What a SCION path cannot have wrong.
control CheckSegments(in headers_t hdr, inout metadata_t meta) {
    apply {
        if (hdr.info.peering == 0) {
            // A segment of a single hop exists only at a peering link.
            if (hdr.hummingbird.seg0_len < TWO_HOPS
                || (hdr.hummingbird.seg1_len != 0 && hdr.hummingbird.seg1_len < TWO_HOPS)
                || (hdr.hummingbird.seg2_len != 0 && hdr.hummingbird.seg2_len < TWO_HOPS)) {
                meta.reason = Reason.SINGLETON_SEGMENT;
            }
        } else if (hdr.hummingbird.seg1_len == 0 || hdr.hummingbird.seg2_len != 0) {
            meta.reason = Reason.MALFORMED_PEERING;
        }
    }
}

// Writes the path for the next router, as AdvancePath does for a SCION path.
control AdvanceHummingbird(inout headers_t hdr, inout metadata_t meta) {
    bit<1> leaves = 0;
    bit<16> seg_id = 0;
    bit<48> mac = 0;
    bit<32> before = 0;

    apply {
        leaves = (bit<1>) (meta.target.scope == LinkScope.EXTERNAL);
        before = hdr.hummingbird.curr_inf ++ hdr.hummingbird.curr_hf ++ hdr.hummingbird.reserved ++ hdr.hummingbird.seg0_len
               ++ hdr.hummingbird.seg1_len ++ hdr.hummingbird.seg2_len;

        seg_id = meta.seg_id;
        if (leaves == 1 && hdr.info.cons_dir == 1 && meta.peering == 0 && meta.segment_change == 0) {
            seg_id = next_seg_id(seg_id, hdr.hop.mac);
        }
        meta.changes = meta.changes + sum_change16(hdr.info.seg_id, seg_id);
        hdr.info.seg_id = seg_id;

        mac = hdr.hop.mac ^ meta.flyover_mac;
        if (meta.segment_change == 1) {
            hdr.hummingbird.curr_inf = hdr.hummingbird.curr_inf + 1;
            hdr.hummingbird.curr_hf = hdr.hummingbird.curr_hf + HOP_WORDS;
            if (leaves == 1) {
                hdr.hummingbird.curr_hf = hdr.hummingbird.curr_hf + HOP_WORDS;
                if (hdr.flyover.isValid()) {
                    hdr.hummingbird.curr_hf = hdr.hummingbird.curr_hf + (bit<8>) FLYOVER_WORDS;
                }
                if (hdr.info_next.cons_dir == 1) {
                    seg_id = next_seg_id(hdr.info_next.seg_id, hdr.hop_next.mac);
                    meta.changes = meta.changes + sum_change16(hdr.info_next.seg_id, seg_id);
                    hdr.info_next.seg_id = seg_id;
                }
            } else if (hdr.flyover.isValid()) {
                // The router at the exit, for which the next hop is the current one, has to find the flyover there. What only changes
                // its place does not change the sum.
                hdr.flyover_next = hdr.flyover;
                hdr.flyover.setInvalid();
                hdr.hop.reserved[5:5] = 0;
                hdr.hop_next.reserved[5:5] = 1;
                if (hdr.hummingbird.curr_inf == 1) {
                    hdr.hummingbird.seg0_len = hdr.hummingbird.seg0_len - FLYOVER_WORDS;
                    hdr.hummingbird.seg1_len = hdr.hummingbird.seg1_len + FLYOVER_WORDS;
                } else {
                    hdr.hummingbird.seg1_len = hdr.hummingbird.seg1_len - FLYOVER_WORDS;
                    hdr.hummingbird.seg2_len = hdr.hummingbird.seg2_len + FLYOVER_WORDS;
                }
                meta.changes = meta.changes + (bit<64>) (hdr.hop_next.mac ^ meta.flyover_mac) - (bit<64>) hdr.hop_next.mac;
                hdr.hop_next.mac = hdr.hop_next.mac ^ meta.flyover_mac;
            }
            meta.changes = meta.changes + (bit<64>) hdr.hop.mac - (bit<64>) mac;
        } else if (leaves == 1) {
            hdr.hummingbird.curr_hf = hdr.hummingbird.curr_hf + HOP_WORDS;
            if (hdr.flyover.isValid()) {
                hdr.hummingbird.curr_hf = hdr.hummingbird.curr_hf + (bit<8>) FLYOVER_WORDS;
                if (hdr.hop_prev.isValid()) {
                    // Back where it was when the packet entered the AS.
                    hdr.flyover_prev = hdr.flyover;
                    hdr.flyover.setInvalid();
                    hdr.hop.reserved[5:5] = 0;
                    hdr.hop_prev.reserved[5:5] = 1;
                    if (hdr.hummingbird.curr_inf == 1) {
                        hdr.hummingbird.seg0_len = hdr.hummingbird.seg0_len + FLYOVER_WORDS;
                        hdr.hummingbird.seg1_len = hdr.hummingbird.seg1_len - FLYOVER_WORDS;
                    } else {
                        hdr.hummingbird.seg1_len = hdr.hummingbird.seg1_len + FLYOVER_WORDS;
                        hdr.hummingbird.seg2_len = hdr.hummingbird.seg2_len - FLYOVER_WORDS;
                    }
                }
            }
            if (meta.last_of_segment == 1) {
                // Over the peering link into the other segment.
                hdr.hummingbird.curr_inf = hdr.hummingbird.curr_inf + 1;
            }
            meta.changes = meta.changes + (bit<64>) hdr.hop.mac - (bit<64>) mac;
        } else if (meta.target.scope == LinkScope.SIBLING) {
            hdr.hop.mac = mac;
        } else {
            meta.changes = meta.changes + (bit<64>) hdr.hop.mac - (bit<64>) mac;
        }
        if (leaves == 1 || meta.segment_change == 1) {
            hdr.hummingbird.reserved = 0;
        }
        meta.changes = meta.changes
            + (bit<64>) (hdr.hummingbird.curr_inf ++ hdr.hummingbird.curr_hf ++ hdr.hummingbird.reserved
                         ++ hdr.hummingbird.seg0_len ++ hdr.hummingbird.seg1_len ++ hdr.hummingbird.seg2_len)
            - (bit<64>) before;
    }
}

// Priority for a packet whose path is good, if it has reserved that and keeps to it.
//
// A bucket of tokens for each reservation in use, where a hash of its number and interfaces puts it. A reservation that has rested for
// as long as its bucket takes to fill may lose its place to another, because a full bucket is all that is to be remembered of it. Of two
// that want one bucket at the same time, the second is best effort.
control PoliceFlyover(in headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    // By link and outcome.
    PACKET_COUNTER(LINK_COUNT << 3) flyovers;

    // Whose it is; when it was last looked at, in microseconds since 1970; tokens, in millionths of a byte. Where workers share the
    // packets of one reservation, each of two packets at the same moment may be given what only one should.
    @concurrent register<bit<64>>(RESERVATION_BUCKETS) reservation_owner;
    @concurrent register<bit<64>>(RESERVATION_BUCKETS) reservation_time;
    @concurrent register<bit<64>>(RESERVATION_BUCKETS) reservation_tokens;

    Flyover outcome = Flyover.NONE;
    bit<64> now = 0;
    bit<64> sent = 0;
    bit<64> rate = 0;            // bytes a second
    bit<64> burst = 0;
    bit<64> size = 0;
    bit<64> name = 0;
    bit<64> owner = 0;
    bit<64> seen = 0;
    bit<64> tokens = 0;
    bit<16> bucket = 0;
    bool rested = false;

    apply {
        now = meta.router.now;
        sent = (bit<64>) hdr.hummingbird.base_timestamp * 1000000 + (bit<64>) hdr.hummingbird.millis * 1000;
        if (!hdr.flyover.isValid()) {
            outcome = Flyover.NONE;
        } else if ((bit<64>) meta.flyover_start * 1000000 >= now
                   || ((bit<64>) meta.flyover_start + (bit<64>) hdr.flyover.duration) * 1000000 <= now) {
            outcome = Flyover.NOT_VALID;
        } else if (sent + FLYOVER_FRESH_US < now || now + FLYOVER_FRESH_US < sent) {
            outcome = Flyover.NOT_FRESH;
        } else {
            name = 10w1 ++ hdr.flyover.res_id ++ meta.flyover_ingress ++ meta.flyover_egress;
            hash(bucket, HashAlgorithm.crc32, 16w0, { name }, RESERVATION_BUCKETS);
            reservation_owner.read(owner, (bit<32>) bucket);
            reservation_time.read(seen, (bit<32>) bucket);
            reservation_tokens.read(tokens, (bit<32>) bucket);
            rate = (bit<64>) hdr.flyover.bandwidth * FLYOVER_BYTES_PER_UNIT;
            burst = rate * FLYOVER_BURST_US;
            size = (bit<64>) (hdr.udp.length - UDP_BYTES) * 1000000;
            // The clock may be set back.
            rested = now >= seen + FLYOVER_BURST_US || seen >= now + FLYOVER_BURST_US;
            if (owner != name && !rested) {
                outcome = Flyover.NO_BUCKET;
            } else {
                if (rested) {
                    tokens = burst;
                    seen = now;
                } else if (now >= seen) {
                    // Not so where another worker was later and faster.
                    tokens = tokens + (now - seen) * rate;
                    seen = now;
                }
                if (tokens > burst) {
                    tokens = burst;
                }
                if (tokens >= size) {
                    tokens = tokens - size;
                    outcome = Flyover.PRIORITY;
                } else {
                    outcome = Flyover.OVER_RATE;
                }
                reservation_owner.write((bit<32>) bucket, name);
                reservation_time.write((bit<32>) bucket, seen);
                reservation_tokens.write((bit<32>) bucket, tokens);
            }
        }
        flyovers.count((bit<32>) (meta.source.index ++ (bit<3>) outcome));
        if (outcome == Flyover.PRIORITY) {
            std.priority = RESERVED_PRIORITY;
        }
    }
}

#endif
