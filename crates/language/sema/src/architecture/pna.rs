//! The Portable NIC Architecture, version 0.7.

use super::MemberType::{Bits, Bool, Error};
use super::ParamRole::{
    Headers, IngressInput, IngressOutput, IngressParserInput, Metadata, Packet, PreHeaders, PreInput, PreMetadata,
    PreOutput,
};
use super::{Architecture, Block, BlockRole};

pub(super) static PNA: Architecture = Architecture {
    name: "pna",
    include: "pna.p4",
    package: "PNA_NIC",
    blocks: &[
        Block { role: BlockRole::Parser, params: &[Packet, Headers, Metadata, IngressParserInput] },
        Block { role: BlockRole::PreControl, params: &[PreHeaders, PreMetadata, PreInput, PreOutput] },
        Block { role: BlockRole::Ingress, params: &[Headers, Metadata, IngressInput, IngressOutput] },
        Block { role: BlockRole::Deparser, params: &[Packet, Headers, Metadata, IngressOutput] },
    ],
    by_type: &[],
    pipes: 1,
    intrinsic_type: "",
    metadata: &[
        (
            "pna_pre_input_metadata_t",
            &[("input_port", Bits(32)), ("parser_error", Error), ("pass", Bits(3)), ("loopedback", Bool)],
        ),
        ("pna_pre_output_metadata_t", &[("decrypt", Bool)]),
        ("pna_main_parser_input_metadata_t", &[("pass", Bits(3)), ("loopedback", Bool), ("input_port", Bits(32))]),
        (
            "pna_main_input_metadata_t",
            &[
                ("pass", Bits(3)),
                ("loopedback", Bool),
                ("timestamp", Bits(64)),
                ("parser_error", Error),
                ("class_of_service", Bits(8)),
                ("input_port", Bits(32)),
            ],
        ),
        ("pna_main_output_metadata_t", &[("class_of_service", Bits(8))]),
    ],
    enums: &[("PNA_Direction_t", &["NET_TO_HOST", "HOST_TO_NET"]), ("PNA_MeterColor_t", &["RED", "GREEN", "YELLOW"])],
    intrinsic_zero: &[],
    drop: None,
    table_properties: &[
        "pna_implementation",
        "pna_direct_counter",
        "pna_direct_meter",
        "pna_idle_timeout",
        "pna_empty_group_action",
        "add_on_miss",
        "idle_timeout_with_auto_delete",
        "default_idle_timeout_for_data_plane_added_entries",
    ],
    restarts: &[],
    hints: &[
        ("mark_to_drop", "PNA drops packets with `drop_packet()`"),
        ("drop", "PNA drops packets with `drop_packet()`"),
    ],
};
