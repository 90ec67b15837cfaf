//! The schedule of a worker's tenants: deficit round robin (Shreedhar and Varghese, 1995) over measured time.
//!
//! A sweep gives each tenant that has packets a quantum of time, by weight. A tenant runs batches while its account is in
//! credit; what a batch takes is debited, so that expensive packets are paid by the tenant whose they are. Tenants without packets
//! save nothing, and their time is the others'. If all that have packets are in debt, sweeps go by until one of them is not: a tenant
//! waits for others, never for its debt alone.

use std::time::Duration;

/// The largest weight of a tenant.
pub(crate) const MAX_WEIGHT: u32 = 1000;

/// Time after which a worker looks at its ports again, though packets wait in lanes, and the quanta of all tenants together.
pub(crate) const CYCLE: Duration = Duration::from_micros(64);
/// The quanta of all tenants together if some would be shorter than [`SHORT_NS`]: shorter batches cost more.
const LONG_CYCLE_NS: u64 = 256_000;
const SHORT_NS: u64 = 8_000;
/// A tenant's time after which the estimate of what its packets take goes down.
const SLOWLY_NS: u64 = 200_000;
/// A batch that takes this many times as long as expected, and so much longer, may have been interrupted: the operating system
/// let another thread run.
const SUSPICIOUS: u64 = 4;
const SUSPICIOUS_NS: u64 = 20_000;
/// What it may take to begin a batch, with an interrupt in it, apart from its packets: one packet that took so long says nothing of
/// the next one.
const BEGIN_NS: u64 = 4_000;
/// Fewer packets say as much as this many about what the next ones take.
const FEW: usize = 8;
/// Time for which a tenant in credit may run packets at least, on debt if it has to: of shorter batches most would be their beginning.
const SHORTEST_NS: u64 = 1_000;
/// Nanoseconds that a packet of a new tenant is expected to take.
const UNKNOWN_NS: u64 = 1_000;

/// Time of something that was expected to take so long, without what the worker lost meanwhile: `lost_ns` is asked only if it took
/// suspiciously long.
#[inline]
pub(crate) fn without_lost(ns: u64, expected: u64, lost_ns: impl FnOnce() -> u64) -> u64 {
    if ns > SUSPICIOUS * expected + SUSPICIOUS_NS { ns - lost_ns().min(ns - expected) } else { ns }
}

/// A tenant's account of a worker's time.
#[derive(Debug)]
pub(crate) struct Account {
    /// Nanoseconds in credit or in debt.
    credit_ns: i64,
    quantum_ns: u64,
    /// What a packet takes: follows what is measured, upwards at once and downwards slowly, so that a tenant that has expensive packets
    /// now and then has small batches. What beginning a batch takes does not raise it: small batches, of which most is their beginning,
    /// would cause smaller ones.
    packet_ns: u64,
    /// Its time since the estimate went down.
    since_ns: u64,
    /// What sending takes that comes of a packet: follows what is measured, slowly.
    sending_ns: u64,
}

impl Default for Account {
    fn default() -> Account {
        Account { credit_ns: 0, quantum_ns: SHORT_NS, packet_ns: UNKNOWN_NS, since_ns: 0, sending_ns: 0 }
    }
}

impl Account {
    /// Sets the quantum for a weight among others, given their sum and the smallest one.
    pub(crate) fn set_weight(&mut self, weight: u32, sum: u64, smallest: u32) {
        let wanted = SHORT_NS * sum / u64::from(smallest.max(1));
        let cycle = wanted.clamp(CYCLE.as_nanos() as u64, LONG_CYCLE_NS);
        self.quantum_ns = cycle * u64::from(weight) / sum.max(1);
    }

    /// Begins its turn in a sweep. False if it is still in debt.
    #[inline]
    pub(crate) fn begin_turn(&mut self) -> bool {
        self.credit_ns += self.quantum_ns as i64;
        self.credit_ns > 0
    }

    /// Sweeps that go by before its turn comes: zero unless it is in debt.
    #[inline]
    pub(crate) fn sweeps_in_debt(&self) -> u64 {
        (-self.credit_ns).max(0) as u64 / self.quantum_ns.max(1)
    }

    /// This many sweeps go by at once.
    #[inline]
    pub(crate) fn skip(&mut self, sweeps: u64) {
        self.credit_ns += (sweeps * self.quantum_ns) as i64;
    }

    /// How many packets it may run now, this many at most; zero if its turn is over.
    #[inline]
    pub(crate) fn affordable(&self, most: usize) -> usize {
        match u64::try_from(self.credit_ns) {
            Ok(credit) if credit > 0 => {
                ((credit.max(SHORTEST_NS) / (self.packet_ns + self.sending_ns)) as usize).clamp(1, most)
            }
            _ => 0,
        }
    }

    /// Debits the time that a batch of packets took, or that was spent for the tenant apart from a batch. `lost_ns` says for how long the worker did not run since it was last asked,
    /// and is asked only if the batch took suspiciously long: that time is not the tenant's.
    #[inline]
    pub(crate) fn debit(&mut self, ns: u64, packets: usize, lost_ns: impl FnOnce() -> u64) {
        let ns = without_lost(ns, self.packet_ns * packets as u64, lost_ns);
        self.credit_ns -= ns as i64;
        if packets == 0 {
            return;
        }
        let each = (ns / packets as u64).max(1);
        let least = ns.saturating_sub(BEGIN_NS) / packets.max(FEW) as u64;
        self.since_ns += ns;
        if least > self.packet_ns {
            self.packet_ns = least;
        } else if self.since_ns >= SLOWLY_NS {
            self.packet_ns -= self.packet_ns.saturating_sub(each) / 4;
            self.since_ns = 0;
        }
    }

    /// Debits the time that sending took of what came of this many packets. It is part of what a packet is expected to take, so that a
    /// batch whose packets are quickly run and slowly sent does not delay others.
    #[inline]
    pub(crate) fn debit_sending(&mut self, ns: u64, packets: u64) {
        self.credit_ns -= ns as i64;
        if let Some(each) = ns.checked_div(packets) {
            self.sending_ns = (7 * self.sending_ns + each) / 8;
        }
    }

    /// What sending is expected to take of what came of this many packets.
    #[inline]
    pub(crate) fn expected_sending(&self, packets: u64) -> u64 {
        self.sending_ns * packets
    }

    /// It has no packets: credit is not saved.
    #[inline]
    pub(crate) fn rest(&mut self) {
        self.credit_ns = self.credit_ns.min(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accounts of these weights, and what a packet of each takes.
    fn accounts(tenants: &[(u32, u64)]) -> Vec<(Account, u64)> {
        let (sum, smallest) =
            (tenants.iter().map(|t| u64::from(t.0)).sum(), tenants.iter().map(|t| t.0).min().unwrap());
        let new = |&(weight, cost): &(u32, u64)| {
            let mut account = Account::default();
            account.set_weight(weight, sum, smallest);
            (account, cost)
        };
        tenants.iter().map(new).collect()
    }

    /// Time that each gets in this many sweeps, if all always have packets.
    fn share(tenants: &[(u32, u64)], sweeps: usize) -> Vec<f64> {
        let mut accounts = accounts(tenants);
        let mut time = vec![0; tenants.len()];
        for _ in 0..sweeps {
            for ((account, cost), time) in accounts.iter_mut().zip(&mut time) {
                account.begin_turn();
                loop {
                    let packets = account.affordable(256);
                    if packets == 0 {
                        break;
                    }
                    account.debit(*cost * packets as u64, packets, || 0);
                    *time += *cost * packets as u64;
                }
            }
        }
        let all: u64 = time.iter().sum();
        time.into_iter().map(|time| time as f64 / all as f64).collect()
    }

    #[test]
    fn time_is_shared_by_weight_whatever_a_packet_takes() {
        for (tenants, expected) in [
            (&[(1, 100), (1, 100), (1, 100), (1, 5_000_000)][..], &[0.25; 4][..]),
            (&[(1, 130), (2, 7_000), (5, 130)], &[0.125, 0.25, 0.625]),
            (&[(1000, 200), (1, 200)], &[0.999, 0.001]),
            (&[(1, 90); 64], &[1.0 / 64.0; 64]),
        ] {
            for (found, expected) in share(tenants, 20_000).into_iter().zip(expected) {
                assert!((found - expected).abs() < 0.01 * expected, "{tenants:?}: {found} and not {expected}");
            }
        }
    }

    /// Nanoseconds per packet of rounds in which tenants share a burst's packets, 60 ns each, given what it takes to begin a batch.
    fn round(tenants: usize, burst: usize, begin_ns: u64) -> u64 {
        let mut accounts = accounts(&vec![(1, 0); tenants]);
        let (mut random, mut time, mut packets) = (1u64, 0, 0);
        for _ in 0..2_000 {
            let mut waiting = vec![0; tenants];
            for _ in 0..burst {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                waiting[(random >> 33) as usize % tenants] += 1;
            }
            while waiting.iter().any(|waiting| *waiting > 0) {
                for ((account, _), waiting) in accounts.iter_mut().zip(&mut waiting) {
                    if *waiting == 0 {
                        account.rest();
                        continue;
                    }
                    account.begin_turn();
                    loop {
                        let count = account.affordable(256).min(*waiting);
                        if count == 0 {
                            break;
                        }
                        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        let interrupt = if (random >> 33) % 300 == 0 { 6_000 } else { 0 };
                        let ns = begin_ns + interrupt + 60 * count as u64;
                        account.debit(ns, count, || 0);
                        *waiting -= count;
                        time += ns;
                    }
                }
            }
            packets += burst as u64;
        }
        time / packets
    }

    #[test]
    fn more_tenants_cost_the_beginning_of_a_batch_each() {
        for (tenants, burst) in [(1, 256), (4, 256), (8, 256), (8, 128), (32, 256), (64, 256)] {
            for begin_ns in [400, 1_500] {
                let found = round(tenants, burst, begin_ns);
                let expected = 60 + tenants as u64 * (begin_ns + 20) / burst as u64;
                assert!(
                    found <= expected + expected / 10,
                    "{tenants} tenants, {begin_ns} ns to begin: {found}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn a_debt_is_paid_by_sweeps_that_are_skipped() {
        let mut account = Account::default();
        for debt in [1, SHORT_NS - 1, SHORT_NS, SHORT_NS + 1, 5 * SHORT_NS, 1_000_000_007] {
            account.credit_ns = -(debt as i64);
            let sweeps = account.sweeps_in_debt();
            account.skip(sweeps);
            assert!(account.credit_ns <= 0, "{debt}: not too many");
            assert!(account.begin_turn(), "{debt}: enough");
        }
        account.credit_ns = 5;
        assert_eq!(account.sweeps_in_debt(), 0);
    }

    #[test]
    fn nothing_is_saved_while_there_are_no_packets() {
        let mut account = Account::default();
        for _ in 0..1000 {
            account.begin_turn();
            account.rest();
        }
        account.begin_turn();
        assert!(account.affordable(256) <= (SHORT_NS / UNKNOWN_NS) as usize);
    }

    #[test]
    fn expensive_packets_come_in_small_batches_at_once() {
        let mut account = Account::default();
        for _ in 0..1000 {
            account.begin_turn();
            account.debit(100 * 50, 50, || 0);
            account.rest();
        }
        account.begin_turn();
        assert!(account.affordable(256) > 50);
        account.debit(100_000, 1, || 0);
        while !account.begin_turn() {}
        assert_eq!(account.affordable(256), 1);
    }

    #[test]
    fn batches_are_smaller_if_sending_takes_long() {
        let mut account = Account::default();
        for _ in 0..1000 {
            account.begin_turn();
            account.debit(100 * 50, 50, || 0);
            account.debit_sending(900 * 50, 50);
            account.rest();
        }
        account.credit_ns = 20_000;
        assert!((20..=22).contains(&account.affordable(256)), "{}", account.affordable(256));
    }

    #[test]
    fn time_in_which_the_worker_did_not_run_is_not_the_tenants() {
        let mut account = Account::default();
        account.begin_turn();
        account.debit(10_000_000, 4, || 10_500_000);
        let sweeps = (1..).find(|_| account.begin_turn()).unwrap();
        assert_eq!(sweeps, 1);
        account.debit(10_000_000, 4, || 1_000_000);
        let sweeps = (1..).find(|_| account.begin_turn()).unwrap();
        assert!(sweeps > 1000, "{sweeps}");
    }
}
