//! Ports: what a switch receives packets from, and sends them to.
//!
//! - [`MemoryPort`]: packets in memory, whose other end is a [`Wire`].
//! - With the feature `ports`: `Device`, a network device by its name; `Tap`, a network device whose other end is this process;
//!   `PcapPort`, a capture file.
//! - Your own, by the trait [`Port`]; see `examples/custom_port.rs`.
//!
//! A switch's thread sleeps while nothing comes only if all its ports have a descriptor that wakes it ([`Port::poll_fd`]); else it polls
//! them again and again, and takes a whole CPU. All ports of this module have one, except for [`RepeatPort`] and `PcapPort`: a switch with
//! one of these never sleeps.

#[cfg(feature = "ports")]
pub(crate) mod devices;
#[cfg(not(feature = "ports"))]
#[path = "no_devices.rs"]
pub(crate) mod devices;

use std::fmt;

#[cfg(feature = "ports")]
pub use devices::Device;
pub use hopwright_dataplane::memory::{MemoryPort, RepeatPort, Wire};
pub use hopwright_dataplane::{DeviceStats, FrameSize, Packet, Pool, Port, PortInfo};
#[cfg(feature = "ports")]
pub use hopwright_ports::{DeviceError, PcapPort, PortChoice, Tap, opener::OpenerError, pcap};

/// Something that can be a port of a switch: a [`Port`], or a device that is opened when the switch runs.
pub struct PortSource(pub(crate) Source);

pub(crate) enum Source {
    Port(Box<dyn Port>),
    #[cfg(feature = "ports")]
    Device(String),
}

impl PortSource {
    /// A port whose type is known at run time only.
    pub fn boxed(port: Box<dyn Port>) -> PortSource {
        PortSource(Source::Port(port))
    }
}

impl<P: Port + 'static> From<P> for PortSource {
    fn from(port: P) -> PortSource {
        PortSource::boxed(Box::new(port))
    }
}

impl fmt::Debug for PortSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match &self.0 {
            Source::Port(port) => port.name(),
            #[cfg(feature = "ports")]
            Source::Device(name) => name,
        };
        f.debug_tuple("PortSource").field(&name).finish()
    }
}
