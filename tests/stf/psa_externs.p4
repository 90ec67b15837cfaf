// PSA's extern objects: registers, counters, meters, hashes, checksums, random numbers, digests, action profiles and selectors.

#include <core.p4>
#include <psa.p4>

header data_t {
    bit<8>  op;
    bit<8>  index;
    bit<16> x;
    bit<32> y;
}

// Twelve bytes whose sum must be zero, as IPv4's.
header sum_t {
    bit<16> first;
    bit<16> checksum;
    bit<32> second;
    bit<32> third;
}

struct headers_t {
    data_t data;
    sum_t  sum;
}

struct pair_t {
    bit<16> x;
    bit<32> y;
}

struct metadata_t { }
struct none_t { }

parser InParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                in psa_ingress_parser_input_metadata_t istd, in none_t resubmitted, in none_t recirculated) {
    InternetChecksum() check;

    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.op) {
            0x20 .. 0x2f: sum;
            default: accept;
        }
    }

    state sum {
        packet.extract(hdr.sum);
        check.clear();
        check.add(hdr.sum);
        verify(check.get() == 0, error.HeaderTooShort);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t meta, in psa_ingress_input_metadata_t istd,
           inout psa_ingress_output_metadata_t ostd) {
    Register<pair_t, bit<8>>(8) pairs;
    Register<bit<32>, bit<8>>(8, 0) words;
    Counter<bit<32>, bit<8>>(8, PSA_CounterType_t.PACKETS_AND_BYTES) counts;
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) hits;
    Meter<bit<8>>(8, PSA_MeterType_t.PACKETS) rate;
    Hash<bit<32>>(PSA_HashAlgorithm_t.CRC32) crc32;
    Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) crc16;
    Random<bit<16>>(7, 9) dice;
    Digest<pair_t>() seen;
    ActionProfile(16) profile;
    ActionSelector(PSA_HashAlgorithm_t.IDENTITY, 16, 8) selector;

    action set_x(bit<16> x) {
        hdr.data.x = x;
        hits.count();
    }

    // The control plane gives the position of the colour in its enum.
    action expect_color(PSA_MeterColor_t color) {
        hdr.data.x = color == PSA_MeterColor_t.RED ? 16w1 : color == PSA_MeterColor_t.GREEN ? 16w2 : 16w3;
    }

    action choose(bit<16> x) {
        hdr.data.x = x;
    }

    table direct {
        key = { hdr.data.index: exact; }
        actions = { set_x; expect_color; NoAction; }
        default_action = NoAction();
        psa_direct_counter = hits;
    }

    table indirect {
        key = { hdr.data.index: exact; }
        actions = { choose; NoAction; }
        psa_implementation = profile;
    }

    table selected {
        key = { hdr.data.index: exact; hdr.data.y: selector; }
        actions = { choose; NoAction; }
        psa_implementation = selector;
    }

    apply {
        send_to_port(ostd, (PortId_t) 32w2);
        switch (hdr.data.op) {
            0x01: { pairs.write(hdr.data.index, { hdr.data.x, hdr.data.y }); }
            0x02: {
                pair_t pair = pairs.read(hdr.data.index);
                hdr.data.x = pair.x;
                hdr.data.y = pair.y;
            }
            0x03: {
                hdr.data.y = words.read(hdr.data.index);
                words.write(hdr.data.index, hdr.data.y + 1);
            }
            0x04: { counts.count(hdr.data.index); }
            0x05: {
                PSA_MeterColor_t color = rate.execute(hdr.data.index);
                hdr.data.x = color == PSA_MeterColor_t.GREEN ? 16w1 : color == PSA_MeterColor_t.YELLOW ? 16w2 : 16w3;
            }
            0x06: { hdr.data.y = crc32.get_hash({ hdr.data.index, hdr.data.x }); }
            0x07: { hdr.data.x = crc16.get_hash({ hdr.data.y }); }
            0x08: { hdr.data.x = crc16.get_hash(16w100, { hdr.data.y }, 16w10); }
            0x09: {
                bit<16> thrown = dice.read();
                hdr.data.x = thrown >= 7 && thrown <= 9 ? 16w1 : 16w0;
            }
            0x0a: { seen.pack({ hdr.data.x, hdr.data.y }); }
            0x0b: { direct.apply(); }
            0x0c: { indirect.apply(); }
            0x0d: { selected.apply(); }
            0x20: { hdr.sum.second = hdr.data.y; }
            0x21: { hdr.sum.second = hdr.data.y; }
        }
        if (istd.parser_error != error.NoError) {
            hdr.data.x = 0xdead;
        }
    }
}

control InDeparser(packet_out packet, out none_t cloned, out none_t resubmitted, out none_t normal,
                   inout headers_t hdr, in metadata_t meta, in psa_ingress_output_metadata_t istd) {
    Digest<pair_t>() sent;

    apply {
        if (hdr.data.op == 0x0e) {
            sent.pack({ hdr.data.x, hdr.data.y });
        }
        packet.emit(hdr);
    }
}

parser OutParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                 in psa_egress_parser_input_metadata_t istd, in none_t normal, in none_t cloned, in none_t again) {
    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.op) {
            0x20 .. 0x2f: sum;
            default: accept;
        }
    }

    state sum {
        packet.extract(hdr.sum);
        transition accept;
    }
}

control Out(inout headers_t hdr, inout metadata_t meta, in psa_egress_input_metadata_t istd,
            inout psa_egress_output_metadata_t ostd) {
    apply { }
}

control OutDeparser(packet_out packet, out none_t cloned, out none_t recirculated, inout headers_t hdr,
                    in metadata_t meta, in psa_egress_output_metadata_t istd,
                    in psa_egress_deparser_input_metadata_t edstd) {
    InternetChecksum() whole;
    InternetChecksum() change;
    bit<16> state = 0;

    apply {
        if (hdr.data.op == 0x20) {
            // Anew.
            whole.add({ hdr.sum.first, hdr.sum.second });
            whole.add({ hdr.sum.third });
            hdr.sum.checksum = whole.get();
        } else if (hdr.data.op == 0x21) {
            // By what has changed: the old value of `second` is in the data of the test.
            change.set_state(~hdr.sum.checksum);
            state = change.get_state();
            change.clear();
            change.set_state(state);
            change.subtract({ 32w0x01020304 });
            change.add({ hdr.sum.second });
            hdr.sum.checksum = change.get();
        }
        packet.emit(hdr);
    }
}

PSA_Switch(IngressPipeline(InParser(), In(), InDeparser()), PacketReplicationEngine(),
           EgressPipeline(OutParser(), Out(), OutDeparser()), BufferingQueueingEngine()) main;
