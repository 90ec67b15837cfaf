//! The interpreter's access to a data plane's state, which is the same state that the control plane sets and generated
//! code uses.

use std::collections::HashMap;
use std::sync::Arc;

use hopwright_interp::{CloneSession, Entry, Replica, Store};
use hopwright_ir::meter::Color;
use hopwright_ir::profile::Profile;
use hopwright_ir::{ActionCall, ExternId, MatchValue, TableId, ValueSetId};
use num_bigint::BigUint;

use crate::control::Control;
use crate::state::ExternObject;
use crate::state::cell::Cells;

/// A [`Store`] over the state of a data plane.
pub(crate) struct LiveStore {
    control: Arc<Control>,
    access: Access,
}

enum Access {
    /// The interpreter is the data plane's engine: it counts and writes.
    Engine {
        /// The interpreter's own copies of the counters.
        counters: HashMap<ExternId, Arc<Cells>>,
    },
    /// The interpreter repeats the processing of a packet. It must not change state that others see.
    Shadow {
        /// Registers that the current packet has written.
        written: HashMap<(ExternId, u64), BigUint>,
    },
}

impl LiveStore {
    /// Creates the store of the interpreter that is the data plane's engine.
    pub(crate) fn of_engine(control: &Arc<Control>) -> LiveStore {
        let counters = control.join_counters().into_iter().map(|(at, cells)| (ExternId(at as u32), cells)).collect();
        LiveStore { control: control.clone(), access: Access::Engine { counters } }
    }

    /// Creates a store for shadow execution. Meters colour every packet green, and nothing is counted.
    pub(crate) fn shadow(control: &Arc<Control>) -> LiveStore {
        LiveStore { control: control.clone(), access: Access::Shadow { written: HashMap::new() } }
    }

    fn counts(&self) -> bool {
        matches!(self.access, Access::Engine { .. })
    }
}

impl Store for LiveStore {
    fn begin(&mut self) {
        if let Access::Shadow { written } = &mut self.access {
            written.clear();
        }
    }

    fn visit_entries(&self, table: TableId, visit: &mut dyn FnMut(Entry<'_>)) {
        self.control[table].visit(visit);
    }

    fn default_action(&self, table: TableId) -> ActionCall {
        self.control[table].default_action()
    }

    fn count_hit(&mut self, table: TableId, matches: &[MatchValue], priority: i32, bytes: u64) {
        if self.counts() {
            self.control[table].count_hit(matches, priority, bytes);
        }
    }

    fn recount_hit(&mut self, table: TableId, matches: &[MatchValue], priority: i32, bytes: u64) {
        if self.counts() {
            self.control[table].recount_hit(matches, priority, bytes);
        }
    }

    fn measure_hit(&mut self, table: TableId, matches: &[MatchValue], priority: i32, now_us: u64, cost: u64) -> Color {
        if !self.counts() {
            return Color::Green;
        }
        // SAFETY: the interpreter is the engine, so no generated code runs the meter.
        unsafe { self.control[table].measure_hit(matches, priority, now_us, self.control.metered(table, cost)) }
    }

    fn visit_profile(&self, profile: ExternId, visit: &mut dyn FnMut(&Profile)) {
        if let ExternObject::Profile(profile) = &self.control.externs()[profile.index()] {
            profile.read(visit);
        }
    }

    fn visit_members(&self, set: ValueSetId, visit: &mut dyn FnMut(&[MatchValue])) {
        self.control.value_sets()[set.index()].members().iter().for_each(|member| visit(member));
    }

    fn count(&mut self, counter: ExternId, index: u64, bytes: u64) {
        if let Access::Engine { counters } = &self.access
            && let (Some(cells), Ok(at)) = (counters.get(&counter), usize::try_from(index))
            && at < cells.len()
        {
            cells.count(at, bytes);
        }
    }

    fn measure(&mut self, meter: ExternId, index: u64, now_us: u64, cost: u64) -> Option<Color> {
        let ExternObject::Meters(meters) = &self.control.externs()[meter.index()] else { return None };
        let at = usize::try_from(index).ok().filter(|at| *at < meters.len())?;
        if !self.counts() {
            return Some(Color::Green);
        }
        // SAFETY: the interpreter is the engine, so no generated code runs the meter.
        Some(unsafe { meters.measure(at, now_us, meters.cost(cost)) })
    }

    fn read_register(&self, register: ExternId, index: u64) -> Option<BigUint> {
        if let Access::Shadow { written } = &self.access
            && let Some(value) = written.get(&(register, index))
        {
            return Some(value.clone());
        }
        self.control.register(register).ok()?.read(index).ok()
    }

    fn write_register(&mut self, register: ExternId, index: u64, value: BigUint) {
        let Ok(registers) = self.control.register(register) else { return };
        match &mut self.access {
            // Writes out of range are ignored.
            Access::Engine { .. } => drop(registers.write(index, value)),
            Access::Shadow { written } => drop(written.insert((register, index), value)),
        }
    }

    fn clone_session(&self, session: u32) -> Option<CloneSession> {
        self.control.traffic().sessions.get(&session).copied()
    }

    fn multicast_group(&self, group: u16) -> Vec<Replica> {
        self.control.traffic().groups.get(&group).cloned().unwrap_or_default()
    }
}
