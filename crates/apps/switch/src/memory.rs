//! How the switch's memory is divided among its tenants.
//!
//! Each tenant has a limit: its own `memory`, or an equal share of what the others leave of the switch's. With a `memory` of the switch the
//! limits are never more than that in all, and what one tenant takes is never missing for another. Without, nobody has said what tenants
//! may have: a share is never too small for an ordinary tenant then.

use std::path::Path;

use hopwright_dataplane::MemoryExceeded;
use hopwright_dataplane::quantity::Bytes;

use crate::config::Config;

/// The least equal share of a switch whose memory is not said. Tenants are charged for queues and entries that they never use, so that
/// many of them run on a machine which has less than they are charged for.
const LEAST: u64 = 256 << 20;

/// The limits of a configuration's tenants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    equal: u64,
}

impl Shares {
    /// Divides what the switch may have.
    ///
    /// # Errors
    /// Tenants have more memory of their own than that.
    pub(crate) fn of(config: &Config) -> Result<Shares, String> {
        let total = config.switch.memory.unwrap_or_else(of_machine);
        let own: u128 = config.tenants.iter().filter_map(|tenant| tenant.limits.memory).map(u128::from).sum();
        let left = u128::from(total).checked_sub(own).ok_or_else(|| {
            let own = Bytes(u64::try_from(own).unwrap_or(u64::MAX));
            format!("the tenants' `memory` is {own} together, [switch] memory {}", Bytes(total))
        })?;
        let others = config.tenants.iter().filter(|tenant| tenant.limits.memory.is_none()).count() as u128;
        let least = if config.switch.memory.is_some() { 0 } else { LEAST };
        // Not more than the total, which is of 64 bits.
        Ok(Shares { equal: ((left / others.max(1)) as u64).max(least) })
    }

    /// The limit of a tenant with this `memory`.
    pub(crate) fn limit(self, own: Option<u64>) -> u64 {
        own.unwrap_or(self.equal)
    }
}

/// Checks what a tenant needs.
///
/// # Errors
/// It is more than its limit.
pub(crate) fn check(tenant: &str, needs: u64, may: u64) -> Result<(), MemoryExceeded> {
    if needs > may { Err(MemoryExceeded { tenant: tenant.into(), needs, may }) } else { Ok(()) }
}

/// The memory of the machine, or of the process's control group if that is less.
fn of_machine() -> u64 {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let machine = read(Path::new("/proc/meminfo")).lines().find_map(|line| {
        let kibibytes = line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim();
        kibibytes.parse::<u64>().ok()?.checked_mul(1024)
    });
    let groups = read(Path::new("/proc/self/cgroup"));
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let folders = Path::new(own).ancestors().map(|folder| Path::new("/sys/fs/cgroup").join(folder));
    let group = folders.filter_map(|folder| read(&folder.join("memory.max")).trim().parse().ok()).min();
    machine.into_iter().chain(group).min().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_memory() {
        assert!((1 << 24..=1 << 50).contains(&of_machine()), "{}", Bytes(of_machine()));
    }
}
