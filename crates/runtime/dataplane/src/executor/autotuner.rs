//! An autotuner for optimisations that do not change results.
//!
//! A *trial* times a few batches with the optimisation and a few without it. The faster setting is kept until the next
//! trial.

use std::time::Instant;

/// Minimum and maximum number of batches between two trials. The wait starts at the minimum and doubles while trials
/// agree.
const WAIT: [u32; 2] = [64, 4096];
/// Number of batches in a trial.
const TRIAL: u32 = 16;
/// The optimisation pays if batches with it take less than this share of the time of batches without.
const LEAST: f64 = 0.97;

/// The state of one optimisation.
pub(crate) struct Autotuner {
    /// Batches left until the next trial begins.
    wait: u32,
    /// Batches between the last trial and the next one.
    waited: u32,
    /// Batches done in the current trial.
    number: u32,
    /// The result of the last trial.
    pays: bool,
    /// Set if the current batch is part of a trial: whether the optimisation is on, and when the batch began.
    timed: Option<(bool, Instant)>,
    /// Nanoseconds per packet of a trial's batches without and with the optimisation: the sum, and the maximum, which
    /// is left out because it may contain an interrupt.
    costs: [Costs; 2],
}

impl Default for Autotuner {
    fn default() -> Autotuner {
        Autotuner { wait: WAIT[0], waited: WAIT[0], number: 0, pays: false, timed: None, costs: Default::default() }
    }
}

#[derive(Clone, Copy, Default)]
struct Costs {
    sum: f64,
    most: f64,
}

impl Autotuner {
    /// Begins a batch. Returns whether to use the optimisation for it.
    #[inline]
    pub(crate) fn begin(&mut self) -> bool {
        self.timed = None;
        if self.wait > 0 {
            self.wait -= 1;
            return self.pays;
        }
        // The Thue-Morse sequence: any few successive batches are about evenly split.
        let with = self.number.count_ones() % 2 == 1;
        self.timed = Some((with, Instant::now()));
        with
    }

    /// Ends a batch.
    #[inline]
    pub(crate) fn end(&mut self, packets: usize) {
        if let Some((with, begun)) = self.timed.take() {
            self.note(with, begun.elapsed().as_nanos() as f64 / packets.max(1) as f64);
        }
    }

    /// Returns whether the current batch is timed.
    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.timed.is_some()
    }

    /// The result of the last trial.
    #[inline]
    pub(crate) fn pays(&self) -> bool {
        self.pays
    }

    fn note(&mut self, with: bool, cost: f64) {
        let costs = &mut self.costs[usize::from(with)];
        costs.sum += cost;
        costs.most = costs.most.max(cost);
        self.number += 1;
        if self.number == TRIAL {
            let [without, with] = std::mem::take(&mut self.costs).map(|c| c.sum - c.most);
            let pays = with < without * LEAST;
            let same = self.pays == pays;
            self.pays = pays;
            self.number = 0;
            self.waited = if same { WAIT[1].min(self.waited * 2) } else { WAIT[0] };
            self.wait = self.waited;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs batches up to the end of the next trial, whose batches take `cost` nanoseconds per packet. Returns the
    /// number of batches before the trial.
    fn trial(trial: &mut Autotuner, cost: impl Fn(bool, u32) -> f64) -> u32 {
        let (mut waited, before) = (0, trial.pays);
        let mut with = trial.begin();
        while trial.timed.is_none() {
            assert_eq!(with, before, "what was found is kept up");
            waited += 1;
            with = trial.begin();
        }
        for number in 0..TRIAL {
            assert!(trial.timed.take().is_some());
            trial.note(with, cost(with, number));
            with = trial.begin();
        }
        assert!(trial.timed.is_none());
        // Undo the batch that was begun after the trial.
        trial.wait += 1;
        waited
    }

    #[test]
    fn what_is_faster_is_kept_up_until_the_next_trial() {
        let mut it = Autotuner::default();
        assert!(!it.begin());
        it.wait += 1;
        assert_eq!(trial(&mut it, |with, _| if with { 50.0 } else { 300.0 }), 64);
        assert!(it.pays);
        assert_eq!(trial(&mut it, |with, _| if with { 30.0 } else { 25.0 }), 64);
        assert!(!it.pays);
        // A single interrupt does not decide the trial.
        let interrupted = |with, number| if with { 50.0 + if number == 7 { 1e6 } else { 0.0 } } else { 60.0 };
        assert_eq!(trial(&mut it, interrupted), 64);
        assert!(it.pays);
        // While the result stays the same, trials become rarer.
        let waits: Vec<u32> = (0..9).map(|_| trial(&mut it, |with, _| if with { 1.0 } else { 2.0 })).collect();
        assert_eq!(waits, [64, 128, 256, 512, 1024, 2048, 4096, 4096, 4096]);
    }
}
