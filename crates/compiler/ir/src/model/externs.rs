//! Extern objects and calls to them.

use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

use super::{Expr, ExternFn, P4Id, SlotId, Span, TableId, Type};

/// An extern object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExternInstance {
    /// Control-plane name.
    pub name: String,
    /// Its P4Runtime id; `None` if no control plane knows it.
    pub id: Option<P4Id>,
    /// What it is.
    pub kind: ExternKind,
    /// `@concurrent`: the program allows for packets that use it at the same time. Each access is whole, but what one
    /// packet reads may be old by the time it writes.
    pub concurrent: bool,
    /// What a register's cells hold at first; zero for other objects.
    pub initial: BigUint,
    /// Its declaration.
    pub span: Span,
}

/// What an extern object is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ExternKind {
    /// Indirect counters.
    Counter {
        /// How many.
        size: u64,
        /// What they count.
        unit: Unit,
    },
    /// A counter in each entry of a table.
    DirectCounter {
        /// The table, once it is known.
        table: Option<TableId>,
        /// What it counts.
        unit: Unit,
    },
    /// Indirect meters.
    Meter {
        /// How many.
        size: u64,
        /// What they measure.
        unit: Unit,
    },
    /// A meter in each entry of a table.
    DirectMeter {
        /// The table, once it is known.
        table: Option<TableId>,
        /// What it measures.
        unit: Unit,
    },
    /// Registers.
    Register {
        /// How many.
        size: u64,
        /// Type of each.
        ty: Type,
    },
    /// Action profile.
    ActionProfile {
        /// Most members.
        size: u64,
    },
    /// Action selector.
    ActionSelector {
        /// Hash over the selector keys.
        algorithm: HashAlgorithm,
        /// Most members.
        size: u64,
        /// Bits of the hash that are used.
        output_width: u32,
    },
    /// Anything registered by name, e.g. `AesCmac`.
    Named {
        /// The P4 extern type's name.
        type_name: String,
        /// Constructor arguments, as bits.
        args: Vec<BigUint>,
    },
    /// An object without state of its own, whose methods were lowered to other things.
    Stateless,
}

impl ExternKind {
    /// What it is, for people: `a direct counter`.
    pub fn description(&self) -> String {
        match self {
            ExternKind::Counter { .. } => "a counter".into(),
            ExternKind::DirectCounter { .. } => "a direct counter".into(),
            ExternKind::Meter { .. } => "a meter".into(),
            ExternKind::DirectMeter { .. } => "a direct meter".into(),
            ExternKind::Stateless => "an object without state".into(),
            ExternKind::Register { .. } => "a register".into(),
            ExternKind::ActionProfile { .. } => "an action profile".into(),
            ExternKind::ActionSelector { .. } => "an action selector".into(),
            ExternKind::Named { type_name, .. } => format!("of type {type_name}"),
        }
    }
}

/// What a counter or meter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
    /// Both (counters only).
    Both,
}

impl Unit {
    /// Whether packets are counted.
    pub fn packets(self) -> bool {
        self != Unit::Bytes
    }

    /// Whether bytes are counted.
    pub fn bytes(self) -> bool {
        self != Unit::Packets
    }
}

/// v1model's hash algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum HashAlgorithm {
    Crc32,
    Crc32Custom,
    Crc16,
    Crc16Custom,
    Random,
    Identity,
    Csum16,
    Xor16,
}

impl HashAlgorithm {
    /// All of them.
    pub const ALL: [HashAlgorithm; 8] = {
        use HashAlgorithm::*;
        [Crc32, Crc32Custom, Crc16, Crc16Custom, Random, Identity, Csum16, Xor16]
    };

    /// The algorithm with this name in the text form.
    pub fn by_name(name: &str) -> Option<HashAlgorithm> {
        HashAlgorithm::ALL.into_iter().find(|a| format!("{a:?}") == name)
    }
}

/// A call of an extern function or method.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExternCall {
    /// Which.
    pub function: ExternFn,
    /// Arguments in order of the P4 parameters; a result comes last as [`ExternArg::Out`].
    pub args: Vec<ExternArg>,
    /// The call.
    pub span: Span,
}

/// An argument of an extern call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ExternArg {
    /// A value in.
    In(Expr),
    /// Values in, concatenated first is highest (the data of a hash, checksum, digest or log).
    List(Vec<Expr>),
    /// A value out, into this slot.
    Out(SlotId),
    /// In and out.
    InOut(SlotId),
}
