//! Descriptions of architectures: the package that `main` instantiates, the roles of its blocks and of their parameters, the
//! intrinsic metadata, and how packets are dropped or start over.
//!
//! Each architecture has a file of its own here and an entry in [`ALL`]. Lowering, lints and P4Info read the descriptions and
//! do not depend on any architecture's name. The declarations of types and externs are P4 text (`p4/include`).

mod pna;
mod psa;
mod tofino;
mod v1model;

use std::fmt::{self, Display, Formatter};

use crate::hir::{Type, TypedProgram};

/// What an architecture expects of a program and does with it.
#[derive(Debug)]
pub struct Architecture {
    /// Its name in P4Info, such as `v1model`.
    pub name: &'static str,
    /// The include file that declares it, such as `v1model.p4`.
    pub include: &'static str,
    /// The package that `main` instantiates, such as `V1Switch`.
    pub package: &'static str,
    /// The package's blocks, in the order of its parameters, which is the order in which a packet passes them.
    pub blocks: &'static [Block],
    /// What other parameters of blocks stand for, by the names of their types: programs may leave such parameters out.
    pub by_type: &'static [(&'static str, ParamRole)],
    /// How many programs the package takes, each with all blocks.
    pub pipes: usize,
    /// The type of the intrinsic metadata, such as `standard_metadata_t`.
    pub intrinsic_type: &'static str,
    /// Members of the architecture's metadata that executors know, by type. A program that brings its own declarations may
    /// leave members out and add others, but these have these types.
    pub metadata: &'static [(&'static str, &'static [(&'static str, MemberType)])],
    /// Enums without an underlying type whose members executors know by their positions.
    pub enums: &'static [(&'static str, &'static [&'static str])],
    /// Members of the intrinsic metadata that are zero when a packet starts.
    pub intrinsic_zero: &'static [&'static str],
    /// How a program drops a packet, if by calling a function.
    pub drop: Option<Drop>,
    /// Table properties besides those of the language.
    pub table_properties: &'static [&'static str],
    /// Extern functions that make a copy of the packet, or the packet itself, start over.
    pub restarts: &'static [&'static str],
    /// What the architecture has for names of other languages: (name, help).
    pub hints: &'static [(&'static str, &'static str)],
}

/// The type of a member of an architecture's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberType {
    /// `bit<W>`.
    Bits(u32),
    /// `bool`.
    Bool,
    /// `error`.
    Error,
}

impl MemberType {
    /// Whether it is this type.
    pub fn is(self, ty: &Type) -> bool {
        match self {
            MemberType::Bits(width) => *ty == Type::Bits(width),
            MemberType::Bool => *ty == Type::Bool,
            MemberType::Error => *ty == Type::Error,
        }
    }
}

impl Display for MemberType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            MemberType::Bits(width) => write!(f, "bit<{width}>"),
            MemberType::Bool => f.write_str("bool"),
            MemberType::Error => f.write_str("error"),
        }
    }
}

/// A block of an architecture.
#[derive(Debug)]
pub struct Block {
    /// What it is for.
    pub role: BlockRole,
    /// What its parameters stand for, in order.
    pub params: &'static [ParamRole],
}

/// What a block of a package is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockRole {
    /// Parses the packet.
    Parser,
    /// PNA: processing between the parser and the main control, for packets that are to be decrypted.
    PreControl,
    /// Verifies checksums after parsing.
    VerifyChecksum,
    /// Ingress processing, before the traffic manager.
    Ingress,
    /// Egress processing, after the traffic manager.
    Egress,
    /// Computes checksums before deparsing.
    ComputeChecksum,
    /// Emits the headers of the packet that goes from ingress to egress, where that is parsed again.
    IngressDeparser,
    /// Parses the packet before egress.
    EgressParser,
    /// Emits the headers of the packet that leaves.
    Deparser,
}

/// What a parameter of a block stands for. All but the packet are storage that the blocks share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamRole {
    /// `packet_in` or `packet_out`.
    Packet,
    /// The program's headers; with a parser before egress, those of ingress.
    Headers,
    /// The program's metadata; with a parser before egress, those of ingress.
    Metadata,
    /// Headers of egress.
    EgressHeaders,
    /// Metadata of egress.
    EgressMetadata,
    /// The architecture's metadata.
    Intrinsic,
    /// What the architecture tells the ingress parser.
    IngressParserInput,
    /// What it tells ingress.
    IngressInput,
    /// What ingress decides.
    IngressOutput,
    /// What the architecture tells the egress parser.
    EgressParserInput,
    /// What it tells egress.
    EgressInput,
    /// What egress decides.
    EgressOutput,
    /// What the architecture tells the egress deparser.
    EgressDeparserInput,
    /// Metadata that go with a packet from ingress to egress.
    NormalMeta,
    /// ... with a copy that is made at the end of ingress, to egress.
    CloneI2eMeta,
    /// ... with a copy that is made at the end of egress, to egress.
    CloneE2eMeta,
    /// ... with a packet that ingress has processed again.
    ResubmitMeta,
    /// ... with a packet from egress back to ingress.
    RecirculateMeta,
    /// PNA: the headers that the pre-control reads, which are the program's if they have the same type.
    PreHeaders,
    /// The metadata of the pre-control, likewise.
    PreMetadata,
    /// What the architecture tells the pre-control.
    PreInput,
    /// What the pre-control decides.
    PreOutput,
    /// Tofino: the header in front of a packet that ingress parses.
    IngressIntrinsic,
    /// What the ingress parser tells ingress.
    IngressFromParser,
    /// What ingress tells its deparser.
    IngressForDeparser,
    /// What ingress tells the traffic manager.
    IngressForTm,
    /// The header in front of a packet that egress parses.
    EgressIntrinsic,
    /// What the egress parser tells egress.
    EgressFromParser,
    /// What egress tells its deparser.
    EgressForDeparser,
    /// What egress tells the port.
    EgressForPort,
    /// Tofino 2: the report of the traffic manager that a ghost thread has.
    GhostIntrinsic,
}

/// How a program drops a packet.
#[derive(Debug)]
pub struct Drop {
    /// The extern function that does it; its argument is the intrinsic metadata.
    pub function: &'static str,
    /// Members of the intrinsic metadata that the function sets, and to what.
    pub sets: &'static [(&'static str, u32)],
    /// The member whose value tells after ingress that the packet is dropped, and that value.
    pub tested: (&'static str, u32),
}

/// All architectures.
pub const ALL: &[&Architecture] = &[&v1model::V1MODEL, &psa::PSA, &pna::PNA, &tofino::TNA, &tofino::T2NA];

impl TypedProgram {
    /// The architecture whose package `main` instantiates; `None` if it is not described.
    pub fn architecture(&self) -> Option<&'static Architecture> {
        Architecture::of_package(&self.main.type_name, self.main.architecture.as_deref())
    }
}

impl Architecture {
    /// The architecture with a package of this name. `name` is the architecture's, where the package's declaration says it.
    pub fn of_package(package: &str, name: Option<&str>) -> Option<&'static Architecture> {
        let mut all = ALL.iter().copied().filter(|a| a.package == package);
        match name {
            Some(name) if all.clone().any(|a| a.name.eq_ignore_ascii_case(name)) => {
                all.find(|a| a.name.eq_ignore_ascii_case(name))
            }
            _ => all.next(),
        }
    }

    /// Whether a package may have this many blocks.
    pub fn takes(&self, blocks: usize) -> bool {
        blocks.is_multiple_of(self.blocks.len()) && (1..=self.pipes).contains(&(blocks / self.blocks.len()))
    }

    /// The block with a role, and its place in the package.
    pub fn block(&self, role: BlockRole) -> Option<(usize, &'static Block)> {
        self.blocks.iter().enumerate().find(|(_, b)| b.role == role)
    }

    /// `V1Switch(...) main;`
    pub fn main(&self) -> String {
        format!("{}(...) main;", self.package)
    }
}
