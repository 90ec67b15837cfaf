//! Following packets: an interpreter that runs a copy of a packet against the tables, registers and keys of a data plane
//! that runs, and changes nothing there. Does not live here: taking the copies ([`crate::observe::sample`]), telling people.
//!
//! The packet itself has been through when its copy is followed. What changed in between (registers, entries), what is
//! random, and what meters say may therefore differ from what it met.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use hopwright_ir::interp::{Interp, LiveState, Observer, Output, Value};
use hopwright_ir::{ActionCall, ExternId, TableEntry, TableId, ValueSetId};
use num_bigint::BigUint;

use crate::control::ControlError;
use crate::vdp::VirtualDataPlane;

/// An interpreter that follows a data plane.
pub struct ShadowExecution {
    vdp: Arc<VirtualDataPlane>,
    interp: Interp,
}

impl ShadowExecution {
    /// Follows a data plane, whatever its engine.
    ///
    /// # Errors
    /// If the interpreter does not run its program.
    pub fn new(vdp: Arc<VirtualDataPlane>) -> Result<ShadowExecution, ControlError> {
        let interp = vdp.following(Box::new(Live { vdp: vdp.clone(), written: HashMap::new() }))?;
        Ok(ShadowExecution { vdp, interp })
    }

    /// What it follows.
    pub fn vdp(&self) -> &Arc<VirtualDataPlane> {
        &self.vdp
    }

    /// Runs a copy of a packet.
    pub fn process(&mut self, packet: &[u8], ingress_port: u16, now_us: u64, observer: &mut dyn Observer) -> Output {
        self.interp.traffic = self.vdp.traffic();
        for at in 0..self.vdp.pipeline().value_sets.len() {
            let set = ValueSetId(at as u32);
            // They fit there, so they fit here.
            let _ = self.interp.set_value_set(set, self.vdp.value_set(set));
        }
        self.interp.process_observed(packet, ingress_port, now_us, observer)
    }
}

impl fmt::Debug for ShadowExecution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShadowExecution").field("vdp", &self.vdp).finish_non_exhaustive()
    }
}

struct Live {
    vdp: Arc<VirtualDataPlane>,
    written: HashMap<(ExternId, u64), BigUint>,
}

impl LiveState for Live {
    fn begin(&mut self) {
        self.written.clear();
    }

    fn find(&mut self, table: TableId, keys: &[Value]) -> (Option<TableEntry>, ActionCall) {
        let keys: Vec<BigUint> = keys.iter().map(|k| k.bits.clone()).collect();
        self.vdp.find(table, &keys)
    }

    fn register(&mut self, register: ExternId, index: u64) -> Option<BigUint> {
        if let Some(written) = self.written.get(&(register, index)) {
            return Some(written.clone());
        }
        self.vdp.register(&self.vdp.pipeline()[register].name, index).ok()
    }

    fn set_register(&mut self, register: ExternId, index: u64, value: BigUint) {
        self.written.insert((register, index), value);
    }
}
