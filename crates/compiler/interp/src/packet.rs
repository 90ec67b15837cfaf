//! The state of a packet in the pipeline.

use std::sync::Arc;

use super::{Digest, MAX_STEPS, Value};
use hopwright_ir::bits::BitString;
use hopwright_ir::{Pipeline, SlotId, SlotKind, Span};

/// A packet's state. Created for every pass through the parser, and copied for replicas.
#[derive(Clone, Debug)]
pub struct PacketState {
    pub(super) bytes: Arc<[u8]>,
    pub(super) slots: Vec<Value>,
    /// The number of bytes that the parser has consumed. The rest is the payload.
    pub(super) cursor: usize,
    pub(super) out: BitString,
    pub(super) steps_left: u32,
    /// Bytes by which this pass may make the packet longer.
    pub(super) headroom: usize,
    pub(super) requests: Requests,
}

/// The program's requests to the traffic manager.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    /// Session and field list of the last call.
    pub clone_ingress: Option<(u32, Option<u8>)>,
    pub clone_egress: Option<(u32, Option<u8>)>,
    pub resubmit: Option<u8>,
    pub recirculate: Option<u8>,
    pub digests: Vec<Digest>,
    /// The maximum length to send in bytes.
    pub truncate: Option<u32>,
    /// Where a packet of a group goes, too.
    pub replicate: u32,
}

/// The reason why a packet cannot be processed further and is dropped: the program exceeded the step limit, failed an
/// assertion or misused an extern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The description.
    pub message: String,
    /// The place in the source.
    pub span: Span,
}

impl PacketState {
    /// Creates the state of a packet before parsing, with all slots zero.
    pub fn new(pipeline: &Pipeline, bytes: Arc<[u8]>) -> PacketState {
        PacketState {
            bytes,
            slots: pipeline.slots.iter().map(|s| Value::zero(s.ty)).collect(),
            cursor: 0,
            out: BitString::new(),
            steps_left: MAX_STEPS,
            headroom: usize::MAX,
            requests: Requests::default(),
        }
    }

    /// Returns a slot's value.
    pub fn get(&self, slot: SlotId) -> &Value {
        &self.slots[slot.index()]
    }

    /// The whole packet as this pass received it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of bytes that the parser has consumed.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Sets a scalar slot to the lowest bits of a number.
    pub fn set(&mut self, slot: SlotId, value: u64) {
        let target = &mut self.slots[slot.index()];
        *target = Value::new(value, target.width);
    }

    /// The bytes that the parser has not consumed.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[self.cursor..]
    }

    /// Zeroes all slots whose kind satisfies `which`.
    pub(super) fn reset(&mut self, pipeline: &Pipeline, which: impl Fn(SlotKind) -> bool) {
        for (value, slot) in self.slots.iter_mut().zip(&pipeline.slots) {
            if which(slot.kind) {
                *value = Value::zero(slot.ty);
            }
        }
    }

    /// Counts a step. Fails if the limit is exceeded.
    pub(super) fn step(&mut self, span: Span) -> Result<(), Fault> {
        match self.steps_left.checked_sub(1) {
            Some(left) => {
                self.steps_left = left;
                Ok(())
            }
            None => Err(Fault { message: format!("more than {MAX_STEPS} parser states and loop turns"), span }),
        }
    }
}
