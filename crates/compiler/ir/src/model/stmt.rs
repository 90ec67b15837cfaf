//! Statements, controls and the parser graph.
//!
//! Controls stay structured, because hardware predicates them: there is no jump but out of an enclosing
//! [`StmtKind::Scope`] and [`StmtKind::Exit`].

use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

use super::{Expr, ExternCall, HeaderId, SlotId, Span, StackId, TableId, ValueSetId};

/// A sequence of statements.
pub type Block = Vec<Stmt>;

/// A statement and where it came from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// The P4 text it came from.
    pub span: Span,
}

/// What a statement does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum StmtKind {
    /// `slot = value`; same type. A header whose validity is assigned keeps its fields.
    Assign(SlotId, Expr),
    /// `slot[hi:lo] = value`; value is `bit<hi-lo+1>`.
    AssignSlice {
        /// Target.
        slot: SlotId,
        /// Highest bit.
        hi: u32,
        /// Lowest bit.
        lo: u32,
        /// New bits.
        value: Expr,
    },
    /// Makes a header valid; if it was invalid its fields become zero.
    SetValid(HeaderId),
    /// Makes a header invalid; its fields keep their slots' values.
    SetInvalid(HeaderId),
    /// Copies validity and all fields between headers of the same type.
    CopyHeader {
        /// Target.
        dst: HeaderId,
        /// Source.
        src: HeaderId,
    },
    /// `push_front(count)`.
    PushFront(StackId, u32),
    /// `pop_front(count)`.
    PopFront(StackId, u32),
    /// Two-way branch.
    If {
        /// `bool`.
        cond: Expr,
        /// Taken when true.
        then: Block,
        /// Taken when false.
        otherwise: Block,
    },
    /// Executes the first case that has the value.
    Switch {
        /// Any `bit`, `int` or `bool`.
        value: Expr,
        /// Values (of the same type) and their blocks.
        cases: Vec<(Vec<BigUint>, Block)>,
        /// Taken if no case has the value.
        default: Block,
    },
    /// A named scope that [`StmtKind::Leave`] can leave.
    Scope {
        /// Unique in the pipeline.
        label: u32,
        /// Contents.
        body: Block,
    },
    /// Continue after the end of the enclosing scope of this label (`return` of an inlined body, `break`).
    Leave(u32),
    /// Repeats until left by [`StmtKind::Leave`] of a scope around it. Executors limit the number of iterations.
    Loop {
        /// Contents.
        body: Block,
        /// The body is begun at most this often each time the loop is entered; `None` if no bound is known.
        bound: Option<u32>,
    },
    /// Looks the table's keys up and runs the action found.
    Apply {
        /// Table.
        table: TableId,
        /// `bool` slot to set.
        hit: Option<SlotId>,
        /// `bit<32>` slot to set to the [`super::ActionId`] that ran.
        action_run: Option<SlotId>,
    },
    /// Calls an extern function or method.
    Extern(ExternCall),
    /// Ends the current ingress or egress (also from within an action).
    Exit,

    // In parsers only.
    /// Extracts a header from the packet and makes it valid. Fails with `PacketTooShort`, consuming nothing.
    Extract {
        /// Target.
        header: HeaderId,
        /// Size of the varbit field in bits (`bit<32>`): present exactly if the header has one. Fails with
        /// `ParserInvalidArgument` (no multiple of 8 in total), `PacketTooShort`, `HeaderTooShort`, in this order.
        varbit_bits: Option<Expr>,
    },
    /// Extracts into `stack[nextIndex]` and increments it. Fails with `StackOutOfBounds`.
    ExtractNext {
        /// Target.
        stack: StackId,
        /// As for [`StmtKind::Extract`].
        varbit_bits: Option<Expr>,
    },
    /// Skips bits of the packet. Fails with `PacketTooShort`; `ParserInvalidArgument` if no multiple of 8.
    Advance {
        /// How many (`bit<32>`).
        bits: Expr,
        /// The value of `bits` is at most this; `None` if no bound below 2^32 - 1 is known.
        bound: Option<u32>,
    },
    /// Reads bits ahead of the cursor without consuming. Fails with `PacketTooShort` if fewer than `total_bits`.
    Lookahead {
        /// Bits that must be there.
        total_bits: u32,
        /// Target slots and their offsets in bits from the cursor.
        parts: Vec<(SlotId, u32)>,
    },
    /// Fails with the error (`bit<16>`) if the condition is false.
    Verify(Expr, Expr),

    // In the deparser only.
    /// Appends the header if it is valid.
    Emit(HeaderId),
}

/// A control: a structured program over the slots.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Control {
    /// Control-plane name, e.g. `MyIngress`.
    pub name: String,
    /// Body.
    pub body: Block,
    /// Its declaration.
    pub span: Span,
}

/// The parser graph; sub-parsers are inlined.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parser {
    /// Name.
    pub name: String,
    /// States; [`StateId`] indexes them.
    pub states: Vec<State>,
    /// The start state.
    pub start: StateId,
    /// Its declaration.
    pub span: Span,
}

/// Index into [`Parser::states`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StateId(pub u32);

/// One parser state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    /// `parse_ipv4`; of an inlined sub-parser `outer.parse_ipv4`.
    pub name: String,
    /// Executed in order; a failure ends parsing with its error, and the packet goes on to ingress.
    pub body: Block,
    /// Where to go.
    pub transition: Transition,
    /// Its declaration.
    pub span: Span,
}

/// Where a state goes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Transition {
    /// Always there.
    Goto(Target),
    /// First case whose every set has its key; else accept without error (BMv2).
    Select {
        /// Key expressions.
        keys: Vec<Expr>,
        /// In order.
        cases: Vec<SelectCase>,
    },
}

/// A state, or an end of parsing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Target {
    /// Go on there.
    State(StateId),
    /// End of parsing.
    Accept,
    /// End of parsing; in v1model as accept, with the error that is set.
    Reject,
}

/// One line of a select.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SelectCase {
    /// As many as keys. A value-set case has the one set [`KeySet::ValueSet`] whose members have all keys.
    pub sets: Vec<KeySet>,
    /// Where to go.
    pub target: Target,
    /// Its text.
    pub span: Span,
}

/// A set of values of one key. Values are bits of the key's type.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum KeySet {
    /// `default` or `_`.
    Any,
    /// One value.
    Value(BigUint),
    /// `value &&& mask`.
    Mask(BigUint, BigUint),
    /// `lo .. hi`, inclusive; signed for `int`.
    Range(BigUint, BigUint),
    /// A value set's run-time members.
    ValueSet(ValueSetId),
}
