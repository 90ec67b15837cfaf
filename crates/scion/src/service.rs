//! Being a service: what the service manager is told (sd_notify(3)), and which privileges stay once everything is open.
//!
//! Does not live here: the unit file (`packaging/`).

use std::io;
use std::time::{Duration, Instant};

use caps::{CapSet, Capability, CapsHashSet};
use sd_notify::NotifyState;

/// Capabilities that stay: opening devices (for AF_XDP that is loading a program, too) and resolving neighbours goes on
/// at run time, and a reload reads files.
const KEPT: [Capability; 6] = [
    Capability::CAP_NET_RAW,
    Capability::CAP_NET_ADMIN,
    Capability::CAP_BPF,
    Capability::CAP_PERFMON,
    Capability::CAP_IPC_LOCK,
    Capability::CAP_DAC_READ_SEARCH,
];
/// What only the start needs: low ports for HTTP, limits, attaching to TAP devices in another network namespace.
const TO_START: [Capability; 3] =
    [Capability::CAP_NET_BIND_SERVICE, Capability::CAP_SYS_RESOURCE, Capability::CAP_SYS_ADMIN];

/// How far the start is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is open yet, and no thread has been started.
    Starting,
    /// Everything is open.
    Running,
}

/// Gives up every capability that this phase does not need, for this thread and those it starts, and the ways to get
/// one back: bounding set, set-user-id programs. Does nothing about the user.
pub fn drop_privileges(phase: Phase) -> Result<(), PrivilegeError> {
    let mut kept: CapsHashSet = KEPT.into_iter().collect();
    if phase == Phase::Starting {
        kept.extend(TO_START);
    }
    let before = caps::read(None, CapSet::Permitted)?;
    // Only who has CAP_SETPCAP can shrink the bounding set; who has not gains nothing by what is in it.
    if before.contains(&Capability::CAP_SETPCAP) {
        for capability in &caps::runtime::thread_all_supported() - &kept {
            caps::drop(None, CapSet::Bounding, capability)?;
        }
    }
    let rest: CapsHashSet = before.intersection(&kept).copied().collect();
    caps::clear(None, CapSet::Ambient)?;
    caps::set(None, CapSet::Effective, &rest)?;
    caps::set(None, CapSet::Permitted, &rest)?;
    caps::clear(None, CapSet::Inheritable)?;
    rustix::thread::set_no_new_privs(true).map_err(io::Error::from)?;
    let mut names: Vec<_> = rest.iter().map(ToString::to_string).collect();
    names.sort_unstable();
    let phase = match phase {
        Phase::Starting => "starting",
        Phase::Running => "running",
    };
    tracing::debug!(kept = names.join(" "), phase, "privileges dropped");
    Ok(())
}

/// What the router does without a capability.
const WITHOUT: [(Capability, &str); 4] = [
    (Capability::CAP_NET_RAW, "no packet sockets: packets go by UDP sockets, which costs more CPU"),
    (Capability::CAP_NET_ADMIN, "no AF_XDP; the kernel's limits on socket buffers hold; bursts may be lost"),
    (Capability::CAP_BPF, "no AF_XDP: packet sockets cost more CPU"),
    (Capability::CAP_IPC_LOCK, "AF_XDP works within the limit on locked memory (LimitMEMLOCK)"),
];

/// Says in the log what each capability that is missing costs.
pub fn tell_what_is_missing() {
    let Ok(there) = caps::read(None, CapSet::Effective) else { return };
    for (capability, cost) in missing(&there) {
        tracing::warn!(%capability, cost, "started without a capability");
    }
}

/// What is missing, and what that costs. The old CAP_SYS_ADMIN stands for CAP_BPF, too.
fn missing(there: &CapsHashSet) -> impl Iterator<Item = (Capability, &'static str)> + '_ {
    let has = |capability: &Capability| {
        there.contains(capability)
            || *capability == Capability::CAP_BPF && there.contains(&Capability::CAP_SYS_ADMIN)
            || *capability == Capability::CAP_IPC_LOCK && memory_is_unlimited()
    };
    WITHOUT.into_iter().filter(move |(capability, _)| !has(capability))
}

fn memory_is_unlimited() -> bool {
    rustix::process::getrlimit(rustix::process::Resource::Memlock).current.is_none()
}

/// Why privileges could not be given up.
#[derive(Debug, thiserror::Error)]
pub enum PrivilegeError {
    /// Capabilities.
    #[error("cannot drop capabilities: {0}")]
    Capabilities(#[from] caps::errors::CapsError),
    /// The flag that no program may raise them.
    #[error("cannot set no_new_privs: {0}")]
    NoNewPrivileges(#[from] io::Error),
}

/// What the service manager, if there is one, is told.
#[derive(Debug)]
pub struct Manager {
    /// How often it wants a sign of life, halved to be early.
    every: Option<Duration>,
    next: Instant,
    /// The worker's rounds when it last made progress.
    rounds: Option<u64>,
}

impl Manager {
    /// Finds out what it wants.
    pub fn new() -> Manager {
        Manager { every: sd_notify::watchdog_enabled().map(|t| t / 2), next: Instant::now(), rounds: None }
    }

    /// Packets are being forwarded.
    pub fn ready(&self) {
        tell(&[NotifyState::Ready]);
    }

    /// The end has begun.
    pub fn stopping(&self) {
        tell(&[NotifyState::Stopping]);
    }

    /// Called by the agent's loop with the count of the worker's rounds: a sign of life if both go on.
    pub fn alive(&mut self, rounds: u64, now: Instant) {
        let Some(every) = self.every else { return };
        if now < self.next || self.rounds == Some(rounds) {
            return;
        }
        self.rounds = Some(rounds);
        self.next = now + every.min(Duration::from_secs(10));
        tell(&[NotifyState::Watchdog]);
    }
}

impl Default for Manager {
    fn default() -> Manager {
        Manager::new()
    }
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "cannot reach the service manager");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told() {
        let told = |there: &[Capability]| -> Vec<Capability> {
            missing(&there.iter().copied().collect()).map(|(capability, _)| capability).collect()
        };
        let all = [Capability::CAP_NET_RAW, Capability::CAP_NET_ADMIN, Capability::CAP_BPF, Capability::CAP_IPC_LOCK];
        assert_eq!(told(&all), []);
        assert_eq!(told(&all[1..]), [Capability::CAP_NET_RAW]);
        assert!(told(&[]).starts_with(&all[..3]));
    }
}
