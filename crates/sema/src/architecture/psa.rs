//! The Portable Switch Architecture, version 1.2.

use super::ParamRole::{
    CloneE2eMeta, CloneI2eMeta, EgressDeparserInput, EgressHeaders, EgressInput, EgressMetadata, EgressOutput,
    EgressParserInput, Headers, IngressInput, IngressOutput, IngressParserInput, Metadata, NormalMeta, Packet,
    RecirculateMeta, ResubmitMeta,
};
use super::{Architecture, Block, BlockRole};

pub(super) static PSA: Architecture = Architecture {
    name: "psa",
    include: "psa.p4",
    package: "PSA_Switch",
    blocks: &[
        Block {
            role: BlockRole::Parser,
            params: &[Packet, Headers, Metadata, IngressParserInput, ResubmitMeta, RecirculateMeta],
        },
        Block { role: BlockRole::Ingress, params: &[Headers, Metadata, IngressInput, IngressOutput] },
        Block {
            role: BlockRole::IngressDeparser,
            params: &[Packet, CloneI2eMeta, ResubmitMeta, NormalMeta, Headers, Metadata, IngressOutput],
        },
        Block {
            role: BlockRole::EgressParser,
            params: &[Packet, EgressHeaders, EgressMetadata, EgressParserInput, NormalMeta, CloneI2eMeta, CloneE2eMeta],
        },
        Block { role: BlockRole::Egress, params: &[EgressHeaders, EgressMetadata, EgressInput, EgressOutput] },
        Block {
            role: BlockRole::Deparser,
            params: &[
                Packet,
                CloneE2eMeta,
                RecirculateMeta,
                EgressHeaders,
                EgressMetadata,
                EgressOutput,
                EgressDeparserInput,
            ],
        },
    ],
    by_type: &[],
    pipes: 1,
    intrinsic_type: "",
    intrinsic_zero: &[],
    drop: None,
    table_properties: &[
        "psa_implementation",
        "psa_direct_counter",
        "psa_direct_meter",
        "psa_idle_timeout",
        "psa_empty_group_action",
    ],
    restarts: &[],
    hints: &[
        ("mark_to_drop", "PSA drops packets with `ingress_drop(ostd)` and `egress_drop(ostd)`"),
        ("drop", "PSA drops packets with `ingress_drop(ostd)` and `egress_drop(ostd)`"),
    ],
};
