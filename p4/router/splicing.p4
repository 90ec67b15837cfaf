// Slices: routing tables of the same network with other link weights, so that other paths are the shortest in them. A packet names
// the slice for each hop of its path, and by other names it takes another path, around a failed link for example.
//
// Slice 0 is what the control plane of any IP router fills: `routes_ipv4`. It also says which packets are for the router itself and which
// destinations make no sense. The others have only routes: `routes_spliced`. Where a slice has none, slice 0's is used.

// Called with slice 0's decision.
control RouteSpliced(in headers_t hdr, inout meta_t meta) {
    action via(bit<16> next_hop, bit<32> route) {
        meta.reason = Reason.FORWARDED;
        meta.group = 0;
        meta.next_hop = next_hop;
        meta.route = route;
    }

    action multipath(bit<16> group, bit<32> route) {
        meta.reason = Reason.FORWARDED;
        meta.group = group;
        meta.route = route;
    }

    action use_slice_0() {
        meta.slice = 0;
    }

    table routes_spliced {
        key = {
            meta.slice   : exact;
            hdr.ipv4.dst : lpm;
        }
        actions = { via; multipath; use_slice_0; }
        default_action = use_slice_0();
        size = 1048576;
    }

    apply {
        if (hdr.splicing.isValid() && (meta.reason == Reason.FORWARDED || meta.reason == Reason.NO_ROUTE)) {
            meta.slice = (bit<8>) hdr.splicing.indices[SPLICING_BITS - 1:0];
            if (meta.slice != 0) {
                routes_spliced.apply();
            }
        }
    }
}

// Counts the packet for its slice, and shifts the index out. The header is not part of the IPv4 header's checksum.
control AdvanceSplicing(inout headers_t hdr, in meta_t meta) {
    counter(1 << SPLICING_BITS, CounterType.packets_and_bytes) slice_packets;

    apply {
        slice_packets.count((bit<32>) meta.slice);
        if (hdr.splicing.isValid()) {
            hdr.splicing.indices = hdr.splicing.indices >> SPLICING_BITS;
        }
    }
}
