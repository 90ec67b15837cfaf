//! Arrays that programs index: counters, meters, registers.

use hopwright_control::entity::Cells;
use hopwright_control::schema::{Array, Register};
use hopwright_control::{Entity, Error, ErrorKind, Operation, Update};
use hopwright_dataplane::{Count, Rates};
use hopwright_ir::custom_crc::{self, CrcParameters};
use hopwright_ir::{ExternInstance, ExternKind, HashAlgorithm, bits};
use num_bigint::{BigInt, BigUint};

use super::Runtime;
use crate::failure::{CounterCode, Failure, HashCode, MeterCode, RegisterCode, Result};

/// A rate of a meter, in packets or bytes a microsecond, and its burst: `BmMeterRateConfig`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeterRate {
    pub(crate) per_microsecond: f64,
    pub(crate) burst: i32,
}

/// Microseconds in a second.
const MICROSECONDS: f64 = 1e6;

/// The two rates of a meter.
pub(super) fn to_rates(rates: &[MeterRate]) -> std::result::Result<Rates, (MeterCode, &'static str)> {
    let [committed, peak] = rates else {
        return Err((MeterCode::BadRates, "a meter has two rates: the committed one and the peak one"));
    };
    let rate = |rate: f64| match (rate * MICROSECONDS).round() {
        // Up to where every integer is a double of its own.
        scaled if (0.0..=9e15).contains(&scaled) => Ok(scaled as u64),
        _ => Err((MeterCode::InvalidRate, "a rate is negative, too high or no number")),
    };
    let burst = |burst: i32| u64::try_from(burst).map_err(|_| (MeterCode::InvalidBurst, "a negative burst"));
    let (cir, pir) = (rate(committed.per_microsecond)?, rate(peak.per_microsecond)?);
    if cir > pir {
        return Err((MeterCode::InvalidRate, "the committed rate is above the peak rate"));
    }
    Ok(Rates { cir, cburst: burst(committed.burst)?, pir, pburst: burst(peak.burst)? })
}

/// The same for clients; nothing for a meter without rates.
pub(super) fn from_rates(rates: Option<Rates>) -> Vec<MeterRate> {
    let Some(Rates { cir, cburst, pir, pburst }) = rates else { return Vec::new() };
    let rate = |rate: u64, burst: u64| MeterRate {
        per_microsecond: rate as f64 / MICROSECONDS,
        burst: i32::try_from(burst).unwrap_or(i32::MAX),
    };
    vec![rate(cir, cburst), rate(pir, pburst)]
}

/// A cell of an array. No array has as many as a negative index becomes.
fn cell(object: u32, index: i32) -> Cells {
    Cells { object, index: Some(index as u64) }
}

/// All cells of an array.
fn all(object: u32) -> Cells {
    Cells { object, index: None }
}

impl Runtime {
    fn counter(&self, name: &str) -> Result<(u32, &Array)> {
        let found = self.object(&self.schema.counters, name);
        found.ok_or_else(|| CounterCode::InvalidName.because(format!("the program has no counter `{name}`")))
    }

    pub(crate) fn read_counter(&self, counter: &str, index: i32) -> Result<Count> {
        let counter = self.counter(counter)?.1.at;
        self.control().counter(counter).and_then(|cells| cells.read(index as u64)).map_err(of_counter)
    }

    pub(crate) fn write_counter(&self, counter: &str, index: i32, count: Count) -> Result<()> {
        let cell = cell(self.counter(counter)?.0, index);
        self.write(Operation::Modify, Entity::Counter(cell, count)).map_err(of_counter)
    }

    pub(crate) fn reset_counters(&self, counter: &str) -> Result<()> {
        let cells = all(self.counter(counter)?.0);
        self.write(Operation::Modify, Entity::Counter(cells, Count::default())).map_err(of_counter)
    }

    fn meter(&self, name: &str) -> Result<(u32, &Array)> {
        let found = self.object(&self.schema.meters, name);
        found.ok_or_else(|| MeterCode::InvalidName.because(format!("the program has no meter `{name}`")))
    }

    pub(crate) fn set_meter(&self, meter: &str, index: i32, rates: &[MeterRate]) -> Result<()> {
        let (meter, array) = self.meter(meter)?;
        // A wrong index is reported before wrong rates, as BMv2 does.
        array.range(Some(index as u64)).map_err(of_meter)?;
        self.set_rates(cell(meter, index), rates)
    }

    pub(crate) fn set_meters(&self, meter: &str, rates: &[MeterRate]) -> Result<()> {
        self.set_rates(all(self.meter(meter)?.0), rates)
    }

    fn set_rates(&self, cells: Cells, rates: &[MeterRate]) -> Result<()> {
        let rates = to_rates(rates).map_err(|(code, reason)| code.because(reason))?;
        self.write(Operation::Modify, Entity::Meter(cells, Some(rates))).map_err(of_meter)
    }

    pub(crate) fn meter_rates(&self, meter: &str, index: i32) -> Result<Vec<MeterRate>> {
        let meter = self.meter(meter)?.1.at;
        let rates = self.control().meter(meter).and_then(|cells| cells.rates(index as u64));
        Ok(from_rates(rates.map_err(of_meter)?))
    }

    fn register(&self, name: &str) -> Result<(u32, &Register)> {
        let found = self.object(&self.schema.registers, name);
        found.ok_or_else(|| RegisterCode::InvalidName.because(format!("the program has no register `{name}`")))
    }

    fn register_cell(&self, register: &Register, index: u64) -> Result<i64> {
        let value = self.control().register(register.cells.at).and_then(|cells| cells.read(index));
        to_i64(&value.map_err(of_register)?)
    }

    pub(crate) fn read_register(&self, register: &str, index: i32) -> Result<i64> {
        self.register_cell(self.register(register)?.1, index as u64)
    }

    pub(crate) fn read_registers(&self, register: &str) -> Result<Vec<i64>> {
        let register = self.register(register)?.1;
        (0..register.cells.size).map(|at| self.register_cell(register, at)).collect()
    }

    pub(crate) fn write_register(&self, register: &str, index: i32, value: i64) -> Result<()> {
        let end = index.checked_add(1).ok_or_else(|| RegisterCode::InvalidIndex.because("no such index"))?;
        self.write_registers(register, index, end, value)
    }

    /// Writes the cells from an index to one before another.
    pub(crate) fn write_registers(&self, register: &str, start: i32, end: i32, value: i64) -> Result<()> {
        let (object, array) = self.register(register)?;
        if start < 0 || end < start || end as u64 > array.cells.size {
            return Err(RegisterCode::InvalidIndex.because("an index beyond the array"));
        }
        let value = register_value(array, value)?;
        let one = |index| Update::modify(Entity::Register(cell(object, index), value.clone()));
        let updates: Vec<Update> = (start..end).map(one).collect();
        self.model.lock().make_updates(&updates).map_err(of_register)
    }

    pub(crate) fn reset_registers(&self, register: &str) -> Result<()> {
        let cells = all(self.register(register)?.0);
        self.write(Operation::Modify, Entity::Register(cells, BigUint::ZERO)).map_err(of_register)
    }

    /// Sets the parameters of a calculation with this algorithm.
    pub(crate) fn set_crc(&self, algorithm: HashAlgorithm, calculation: &str, parameters: CrcParameters) -> Result<()> {
        let name = custom_crc::register_name(algorithm, calculation);
        let fixed =
            || HashCode::InvalidConfig.because(format!("the parameters of `{calculation}` are part of the program"));
        let register = self.control().register(name.as_str()).map_err(|_| fixed())?;
        for (index, word) in (0..).zip(parameters.words(algorithm)) {
            register.write(index, word).map_err(|error| HashCode::InvalidConfig.because(error))?;
        }
        Ok(())
    }

    /// Brings an object to its initial state.
    pub(super) fn reset_object(&mut self, instance: &ExternInstance) -> Result<()> {
        let name = &instance.name;
        match instance.kind {
            ExternKind::Counter { .. } => self.reset_counters(name),
            ExternKind::Meter { .. } => {
                let cells = all(self.meter(name)?.0);
                self.write(Operation::Modify, Entity::Meter(cells, None)).map_err(of_meter)
            }
            ExternKind::Register { .. } => {
                let cells = all(self.register(name)?.0);
                self.write(Operation::Modify, Entity::Register(cells, instance.initial.clone())).map_err(of_register)
            }
            ExternKind::ActionProfile { .. } | ExternKind::ActionSelector { .. } => self.clear_profile(name),
            _ => Ok(()),
        }
    }
}

/// The bits of a register's value. Negative ones are in two's complement of the register's width.
fn register_value(register: &Register, value: i64) -> Result<BigUint> {
    let width = register.ty.width();
    let fits = match u64::try_from(value) {
        Ok(value) => bits::fits(&value.into(), width),
        // Clients have no unsigned numbers, so that those of 64 bits may be negative.
        Err(_) => width >= 64 || (width > 0 && value >= -1 << (width - 1)),
    };
    if fits && width <= 64 {
        return Ok(bits::from_signed(&BigInt::from(value), width));
    }
    match u64::try_from(value) {
        Ok(value) if fits => Ok(value.into()),
        _ => {
            let name = &register.cells.name;
            Err(RegisterCode::Error.because(format!("{value} does not fit the {width} bits of `{name}`")))
        }
    }
}

fn to_i64(value: &BigUint) -> Result<i64> {
    let number = u64::try_from(value).map_err(|_| RegisterCode::Error.because("the value has more than 64 bits"))?;
    Ok(number as i64)
}

macro_rules! exceptions {
    ($($name:ident $code:ident;)*) => {
        $(
            fn $name(error: impl Into<Error>) -> Failure {
                let error = error.into();
                let code = if error.kind == ErrorKind::OutOfRange { $code::InvalidIndex } else { $code::Error };
                code.because(error)
            }
        )*
    };
}

exceptions! { of_counter CounterCode; of_meter MeterCode; of_register RegisterCode; }

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(rates: &[(f64, i32)]) -> std::result::Result<Rates, MeterCode> {
        let rates: Vec<_> =
            rates.iter().map(|&(per_microsecond, burst)| MeterRate { per_microsecond, burst }).collect();
        to_rates(&rates).map_err(|(code, _)| code)
    }

    #[test]
    fn rates_are_converted_and_checked() {
        let both = rates(&[(0.001, 10), (2.0, 20)]).unwrap();
        assert_eq!(both, Rates { cir: 1000, cburst: 10, pir: 2_000_000, pburst: 20 });
        let shown: Vec<_> = from_rates(Some(both)).iter().map(|rate| (rate.per_microsecond, rate.burst)).collect();
        assert_eq!(shown, [(0.001, 10), (2.0, 20)]);
        assert_eq!(rates(&[(1.0, 1)]), Err(MeterCode::BadRates));
        assert_eq!(rates(&[(2.0, 1), (1.0, 1)]), Err(MeterCode::InvalidRate));
        assert_eq!(rates(&[(f64::NAN, 1), (1.0, 1)]), Err(MeterCode::InvalidRate));
        assert_eq!(rates(&[(-1.0, 1), (f64::INFINITY, 1)]), Err(MeterCode::InvalidRate));
        assert_eq!(rates(&[(1.0, -1), (1.0, 1)]), Err(MeterCode::InvalidBurst));
    }
}
