//! Packet I/O back ends behind the data plane's `Port` trait.
//!
//! - [`af_packet`]: a Linux network device, by a packet socket. With a [`filter::Filter`] it takes only what is meant
//!   for it.
//! - [`af_xdp`]: the same faster, by AF_XDP sockets and a program that takes what is ours before the kernel sees it.
//! - [`choice`]: which of these a device gets.
//! - [`closing`]: what takes the kernel a while, in the background.
//! - [`udp`]: UDP sockets, for all that the kernel can carry and the others cannot.
//! - [`tap`]: a TAP device. [`frame_socket`]: rare frames beside the data path.
//! - [`pcap`]: capture files in and out.
//! - [`memory`]: queues and repeated packets, for tests and benchmarks.
//!
//! Does not live here: what packets mean, the loop that moves them.

pub mod af_packet;
pub mod af_xdp;
pub mod checksum;
pub mod choice;
pub mod closing;
pub mod device;
pub mod filter;
pub mod frame_socket;
pub mod memory;
pub mod pcap;
pub mod tap;
pub mod udp;

mod mapping;
mod segmentation;
mod sys;

pub use af_packet::{AfPacket, FilterSetter, PortSize, RingSize};
pub use af_xdp::{AfXdp, SharedFrames, XdpDevice, XdpMode, XdpOptions};
pub use choice::{Opened, Opener, PortChoice, Wanted};
pub use device::DeviceError;
pub use filter::{Filter, Pattern};
pub use frame_socket::FrameSocket;
pub use memory::{MemoryPort, RepeatPort, Wire};
pub use pcap::PcapPort;
pub use tap::Tap;
pub use udp::{UdpCounts, UdpPort, UdpSender, UdpSockets};
