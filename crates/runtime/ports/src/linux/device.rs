//! The error type of the network back ends, and facts about a device.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use hopwright_dataplane::PortInfo;

use crate::linux::qdisc::Qdisc;
use crate::linux::sys;
use crate::offload::join::Segments;

/// The error that a device cannot be used.
#[derive(thiserror::Error)]
#[error("{device}: cannot {what}: {error}")]
pub struct DeviceError {
    /// The device's name.
    pub device: String,
    /// The action that failed.
    pub what: &'static str,
    /// The reason.
    #[source]
    pub error: io::Error,
}

/// As people read it: `main` prints its error in this way.
impl std::fmt::Debug for DeviceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// Returns a function for `map_err` that adds the device and the failed action to an error.
pub(crate) fn failed<'a>(device: &'a str, what: &'static str) -> impl Fn(io::Error) -> DeviceError + 'a {
    move |error| DeviceError { device: device.into(), what, error }
}

/// Facts about a device, and a socket to query them.
#[derive(Debug)]
pub(crate) struct Facts {
    name: String,
    socket: OwnedFd,
    /// The length of the longest frame that the device carries, in bytes. Refreshed periodically, because the MTU may
    /// change.
    longest: AtomicU32,
    /// The indices of the features in [`Segments::FEATURES`], as far as the kernel has them.
    segmentation: [Option<usize>; Segments::FEATURES.len()],
    /// Those that are on. They may change, too.
    takes: AtomicU8,
    qdisc: Option<Qdisc>,
    /// Whether frames go through a queueing discipline that somebody has set. May change, too.
    is_queued: AtomicBool,
}

impl Facts {
    pub(crate) fn new(name: &str, socket: OwnedFd) -> io::Result<Facts> {
        let mtu = sys::mtu(&socket, name)?;
        let (longest, takes) = (AtomicU32::new(longest_frame(mtu)), AtomicU8::new(0));
        let qdisc = sys::interface_index(name).and_then(Qdisc::of).ok();
        let mut facts = Facts {
            name: name.into(),
            socket,
            longest,
            segmentation: Default::default(),
            takes,
            qdisc,
            is_queued: AtomicBool::new(false),
        };
        // Only Ethernet frames are ever joined.
        if facts.is_ethernet() {
            facts.segmentation = sys::features(&facts.socket, name, &Segments::FEATURES).unwrap_or_default();
        }
        facts.refresh();
        Ok(facts)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The length of the longest frame in bytes, including the Ethernet header and VLAN tags.
    #[inline]
    pub(crate) fn longest(&self) -> u32 {
        self.longest.load(Ordering::Relaxed)
    }

    /// The length of the longest frame without VLAN tags, in bytes.
    #[inline]
    pub(crate) fn longest_untagged(&self) -> u32 {
        self.longest().saturating_sub(TAGS)
    }

    /// The kinds of joined frames that the device takes.
    #[inline]
    pub(crate) fn takes(&self) -> Segments {
        Segments::from_bits(self.takes.load(Ordering::Relaxed))
    }

    /// Whether somebody has set the device's queueing discipline, which frames should go through.
    #[inline]
    pub(crate) fn is_queued(&self) -> bool {
        self.is_queued.load(Ordering::Relaxed)
    }

    /// Updates the facts that may change.
    pub(crate) fn refresh(&self) {
        let is_queued = self.qdisc.as_ref().and_then(|qdisc| qdisc.is_configured().ok());
        self.is_queued.store(is_queued.unwrap_or(false), Ordering::Relaxed);
        if self.segmentation.iter().any(Option::is_some) {
            let on = sys::active_features(&self.socket, &self.name, &self.segmentation).unwrap_or_default();
            let takes = on.iter().enumerate().fold(0, |bits, (i, on)| bits | u8::from(*on) << i);
            self.takes.store(takes, Ordering::Relaxed);
        }
        if let Ok(mtu) = sys::mtu(&self.socket, &self.name) {
            self.longest.store(longest_frame(mtu), Ordering::Relaxed);
        }
    }

    pub(crate) fn mac(&self) -> io::Result<Option<[u8; 6]>> {
        sys::mac(&self.socket, &self.name)
    }

    pub(crate) fn is_ethernet(&self) -> bool {
        matches!(self.mac(), Ok(Some(_)))
    }

    pub(crate) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    pub(crate) fn info(&self) -> PortInfo {
        PortInfo { mac: self.mac().ok().flatten(), mtu: sys::mtu(&self.socket, &self.name).ok(), up: self.is_up() }
    }

    pub(crate) fn is_up(&self) -> Option<bool> {
        sys::is_up(&self.socket, &self.name).ok()
    }
}

/// The length of the VLAN tags that a frame may have, in bytes.
const TAGS: u32 = 2 * 4;

/// Adds the Ethernet header and two VLAN tags, which an MTU does not include.
fn longest_frame(mtu: u32) -> u32 {
    mtu.saturating_add(14 + TAGS)
}
