//! v1model, the architecture of BMv2's `simple_switch`.

use super::MemberType::{Bits, Error};
use super::ParamRole::{Headers, Intrinsic, Metadata, Packet};
use super::{Architecture, Block, BlockRole, Drop};

/// The `egress_spec` of packets that are dropped.
const DROP_PORT: u32 = 511;

pub(super) static V1MODEL: Architecture = Architecture {
    name: "v1model",
    include: "v1model.p4",
    package: "V1Switch",
    blocks: &[
        Block { role: BlockRole::Parser, params: &[Packet, Headers, Metadata, Intrinsic] },
        Block { role: BlockRole::VerifyChecksum, params: &[Headers, Metadata] },
        Block { role: BlockRole::Ingress, params: &[Headers, Metadata, Intrinsic] },
        Block { role: BlockRole::Egress, params: &[Headers, Metadata, Intrinsic] },
        Block { role: BlockRole::ComputeChecksum, params: &[Headers, Metadata] },
        Block { role: BlockRole::Deparser, params: &[Packet, Headers] },
    ],
    by_type: &[],
    pipes: 1,
    intrinsic_type: "standard_metadata_t",
    metadata: &[(
        "standard_metadata_t",
        &[
            ("ingress_port", Bits(9)),
            ("egress_spec", Bits(9)),
            ("egress_port", Bits(9)),
            ("instance_type", Bits(32)),
            ("packet_length", Bits(32)),
            ("enq_timestamp", Bits(32)),
            ("enq_qdepth", Bits(19)),
            ("deq_timedelta", Bits(32)),
            ("deq_qdepth", Bits(19)),
            ("ingress_global_timestamp", Bits(48)),
            ("egress_global_timestamp", Bits(48)),
            ("mcast_grp", Bits(16)),
            ("egress_rid", Bits(16)),
            ("checksum_error", Bits(1)),
            ("parser_error", Error),
            ("priority", Bits(3)),
        ],
    )],
    enums: &[],
    intrinsic_zero: &["egress_spec", "mcast_grp"],
    drop: Some(Drop {
        function: "mark_to_drop",
        sets: &[("egress_spec", DROP_PORT), ("mcast_grp", 0)],
        tested: ("egress_spec", DROP_PORT),
    }),
    table_properties: &["implementation", "counters", "meters", "support_timeout"],
    restarts: &[
        "clone",
        "clone3",
        "clone_preserving_field_list",
        "resubmit",
        "resubmit_preserving_field_list",
        "recirculate",
        "recirculate_preserving_field_list",
    ],
    hints: &[
        ("drop", "v1model drops packets with `mark_to_drop(standard_metadata)`"),
        ("printf", "v1model prints with `log_msg(\"...\")`"),
        ("print", "v1model prints with `log_msg(\"...\")`"),
        ("log", "v1model prints with `log_msg(\"...\")`"),
    ],
};
