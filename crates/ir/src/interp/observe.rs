//! Events of a packet's execution, the source of execution traces.

use crate::model::{ActionCall, ExternCall, HeaderId, SlotId, Span, StateId, TableEntry, TableId, Target};

use super::Value;

/// Receives everything that happens to a packet, in order.
pub trait Observer {
    /// Something happened.
    fn event(&mut self, event: &Event<'_>);
}

/// A part of the v1model pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The parser.
    Parser,
    /// The checksum verification control.
    VerifyChecksum,
    /// The ingress control.
    Ingress,
    /// The egress control.
    Egress,
    /// The checksum update control.
    ComputeChecksum,
    /// The deparser.
    Deparser,
}

/// Something that happened to a packet. Spans point at the P4 text that made it happen.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A part of the pipeline begins.
    Enter(Stage),
    /// The parser entered a state.
    State {
        /// The state.
        state: StateId,
        /// Its declaration.
        span: Span,
    },
    /// The parser took a transition.
    Transition {
        /// Values of the select's keys; none for an unconditional transition.
        keys: &'a [Value],
        /// Index of the select case; `None` if none matched (or there is no select).
        case: Option<usize>,
        /// Where it goes.
        target: Target,
        /// The select case, or the state.
        span: Span,
    },
    /// A header was extracted.
    Extract {
        /// The header.
        header: HeaderId,
        /// Where it begins in the packet, in bytes.
        offset: usize,
        /// Its length in bytes.
        length: usize,
        /// The statement.
        span: Span,
    },
    /// The parser stopped with this error (an index into the pipeline's errors).
    ParserError {
        /// The error.
        error: u32,
        /// The statement that failed.
        span: Span,
    },
    /// A slot was written (fields filled by extraction are not reported one by one).
    Assign {
        /// The slot.
        slot: SlotId,
        /// What it held.
        old: &'a Value,
        /// What it holds now.
        new: &'a Value,
        /// The statement.
        span: Span,
    },
    /// A header's validity was set.
    Validity {
        /// The header.
        header: HeaderId,
        /// Valid or not.
        valid: bool,
        /// The statement.
        span: Span,
    },
    /// A table was applied; its action runs next.
    Table {
        /// The table.
        table: TableId,
        /// Values of its keys.
        keys: &'a [Value],
        /// The entry hit; `None` on a miss.
        entry: Option<&'a TableEntry>,
        /// What runs.
        action: &'a ActionCall,
        /// The statement.
        span: Span,
    },
    /// An extern is about to be called.
    Extern {
        /// The call.
        call: &'a ExternCall,
        /// Values of its arguments before the call (a list is one value; an out argument is what the slot holds).
        args: &'a [Value],
    },
    /// `log_msg`, with its values filled in.
    Log {
        /// The text.
        message: &'a str,
        /// The call.
        span: Span,
    },
    /// `exit`.
    Exit {
        /// The statement.
        span: Span,
    },
    /// The deparser appended a header.
    Emit {
        /// The header.
        header: HeaderId,
        /// The statement.
        span: Span,
    },
    /// The traffic manager's decision.
    Decision(Decision),
}

/// What the traffic manager does with a packet or makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// To egress for this port.
    Unicast {
        /// The port.
        port: u16,
    },
    /// Copies to a multicast group.
    Multicast {
        /// The group.
        group: u16,
        /// How many.
        copies: usize,
    },
    /// Dropped at the end of ingress.
    DropIngress,
    /// Dropped at the end of egress.
    DropEgress,
    /// Back to the parser as it was received.
    Resubmit,
    /// Back to the parser as deparsed.
    Recirculate,
    /// A copy for this session, made at the end of ingress.
    CloneIngress {
        /// The session.
        session: u32,
    },
    /// A copy for this session, made at the end of egress.
    CloneEgress {
        /// The session.
        session: u32,
    },
    /// A digest for the control plane.
    Digest,
    /// Sent.
    Sent {
        /// The port.
        port: u16,
        /// Bytes.
        length: usize,
    },
}
