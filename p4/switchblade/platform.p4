// The SwitchBlade platform: one program that runs many protocols side by side, each configured by table entries.
//
// Anwer, Motiwala, Tariq, Feamster: SwitchBlade: A Platform for Rapid Deployment of Network Protocols on Programmable
// Hardware, SIGCOMM 2010.
//
//   parser.p4       known headers, and of other protocols the first words
//   vdp.p4          which virtual data plane (VDP) a packet belongs to; its rate
//   preprocess.p4   what the lookup looks up: a key of 256 bits, its hash, a field for LPM
//   lookup.p4       output port and neighbour
//   postprocess.p4  the modules that change the packet
//   headers.p4      headers, the platform header, reasons, modes, modules
//   sizes.p4        sizes, and what a chip may leave out
//
// The VDP's entry gives the *platform header*, which selects what the later stages do. Everything is decided before the first
// change, so that a packet reaches the CPU port unmodified. docs/switchblade.md describes tables and registers.

#include <core.p4>
#include <v1model.p4>

#include "sizes.p4"
#include "headers.p4"
#include "parser.p4"
#include "vdp.p4"
#include "preprocess.p4"
#include "lookup.p4"
#include "postprocess.p4"

control VerifyIpv4(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
                        { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.id, hdr.ipv4.flags,
                          hdr.ipv4.offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
                        hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control PlatformIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    SelectVdp() select_vdp;
    Shape() shape;
    Preprocess() preprocess;
    HashKey() hash_key;
    LookUp() look_up;
    FindNeighbour() find_neighbour;
    CheckModules() check_modules;
    PostProcess() post_process;
    ShapeExceptions() shape_exceptions;

    // By VDP id; 0 is what belongs to no VDP.
    counter(VDP_COUNT, CounterType.packets_and_bytes) received;
    counter(VDP_COUNT, CounterType.packets_and_bytes) forwarded;
    // By VDP id * 32 + Reason.
    counter(VDP_COUNT * REASONS, CounterType.packets) reasons;

    wrapper_t wrapper = { 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    bit<16> in_port = 0;

    apply {
        if (hdr.packet_out.isValid() && hdr.packet_out.port != PROCESS) {
            std.egress_spec = (bit<9>) hdr.packet_out.port;
            hdr.packet_out.setInvalid();
            return;
        }
        in_port = (bit<16>) std.ingress_port;
        if (hdr.packet_out.isValid()) {
            in_port = hdr.packet_out.ingress_port;
        }

        if (hdr.ethernet.isValid()) {
            select_vdp.apply(hdr, meta);
        } else {
            meta.reason = Reason.MALFORMED;
        }
        received.count((bit<32>) meta.platform.vdp);
        if (meta.reason == Reason.NONE && !hdr.packet_out.isValid()) {
            shape.apply(meta);
        }
        if (meta.reason == Reason.NONE) {
            preprocess.apply(hdr, meta, std, in_port);
        }
        if (meta.reason == Reason.NONE) {
            if (meta.platform.mode == MODE_HASH || meta.platform.mode == MODE_CPU
                || meta.platform.mode == MODE_EXCEPTIONS) {
                hash_key.apply(meta);
            }
            look_up.apply(hdr, meta);
            if (meta.reason == Reason.MISS && meta.settings & CONTROL_DROP_MISSES != 0) {
                meta.reason = Reason.NO_ENTRY;
            }
        }
        if (meta.reason == Reason.NONE) {
            find_neighbour.apply(meta);
        }
        if (meta.reason == Reason.NONE) {
            check_modules.apply(hdr, meta, wrapper);
        }
        if ((bit<8>) meta.reason >= PUNT_FIRST) {
            shape_exceptions.apply(meta);
        }

        hdr.packet_out.setInvalid();
        if (meta.reason == Reason.NONE) {
            post_process.apply(hdr, meta, wrapper);
            forwarded.count((bit<32>) meta.platform.vdp);
#ifndef NO_MULTICAST
            if (meta.group != 0) {
                std.mcast_grp = meta.group;
            } else {
                std.egress_spec = meta.port;
            }
#else
            std.egress_spec = meta.port;
#endif
        } else if ((bit<8>) meta.reason >= PUNT_FIRST) {
            hdr.packet_in.setValid();
            hdr.packet_in.hash = meta.platform.hash;
            hdr.packet_in.modules = meta.platform.modules;
            hdr.packet_in.mode = meta.platform.mode;
            hdr.packet_in.vdp = meta.platform.vdp;
            hdr.packet_in.reason = (bit<8>) meta.reason;
            hdr.packet_in.port = in_port;
            hdr.packet_in.key = meta.key;
            std.egress_spec = CPU_PORT;
        } else {
            mark_to_drop(std);
        }
        reasons.count((bit<32>) meta.platform.vdp * REASONS + (bit<32>) (bit<8>) meta.reason);
    }
}

// Copies do not go back where the packet came from.
control PlatformEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (meta.group != 0 && std.egress_port == std.ingress_port) {
            mark_to_drop(std);
        }
    }
}

// The postprocessing modules write checksums.
control ComputeChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

V1Switch(PlatformParser(), VerifyIpv4(), PlatformIngress(), PlatformEgress(), ComputeChecksums(),
         PlatformDeparser()) main;
