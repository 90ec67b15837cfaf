//! `Lpf` and `Wred` of Tofino: values that are smoothed over time, and drops by smoothed values.
//!
//! An `Lpf` of type `SAMPLE` is an exponentially weighted moving average: after `dt` it moves to a value by `1 - exp(-dt / t)` of
//! the difference, where `t` is the time constant for greater or that for smaller values. One of type `RATE` approximates the sum of
//! the values in a time constant: it decays to `exp(-dt / t)` of itself, and the value is added. The result is divided by a power of
//! two. A `Wred` takes the average, and drops with a probability that rises from zero to a maximum between two thresholds; at
//! the upper one everything is dropped. What has no settings passes values on and drops nothing.
//!
//! The device computes with small floating point numbers and nanoseconds, we do with `f64` and the microseconds of a packet's
//! timestamp.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hopwright_interp::ExternError;
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use super::native_extern::{NativeCall, NativeExtern, Restore};
use super::one_argument;
use crate::native::{self, Callee};
use crate::sync::quiescence::Inside;

/// The maximum number of cells.
const MAX_CELLS: u64 = 1 << 22;
/// The time of a cell that has seen no packet.
const NEVER: u64 = u64::MAX;
/// Nanoseconds in a microsecond.
const NANOSECONDS: f64 = 1000.0;

/// A number that one worker writes and any thread may read.
struct Number(AtomicU64);

impl Number {
    fn new(value: f64) -> Number {
        Number(AtomicU64::new(value.to_bits()))
    }

    fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Ordering::Relaxed);
    }
}

/// A cell: four settings, and the smoothed value at the time of the last packet. A packet may meet a part of new settings.
struct Cell {
    /// Of an `Lpf`: both time constants in microseconds, the divisor, and 1 for a sum. Of a `Wred`: the time constant, both
    /// thresholds and the probability at the upper one.
    settings: [Number; 4],
    /// Whether there are settings.
    set: AtomicU64,
    value: Number,
    last_us: AtomicU64,
}

impl Cell {
    fn new() -> Cell {
        let settings = [0.0; 4].map(Number::new);
        Cell { settings, set: AtomicU64::new(0), value: Number::new(0.0), last_us: AtomicU64::new(NEVER) }
    }

    fn settings(&self) -> Option<[f64; 4]> {
        let [a, b, c, d] = &self.settings;
        (self.set.load(Ordering::Acquire) != 0).then(|| [a.get(), b.get(), c.get(), d.get()])
    }

    /// Sets or removes the settings; the cell begins anew.
    fn configure(&self, settings: Option<[f64; 4]>) {
        self.set.store(0, Ordering::Relaxed);
        for (number, value) in self.settings.iter().zip(settings.unwrap_or_default()) {
            number.set(value);
        }
        self.value.set(0.0);
        self.last_us.store(NEVER, Ordering::Relaxed);
        self.set.store(u64::from(settings.is_some()), Ordering::Release);
    }

    /// Everything that the cell holds.
    fn words(&self) -> [u64; 7] {
        let [a, b, c, d] = &self.settings;
        [&a.0, &b.0, &c.0, &d.0, &self.set, &self.value.0, &self.last_us].map(|word| word.load(Ordering::Relaxed))
    }

    fn set_words(&self, words: [u64; 7]) {
        let [a, b, c, d] = &self.settings;
        let cells = [&a.0, &b.0, &c.0, &d.0, &self.set, &self.value.0, &self.last_us];
        cells.into_iter().zip(words).for_each(|(cell, word)| cell.store(word, Ordering::Relaxed));
    }

    /// Microseconds since the last packet, and the value then; `None` for the first packet.
    fn before(&self, now_us: u64) -> Option<(f64, f64)> {
        let last = self.last_us.load(Ordering::Relaxed);
        (last != NEVER).then(|| (now_us.saturating_sub(last) as f64, self.value.get()))
    }

    fn average(&self, value: f64, gain: f64, decay: f64, now_us: u64) -> f64 {
        let Some((passed, before)) = self.before(now_us) else { return value };
        let constant = if value > before { gain } else { decay };
        before + (value - before) * -(-passed / constant).exp_m1()
    }

    fn sum(&self, value: f64, constant: f64, now_us: u64) -> f64 {
        self.before(now_us).map_or(0.0, |(passed, before)| before * (-passed / constant).exp()) + value
    }
}

/// What an object computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// `Lpf`.
    LowPass,
    /// `Wred`, with its results for dropped packets and others.
    EarlyDrop { drop: u8, keep: u8 },
}

struct Filters {
    function: Function,
    cells: Box<[Cell]>,
}

impl Filters {
    /// The result for a packet; and what to remember, by cell.
    fn result(&self, value: u32, index: u64, now_us: u64, random: u32) -> (u32, Option<(&Cell, f64)>) {
        let cell = usize::try_from(index).ok().and_then(|index| self.cells.get(index));
        let configured = cell.and_then(|cell| Some((cell, cell.settings()?)));
        let x = f64::from(value);
        match (self.function, configured) {
            (Function::LowPass, None) => (value, None),
            (Function::EarlyDrop { keep, .. }, None) => (keep.into(), None),
            (Function::LowPass, Some((cell, [gain, decay, divisor, sums]))) => {
                let y = if sums > 0.0 { cell.sum(x, gain, now_us) } else { cell.average(x, gain, decay, now_us) };
                // Greater numbers become the greatest one.
                ((y / divisor) as u32, Some((cell, y)))
            }
            (Function::EarlyDrop { drop, keep }, Some((cell, [constant, least, most, at_most]))) => {
                let y = cell.average(x, constant, constant, now_us);
                let probability = match () {
                    () if y >= most => 1.0,
                    () if y < least => 0.0,
                    () => at_most * (y - least) / (most - least),
                };
                let drops = f64::from(random) < probability * (u32::MAX as f64 + 1.0);
                (u32::from(if drops { drop } else { keep }), Some((cell, y)))
            }
        }
    }

    fn execute(&self, value: u32, index: u64, now_us: u64, random: u32) -> u32 {
        let (result, change) = self.result(value, index, now_us, random);
        if let Some((cell, value)) = change {
            cell.value.set(value);
            cell.last_us.store(now_us, Ordering::Relaxed);
        }
        result
    }
}

/// An `Lpf` or `Wred` object.
pub(super) struct Filter {
    filters: Arc<Filters>,
    /// Whether calls leave the cells as they are.
    observes: bool,
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter").field("function", &self.filters.function).finish_non_exhaustive()
    }
}

impl Filter {
    /// An `Lpf` of a number of cells.
    pub(super) fn low_pass(args: &[BigUint]) -> Result<Filter, ExternError> {
        let [size] = args else { return Err(one_argument(args)) };
        Filter::new(Function::LowPass, size)
    }

    /// A `Wred` of a number of cells, with its results for dropped packets and others.
    pub(super) fn early_drop(args: &[BigUint]) -> Result<Filter, ExternError> {
        let [size, drop, keep] = args else {
            return Err(format!("three constructor arguments are expected, not {}", args.len()).into());
        };
        let [drop, keep] = [drop, keep].map(|value| value.to_u8().ok_or("results have eight bits"));
        Filter::new(Function::EarlyDrop { drop: drop?, keep: keep? }, size)
    }

    fn new(function: Function, size: &BigUint) -> Result<Filter, ExternError> {
        let size = size.to_u64().filter(|size| *size <= MAX_CELLS);
        let size = size.ok_or_else(|| format!("more than {MAX_CELLS} cells are not supported yet"))?;
        let cells = (0..size).map(|_| Cell::new()).collect();
        Ok(Filter { filters: Arc::new(Filters { function, cells }), observes: false })
    }

    /// Settings as text: `SAMPLE` or `RATE`, two time constants in nanoseconds and the binary logarithm of the divisor; or the time
    /// constant in nanoseconds, two thresholds and a probability.
    fn settings(&self, text: &str) -> Result<[f64; 4], String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |word: &str| {
            let number = word.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
            number.ok_or_else(|| format!("`{word}` is no number of at least zero"))
        };
        let constant = |word| match number(word)? {
            0.0 => Err("a time constant of zero".to_string()),
            nanoseconds => Ok(nanoseconds / NANOSECONDS),
        };
        match (self.filters.function, words.as_slice()) {
            (Function::LowPass, [kind @ ("SAMPLE" | "RATE"), gain, decay, scale]) => {
                let scale = number(scale)?;
                if scale > 32.0 {
                    return Err(format!("the result is divided by two to the power of {scale}, which is more than 32"));
                }
                Ok([constant(gain)?, constant(decay)?, scale.exp2(), f64::from(u8::from(*kind == "RATE"))])
            }
            (Function::EarlyDrop { .. }, [time, least, most, probability]) => {
                let (least, most, probability) = (number(least)?, number(most)?, number(probability)?);
                if least > most || probability > 1.0 {
                    return Err(format!("thresholds {least} and {most}, and probability {probability}"));
                }
                Ok([constant(time)?, least, most, probability])
            }
            (Function::LowPass, _) => Err("expected SAMPLE or RATE, two time constants and a scale".into()),
            (Function::EarlyDrop { .. }, _) => Err("expected a time constant, two thresholds and a probability".into()),
        }
    }
}

impl NativeExtern for Filter {
    fn methods(&self) -> &'static [&'static str] {
        &["execute"]
    }

    fn native(&self) -> NativeCall {
        native::call_of(self)
    }

    /// The value, the index, the time in microseconds, of a `Wred` a random number; the result.
    fn arguments(&self, _: u32) -> &'static [u32] {
        match self.filters.function {
            Function::LowPass => &[32, 32, 64, 32],
            Function::EarlyDrop { .. } => &[32, 32, 64, 32, 8],
        }
    }

    fn taken_in_turn(&self) -> bool {
        true
    }

    fn observer(&self) -> Option<Arc<dyn NativeExtern>> {
        Some(Arc::new(Filter { filters: self.filters.clone(), observes: true }))
    }

    /// `cell/N`: the settings of a cell, and its smoothed value.
    fn save(&self, setting: &str) -> Option<Restore> {
        let index: usize = setting.strip_prefix("cell/")?.parse().ok()?;
        let (filters, held) = (self.filters.clone(), self.filters.cells.get(index)?.words());
        Some(Box::new(move || filters.cells[index].set_words(held)))
    }

    /// `cell/N` gives a cell settings; none if they are empty. `check` only says whether a cell can have these.
    fn control(&self, setting: &str, data: &[u8]) -> Result<(), ExternError> {
        let text = std::str::from_utf8(data).map_err(|_| "settings are text")?;
        if setting == "check" {
            self.settings(text)?;
            return Ok(());
        }
        let index = setting.strip_prefix("cell/").and_then(|n| n.parse::<usize>().ok());
        let index = index.ok_or_else(|| ExternError::NoSetting(setting.into()))?;
        let cell = self.filters.cells.get(index).ok_or_else(|| format!("there is no cell {index}"))?;
        cell.configure(if text.is_empty() { None } else { Some(self.settings(text)?) });
        Ok(())
    }
}

impl Callee for Filter {
    fn words(&self, method: u32) -> usize {
        self.arguments(method).len()
    }

    fn call(&self, _: u32, args: &mut [u64], _: Inside<'_>) {
        let Some((result, args)) = args.split_last_mut() else { return };
        let (value, index, now_us) = (args[0] as u32, args[1], args[2]);
        let random = args.get(3).map_or(0, |random| *random as u32);
        *result = match self.observes {
            true => self.filters.result(value, index, now_us, random).0,
            false => self.filters.execute(value, index, now_us, random),
        }
        .into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::quiescence::Domain;

    fn low_pass(settings: &str) -> Filter {
        let filter = Filter::low_pass(&[4u32.into()]).unwrap();
        filter.control("cell/1", settings.as_bytes()).unwrap();
        filter
    }

    #[test]
    fn an_average_moves_by_time() {
        let filter = low_pass("SAMPLE 1000000 2000000 1");
        let execute = |value, now| filter.filters.execute(value, 1, now, 0);
        // The first value is the average; the result is half of it.
        assert_eq!(execute(1000, 5_000), 500);
        // Nothing in no time; 1 - 1/e of the way up in a time constant, half of that exponent of the way down in the same time.
        assert_eq!(execute(9000, 5_000), 500);
        assert_eq!(execute(2000, 6_000), 816);
        assert_eq!(execute(0, 7_000), 494);
        // A time that goes back does not count.
        assert_eq!(execute(0, 6_000), 494);
        // Other cells, and those that do not exist, pass values on.
        assert_eq!((filter.filters.execute(77, 0, 9, 0), filter.filters.execute(78, 4, 9, 0)), (77, 78));
    }

    #[test]
    fn a_rate_is_the_sum_of_a_time_constant() {
        let filter = low_pass("RATE 16000000 16000000 4");
        // 1000 each millisecond are 16,000 in 16 ms, of which a sixteenth is the result.
        let rate = (0..1_000).fold(0, |_, ms| filter.filters.execute(1000, 1, ms * 1000, 0));
        assert!((1000..1064).contains(&rate), "{rate}");
        assert!(filter.filters.execute(0, 1, 10_000_000, 0) == 0);
        let huge = low_pass("RATE 1000000000 1 0");
        assert_eq!((0..10).fold(0, |_, _| huge.filters.execute(u32::MAX, 1, 0, 0)), u32::MAX);
    }

    #[test]
    fn drops_begin_at_the_lower_threshold() {
        let filter = Filter::early_drop(&[2u32.into(), 9u32.into(), 1u32.into()]).unwrap();
        assert_eq!(filter.filters.execute(5000, 0, 1, 0), 1);
        filter.control("cell/0", b"1000000 100 200 0.5").unwrap();
        // In a quarter of the cases half way between, in half of them just below the upper threshold, always at it.
        for (value, random, result) in [(99, 0, 1), (150, (1 << 30) - 1, 9), (150, 1 << 30, 1), (200, u32::MAX, 9)] {
            filter.control("cell/0", b"1000000 100 200 0.5").unwrap();
            assert_eq!(filter.filters.execute(value, 0, 1, random), result, "{value} {random}");
        }
        // By the average, not by the value.
        assert_eq!(filter.filters.execute(0, 0, 1, u32::MAX), 9);
    }

    #[test]
    fn an_observer_changes_nothing() {
        let filter = low_pass("SAMPLE 1000 1000 0");
        filter.filters.execute(100, 1, 0, 0);
        let observer = filter.observer().unwrap();
        let mut args = [5u64, 1, 1_000_000, 0];
        native::call_native(&*observer, 0, &mut args, &Domain::new().reader().enter());
        assert_eq!((args[3], filter.filters.execute(100, 1, 0, 0)), (5, 100));
        filter.control("cell/1", b"").unwrap();
        assert_eq!(filter.filters.execute(7, 1, 5, 0), 7);
    }

    #[test]
    fn what_was_saved_comes_back() {
        let filter = low_pass("SAMPLE 1000000 2000000 1");
        filter.filters.execute(1000, 1, 5_000, 0);
        let restore = filter.save("cell/1").unwrap();
        filter.control("cell/1", b"RATE 5 5 0").unwrap();
        filter.filters.execute(7, 1, 5_500, 0);
        restore();
        assert_eq!(filter.filters.execute(2000, 1, 6_000, 0), 816);
        assert!(filter.save("cell/4").is_none() && filter.save("check").is_none());
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        let filter = low_pass("SAMPLE 1 1 0");
        for bad in ["x", "SAMPLE 0 1 0", "SAMPLE 1 -1 0", "SAMPLE 1 inf 0", "RATE 1 1 33", "SAMPLE 1 1", "1 2 3 0.5"] {
            assert!(filter.control("cell/1", bad.as_bytes()).is_err(), "{bad}");
            assert!(filter.control("check", bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(filter.control("cell/4", b"").is_err() && filter.control("key/1", b"").is_err());
        let filter = Filter::early_drop(&[2u32.into(), 9u32.into(), 1u32.into()]).unwrap();
        for bad in ["1 20 10 0.5", "1 1 2 1.5", "0 1 2 0.5"] {
            assert!(filter.control("cell/1", bad.as_bytes()).is_err(), "{bad}");
            assert!(filter.control("check", bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
