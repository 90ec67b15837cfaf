// Output port lookup, as the platform header's mode says, and the neighbour to which the packet goes.
//
// Entries of exact tables can time out, as cached decisions do.

control LookUp(in headers_t hdr, inout metadata_t meta) {
    action forward(bit<9> port, bit<16> neighbour, bit<32> data) {
        meta.port = port;
        meta.neighbour = neighbour;
        meta.data = data;
    }

    // By each port of a multicast group but the one that the packet came by.
    action replicate(bit<16> group) {
#ifdef NO_MULTICAST
        meta.reason = Reason.EXCEPTION;
#else
        meta.group = group;
#endif
    }

    action to_cpu() {
        meta.reason = Reason.EXCEPTION;
    }

    action drop() {
        meta.reason = Reason.DROPPED;
    }

    action miss() {
        meta.reason = Reason.MISS;
    }

    table lpm {
        key = {
            meta.platform.vdp : exact @name("vdp");
            meta.slice        : exact @name("slice");
            meta.field        : lpm @name("field");
        }
        actions = { forward; replicate; to_cpu; drop; @defaultonly miss; }
        const default_action = miss();
        size = ROUTES;
    }

    table lpm_ipv6 {
        key = {
            meta.platform.vdp : exact @name("vdp");
            hdr.ipv6.dst      : lpm @name("dst");
        }
        actions = { forward; replicate; to_cpu; drop; @defaultonly miss; }
        const default_action = miss();
        size = ROUTES;
    }

    table exact_hash {
        key = {
            meta.platform.vdp  : exact @name("vdp");
            meta.platform.hash : exact @name("hash");
        }
        actions = { forward; replicate; to_cpu; drop; @defaultonly miss; }
        const default_action = miss();
        size = EXACT;
        support_timeout = true;
    }

    table exact_key {
        key = {
            meta.platform.vdp : exact @name("vdp");
            meta.key          : exact @name("key");
        }
        actions = { forward; replicate; to_cpu; drop; @defaultonly miss; }
        const default_action = miss();
        size = EXACT;
        support_timeout = true;
    }

    table exceptions {
        key = {
            meta.platform.vdp  : exact @name("vdp");
            meta.platform.hash : exact @name("hash");
        }
        actions = { to_cpu; forward; replicate; drop; @defaultonly NoAction; }
        const default_action = NoAction();
        size = EXCEPTIONS;
        support_timeout = true;
    }

    table exceptions_by_key {
        key = {
            meta.platform.vdp : exact @name("vdp");
            meta.key          : exact @name("key");
        }
        actions = { to_cpu; forward; replicate; drop; @defaultonly NoAction; }
        const default_action = NoAction();
        size = EXCEPTIONS;
        support_timeout = true;
    }

    bool found = false;

    apply {
        if (meta.platform.mode == MODE_CPU) {
            meta.reason = Reason.TO_CPU;
        } else if (meta.platform.mode == MODE_HASH) {
            exact_hash.apply();
        } else if (meta.platform.mode == MODE_KEY) {
            exact_key.apply();
        } else {
            if (meta.platform.mode == MODE_EXCEPTIONS) {
                found = exceptions.apply().hit;
            } else if (meta.platform.mode == MODE_EXCEPTIONS_BY_KEY) {
                found = exceptions_by_key.apply().hit;
            }
            if (!found) {
                if (meta.preprocessor == Preprocessor.IPV6) {
                    lpm_ipv6.apply();
                } else {
                    lpm.apply();
                }
            }
        }
    }
}

// The MAC addresses of the packet that leaves. Packets that keep both need no neighbour.
control FindNeighbour(inout metadata_t meta) {
    action resolve(bit<48> src, bit<48> dst) {
        meta.src_mac = src;
        meta.dst_mac = dst;
    }

    action unresolved() {
        meta.reason = Reason.UNRESOLVED;
    }

    table neighbours {
        key = {
            meta.platform.vdp : exact @name("vdp");
            meta.neighbour    : exact @name("neighbour");
        }
        actions = { resolve; @defaultonly unresolved; }
        const default_action = unresolved();
        size = NEIGHBOURS;
    }

    apply {
        if (meta.platform.modules & (MODULE_KEEP_SRC_MAC | MODULE_KEEP_DST_MAC)
            != MODULE_KEEP_SRC_MAC | MODULE_KEEP_DST_MAC) {
            neighbours.apply();
        }
    }
}
