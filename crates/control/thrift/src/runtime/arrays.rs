//! Arrays that programs index: counters, meters, registers.

use hopwright_dataplane::{ControlError, Count, CounterArray, MeterArray, Rates, RegisterArray};
use hopwright_ir::{ExternId, ExternInstance, ExternKind, bits};
use num_bigint::{BigInt, BigUint};

use super::Runtime;
use crate::failure::{CounterCode, Failure, MeterCode, RegisterCode, Result};

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

impl Runtime {
    fn counter(&self, name: &str) -> Result<CounterArray<'_>> {
        self.control().counter(name).map_err(of_counter)
    }

    pub(crate) fn read_counter(&self, counter: &str, index: i32) -> Result<Count> {
        let counter = self.counter(counter)?;
        let index = u64::try_from(index).map_err(|_| CounterCode::InvalidIndex.because("a negative index"))?;
        counter.read(index).map_err(of_counter)
    }

    pub(crate) fn write_counter(&self, counter: &str, index: i32, count: Count) -> Result<()> {
        let counter = self.counter(counter)?;
        let index = u64::try_from(index).map_err(|_| CounterCode::InvalidIndex.because("a negative index"))?;
        counter.write(index, count).map_err(of_counter)
    }

    pub(crate) fn reset_counters(&self, counter: &str) -> Result<()> {
        let name = counter;
        let counter = self.counter(name)?;
        let cells = 0..self.size_of(name);
        cells.into_iter().try_for_each(|at| counter.write(at, Count::default())).map_err(of_counter)
    }

    fn meter(&self, name: &str) -> Result<MeterArray<'_>> {
        self.control().meter(name).map_err(of_meter)
    }

    pub(crate) fn set_meter(&self, meter: &str, index: i32, rates: &[MeterRate]) -> Result<()> {
        let meter = self.meter(meter)?;
        let index = u64::try_from(index).map_err(|_| MeterCode::InvalidIndex.because("a negative index"))?;
        // A wrong index is told before wrong rates, as BMv2 does.
        meter.rates(index).map_err(of_meter)?;
        let rates = to_rates(rates).map_err(|(code, reason)| code.because(reason))?;
        meter.set_rates(index, Some(rates)).map_err(of_meter)
    }

    pub(crate) fn set_meters(&self, meter: &str, rates: &[MeterRate]) -> Result<()> {
        let name = meter;
        let meter = self.meter(name)?;
        let rates = to_rates(rates).map_err(|(code, reason)| code.because(reason))?;
        let mut cells = 0..self.size_of(name);
        cells.try_for_each(|at| meter.set_rates(at, Some(rates))).map_err(of_meter)
    }

    pub(crate) fn meter_rates(&self, meter: &str, index: i32) -> Result<Vec<MeterRate>> {
        let meter = self.meter(meter)?;
        let index = u64::try_from(index).map_err(|_| MeterCode::InvalidIndex.because("a negative index"))?;
        Ok(from_rates(meter.rates(index).map_err(of_meter)?))
    }

    fn register(&self, name: &str) -> Result<RegisterArray<'_>> {
        self.control().register(name).map_err(of_register)
    }

    pub(crate) fn read_register(&self, register: &str, index: i32) -> Result<i64> {
        let array = self.register(register)?;
        let index = u64::try_from(index).map_err(|_| RegisterCode::InvalidIndex.because("a negative index"))?;
        to_i64(&array.read(index).map_err(of_register)?)
    }

    pub(crate) fn read_registers(&self, register: &str) -> Result<Vec<i64>> {
        let array = self.register(register)?;
        (0..self.size_of(register)).map(|at| to_i64(&array.read(at).map_err(of_register)?)).collect()
    }

    pub(crate) fn write_register(&self, register: &str, index: i32, value: i64) -> Result<()> {
        let end = index.checked_add(1).ok_or_else(|| RegisterCode::InvalidIndex.because("no such index"))?;
        self.write_registers(register, index, end, value)
    }

    /// Writes the cells from an index to one before another.
    pub(crate) fn write_registers(&self, register: &str, start: i32, end: i32, value: i64) -> Result<()> {
        let array = self.register(register)?;
        let (size, bad) = (self.size_of(register), |reason: &str| RegisterCode::InvalidIndex.because(reason));
        let start = u64::try_from(start).map_err(|_| bad("a negative index"))?;
        let end = u64::try_from(end).ok().filter(|end| *end <= size && start <= *end);
        let end = end.ok_or_else(|| bad("an index beyond the array"))?;
        let value = self.register_value(register, value)?;
        (start..end).try_for_each(|at| array.write(at, value.clone())).map_err(of_register)
    }

    pub(crate) fn reset_registers(&self, register: &str) -> Result<()> {
        let array = self.register(register)?;
        (0..self.size_of(register)).try_for_each(|at| array.write(at, 0u32)).map_err(of_register)
    }

    /// The bits of a register's value. Negative ones are in two's complement of the register's width.
    fn register_value(&self, register: &str, value: i64) -> Result<BigUint> {
        let width = self.pipeline().extern_by_name(register).map(|at| &self.pipeline()[at].kind);
        let width = if let Some(ExternKind::Register { ty, .. }) = width { ty.width() } else { 0 };
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
            _ => Err(RegisterCode::Error.because(format!("{value} does not fit the {width} bits of `{register}`"))),
        }
    }

    /// The number of an array's cells; zero if there is no such array.
    fn size_of(&self, name: &str) -> u64 {
        let kind = self.pipeline().extern_by_name(name).map(|at| &self.pipeline()[at].kind);
        match kind {
            Some(
                ExternKind::Counter { size, .. } | ExternKind::Meter { size, .. } | ExternKind::Register { size, .. },
            ) => *size,
            _ => 0,
        }
    }

    /// Brings an object to its initial state.
    pub(super) fn reset_object(&mut self, at: ExternId, instance: &ExternInstance) -> Result<()> {
        match instance.kind {
            ExternKind::Counter { .. } => self.reset_counters(&instance.name),
            ExternKind::Meter { size, .. } => {
                let meter = self.control().meter(at).map_err(of_meter)?;
                (0..size).try_for_each(|cell| meter.set_rates(cell, None)).map_err(of_meter)
            }
            ExternKind::Register { size, .. } => {
                let register = self.control().register(at).map_err(of_register)?;
                (0..size).try_for_each(|cell| register.write(cell, instance.initial.clone())).map_err(of_register)
            }
            ExternKind::ActionProfile { .. } | ExternKind::ActionSelector { .. } => self.clear_profile(at),
            _ => Ok(()),
        }
    }
}

fn to_i64(value: &BigUint) -> Result<i64> {
    let number = u64::try_from(value).map_err(|_| RegisterCode::Error.because("the value has more than 64 bits"))?;
    Ok(number as i64)
}

fn of_counter(error: ControlError) -> Failure {
    match error {
        ControlError::UnknownExtern(_) | ControlError::WrongExtern { .. } => CounterCode::InvalidName,
        ControlError::Index { .. } => CounterCode::InvalidIndex,
        _ => CounterCode::Error,
    }
    .because(error)
}

fn of_meter(error: ControlError) -> Failure {
    match error {
        ControlError::UnknownExtern(_) | ControlError::WrongExtern { .. } => MeterCode::InvalidName,
        ControlError::Index { .. } => MeterCode::InvalidIndex,
        _ => MeterCode::Error,
    }
    .because(error)
}

fn of_register(error: ControlError) -> Failure {
    match error {
        ControlError::UnknownExtern(_) | ControlError::WrongExtern { .. } => RegisterCode::InvalidName,
        ControlError::Index { .. } => RegisterCode::InvalidIndex,
        _ => RegisterCode::Error,
    }
    .because(error)
}

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
