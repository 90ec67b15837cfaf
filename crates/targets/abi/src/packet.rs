//! Packets as generated code accesses them, and the functions that process batches of them.

use crate::Runtime;

/// A packet descriptor: `buffer[start..end]` are the packet's bytes. Headers may grow into the headroom before `start`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// The address of the buffer.
    pub buffer: *mut u8,
    /// Size of the buffer in bytes.
    pub capacity: u32,
    /// Offset of the packet's first byte. Generated code changes it if the deparsed packet starts elsewhere.
    pub start: u32,
    /// Offset of the end of the packet (exclusive).
    pub end: u32,
    /// v1model `ingress_port`.
    pub ingress_port: u32,
    /// Out: v1model `egress_port` if the verdict is [`Verdict::Forward`].
    pub egress_port: u32,
    /// Out: a [`Verdict`], or a [`crate::Pause`].
    pub verdict: u32,
    /// Out: the `parser_error` with which parsing ended (0 = NoError).
    pub parser_error: u32,
    /// Out: v1model `priority` when the packet entered egress, if the program ever sets it. Zero before.
    pub priority: u32,
}

/// The result of processing a packet.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Send `buffer[start..end]` to `egress_port`.
    Forward = 0,
    /// The program dropped it.
    Drop = 1,
    /// The deparsed headers do not fit the headroom: dropped.
    NoHeadroom = 2,
    /// The program exceeded the step bound, failed an assertion or the like: dropped.
    Fault = 3,
}

/// A function of generated code that runs `count` packets through parser, ingress, egress and deparser.
///
/// Returns null if all packets are done. Otherwise the last packet that ran has paused ([`crate::Pause`]), and the
/// result is the address of the packet after it.
pub type RunBatch = unsafe extern "C" fn(runtime: *const Runtime, packets: *mut Packet, count: usize) -> *mut Packet;
