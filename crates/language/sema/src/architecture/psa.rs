//! The Portable Switch Architecture, version 1.2.

use super::MemberType::{Bits, Bool, Error};
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
    metadata: &[
        ("psa_ingress_parser_input_metadata_t", &[("ingress_port", Bits(32))]),
        ("psa_egress_parser_input_metadata_t", &[("egress_port", Bits(32))]),
        (
            "psa_ingress_input_metadata_t",
            &[("ingress_port", Bits(32)), ("ingress_timestamp", Bits(64)), ("parser_error", Error)],
        ),
        (
            "psa_ingress_output_metadata_t",
            &[
                ("class_of_service", Bits(8)),
                ("clone", Bool),
                ("clone_session_id", Bits(16)),
                ("drop", Bool),
                ("resubmit", Bool),
                ("multicast_group", Bits(32)),
                ("egress_port", Bits(32)),
            ],
        ),
        (
            "psa_egress_input_metadata_t",
            &[
                ("class_of_service", Bits(8)),
                ("egress_port", Bits(32)),
                ("instance", Bits(16)),
                ("egress_timestamp", Bits(64)),
                ("parser_error", Error),
            ],
        ),
        ("psa_egress_deparser_input_metadata_t", &[("egress_port", Bits(32))]),
        ("psa_egress_output_metadata_t", &[("clone", Bool), ("clone_session_id", Bits(16)), ("drop", Bool)]),
    ],
    enums: &[
        (
            "PSA_PacketPath_t",
            &["NORMAL", "NORMAL_UNICAST", "NORMAL_MULTICAST", "CLONE_I2E", "CLONE_E2E", "RESUBMIT", "RECIRCULATE"],
        ),
        ("PSA_MeterColor_t", &["RED", "GREEN", "YELLOW"]),
    ],
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
