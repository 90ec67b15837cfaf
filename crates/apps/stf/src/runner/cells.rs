//! Lines about counters and registers.

use hopwright_interp::Count;
use hopwright_ir::{ExternId, ExternKind};

use super::Runner;
use crate::error::LineError;
use crate::script::{Command, CounterIndex};

impl<'a> Runner<'a> {
    /// Carries out a line about counters and registers.
    pub(super) fn cells(&mut self, command: &'a Command) -> Result<(), LineError> {
        match command {
            Command::CheckCounter { counter, index, bytes, check } => {
                let count = self.count(counter, index)?;
                let (found, unit) = if *bytes { (count.bytes, "bytes") } else { (count.packets, "packets") };
                if let Some((comparison, wanted)) = check
                    && !comparison.holds(&found, wanted)
                {
                    self.fail(
                        self.line,
                        format!("counter `{counter}`: {found} {unit}, expected {comparison} {wanted}"),
                    );
                }
            }
            Command::CheckRegister(name, index, bits, comparison, wanted) => {
                let register = self.register(name)?;
                let mut found = self.engine.register(register, *index)?;
                if let Some((hi, lo)) = *bits {
                    found = (found >> lo) & hopwright_ir::bits::mask(hi - lo + 1);
                }
                if !comparison.holds(&found, &wanted.value) {
                    let [found, expected] = [&found, &wanted.value].map(|value| wanted.text_of(value));
                    self.fail(self.line, format!("register `{name}`: {found}, expected {comparison} {expected}"));
                }
            }
            Command::CounterRead(name, index) => {
                let count = self.count(name, &CounterIndex::Index(*index))?;
                self.note(format_args!("{name}[{index}]: {} packets, {} bytes", count.packets, count.bytes));
            }
            Command::CounterWrite(name, index, packets, bytes) => {
                let counter = self.object(name, "counter", |k| matches!(k, ExternKind::Counter { .. }))?;
                self.engine.set_counter(counter, *index, Count { packets: *packets, bytes: *bytes })?;
            }
            Command::RegisterRead(name, index) => {
                let register = self.register(name)?;
                let value = self.engine.register(register, *index)?;
                self.note(format_args!("{name}[{index}]: {value:#x}"));
            }
            Command::RegisterWrite(name, index, value) => {
                let register = self.register(name)?;
                self.engine.set_register(register, *index, value.clone())?;
            }
            Command::RegisterReset(name) => {
                let register = self.register(name)?;
                let object = &self.engine.pipeline()[register];
                if let ExternKind::Register { size, .. } = object.kind {
                    let initial = object.initial.clone();
                    for index in 0..size {
                        self.engine.set_register(register, index, initial.clone())?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn register(&self, name: &str) -> Result<ExternId, LineError> {
        self.object(name, "register", |k| matches!(k, ExternKind::Register { .. }))
    }

    fn count(&mut self, name: &str, index: &CounterIndex) -> Result<Count, LineError> {
        match index {
            CounterIndex::Index(index) => {
                let counter = self.object(name, "counter", |k| matches!(k, ExternKind::Counter { .. }))?;
                Ok(self.engine.counter(counter, *index)?)
            }
            CounterIndex::Entry(entry) => {
                let counter = self.object(name, "direct counter", |k| matches!(k, ExternKind::DirectCounter { .. }))?;
                let (table, entry) =
                    self.entries.get(entry.as_str()).ok_or_else(|| LineError::NoEntry(entry.clone()))?;
                if self.engine.pipeline()[*table].direct_counter != Some(counter) {
                    return Err(LineError::OtherTable { object: name.into(), does_not: "does not count" });
                }
                Ok(self.engine.direct_counter(*table, entry)?)
            }
        }
    }
}
