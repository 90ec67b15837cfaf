// The first two stages: which virtual data plane (VDP) a packet belongs to, and that VDP's rate.

// Bits of a VDP's control register.
const bit<32> CONTROL_STOP        = 1;  // drop every packet
const bit<32> CONTROL_DROP_MISSES = 2;  // drop packets without an entry instead of sending them to the CPU port

// Bits of the administrator's control register.
const bit<32> ADMIN_PUNT_UNKNOWN  = 1;  // packets to no VDP's MAC go to the CPU port

// Attaches the platform header.
control SelectVdp(in headers_t hdr, inout metadata_t meta) {
    register<bit<32>>(1) admin_control;
    register<bit<32>>(VDP_COUNT) vdp_control;

    bit<32> admin = 0;

    action select_vdp(bit<8> vdp, bit<8> mode, bit<16> modules, Preprocessor preprocessor) {
        meta.platform.vdp = vdp;
        meta.platform.mode = mode;
        meta.platform.modules = modules;
        meta.preprocessor = preprocessor;
    }

    action unknown_mac() {
        meta.reason = Reason.UNKNOWN_MAC;
    }

    table vdps {
        key = { hdr.ethernet.dst : exact @name("mac"); }
        actions = { select_vdp; @defaultonly unknown_mac; }
        const default_action = unknown_mac();
        size = MACS;
    }

    apply {
        if (vdps.apply().hit) {
            vdp_control.read(meta.settings, (bit<32>) meta.platform.vdp);
            if (meta.settings & CONTROL_STOP != 0) {
                meta.reason = Reason.STOPPED;
            }
        } else {
            admin_control.read(admin, 0);
            if (admin & ADMIN_PUNT_UNKNOWN != 0) {
                meta.reason = Reason.MISS;
            }
        }
    }
}

// Drops what exceeds the VDP's peak rate of packets or of bytes. A VDP without rates is not limited.
control Shape(inout metadata_t meta) {
    meter(VDP_COUNT, MeterType.packets) packet_rate;
    meter(VDP_COUNT, MeterType.bytes) byte_rate;

    bit<2> packets_color = V1MODEL_METER_COLOR_GREEN;
    bit<2> bytes_color = V1MODEL_METER_COLOR_GREEN;

    apply {
        packet_rate.execute_meter((bit<32>) meta.platform.vdp, packets_color);
        byte_rate.execute_meter((bit<32>) meta.platform.vdp, bytes_color);
        if (packets_color == V1MODEL_METER_COLOR_RED || bytes_color == V1MODEL_METER_COLOR_RED) {
            meta.reason = Reason.SHAPED;
        }
    }
}

// The same for what a VDP sends to the CPU port, so that one VDP cannot fill the queue that all share.
control ShapeExceptions(inout metadata_t meta) {
    meter(VDP_COUNT, MeterType.packets) exception_rate;

    bit<2> color = V1MODEL_METER_COLOR_GREEN;

    apply {
        exception_rate.execute_meter((bit<32>) meta.platform.vdp, color);
        if (color == V1MODEL_METER_COLOR_RED) {
            meta.reason = Reason.EXCEPTIONS_SHAPED;
        }
    }
}
