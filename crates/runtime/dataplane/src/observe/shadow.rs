//! Shadow execution: an interpreter runs copies of packets against the tables, registers and keys of a data plane and
//! changes nothing there.
//!
//! The packet itself has already been forwarded when its copy runs. What changed in between (registers, entries), what is
//! random, and what meters say may therefore differ from what it met.

use std::fmt;
use std::sync::Arc;

use hopwright_interp::{Interp, Observer, Output};

use crate::control::ControlError;
use crate::executor::live_store::LiveStore;
use crate::state::models_of;
use crate::vdp::VirtualDataPlane;

/// An interpreter in the shadow of a data plane.
pub struct ShadowExecution {
    vdp: Arc<VirtualDataPlane>,
    interp: Interp<LiveStore>,
}

impl ShadowExecution {
    /// For a data plane with any engine.
    ///
    /// # Errors
    /// If the interpreter does not run its program.
    pub fn new(vdp: Arc<VirtualDataPlane>) -> Result<ShadowExecution, ControlError> {
        let control = vdp.control();
        let models = models_of(vdp.pipeline(), control.externs(), control.domain(), true);
        let interp = Interp::with_store(vdp.pipeline().clone(), &models, LiveStore::shadow(control));
        let interp = interp.map_err(|e| ControlError::Interpreter(e.to_string()))?;
        Ok(ShadowExecution { vdp, interp })
    }

    /// The data plane.
    pub fn vdp(&self) -> &Arc<VirtualDataPlane> {
        &self.vdp
    }

    /// Runs a copy of a packet.
    pub fn process(&mut self, packet: &[u8], ingress_port: u16, now_us: u64, observer: &mut dyn Observer) -> Output {
        self.interp.process_observed(packet, ingress_port, now_us, observer)
    }
}

impl fmt::Debug for ShadowExecution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShadowExecution").field("vdp", &self.vdp).finish_non_exhaustive()
    }
}
