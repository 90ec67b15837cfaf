//! Lines about meters and filters.

use hopwright_ir::ExternKind;
use hopwright_ir::meter::Rates;

use super::Runner;
use crate::error::LineError;
use crate::script::{Command, CounterIndex};

impl<'a> Runner<'a> {
    /// Carries out a line about meters and filters.
    pub(super) fn meters(&mut self, command: &'a Command) -> Result<(), LineError> {
        match command {
            Command::MeterGet(name, index) => {
                let meter = self.object(name, "meter", |k| matches!(k, ExternKind::Meter { .. }))?;
                let text = match self.engine.meter(meter, *index)? {
                    Some(Rates { cir, cburst, pir, pburst }) => {
                        format!("{cir}/s and {cburst}, {pir}/s and {pburst}")
                    }
                    None => "no rates".into(),
                };
                self.note(format_args!("{name}[{index}]: {text}"));
            }
            Command::MeterSet(name, CounterIndex::Index(index), rates) => {
                let meter = self.object(name, "meter", |k| matches!(k, ExternKind::Meter { .. }))?;
                self.engine.set_meter(meter, *index, *rates)?;
            }
            Command::MeterSet(name, CounterIndex::Entry(entry), rates) => {
                let meter = self.object(name, "direct meter", |k| matches!(k, ExternKind::DirectMeter { .. }))?;
                let (table, entry) =
                    self.entries.get(entry.as_str()).ok_or_else(|| LineError::NoEntry(entry.clone()))?;
                if self.engine.pipeline()[*table].direct_meter != Some(meter) {
                    return Err(LineError::OtherTable { object: name.into(), does_not: "does not measure" });
                }
                self.engine.set_direct_meter(*table, entry, *rates)?;
            }
            Command::MeterArraySet(name, rates) => {
                let meter = self.object(name, "meter", |k| matches!(k, ExternKind::Meter { .. }))?;
                if let ExternKind::Meter { size, .. } = self.engine.pipeline()[meter].kind {
                    for index in 0..size {
                        self.engine.set_meter(meter, index, *rates)?;
                    }
                }
            }
            Command::FilterSet(name, index, settings) => {
                let filter = self.object(name, "filter", |k| matches!(k, ExternKind::Named { .. }))?;
                let index = match index {
                    CounterIndex::Index(index) => *index,
                    CounterIndex::Entry(entry) => {
                        let (table, entry) =
                            self.entries.get(entry.as_str()).ok_or_else(|| LineError::NoEntry(entry.clone()))?;
                        if !self.engine.pipeline()[*table].entry_cells.contains(&filter) {
                            return Err(LineError::OtherTable { object: name.into(), does_not: "is not of" });
                        }
                        self.engine.entry_index(*table, entry)?.into()
                    }
                };
                self.engine.set_filter(filter, index, settings)?;
            }
            _ => {}
        }
        Ok(())
    }
}
