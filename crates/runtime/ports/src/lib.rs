//! Packet I/O back ends behind the data plane's `Port` trait.
//!
//! - [`opener`]: opens network devices, each with the fastest back end that works.
//! - [`af_xdp`]: AF_XDP sockets and the XDP program that redirects frames to them.
//! - [`af_packet`]: packet sockets.
//! - [`udp`]: UDP sockets, for everything that only the kernel can route, resolve or fragment.
//! - [`tap`]: TAP devices. [`frame_socket`]: packet sockets for rare frames beside the data path.
//! - [`pcap`]: capture files. [`memory`](hopwright_dataplane::memory): in-memory queues and repeated packets, for tests and benchmarks.
//! - [`filter`]: selects the frames of a device that a port takes.
//! - [`checksum`]: the Internet checksum, and completing checksums that a sender left to its device.
//! - [`reception`]: has devices receive frames to addresses that are not their own.
//! - [`closing`]: closes sockets and detaches programs in the background.

pub mod af_packet;
pub mod af_xdp;
pub mod filter;
pub mod frame_socket;
pub mod opener;
pub mod pcap;
pub mod reception;
pub mod tap;
pub mod udp;

mod linux;
mod offload;
mod padding;

/// Fails a test that needs privileges, unless the environment asks to skip such tests.
#[cfg(test)]
pub(crate) fn skip_without_privileges(needs: &str) {
    assert!(
        std::env::var_os("HOPWRIGHT_SKIP_PRIVILEGED_TESTS").is_some(),
        "{needs}; HOPWRIGHT_SKIP_PRIVILEGED_TESTS=1 skips"
    );
    eprintln!("\n*** SKIPPED, NOT TESTED: {needs} ***\n");
}

pub use af_packet::{AfPacket, FilterSetter, PortSize, RingSize, SharedRing};
pub use af_xdp::{AfXdp, SharedFrames, SharedMemory, SharedProgram, SharedQueue, XdpDevice, XdpMode, XdpOptions};
pub use filter::{Filter, FlowHash, FlowKey, FrameMatch, Pattern, VariableWords};
pub use frame_socket::FrameSocket;
pub use hopwright_dataplane::memory::{self, MemoryPort, RepeatPort, Wire};
pub use linux::closing;
pub use linux::device::DeviceError;
pub use offload::checksum;
pub use opener::{Opened, Opener, PortChoice, SharedDevice, Wanted};
pub use pcap::PcapPort;
pub use reception::Reception;
pub use tap::{Carrier, Tap};
pub use udp::{UdpCounts, UdpPort, UdpSender, UdpSockets};
