//! A tenant's account of memory: what its program, its state and its queues take, and what it may have.
//!
//! Memory is charged when it is promised, not when it is first written to. What a program declares is known before anything is
//! allocated ([`VirtualDataPlane::needs`](crate::VirtualDataPlane::needs)); it is the fixed part. What control planes add without a
//! declared bound, such as multicast groups, is charged when it is written, and given back when it is removed.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::quantity::Bytes;

/// What is refused because it would exceed what a tenant may have, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryExceeded {
    /// The tenant's name.
    pub tenant: Box<str>,
    /// What it would have in all.
    pub needs: u64,
    /// What it may have.
    pub may: u64,
}

impl fmt::Display for MemoryExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryExceeded { tenant, needs, may } = self;
        let (in_words, limit) = (Bytes(*needs).to_string(), Bytes(*may).to_string());
        if in_words == limit {
            return write!(f, "needs {needs} bytes of memory, tenant {tenant} may have {may} bytes");
        }
        write!(f, "needs {in_words} of memory, tenant {tenant} may have {limit}")
    }
}

impl std::error::Error for MemoryExceeded {}

/// What a tenant has and may have, in bytes. One account belongs to one data plane.
#[derive(Debug)]
pub struct Account {
    tenant: OnceLock<Box<str>>,
    /// Of the program, its declared state and the tenant's queues.
    fixed: AtomicU64,
    /// What was written beside that.
    grown: AtomicU64,
    /// `u64::MAX`: there is no limit.
    limit: AtomicU64,
    /// Changes that are being undone: they meet no limit.
    undone: AtomicU32,
}

impl Default for Account {
    fn default() -> Account {
        Account {
            tenant: OnceLock::new(),
            fixed: AtomicU64::new(0),
            grown: AtomicU64::new(0),
            limit: AtomicU64::new(u64::MAX),
            undone: AtomicU32::new(0),
        }
    }
}

impl Account {
    /// What there is, in all.
    pub fn held(&self) -> u64 {
        self.fixed.load(Ordering::Relaxed).saturating_add(self.grown.load(Ordering::SeqCst))
    }

    /// What there may be now.
    fn most(&self) -> u64 {
        if self.undone.load(Ordering::SeqCst) > 0 { u64::MAX } else { self.limit.load(Ordering::SeqCst) }
    }

    /// Undoes a change. What that charges is not refused: it was there before, but the limit may be another one since, or something else
    /// may have come.
    pub fn undo<T>(&self, undo: impl FnOnce() -> T) -> T {
        self.undone.fetch_add(1, Ordering::SeqCst);
        let undone = undo();
        self.undone.fetch_sub(1, Ordering::SeqCst);
        undone
    }

    /// Charges something more.
    ///
    /// # Errors
    /// It exceeds the limit; then nothing is charged.
    pub fn charge(&self, bytes: u64) -> Result<(), MemoryExceeded> {
        let may = self.most();
        let fixed = self.fixed.load(Ordering::Relaxed);
        let more = |grown: u64| {
            let grown = grown.checked_add(bytes)?;
            (may == u64::MAX || fixed.saturating_add(grown) <= may).then_some(grown)
        };
        let charged = self.grown.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
        charged.map_err(|grown| self.exceeded(fixed.saturating_add(grown).saturating_add(bytes), may))?;
        // A limit that has come meanwhile may not have seen this.
        let (now, held) = (self.most(), self.held());
        if now < may && held > now {
            self.release(bytes);
            return Err(self.exceeded(held, now));
        }
        Ok(())
    }

    /// Gives back what was charged.
    pub fn release(&self, bytes: u64) {
        let less = |grown: u64| Some(grown.saturating_sub(bytes));
        // The closure never refuses.
        let _ = self.grown.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    }

    /// Charges what takes the place of something: the difference.
    ///
    /// # Errors
    /// It exceeds the limit; then nothing changes.
    pub fn exchange(&self, before: u64, after: u64) -> Result<(), MemoryExceeded> {
        match after.checked_sub(before) {
            Some(more) => self.charge(more),
            None => {
                self.release(before - after);
                Ok(())
            }
        }
    }

    /// Makes it a tenant's, with a fixed part and a limit.
    ///
    /// # Errors
    /// What there is exceeds the limit; then nothing changes.
    pub(crate) fn open(&self, tenant: &str, fixed: u64, limit: Option<u64>) -> Result<(), MemoryExceeded> {
        let limit = limit.unwrap_or(u64::MAX);
        let needs = fixed.saturating_add(self.grown.load(Ordering::Relaxed));
        if needs > limit {
            return Err(MemoryExceeded { tenant: tenant.into(), needs, may: limit });
        }
        self.tenant.get_or_init(|| tenant.into());
        self.fixed.store(fixed, Ordering::Relaxed);
        self.limit.store(limit, Ordering::SeqCst);
        Ok(())
    }

    /// Changes the limit.
    ///
    /// # Errors
    /// What there is exceeds it; then nothing changes.
    pub(crate) fn set_limit(&self, limit: Option<u64>) -> Result<(), MemoryExceeded> {
        let limit = limit.unwrap_or(u64::MAX);
        let before = self.limit.swap(limit, Ordering::SeqCst);
        // What is charged meanwhile sees the new limit, or is seen here.
        let held = self.held();
        if held > limit {
            self.limit.store(before, Ordering::SeqCst);
            return Err(self.exceeded(held, limit));
        }
        Ok(())
    }

    fn exceeded(&self, needs: u64, may: u64) -> MemoryExceeded {
        MemoryExceeded { tenant: self.tenant.get().cloned().unwrap_or_default(), needs, may }
    }
}

/// What the allocator takes for this many bytes.
pub(crate) fn allocated(bytes: usize) -> u64 {
    (bytes as u64 + 8).next_multiple_of(16).max(32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_refuses_what_exceeds_its_limit_and_charges_nothing_then() {
        let account = Account::default();
        account.charge(1 << 40).unwrap();
        account.release(1 << 40);
        account.open("red", 60 << 20, Some(64 << 20)).unwrap();
        account.charge(3 << 20).unwrap();
        let refused = account.charge(33 << 20).unwrap_err();
        assert_eq!(refused.to_string(), "needs 96 MiB of memory, tenant red may have 64 MiB");
        assert_eq!(account.held(), 63 << 20);
        account.exchange(3 << 20, 4 << 20).unwrap();
        assert_eq!(
            account.charge(1).unwrap_err().to_string(),
            "needs 67108865 bytes of memory, tenant red may have 67108864 bytes"
        );
        assert!(account.charge(u64::MAX).is_err());
        account.exchange(4 << 20, 0).unwrap();
        assert_eq!(account.held(), 60 << 20);
        assert!(account.set_limit(Some(59 << 20)).is_err());
        account.charge(4 << 20).unwrap();
        account.set_limit(None).unwrap();
        account.charge(1 << 40).unwrap();
    }

    #[test]
    fn what_is_undone_comes_back_although_the_limit_is_less_now() {
        let account = Account::default();
        account.open("red", 0, Some(100)).unwrap();
        account.charge(100).unwrap();
        account.release(80);
        account.set_limit(Some(50)).unwrap();
        assert!(account.charge(80).is_err());
        account.undo(|| account.charge(80)).unwrap();
        assert_eq!(account.held(), 100);
        assert!(account.charge(1).is_err());
    }

    #[test]
    fn a_limit_that_comes_while_others_charge_is_met() {
        for _ in 0..200 {
            let account = Account::default();
            account.open("red", 0, Some(1 << 20)).unwrap();
            let limited = std::thread::scope(|scope| {
                scope.spawn(|| (0..1000).try_for_each(|_| account.charge(100)));
                account.set_limit(Some(5_000)).is_ok()
            });
            assert!(!limited || account.held() <= 5_000, "{}", account.held());
        }
    }
}
