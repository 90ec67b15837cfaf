//! The Tofino Native Architecture, of Tofino and of Tofino 2.

use super::MemberType::Bits;
use super::ParamRole::{
    EgressForDeparser, EgressForPort, EgressFromParser, EgressHeaders, EgressIntrinsic, EgressMetadata, GhostIntrinsic,
    Headers, IngressForDeparser, IngressForTm, IngressFromParser, IngressIntrinsic, Metadata, Packet,
};
use super::{Architecture, Block, BlockRole};

pub(super) static TNA: Architecture = Architecture {
    name: "tna",
    include: "tna.p4",
    package: "Switch",
    blocks: &[
        Block { role: BlockRole::Parser, params: &[Packet, Headers, Metadata] },
        Block { role: BlockRole::Ingress, params: &[Headers, Metadata] },
        Block { role: BlockRole::IngressDeparser, params: &[Packet, Headers, Metadata] },
        Block { role: BlockRole::EgressParser, params: &[Packet, EgressHeaders, EgressMetadata] },
        Block { role: BlockRole::Egress, params: &[EgressHeaders, EgressMetadata] },
        Block { role: BlockRole::Deparser, params: &[Packet, EgressHeaders, EgressMetadata] },
    ],
    by_type: &[
        ("ingress_intrinsic_metadata_t", IngressIntrinsic),
        ("ingress_intrinsic_metadata_from_parser_t", IngressFromParser),
        ("ingress_intrinsic_metadata_for_deparser_t", IngressForDeparser),
        ("ingress_intrinsic_metadata_for_tm_t", IngressForTm),
        ("egress_intrinsic_metadata_t", EgressIntrinsic),
        ("egress_intrinsic_metadata_from_parser_t", EgressFromParser),
        ("egress_intrinsic_metadata_for_deparser_t", EgressForDeparser),
        ("egress_intrinsic_metadata_for_output_port_t", EgressForPort),
        ("ghost_intrinsic_metadata_t", GhostIntrinsic),
    ],
    pipes: 4,
    intrinsic_type: "",
    metadata: &[
        ("ingress_intrinsic_metadata_t", &[("ingress_port", Bits(9)), ("ingress_mac_tstamp", Bits(48))]),
        ("ingress_intrinsic_metadata_from_parser_t", &[("global_tstamp", Bits(48)), ("parser_err", Bits(16))]),
        (
            "ingress_intrinsic_metadata_for_tm_t",
            &[
                ("ucast_egress_port", Bits(9)),
                ("bypass_egress", Bits(1)),
                ("copy_to_cpu", Bits(1)),
                ("mcast_grp_a", Bits(16)),
                ("mcast_grp_b", Bits(16)),
                ("level1_exclusion_id", Bits(16)),
                ("level2_exclusion_id", Bits(9)),
                ("rid", Bits(16)),
            ],
        ),
        (
            "ingress_intrinsic_metadata_for_deparser_t",
            &[("drop_ctl", Bits(3)), ("digest_type", Bits(3)), ("resubmit_type", Bits(3)), ("mtu_trunc_len", Bits(14))],
        ),
        ("egress_intrinsic_metadata_t", &[("egress_port", Bits(9)), ("egress_rid", Bits(16))]),
        ("egress_intrinsic_metadata_from_parser_t", &[("global_tstamp", Bits(48)), ("parser_err", Bits(16))]),
        ("egress_intrinsic_metadata_for_deparser_t", &[("drop_ctl", Bits(3)), ("mtu_trunc_len", Bits(14))]),
    ],
    enums: &[],
    intrinsic_zero: &[],
    drop: None,
    table_properties: &[
        "implementation",
        "counters",
        "meters",
        "registers",
        "filters",
        "idle_timeout",
        "atcam",
        "alpm",
        "requires_versioning",
        "proxy_hash",
        "dynamic_table_size",
    ],
    restarts: &[],
    hints: &[
        ("mark_to_drop", "TNA drops packets with `ig_dprsr_md.drop_ctl = 1`"),
        ("drop", "TNA drops packets with `ig_dprsr_md.drop_ctl = 1`"),
    ],
};

pub(super) static T2NA: Architecture = Architecture { name: "t2na", include: "t2na.p4", drop: None, ..TNA };
