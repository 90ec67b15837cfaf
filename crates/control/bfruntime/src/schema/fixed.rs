//! The tables that every device has: multicast, mirror sessions, ports. Names and ids are those of Tofino's drivers.

use hopwright_dataplane::PortStats;

use super::{Action, Field, Generation, Key, Matching, Object, PortNaming, Table, Ty};
use crate::proto::DataField;
use crate::proto::data_field::Value;
use crate::value;
use crate::write::BUFFER;

const MULTICAST_GROUPS: u32 = 0xff02_0001;
const MULTICAST_NODES: u32 = 0xff02_0002;
const MULTICAST_ECMPS: u32 = 0xff02_0003;
const MULTICAST_LAGS: u32 = 0xff02_0004;
const PRUNING: u32 = 0xff02_0005;
const CPU_PORT: u32 = 0xff02_0006;
const MIRROR: u32 = 0xff04_0001;
const PORTS: u32 = 0xff01_0001;
const PORT_COUNTS: u32 = 0xff01_0002;
const PORT_HANDLES: u32 = 0xff01_0003;
const PORT_FRONTS: u32 = 0xff01_0004;
const PORT_NAMES: u32 = 0xff01_0005;
const APPLICATIONS: u32 = 0xff05_0001;
const PACKET_BUFFER: u32 = 0xff05_0002;
const GENERATOR_PORTS: u32 = 0xff05_0003;
const DEVICE: u32 = 0xff06_0001;

/// Fields of multicast groups.
pub(crate) mod group {
    pub(crate) const NODES: u32 = 1;
    pub(crate) const EXCLUSION_VALID: u32 = 2;
    pub(crate) const EXCLUSION: u32 = 3;
    pub(crate) const ECMPS: u32 = 4;
    pub(crate) const ECMP_EXCLUSION_VALID: u32 = 5;
    pub(crate) const ECMP_EXCLUSION: u32 = 6;
}

/// The one field of link aggregation groups, of sets of nodes, and of level-2 exclusion ids: ports or nodes.
pub(crate) const LIST: u32 = 1;
/// Numbers of a link aggregation group's members at other devices: they are 0.
pub(crate) const REMOTE: [u32; 2] = [2, 3];

/// Fields of ports for multicast: whether copies of groups go there, and those to the CPU.
pub(crate) const FORWARDS: u32 = 2;
pub(crate) const COPY_TO_CPU: u32 = 4;

/// Fields of multicast nodes.
pub(crate) mod node {
    pub(crate) const RID: u32 = 1;
    pub(crate) const LAGS: u32 = 2;
    pub(crate) const PORTS: u32 = 3;
}

/// Fields of mirror sessions.
pub(crate) mod mirror {
    pub(crate) const NORMAL: u32 = 2;
    pub(crate) const ENABLE: u32 = 5;
    pub(crate) const DIRECTION: u32 = 6;
    pub(crate) const PORT: u32 = 7;
    pub(crate) const PORT_VALID: u32 = 8;
    pub(crate) const GROUP_A: u32 = 14;
    pub(crate) const GROUP_A_VALID: u32 = 15;
    pub(crate) const RID: u32 = 20;
    pub(crate) const MAX_LENGTH: u32 = 23;
}

/// Fields of ports.
pub(crate) mod port {
    pub(crate) const SPEED: u32 = 1;
    pub(crate) const FEC: u32 = 2;
    pub(crate) const LANES: u32 = 3;
    pub(crate) const ENABLE: u32 = 4;
    pub(crate) const NEGOTIATION: u32 = 5;
    pub(crate) const LOOPBACK: u32 = 6;
    pub(crate) const MTU: [u32; 2] = [7, 8];
    pub(crate) const PRIORITY_PAUSES: [u32; 2] = [9, 10];
    pub(crate) const PAUSES: [u32; 2] = [11, 12];
    pub(crate) const CUT_THROUGH: u32 = 13;
    pub(crate) const DIRECTION: u32 = 14;
    pub(crate) const VALID: u32 = 21;
    pub(crate) const INTERNAL: u32 = 22;
    pub(crate) const CONNECTOR: u32 = 23;
    pub(crate) const CHANNEL: u32 = 24;
    pub(crate) const UP: u32 = 25;
    pub(crate) const NAME: u32 = 26;
    pub(crate) const THRESHOLD: u32 = 27;
    /// The mode of a port that leads nowhere else.
    pub(crate) const NO_LOOPBACK: &str = "BF_LPBK_NONE";
}

/// Fields of packet generators: actions and data of applications, data of ports.
pub(crate) mod generator {
    pub(crate) const ONE_SHOT: u32 = 1;
    pub(crate) const PERIODIC: u32 = 2;
    pub(crate) const PORT_DOWN: u32 = 3;
    pub(crate) const TIMER: u32 = 1;
    pub(crate) const ENABLE: u32 = 2;
    pub(crate) const LENGTH: u32 = 3;
    pub(crate) const OFFSET: u32 = 4;
    pub(crate) const LOCAL_PORT: u32 = 5;
    /// The port of the generator itself, on Tofino 2.
    pub(crate) const CHANNEL: u32 = 17;
    pub(crate) const INCREMENT: u32 = 6;
    pub(crate) const BATCH_COUNT: u32 = 7;
    pub(crate) const PACKET_COUNT: u32 = 8;
    pub(crate) const BATCH_GAP: u32 = 9;
    pub(crate) const BATCH_JITTER: u32 = 10;
    pub(crate) const PACKET_GAP: u32 = 11;
    pub(crate) const PACKET_JITTER: u32 = 12;
    pub(crate) const BATCHES: u32 = 13;
    pub(crate) const PACKETS: u32 = 14;
    pub(crate) const TRIGGERS: u32 = 15;
    pub(crate) const PORT_ENABLE: u32 = 2;
    pub(crate) const PATTERNS: u32 = 3;
    pub(crate) const CLEAR_PORT_DOWN: u32 = 4;
}

/// Fields of the device.
pub(crate) mod device {
    pub(crate) const SKU: u32 = 1;
    pub(crate) const PIPES: u32 = 2;
    pub(crate) const STAGES: u32 = 3;
    pub(crate) const MOST_PORTS: u32 = 4;
    pub(crate) const FRONT_PORTS: u32 = 5;
    pub(crate) const PCIE_CPU_PORT: u32 = 6;
    pub(crate) const ETHERNET_CPU_PORTS: u32 = 7;
    pub(crate) const INTERNAL_PORTS: u32 = 8;
    pub(crate) const EXTERNAL_PORTS: u32 = 9;
    pub(crate) const RECIRCULATION_PORTS: u32 = 10;
    pub(crate) const LINK_INTERRUPTS: u32 = 11;
    pub(crate) const LEARN_INTERRUPTS: u32 = 12;
    pub(crate) const LEARN_DRAIN_TIMEOUT: u32 = 13;
    pub(crate) const LEARN_TIMEOUT: u32 = 14;
    pub(crate) const INACTIVE_NODE_DELETE: u32 = 15;
    pub(crate) const SELECTOR_MEMBER_ORDER: u32 = 16;
}

/// The class of fields that are ports.
const DEV_PORT: (&str, &str) = ("$bfrt_port_type_class", "dev_port");
/// The longest frame of a port, unless a controller says another one.
const MOST_BYTES: u32 = 10240;

const SPEEDS: &[&str] = &[
    "BF_SPEED_NONE",
    "BF_SPEED_1G",
    "BF_SPEED_10G",
    "BF_SPEED_25G",
    "BF_SPEED_40G",
    "BF_SPEED_40G_NB",
    "BF_SPEED_40G_NON_BREAKABLE",
    "BF_SPEED_50G",
    "BF_SPEED_100G",
    "BF_SPEED_200G",
    "BF_SPEED_400G",
];
const FECS: &[&str] =
    &["BF_FEC_TYP_NONE", "BF_FEC_TYP_FIRECODE", "BF_FEC_TYP_REED_SOLOMON", "BF_FEC_TYP_FC", "BF_FEC_TYP_RS"];
const NEGOTIATIONS: &[&str] = &["PM_AN_DEFAULT", "PM_AN_FORCE_ENABLE", "PM_AN_FORCE_DISABLE"];
const LOOPBACKS: &[&str] = &[
    port::NO_LOOPBACK,
    "BF_LPBK_MAC_NEAR",
    "BF_LPBK_MAC_FAR",
    "BF_LPBK_PCS_NEAR",
    "BF_LPBK_SERDES_NEAR",
    "BF_LPBK_SERDES_FAR",
];
const PORT_DIRECTIONS: &[&str] = &["PM_PORT_DIR_DEFAULT", "PM_PORT_DIR_TX_ONLY", "PM_PORT_DIR_RX_ONLY"];
const DIRECTIONS: &[&str] = &["INGRESS", "EGRESS", "BOTH"];

/// A count of a port.
type Count = fn(&PortStats) -> u64;

/// The fields of `$PORT_STAT` that are counted here. Frames that a port's device did not take are errors; frames have no check sequence
/// that could be wrong.
pub(crate) const COUNTS: &[(u32, &str, Count)] = &[
    (1, "$FramesReceivedOK", |port| port.rx_packets),
    (2, "$FramesReceivedAll", |port| port.rx_packets + errors(port)),
    (3, "$FramesReceivedwithFCSError", |_| 0),
    (4, "$FrameswithanyError", errors),
    (5, "$OctetsReceivedinGoodFrames", |port| port.rx_bytes),
    (6, "$OctetsReceived", |port| port.rx_bytes),
    (13, "$FramesReceivedOversized", |port| port.device.rx_too_long),
    (20, "$FramesDroppedBufferFull", |port| port.device.rx_overrun),
    (33, "$FramesTransmittedOK", |port| port.tx_packets),
    (34, "$FramesTransmittedAll", |port| port.tx_packets + port.tx_lost),
    (35, "$FramesTransmittedwithError", |port| port.tx_lost),
    (36, "$OctetsTransmittedwithouterror", |port| port.tx_bytes),
    (37, "$OctetsTransmittedTotal", |port| port.tx_bytes),
];

/// Frames that came to a port and were not taken.
fn errors(port: &PortStats) -> u64 {
    port.device.rx_overrun + port.device.rx_too_long
}

/// A table without actions.
fn table(id: u32, name: &str, object: Object, size: u64, keys: Vec<Key>, data: Vec<Field>) -> Table {
    Table {
        id,
        name: name.into(),
        object,
        size,
        keys,
        actions: Vec::new(),
        data,
        pipes: Vec::new(),
        registers: Vec::new(),
        filters: Vec::new(),
        const_default: false,
        key_masks: None,
        depends_on: Vec::new(),
    }
}

/// A key field of this many bits, which every entry gives.
fn exact(id: u32, name: &str, bits: u32) -> Key {
    Key { id, name: name.into(), matching: Matching::Exact, ty: Ty::Uint(bits), mandatory: true }
}

/// All of them.
pub(crate) fn tables() -> Vec<Table> {
    let key = |name: &str, bits| vec![exact(1, name, bits)];
    let field = Field::new;
    let port_class = |f: Field| Field { annotation: Some(DEV_PORT), ..f };
    vec![
        Table {
            depends_on: vec![MULTICAST_NODES, MULTICAST_ECMPS],
            ..table(
                MULTICAST_GROUPS,
                "$pre.mgid",
                Object::MulticastGroups,
                1 << 16,
                key("$MGID", 16),
                vec![
                    field(group::NODES, "$MULTICAST_NODE_ID", Ty::Uint(32)).repeated(),
                    field(group::EXCLUSION_VALID, "$MULTICAST_NODE_L1_XID_VALID", Ty::Bool).repeated(),
                    field(group::EXCLUSION, "$MULTICAST_NODE_L1_XID", Ty::Uint(16)).repeated(),
                    field(group::ECMPS, "$MULTICAST_ECMP_ID", Ty::Uint(32)).repeated(),
                    field(group::ECMP_EXCLUSION_VALID, "$MULTICAST_ECMP_L1_XID_VALID", Ty::Bool).repeated(),
                    field(group::ECMP_EXCLUSION, "$MULTICAST_ECMP_L1_XID", Ty::Uint(16)).repeated(),
                ],
            )
        },
        Table {
            depends_on: vec![MULTICAST_NODES],
            ..table(
                MULTICAST_ECMPS,
                "$pre.ecmp",
                Object::MulticastEcmps,
                1 << 24,
                key("$MULTICAST_ECMP_ID", 32),
                vec![field(LIST, "$MULTICAST_NODE_ID", Ty::Uint(32)).repeated().mandatory()],
            )
        },
        table(
            MULTICAST_LAGS,
            "$pre.lag",
            Object::MulticastLags,
            256,
            key("$MULTICAST_LAG_ID", 8),
            vec![
                port_class(field(LIST, "$DEV_PORT", Ty::Uint(32)).repeated()),
                field(REMOTE[0], "$MULTICAST_LAG_REMOTE_MSB_COUNT", Ty::Uint(32)),
                field(REMOTE[1], "$MULTICAST_LAG_REMOTE_LSB_COUNT", Ty::Uint(32)),
            ],
        ),
        table(
            PRUNING,
            "$pre.prune",
            Object::Pruning,
            288,
            key("$MULTICAST_L2_XID", 16),
            vec![port_class(field(LIST, "$DEV_PORT", Ty::Uint(32)).repeated().mandatory())],
        ),
        table(
            CPU_PORT,
            "$pre.port",
            Object::CpuPort,
            512,
            key("$DEV_PORT", 32),
            vec![
                port_class(field(1, "$MULTICAST_BACKUP_PORT", Ty::Uint(32))),
                field(FORWARDS, "$MULTICAST_FORWARD_STATE", Ty::Bool),
                field(3, "$MULTICAST_CLEAR_FAST_FAILOVER", Ty::Bool),
                field(COPY_TO_CPU, "$COPY_TO_CPU_PORT_ENABLE", Ty::Bool),
            ],
        ),
        table(
            MULTICAST_NODES,
            "$pre.node",
            Object::MulticastNodes,
            1 << 24,
            key("$MULTICAST_NODE_ID", 32),
            vec![
                field(node::RID, "$MULTICAST_RID", Ty::Uint(16)).mandatory(),
                field(node::LAGS, "$MULTICAST_LAG_ID", Ty::Uint(8)).repeated(),
                port_class(field(node::PORTS, "$DEV_PORT", Ty::Uint(32)).repeated()),
            ],
        ),
        Table {
            actions: vec![super::Action {
                id: mirror::NORMAL,
                name: "$normal".into(),
                scope: "TableAndDefault",
                data: Vec::new(),
            }],
            ..table(
                MIRROR,
                "$mirror.cfg",
                Object::Mirror,
                1024,
                key("$sid", 16),
                vec![
                    field(mirror::ENABLE, "$session_enable", Ty::Bool),
                    field(mirror::DIRECTION, "$direction", Ty::Text(DIRECTIONS)),
                    field(mirror::PORT, "$ucast_egress_port", Ty::Uint(32)),
                    field(mirror::PORT_VALID, "$ucast_egress_port_valid", Ty::Bool),
                    field(9, "$egress_port_queue", Ty::Uint(32)),
                    field(10, "$ingress_cos", Ty::Uint(32)),
                    field(mirror::GROUP_A, "$mcast_grp_a", Ty::Uint(16)),
                    field(mirror::GROUP_A_VALID, "$mcast_grp_a_valid", Ty::Bool),
                    field(mirror::RID, "$mcast_rid", Ty::Uint(16)),
                    field(mirror::MAX_LENGTH, "$max_pkt_len", Ty::Uint(16)),
                ],
            )
        },
    ]
    .into_iter()
    .chain(ports())
    .collect()
}

/// Those of ports: settings, counts, and what ports are called.
fn ports() -> Vec<Table> {
    let key = |name: &str, bits| vec![exact(1, name, bits)];
    let field = Field::new;
    let named = |id, name: &str, by, keys| {
        let port = Field { annotation: Some(DEV_PORT), ..field(LIST, "$DEV_PORT", Ty::Uint(32)) };
        table(id, name, Object::PortNames(by), 256, keys, vec![port.read_only()])
    };
    let text = Key { ty: Ty::Text(&[]), ..exact(1, "$PORT_NAME", 32) };
    vec![
        table(PORTS, "$PORT", Object::Ports, 512, key("$DEV_PORT", 32), port_settings()),
        table(
            PORT_COUNTS,
            "$PORT_STAT",
            Object::PortCounts,
            512,
            key("$DEV_PORT", 32),
            COUNTS.iter().map(|(id, name, _)| field(*id, name, Ty::Uint(64))).collect(),
        ),
        named(
            PORT_HANDLES,
            "$PORT_HDL_INFO",
            PortNaming::Connector,
            vec![exact(1, "$CONN_ID", 32), exact(2, "$CHNL_ID", 32)],
        ),
        named(PORT_FRONTS, "$PORT_FP_IDX_INFO", PortNaming::Front, key("$FP_IDX", 32)),
        named(PORT_NAMES, "$PORT_STR_INFO", PortNaming::Name, vec![text]),
    ]
}

/// The fields of a port.
fn port_settings() -> Vec<Field> {
    let field = Field::new;
    let both = |ids: [u32; 2], names: [&'static str; 2], ty| {
        let [tx, rx] = [0, 1].map(|at| field(ids[at], names[at], ty));
        [tx, rx]
    };
    let mut fields = vec![
        field(port::SPEED, "$SPEED", Ty::Text(SPEEDS)),
        field(port::FEC, "$FEC", Ty::Text(FECS)),
        field(port::LANES, "$N_LANES", Ty::Uint(32)),
        field(port::ENABLE, "$PORT_ENABLE", Ty::Bool),
        field(port::NEGOTIATION, "$AUTO_NEGOTIATION", Ty::Text(NEGOTIATIONS)),
        field(port::LOOPBACK, "$LOOPBACK_MODE", Ty::Text(LOOPBACKS)),
    ];
    fields.extend(both(port::MTU, ["$TX_MTU", "$RX_MTU"], Ty::Uint(32)));
    fields.extend(both(port::PRIORITY_PAUSES, ["$TX_PFC_EN_MAP", "$RX_PFC_EN_MAP"], Ty::Uint(32)));
    fields.extend(both(port::PAUSES, ["$TX_PAUSE_FRAME_EN", "$RX_PAUSE_FRAME_EN"], Ty::Bool));
    fields.extend([
        field(port::CUT_THROUGH, "$CUT_THROUGH_EN", Ty::Bool),
        field(port::DIRECTION, "$PORT_DIR", Ty::Text(PORT_DIRECTIONS)),
        field(port::VALID, "$IS_VALID", Ty::Bool).read_only(),
        field(port::INTERNAL, "$IS_INTERNAL", Ty::Bool).read_only(),
        field(port::CONNECTOR, "$CONN_ID", Ty::Uint(32)).read_only(),
        field(port::CHANNEL, "$CHNL_ID", Ty::Uint(32)).read_only(),
        field(port::UP, "$PORT_UP", Ty::Bool).read_only(),
        field(port::NAME, "$PORT_NAME", Ty::Text(&[])).read_only(),
        field(port::THRESHOLD, "$RX_PRSR_PRI_THRESH", Ty::Uint(32)),
    ]);
    fields
}

/// What the fields of a port are that a controller has not written.
pub(crate) fn port_defaults() -> Vec<DataField> {
    let text = |id, words: &[&str]| value::field(id, Value::StrVal(words[0].into()));
    let word = |id, number: u32| value::numeric(id, Ty::Uint(32), &number.into());
    let no = |id| value::field(id, Value::BoolVal(false));
    let mut fields = vec![
        text(port::SPEED, SPEEDS),
        text(port::FEC, FECS),
        word(port::LANES, 1),
        no(port::ENABLE),
        text(port::NEGOTIATION, NEGOTIATIONS),
        text(port::LOOPBACK, LOOPBACKS),
        no(port::CUT_THROUGH),
        text(port::DIRECTION, PORT_DIRECTIONS),
        word(port::THRESHOLD, 0),
    ];
    fields.extend(port::MTU.map(|id| word(id, MOST_BYTES)));
    fields.extend(port::PRIORITY_PAUSES.map(|id| word(id, 0)));
    fields.extend(port::PAUSES.map(no));
    fields
}

/// The device itself.
pub(crate) fn device(generation: &Generation) -> Table {
    use device as id;
    let shown = |id, name: &str, ty| Field::new(id, name, ty).read_only();
    let data = vec![
        shown(id::SKU, "sku", Ty::Text(&[])),
        shown(id::PIPES, "num_pipes", Ty::Uint(32)),
        shown(id::STAGES, "num_stages", Ty::Uint(32)),
        shown(id::MOST_PORTS, "num_max_ports", Ty::Uint(32)),
        shown(id::FRONT_PORTS, "num_front_ports", Ty::Uint(32)),
        shown(id::PCIE_CPU_PORT, "pcie_cpu_port", Ty::Uint(32)),
        shown(id::ETHERNET_CPU_PORTS, "eth_cpu_port_list", Ty::Uint(32)).repeated(),
        shown(id::INTERNAL_PORTS, "internal_port_list", Ty::Uint(32)).repeated(),
        shown(id::EXTERNAL_PORTS, "external_port_list", Ty::Uint(32)).repeated(),
        shown(id::RECIRCULATION_PORTS, "recirc_port_list", Ty::Uint(32)).repeated(),
        shown(id::LINK_INTERRUPTS, "intr_based_link_monitoring", Ty::Bool),
        Field::new(id::LEARN_INTERRUPTS, "flow_learn_intr_mode", Ty::Bool),
        Field::new(id::LEARN_DRAIN_TIMEOUT, "lrt_dr_timeout_usec", Ty::Uint(32)),
        Field::new(id::LEARN_TIMEOUT, "flow_learn_timeout_usec", Ty::Uint(32)),
        Field::new(id::INACTIVE_NODE_DELETE, "inactive_node_delete", Ty::Bool),
        Field::new(id::SELECTOR_MEMBER_ORDER, "selector_member_order", Ty::Bool),
    ];
    let name = format!("{}.dev.device_configuration", generation.device);
    table(DEVICE, &name, Object::Device, 1, Vec::new(), data)
}

/// Those of a device's packet generators.
pub(crate) fn generators(generation: &Generation) -> Vec<Table> {
    use generator as id;
    let field = Field::new;
    let table = |id, name: &str, object, size: u32, keys, data| {
        table(id, &format!("{}.pktgen.{name}", generation.device), object, size.into(), keys, data)
    };
    let trigger = |id, name: &str| Action {
        id,
        name: name.into(),
        scope: "TableAndDefault",
        data: if id == id::PORT_DOWN { Vec::new() } else { vec![field(id::TIMER, "timer_nanosec", Ty::Uint(32))] },
    };
    let data = vec![
        field(id::ENABLE, "app_enable", Ty::Bool),
        field(id::LENGTH, "pkt_len", Ty::Uint(16)),
        field(id::OFFSET, "pkt_buffer_offset", Ty::Uint(16)),
        field(id::LOCAL_PORT, "pipe_local_source_port", Ty::Uint(32)),
        field(id::INCREMENT, "increment_source_port", Ty::Bool),
        field(id::BATCH_COUNT, "batch_count_cfg", Ty::Uint(16)),
        field(id::PACKET_COUNT, "packets_per_batch_cfg", Ty::Uint(16)),
        field(id::BATCH_GAP, "ibg", Ty::Uint(32)),
        field(id::BATCH_JITTER, "ibg_jitter", Ty::Uint(32)),
        field(id::PACKET_GAP, "ipg", Ty::Uint(32)),
        field(id::PACKET_JITTER, "ipg_jitter", Ty::Uint(32)),
        field(id::BATCHES, "batch_counter", Ty::Uint(64)),
        field(id::PACKETS, "pkt_counter", Ty::Uint(64)),
        field(id::TRIGGERS, "trigger_counter", Ty::Uint(64)),
        field(16, "source_port_wrap_max", Ty::Uint(16)),
        field(id::CHANNEL, "assigned_chnl_id", Ty::Uint(8)),
    ];
    let buffer = vec![field(1, "buffer", Ty::Bytes(8)).repeated()];
    let at = vec![exact(1, "pkt_buffer_offset", 16), exact(2, "pkt_buffer_size", 16)];
    let port = vec![
        field(1, "recirculation_enable", Ty::Bool),
        field(id::PORT_ENABLE, "pktgen_enable", Ty::Bool),
        field(id::PATTERNS, "pattern_matching_enable", Ty::Bool),
        field(id::CLEAR_PORT_DOWN, "clear_port_down_enable", Ty::Bool),
    ];
    let applications = table(
        APPLICATIONS,
        "app_cfg",
        Object::Applications,
        generation.applications,
        vec![exact(1, "app_id", 8)],
        data,
    );
    vec![
        Table {
            actions: vec![
                trigger(id::ONE_SHOT, "trigger_timer_one_shot"),
                trigger(id::PERIODIC, "trigger_timer_periodic"),
                trigger(id::PORT_DOWN, "trigger_port_down"),
            ],
            ..applications
        },
        table(PACKET_BUFFER, "pkt_buffer", Object::PacketBuffer, BUFFER as u32, at, buffer),
        table(GENERATOR_PORTS, "port_cfg", Object::GeneratorPorts, 512, vec![exact(1, "dev_port", 32)], port),
    ]
}
