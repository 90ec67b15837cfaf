//! The Tofino Native Architecture, of Tofino and of Tofino 2.

use super::ParamRole::{
    EgressForDeparser, EgressForPort, EgressFromParser, EgressHeaders, EgressIntrinsic, EgressMetadata, Headers,
    IngressForDeparser, IngressForTm, IngressFromParser, IngressIntrinsic, Metadata, Packet,
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
    ],
    pipes: 4,
    intrinsic_type: "",
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
