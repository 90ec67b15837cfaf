//! The extern objects of a program.

use std::sync::{Arc, Mutex, PoisonError};

use hopwright_abi::ExternHandle;
use hopwright_interp::{ExternError, ExternModel, ExternRegistry};
use hopwright_ir::{ExternId, ExternKind, Pipeline};
use num_bigint::BigUint;

use super::cell::{Counters, Registers};
use super::meter::Meters;
use crate::externs::{ExternTypes, Model, NativeExtern, Restore, method_numbers};
use crate::sync::quiescence::Domain;
use crate::table::{self, EntryCells, Profiles};
use hopwright_abi::{Interface, limbs_of, push_limbs};

/// An extern object with its state.
pub(crate) enum ExternObject {
    Counters(Counters),
    Registers {
        values: Arc<Registers>,
        width: u32,
        /// What they hold at first.
        initial: BigUint,
    },
    Named(Arc<dyn NativeExtern>),
    /// Indirect meters, or what the direct meters of a table have in common.
    Meters(Box<Meters>),
    Profile(Arc<Profiles>),
    /// No state here. Direct counters, for example, are in table entries.
    Stateless,
}

/// The maximum number of cells of a counter or register array.
const MAX_CELLS: u64 = 1 << 28;

impl ExternObject {
    /// Creates the object in its initial state.
    pub(crate) fn new(
        pipeline: &Arc<Pipeline>,
        id: ExternId,
        types: &ExternTypes,
        domain: &Arc<Domain>,
    ) -> Result<ExternObject, ExternError> {
        let kind = &pipeline[id].kind;
        let cells = |size: u64| {
            usize::try_from(size)
                .ok()
                .filter(|_| size <= MAX_CELLS)
                .ok_or_else(|| format!("{size} cells are not supported yet (at most {MAX_CELLS})"))
        };
        Ok(match kind {
            ExternKind::Counter { size, .. } => ExternObject::Counters(Counters::new(cells(*size)?)),
            ExternKind::Register { size, ty } => {
                let width = ty.width();
                let values = Registers::new(cells(*size)?, limbs_of(width).max(1));
                values.fill(&pipeline[id].initial, width);
                ExternObject::Registers { values: Arc::new(values), width, initial: pipeline[id].initial.clone() }
            }
            ExternKind::Named { type_name, args } => {
                let object = types.construct(type_name, args, domain)?;
                let called = &Interface::of(pipeline).methods[id.0 as usize];
                method_numbers(&*object, called).map_err(|why| format!("`{}`: {why}", pipeline[id].name))?;
                ExternObject::Named(object)
            }
            ExternKind::Meter { size, unit } => ExternObject::Meters(Meters::indirect(*unit, cells(*size)?, domain)),
            ExternKind::DirectMeter { unit, .. } => ExternObject::Meters(Meters::direct(*unit, domain)),
            ExternKind::ActionProfile { .. } | ExternKind::ActionSelector { .. } => {
                Profiles::new(pipeline, id, domain).map_or(ExternObject::Stateless, ExternObject::Profile)
            }
            ExternKind::DirectCounter { .. } | ExternKind::Stateless => ExternObject::Stateless,
        })
    }

    /// Returns the cells, for tables with a cell of the object for each entry.
    pub(crate) fn entry_cells(&self) -> Option<Box<dyn EntryCells>> {
        match self {
            ExternObject::Registers { values, width, initial } => {
                let mut first = Vec::new();
                push_limbs(&mut first, initial, limbs_of(*width));
                Some(Box::new(RegisterCells { values: values.clone(), initial: first }))
            }
            ExternObject::Named(object) => Some(Box::new(NamedCells(object.clone()))),
            _ => None,
        }
    }

    /// Returns the handle that generated code uses. For named externs it is empty: [`MachineProgram`](crate::executor) makes their
    /// handles.
    pub(crate) fn handle(&self) -> ExternHandle {
        let null = std::ptr::null_mut();
        match self {
            ExternObject::Meters(meters) => meters.handle(),
            ExternObject::Profile(_) => ExternHandle { state: null, size: 0, call: Some(table::choose) },
            ExternObject::Registers { values, .. } => {
                ExternHandle { state: values.as_ptr().cast(), size: values.len() as u64, call: None }
            }
            // The caller replaces the handle of counters by one for the worker's own copy.
            ExternObject::Counters(_) | ExternObject::Named(_) | ExternObject::Stateless => {
                ExternHandle { state: null, size: 0, call: None }
            }
        }
    }
}

/// The values of a register, one for each entry of a table.
struct RegisterCells {
    values: Arc<Registers>,
    initial: Vec<u64>,
}

impl EntryCells for RegisterCells {
    fn clear(&self, index: u32) {
        self.values.write(index as usize, &self.initial);
    }

    fn save(&self, index: u32) -> Restore {
        let (values, held) = (self.values.clone(), self.values.read(index as usize));
        Box::new(move || values.write(index as usize, &held))
    }
}

/// The cells of an object, one for each entry of a table, which exist.
struct NamedCells(Arc<dyn NativeExtern>);

fn cell_setting(index: u32) -> String {
    format!("cell/{index}")
}

impl EntryCells for NamedCells {
    fn clear(&self, index: u32) {
        let _ = self.0.control(&cell_setting(index), &[]);
    }

    fn save(&self, index: u32) -> Restore {
        self.0.save(&cell_setting(index)).unwrap_or_else(|| Box::new(|| {}))
    }
}

/// Returns an extern registry for one interpreter that hands out this data plane's objects instead of creating new
/// ones, so that keys set by the control plane apply to it. It relies on the interpreter creating objects in the order
/// of the program's instances. Calls from a `shadow` change nothing.
pub(crate) fn models_of(
    pipeline: &Pipeline,
    externs: &[ExternObject],
    domain: &Arc<Domain>,
    shadow: bool,
) -> ExternRegistry {
    let mut by_type: std::collections::BTreeMap<&str, Vec<Arc<dyn NativeExtern>>> = Default::default();
    for (instance, object) in pipeline.externs.iter().zip(externs).rev() {
        if let (ExternKind::Named { type_name, .. }, ExternObject::Named(object)) = (&instance.kind, object) {
            let observer = if shadow { object.observer() } else { None };
            by_type.entry(type_name).or_default().push(observer.unwrap_or_else(|| object.clone()));
        }
    }
    let mut registry = ExternRegistry::new();
    for (type_name, objects) in by_type {
        let (objects, domain) = (Mutex::new(objects), domain.clone());
        registry.add_type(type_name, move |_| {
            let object = objects.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let object = object.ok_or("more objects than the program declares")?;
            Ok(Box::new(Model::new(object, &domain)) as Box<dyn ExternModel>)
        });
    }
    registry
}
