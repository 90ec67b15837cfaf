//! Capabilities of this process: which are missing, and giving up those that are not needed.

use std::io;

use caps::{CapSet, CapsHashSet};

pub use caps::Capability;

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

/// Gives up every capability but `kept`, for this thread and those it starts, and the means to get one back: the
/// bounding set and set-user-id programs. Does not change the user. Returns what is left.
pub fn keep_only(kept: &[Capability]) -> Result<Vec<Capability>, PrivilegeError> {
    let kept: CapsHashSet = kept.iter().copied().collect();
    let permitted = caps::read(None, CapSet::Permitted)?;
    // Only CAP_SETPCAP can shrink the bounding set; without it the bounding set gives nothing.
    if permitted.contains(&Capability::CAP_SETPCAP) {
        for capability in &caps::runtime::thread_all_supported() - &kept {
            caps::drop(None, CapSet::Bounding, capability)?;
        }
    }
    let rest: CapsHashSet = permitted.intersection(&kept).copied().collect();
    caps::clear(None, CapSet::Ambient)?;
    caps::set(None, CapSet::Effective, &rest)?;
    caps::set(None, CapSet::Permitted, &rest)?;
    caps::clear(None, CapSet::Inheritable)?;
    rustix::thread::set_no_new_privs(true).map_err(io::Error::from)?;
    let mut rest: Vec<_> = rest.into_iter().collect();
    rest.sort_unstable_by_key(ToString::to_string);
    Ok(rest)
}

/// The capabilities among `wanted` that this thread lacks, in their order. CAP_SYS_ADMIN includes CAP_BPF; without a
/// limit on locked memory CAP_IPC_LOCK is not missing.
pub fn missing(wanted: &[Capability]) -> Result<Vec<Capability>, PrivilegeError> {
    let unlimited = rustix::process::getrlimit(rustix::process::Resource::Memlock).current.is_none();
    Ok(missing_of(&caps::read(None, CapSet::Effective)?, unlimited, wanted))
}

fn missing_of(effective: &CapsHashSet, memory_is_unlimited: bool, wanted: &[Capability]) -> Vec<Capability> {
    let has = |capability: &Capability| {
        effective.contains(capability)
            || *capability == Capability::CAP_BPF && effective.contains(&Capability::CAP_SYS_ADMIN)
            || *capability == Capability::CAP_IPC_LOCK && memory_is_unlimited
    };
    wanted.iter().filter(|capability| !has(capability)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_capabilities() {
        let wanted =
            [Capability::CAP_NET_RAW, Capability::CAP_NET_ADMIN, Capability::CAP_BPF, Capability::CAP_IPC_LOCK];
        let missing =
            |effective: &[Capability], unlimited| missing_of(&effective.iter().copied().collect(), unlimited, &wanted);
        assert_eq!(missing(&wanted, false), []);
        assert_eq!(missing(&wanted[1..], false), [Capability::CAP_NET_RAW]);
        assert_eq!(missing(&[], false), wanted);
        assert_eq!(missing(&[Capability::CAP_SYS_ADMIN], true), wanted[..2]);
    }
}
