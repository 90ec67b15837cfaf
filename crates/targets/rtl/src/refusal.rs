//! What hardware cannot do.

use std::collections::HashSet;

use hopwright_ir::SourceMap;
use hopwright_source::Span;

macro_rules! capabilities {
    ($($(#[$doc:meta])* $variant:ident = $name:literal: $words:literal,)*) => {
        /// A capability that a program needs and the hardware does not have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Capability {
            $($(#[$doc])* $variant,)*
        }

        impl Capability {
            /// All capabilities.
            pub const ALL: &[Capability] = &[$(Capability::$variant,)*];

            /// Returns the name, as in documentation and reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(Capability::$variant => $name,)*
                }
            }

            /// Returns what the hardware does not do.
            pub fn words(self) -> &'static str {
                match self {
                    $(Capability::$variant => $words,)*
                }
            }
        }
    };
}

capabilities! {
    /// More unrolled parser states than fit.
    ParserSize = "parser-size": "parsers with this many states",
    /// A loop without a bound.
    Loop = "loop": "loops without a bound",
    /// Division or modulo of wide operands by something that is no constant power of two.
    Division = "division": "division of such wide operands",
    /// A varbit field that is not only extracted, copied and emitted, or does not begin at a byte.
    Varbit = "varbit": "varbit fields that are not only extracted, copied and emitted",
    /// A header that is emitted and is not a whole number of bytes.
    UnalignedHeader = "unaligned-header": "emitted headers that are no whole number of bytes",
    /// Clones of a program whose parser has effects.
    CloneWithEffects = "clone-with-effects": "clones if the parser or the checksum verification has effects on state",
    /// `random` with many possible results.
    Random = "random": "random numbers from such a range",
    /// Checksums over the payload.
    PayloadChecksum = "payload-checksum": "checksums over the payload",
    /// Hash algorithms without an engine.
    HashAlgorithm = "hash-algorithm": "this hash algorithm",
    /// An extern function or object without an engine.
    NamedExtern = "extern": "this extern",
    /// Headers whose size is not constant, in front of other bytes that are sent.
    VariableHeader = "variable-header": "headers of variable size",
    /// Bytes of the packet behind those that the pipeline sees.
    Window = "window": "fields so far behind the beginning of a packet",
    /// A counter, meter or register that one packet accesses several times.
    SharedObject = "shared-object": "counters, meters and registers that one packet accesses several times",
    /// Ternary tables, or tables with range keys, of many entries.
    TableSize = "table-size": "ternary tables of this size",
    /// More operations than the compiler handles.
    ProgramSize = "program-size": "programs of this size",
}

/// Why a program cannot be compiled to hardware.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// What is missing.
    pub capability: Capability,
    /// The part of the program that needs it.
    pub span: Span,
    /// Details: names and sizes.
    pub message: String,
}

impl Refusal {
    /// Returns the message with file and line, for reports.
    pub fn report(&self, sources: &SourceMap) -> String {
        let location = sources.location(self.span);
        let Refusal { capability, message, .. } = self;
        format!("{location}: hardware has no {} [{}]: {message}", capability.words(), capability.name())
    }
}

/// Leaves out refusals that say the same again: a statement is converted once for each way to it.
pub(crate) fn distinct(mut refusals: Vec<Refusal>) -> Vec<Refusal> {
    let mut seen = HashSet::new();
    refusals.retain(|refusal| seen.insert(refusal.clone()));
    refusals
}
