//! Events during the execution of a packet, from which execution traces are made.

use hopwright_ir::{ActionCall, ExternCall, HeaderId, SlotId, Span, StateId, Stmt, TableEntry, TableId, Target};

use super::{PacketState, Value};

/// Receives all events of a packet, in order.
pub trait Observer {
    /// Called for each event.
    fn event(&mut self, event: &Event<'_>);

    /// Called when a block of the pipeline begins for a packet.
    fn enter(&mut self, stage: Stage, packet: &PacketState) {
        let _ = (stage, packet);
    }

    /// Called before each statement of a parser state, control or action. The statement is the pipeline's own.
    fn statement(&mut self, stmt: &Stmt, packet: &PacketState) {
        let _ = (stmt, packet);
    }

    /// Called when a statement has decided how execution continues: 0 for true and 1 for false of an `if` or a `verify`,
    /// and the number of the case of a `switch`, whose default is the one behind the last.
    fn outcome(&mut self, stmt: &Stmt, outcome: usize) {
        let _ = (stmt, outcome);
    }
}

/// A block of the v1model pipeline.
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

/// An event. Its span is the P4 text that caused it.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A block of the pipeline begins.
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
        /// The values of the select's keys; empty for an unconditional transition.
        keys: &'a [Value],
        /// Index of the select case; `None` if none matched (or there is no select).
        case: Option<usize>,
        /// The target of the transition.
        target: Target,
        /// The select case, or the state.
        span: Span,
    },
    /// A header was extracted.
    Extract {
        /// The header.
        header: HeaderId,
        /// The header's offset in the packet in bytes.
        offset: usize,
        /// The header's length in bytes.
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
    /// A slot was written. Fields filled by an extraction are not reported individually.
    Assign {
        /// The slot.
        slot: SlotId,
        /// The previous value.
        old: &'a Value,
        /// The new value.
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
    /// A table was applied. Its action runs next.
    Table {
        /// The table.
        table: TableId,
        /// Values of its keys.
        keys: &'a [Value],
        /// The entry that was hit; `None` on a miss.
        entry: Option<&'a TableEntry>,
        /// The action to run.
        action: &'a ActionCall,
        /// The statement.
        span: Span,
    },
    /// An extern is about to be called.
    Extern {
        /// The call.
        call: &'a ExternCall,
        /// The values of its arguments before the call. A list is one value; an out argument has the value of its slot.
        args: &'a [Value],
    },
    /// `log_msg` with its values formatted.
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

/// A decision of the traffic manager about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The packet goes to egress for this port.
    Unicast {
        /// The port.
        port: u16,
    },
    /// Copies go to egress for a multicast group.
    Multicast {
        /// The group.
        group: u16,
        /// The number of copies.
        copies: usize,
    },
    /// The packet was dropped at the end of ingress.
    DropIngress,
    /// The packet was dropped at the end of egress.
    DropEgress,
    /// The packet goes back to the parser as it was received.
    Resubmit,
    /// The packet goes back to the parser as deparsed.
    Recirculate,
    /// A clone for this session was made at the end of ingress.
    CloneIngress {
        /// The session.
        session: u32,
    },
    /// A clone for this session was made at the end of egress.
    CloneEgress {
        /// The session.
        session: u32,
    },
    /// The packet was dropped because it became longer than its [`super::Room`] allows.
    NoHeadroom {
        /// The packet's length in bytes.
        length: usize,
    },
    /// A digest was sent to the control plane.
    Digest,
    /// The packet was sent.
    Sent {
        /// The port.
        port: u16,
        /// The packet's length in bytes.
        length: usize,
    },
}
