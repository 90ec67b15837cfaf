//! A packet's state: slots, headers, stacks, unions, and the slots of v1model's metadata.

use serde::{Deserialize, Serialize};

use super::{HeaderId, SlotId, Span, StackId, UnionId};

/// The type of a value: every operation carries its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Type {
    /// `bool`.
    Bool,
    /// `bit<W>`; enums, errors and serialisable enums are bits too.
    Bits(u32),
    /// `int<W>`, two's complement.
    Int(u32),
    /// `varbit<W>`: W is the largest size in bits. Values exist only as slots, copied and compared whole.
    Varbit(u32),
}

impl Type {
    /// Width in bits (1 for `bool`, the maximum for `varbit`).
    pub fn width(self) -> u32 {
        match self {
            Type::Bool => 1,
            Type::Bits(w) | Type::Int(w) | Type::Varbit(w) => w,
        }
    }
}

/// One scalar of a packet's state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Slot {
    /// For display: `hdr.ipv4.ttl`, `meta.nexthop`, `hdr.ipv4.$valid`, `ingress.tmp`.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// What it is a part of.
    pub kind: SlotKind,
    /// Its declaration.
    pub span: Span,
}

/// What a slot is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SlotKind {
    /// Field number `1` of a header.
    Field(HeaderId, u32),
    /// A header's validity bit (`Type::Bool`).
    Valid(HeaderId),
    /// `nextIndex` of a stack (`Type::Bits(32)`).
    NextIndex(StackId),
    /// User metadata: zeroed at ingress start, kept between ingress and egress.
    Metadata,
    /// Intrinsic metadata.
    Standard,
    /// A local of a parser or control, or a temporary of lowering: not live between blocks.
    Local,
}

/// A header instance. Fields are in wire order, most significant bit first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// `hdr.ipv4`, `hdr.mpls[2]`.
    pub name: String,
    /// `ipv4_t`.
    pub type_name: String,
    /// Fields in wire order; at most one is a varbit.
    pub fields: Vec<HeaderField>,
    /// The validity slot.
    pub valid: SlotId,
    /// Size in bits without the varbit field. Executors refuse headers that are not whole bytes.
    pub fixed_bits: u32,
    /// Index of the varbit field.
    pub varbit: Option<u32>,
    /// The stack and index, for a stack element.
    pub stack: Option<(StackId, u32)>,
    /// The union this is a member of.
    pub union: Option<UnionId>,
    /// Its declaration.
    pub span: Span,
}

/// One field of a header.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HeaderField {
    /// The slot of the value.
    pub slot: SlotId,
    /// `ttl`.
    pub name: String,
    /// Distance in bits from the header's first bit, a varbit before it counted as empty.
    pub offset_bits: u32,
    /// Width in bits; the maximum for a varbit.
    pub width: u32,
}

/// A header stack.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stack {
    /// `hdr.mpls`.
    pub name: String,
    /// Elements, index 0 first.
    pub elements: Vec<HeaderId>,
    /// The `nextIndex` slot.
    pub next_index: SlotId,
    /// Its declaration.
    pub span: Span,
}

/// A header union: at most one member is valid. Lowering makes that explicit ([`super::StmtKind::SetValid`] on one
/// member is preceded by [`super::StmtKind::SetInvalid`] of the others).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Union {
    /// `hdr.l4`.
    pub name: String,
    /// Members in order of declaration.
    pub members: Vec<HeaderId>,
    /// Its declaration.
    pub span: Span,
}

macro_rules! standard_metadata {
    ($($(#[$doc:meta])* $field:ident: $width:literal,)*) => {
        /// Slots of v1model's `standard_metadata_t`. `error` values are `Bits(16)`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub struct StandardMetadata {
            $($(#[$doc])* pub $field: SlotId,)*
        }

        impl StandardMetadata {
            /// Names and widths of all fields.
            pub const FIELDS: &[(&str, u32)] = &[$((stringify!($field), $width),)*];

            /// The slots that a function gives for names and widths.
            pub fn of(mut slot: impl FnMut(&'static str, u32) -> SlotId) -> StandardMetadata {
                StandardMetadata { $($field: slot(stringify!($field), $width),)* }
            }

            /// Names, slots and widths of all fields.
            pub fn fields(&self) -> impl Iterator<Item = (&'static str, SlotId, u32)> {
                [$((stringify!($field), self.$field, $width),)*].into_iter()
            }

            /// The slot of a field.
            pub fn field_mut(&mut self, name: &str) -> Option<&mut SlotId> {
                match name {
                    $(stringify!($field) => Some(&mut self.$field),)*
                    _ => None,
                }
            }
        }
    };
}

standard_metadata! {
    /// `bit<9>`
    ingress_port: 9,
    /// `bit<9>`
    egress_spec: 9,
    /// `bit<9>`
    egress_port: 9,
    /// `bit<32>`
    instance_type: 32,
    /// `bit<32>`, bytes
    packet_length: 32,
    /// `bit<32>`, µs
    enq_timestamp: 32,
    /// `bit<19>`
    enq_qdepth: 19,
    /// `bit<32>`, µs
    deq_timedelta: 32,
    /// `bit<19>`
    deq_qdepth: 19,
    /// `bit<48>`, µs
    ingress_global_timestamp: 48,
    /// `bit<48>`, µs
    egress_global_timestamp: 48,
    /// `bit<16>`
    mcast_grp: 16,
    /// `bit<16>`
    egress_rid: 16,
    /// `bit<1>`
    checksum_error: 1,
    /// `error` as `bit<16>`
    parser_error: 16,
    /// `bit<3>`
    priority: 3,
}

/// The egress_spec that drops.
pub const DROP_PORT: u32 = 511;
