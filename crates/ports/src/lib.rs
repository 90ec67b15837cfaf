//! Packet I/O back ends behind the data plane's `Port` trait.
//!
//! - [`af_packet`]: a Linux network device, by a packet socket. With a [`filter::Filter`] it takes only what is meant
//!   for it; a [`claim::UdpClaim`] keeps the kernel from answering the same packets.
//! - [`af_xdp`]: the same faster, by AF_XDP sockets and a program that takes what is ours before the kernel sees it.
//! - [`choice`]: which of these a device gets.
//! - [`local`]: the router's own machine, for processes that run beside it.
//! - [`tap`]: a TAP device. [`frame_socket`]: rare frames beside the data path.
//! - [`pcap`]: capture files in and out.
//! - [`memory`]: queues and repeated packets, for tests and benchmarks.
//!
//! Does not live here: what packets mean, the loop that moves them.

pub mod af_packet;
pub mod af_xdp;
pub mod checksum;
pub mod choice;
pub mod claim;
pub mod device;
pub mod filter;
pub mod frame_socket;
pub mod local;
pub mod memory;
pub mod pcap;
pub mod tap;

mod mapping;
mod segmentation;
mod sys;

pub use af_packet::{AfPacket, FilterSetter, PortSize, RingSize};
pub use af_xdp::{AfXdp, SharedFrames, XdpDevice, XdpMode, XdpOptions};
pub use choice::{Opened, Opener, PortChoice, Wanted};
pub use claim::UdpClaim;
pub use device::DeviceError;
pub use filter::{Filter, Pattern};
pub use frame_socket::FrameSocket;
pub use local::LocalPort;
pub use memory::{MemoryPort, RepeatPort, Wire};
pub use pcap::PcapPort;
pub use tap::Tap;
