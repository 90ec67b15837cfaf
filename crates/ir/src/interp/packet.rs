//! The state of a packet in the pipeline.

use std::sync::Arc;

use super::{Digest, MAX_STEPS, Value};
use crate::bits::BitString;
use crate::model::{Pipeline, SlotId, SlotKind, Span};

/// A packet's state. Made for every pass through the parser, and copied for replicas.
#[derive(Clone, Debug)]
pub struct PacketState {
    pub(super) bytes: Arc<[u8]>,
    pub(super) slots: Vec<Value>,
    /// Bytes consumed by the parser; what follows is the payload.
    pub(super) cursor: usize,
    pub(super) out: BitString,
    pub(super) steps_left: u32,
    pub(super) requests: Requests,
}

/// Requests of the program to the traffic manager.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    /// Session and field list; the last call wins.
    pub clone_ingress: Option<(u32, Option<u8>)>,
    pub clone_egress: Option<(u32, Option<u8>)>,
    pub resubmit: Option<u8>,
    pub recirculate: Option<u8>,
    pub digests: Vec<Digest>,
    /// Most bytes to send.
    pub truncate: Option<u32>,
}

/// A packet that cannot be processed further and is dropped: the program looped without end, failed an assertion or
/// used an extern wrongly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub message: String,
    /// Where.
    pub span: Span,
}

impl PacketState {
    /// A packet before its parser: every slot zero.
    pub fn new(pipeline: &Pipeline, bytes: Arc<[u8]>) -> PacketState {
        PacketState {
            bytes,
            slots: pipeline.slots.iter().map(|s| Value::zero(s.ty)).collect(),
            cursor: 0,
            out: BitString::new(),
            steps_left: MAX_STEPS,
            requests: Requests::default(),
        }
    }

    /// A slot's value.
    pub fn get(&self, slot: SlotId) -> &Value {
        &self.slots[slot.index()]
    }

    /// Sets a scalar slot to the lowest bits of a number.
    pub fn set(&mut self, slot: SlotId, value: u64) {
        let target = &mut self.slots[slot.index()];
        *target = Value::new(value, target.width);
    }

    /// Bytes that the parser did not consume.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[self.cursor..]
    }

    /// Zeroes the slots of the kinds that `which` chooses.
    pub(super) fn reset(&mut self, pipeline: &Pipeline, which: impl Fn(SlotKind) -> bool) {
        for (value, slot) in self.slots.iter_mut().zip(&pipeline.slots) {
            if which(slot.kind) {
                *value = Value::zero(slot.ty);
            }
        }
    }

    /// Takes one step of the bounded ones.
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
