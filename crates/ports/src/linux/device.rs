//! What the back ends for network devices share: the error type, and facts about a device.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use hopwright_dataplane::PortInfo;

use crate::linux::sys;

/// A device that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{device}: cannot {what}: {error}")]
pub struct DeviceError {
    /// The device.
    pub device: String,
    /// What failed.
    pub what: &'static str,
    /// Why.
    #[source]
    pub error: io::Error,
}

/// Says what failed with a device: for `map_err`.
pub(crate) fn failed<'a>(device: &'a str, what: &'static str) -> impl Fn(io::Error) -> DeviceError + 'a {
    move |error| DeviceError { device: device.into(), what, error }
}

/// A device's name, and a socket for queries about it.
#[derive(Debug)]
pub(crate) struct Facts {
    name: String,
    socket: OwnedFd,
    /// Bytes of the longest frame that the device carries; refreshed periodically, because the MTU may change.
    longest: AtomicU32,
    /// Number of the feature that it segments UDP, and whether it does, which may change, too.
    segmentation: Option<usize>,
    segments: AtomicBool,
}

impl Facts {
    pub(crate) fn new(name: &str, socket: OwnedFd) -> io::Result<Facts> {
        let mtu = sys::mtu(&socket, name)?;
        let (longest, segments) = (AtomicU32::new(longest_frame(mtu)), AtomicBool::new(false));
        let mut facts = Facts { name: name.into(), socket, longest, segmentation: None, segments };
        // What is joined are Ethernet frames.
        if facts.is_ethernet() {
            facts.segmentation = sys::feature(&facts.socket, name, "tx-udp-segmentation").unwrap_or_default();
        }
        facts.refresh();
        Ok(facts)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the longest frame, its Ethernet header and tags included.
    #[inline]
    pub(crate) fn longest(&self) -> u32 {
        self.longest.load(Ordering::Relaxed)
    }

    /// Bytes of the longest frame without tags.
    #[inline]
    pub(crate) fn longest_untagged(&self) -> u32 {
        self.longest().saturating_sub(TAGS)
    }

    /// Whether it takes frames of several UDP datagrams (`tx-udp-segmentation`).
    #[inline]
    pub(crate) fn segments_udp(&self) -> bool {
        self.segments.load(Ordering::Relaxed)
    }

    /// Reads the facts that may change again.
    pub(crate) fn refresh(&self) {
        let segments = self
            .segmentation
            .is_some_and(|feature| sys::has_feature(&self.socket, &self.name, feature).unwrap_or_default());
        self.segments.store(segments, Ordering::Relaxed);
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
        PortInfo {
            mac: self.mac().ok().flatten(),
            mtu: sys::mtu(&self.socket, &self.name).ok(),
            up: sys::is_up(&self.socket, &self.name).ok(),
        }
    }
}

/// Bytes of the tags a frame may have.
const TAGS: u32 = 2 * 4;

/// An MTU does not count the Ethernet header and tags; two are allowed for.
fn longest_frame(mtu: u32) -> u32 {
    mtu.saturating_add(14 + TAGS)
}
