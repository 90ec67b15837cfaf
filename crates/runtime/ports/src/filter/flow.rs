//! Distributes the datagrams of one UDP flow over workers by the flows that they carry.
//!
//! A tunnel has one pair of addresses and ports, so that the kernel's hashes of these send all its packets to one worker. A
//! [`FlowKey`] says which bytes of the payload identify the flow inside. [`FlowHash`] compiles it to classic BPF programs, which the
//! kernel runs to choose one of several sockets: those of a fanout group of packet sockets, or of UDP sockets that share an
//! address (`SO_REUSEPORT`). All packets of a flow reach the same socket, so that their order is kept.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};

use super::classic::{
    AND, Filter, Instruction, JUMP_EQUAL, LOAD_BYTE, LOAD_HALF, LOAD_WORD, RETURN, UDP_HEADER, jump, op, when_equal,
};

// Opcodes of linux/bpf_common.h.
const LOAD_VALUE: u16 = 0x00;
const LOAD_INDEX_MEMORY: u16 = 0x61;
const STORE_INDEX: u16 = 0x03;
const MULTIPLY: u16 = 0x24;
const MODULO: u16 = 0x94;
const SHIFT_RIGHT: u16 = 0x74;
const XOR_INDEX: u16 = 0xac;
const ADD_INDEX: u16 = 0x0c;
const TO_INDEX: u16 = 0x07;
const FROM_INDEX: u16 = 0x87;
const RETURN_ACCUMULATOR: u16 = 0x16;

/// Odd numbers whose products spread over all bits (those of MurmurHash3).
const PER_WORD: u32 = 0xcc9e_2d51;
const AT_END: u32 = 0x85eb_ca6b;

/// The lengths of IP headers without options and extension headers.
const IPV4: u32 = 20;
const IPV6: u32 = 40;

/// The bytes of a datagram's payload that identify the flow it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowKey {
    /// Offsets of 32-bit words in big-endian order, and their masks.
    pub words: Vec<(u8, u32)>,
    /// Words whose number is in the datagram.
    pub variable: Option<VariableWords>,
}

/// Consecutive 32-bit words. Their number is 2 plus the sum of two fields of 2 bits each, which are in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableWords {
    /// The offset of the first word.
    pub first: u8,
    /// The offset of the byte with the two fields.
    pub length_at: u8,
    /// The positions of the fields' lowest bits in the byte.
    pub shifts: [u8; 2],
}

impl VariableWords {
    const MIN: u8 = 2;
    const MAX: u8 = 8;
}

/// A hash of flows. Its seed is random, so that nobody outside knows which flows share a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowHash {
    key: FlowKey,
    seed: u32,
}

impl FlowHash {
    /// Makes a hash with a random seed.
    pub fn new(key: FlowKey) -> FlowHash {
        FlowHash { key, seed: RandomState::new().build_hasher().finish() as u32 }
    }

    /// The hash of a datagram's flow; `None` if its payload is too short.
    #[inline]
    pub fn of(&self, payload: &[u8]) -> Option<u32> {
        let word = |at: u8| Some(u32::from_be_bytes(*payload.get(usize::from(at)..)?.first_chunk()?));
        let mut hash = self.seed;
        for (at, mask) in &self.key.words {
            hash = (word(*at)? & mask ^ hash).wrapping_mul(PER_WORD);
        }
        if let Some(variable) = self.key.variable {
            let lengths = *payload.get(usize::from(variable.length_at))?;
            let count = variable.shifts.map(|shift| lengths >> shift & 3).iter().sum::<u8>() + VariableWords::MIN;
            for i in (0..count).rev() {
                hash = (word(variable.first + 4 * i)? ^ hash).wrapping_mul(PER_WORD);
            }
        }
        hash = (hash ^ hash >> 16).wrapping_mul(AT_END);
        Some(hash ^ hash >> 13)
    }

    /// The program of a fanout group of packet sockets, which sees the IP header first. Its result is the hash, or 0 for a packet
    /// that is not a UDP datagram over IPv4 without options, or IPv6 without extension headers, or too short.
    pub(crate) fn fanout(&self) -> Filter {
        by_ip_version(|ip| self.code(ip + UDP_HEADER))
    }

    /// Like [`FlowHash::fanout`], by the datagram's source address and port: all packets of one sender go to the same socket.
    pub(crate) fn fanout_by_sender(&self) -> Filter {
        by_ip_version(|ip| {
            let address = if ip == IPV4 { vec![12] } else { vec![8, 12, 16, 20] };
            let mut code = vec![op(LOAD_VALUE, self.seed), op(TO_INDEX, 0)];
            code.extend(address.into_iter().flat_map(|at| add(LOAD_WORD, at, u32::MAX)));
            code.extend(add(LOAD_HALF, ip, u32::MAX));
            code.extend(finish());
            code
        })
    }

    /// The program of `count` UDP sockets that share an address, which sees the payload first. Its result is the number of a
    /// socket, 0 for a payload that is too short.
    pub(crate) fn among_sockets(&self, count: u32) -> Filter {
        let mut code = self.code(0);
        code.extend([op(MODULO, count), op(RETURN_ACCUMULATOR, 0)]);
        Filter(code)
    }

    /// Computes the hash in the accumulator. The payload begins at this offset.
    fn code(&self, payload: u32) -> Vec<Instruction> {
        // The index register holds the hash so far.
        let mut code = vec![op(LOAD_VALUE, self.seed), op(TO_INDEX, 0)];
        for (at, mask) in &self.key.words {
            code.extend(add(LOAD_WORD, payload + u32::from(*at), *mask));
        }
        if let Some(variable) = self.key.variable {
            let length = payload + u32::from(variable.length_at);
            let field = |shift: u8| [op(LOAD_BYTE, length), op(SHIFT_RIGHT, shift.into()), op(AND, 3)];
            code.push(op(STORE_INDEX, 0));
            code.extend(field(variable.shifts[0]));
            code.push(op(TO_INDEX, 0));
            code.extend(field(variable.shifts[1]));
            code.extend([op(ADD_INDEX, 0), op(LOAD_INDEX_MEMORY, 0)]);
            // Jumps to the datagram's last word. Those in front of it follow.
            let most = usize::from(VariableWords::MAX - VariableWords::MIN);
            let length = add(LOAD_WORD, 0, u32::MAX).len();
            for more in 0..most {
                let behind = most - more - 1 + length * (most - more);
                code.push(jump(JUMP_EQUAL, more as u32, behind as u8, 0));
            }
            for i in (0..VariableWords::MAX).rev() {
                code.extend(add(LOAD_WORD, payload + u32::from(variable.first + 4 * i), u32::MAX));
            }
        }
        code.extend(finish());
        code
    }
}

/// Notices that a sender joins datagrams of several flows to one frame (the kernel's GSO), which a virtual device delivers as it is. The
/// kernel chooses one socket for all of them, so that packets of a flow would reach different workers.
#[derive(Debug)]
pub(crate) struct JoinedFlows {
    hash: FlowHash,
    seen: AtomicBool,
    reported: AtomicBool,
}

impl JoinedFlows {
    pub(crate) fn new(hash: FlowHash) -> JoinedFlows {
        JoinedFlows { hash, seen: AtomicBool::new(false), reported: AtomicBool::new(false) }
    }

    pub(crate) fn hash(&self) -> &FlowHash {
        &self.hash
    }

    /// Compares the payloads of two datagrams of one frame.
    #[inline]
    pub(crate) fn compare(&self, one: &[u8], other: &[u8]) {
        if !self.seen.load(Ordering::Relaxed) && self.hash.of(one) != self.hash.of(other) {
            self.seen.store(true, Ordering::Relaxed);
        }
    }

    /// Whether such frames have come. True once.
    pub(crate) fn take(&self) -> bool {
        self.seen.load(Ordering::Relaxed) && !self.reported.swap(true, Ordering::Relaxed)
    }
}

/// Adds a value of the packet to the hash.
fn add(load: u16, at: u32, mask: u32) -> Vec<Instruction> {
    let mut code = vec![op(load, at)];
    if mask != u32::MAX {
        code.push(op(AND, mask));
    }
    code.extend([op(XOR_INDEX, 0), op(MULTIPLY, PER_WORD), op(TO_INDEX, 0)]);
    code
}

/// Mixes the upper bits of the hash into the lower ones, which choose the socket.
fn finish() -> [Instruction; 7] {
    [
        op(FROM_INDEX, 0),
        op(SHIFT_RIGHT, 16),
        op(XOR_INDEX, 0),
        op(MULTIPLY, AT_END),
        op(TO_INDEX, 0),
        op(SHIFT_RIGHT, 13),
        op(XOR_INDEX, 0),
    ]
}

/// Runs the code for datagrams over IPv4 and over IPv6, which is given the length of the IP header, and returns the accumulator;
/// returns 0 for other packets.
fn by_ip_version(code: impl Fn(u32) -> Vec<Instruction>) -> Filter {
    let block = |ip: u32, protocol: u32| {
        let mut block = code(ip);
        block.push(op(RETURN_ACCUMULATOR, 0));
        let mut test = vec![op(LOAD_BYTE, protocol)];
        test.extend(when_equal(17, block));
        test.push(op(RETURN, 0));
        test
    };
    let mut all = vec![op(LOAD_BYTE, 0)];
    all.extend(when_equal(0x45, block(IPV4, 9)));
    all.push(op(SHIFT_RIGHT, 4));
    all.extend(when_equal(6, block(IPV6, 6)));
    all.push(op(RETURN, 0));
    Filter(all)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::OwnedFd;

    use proptest::prelude::*;

    use super::*;
    use crate::linux::sys;

    fn hash() -> FlowHash {
        let words = vec![(0, 0xf_ffff), (12, u32::MAX), (24, u32::MAX)];
        let variable = Some(VariableWords { first: 28, length_at: 9, shifts: [4, 0] });
        FlowHash::new(FlowKey { words, variable })
    }

    /// Sockets that share an address, by a program.
    fn sockets(count: u32, program: &Filter) -> Vec<UdpSocket> {
        let first = OwnedFd::from(UdpSocket::bind("127.0.0.1:0").unwrap());
        sys::share_address(&first).unwrap();
        let more: Vec<_> = (1..count).map(|_| sys::bind_beside(&first).unwrap()).collect();
        sys::set_socket_program(&first, program).unwrap();
        let sockets: Vec<UdpSocket> = [first].into_iter().chain(more).map(UdpSocket::from).collect();
        sockets.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
        sockets
    }

    proptest! {
        #[test]
        fn the_kernel_computes_the_same_hash(mut payload in prop::collection::vec(any::<u8>(), 1..80), length: u8) {
            const COUNT: u32 = 5;
            let hash = hash();
            let sockets = sockets(COUNT, &hash.among_sockets(COUNT));
            // All lengths of hosts, whatever proptest prefers.
            if let Some(byte) = payload.get_mut(9) {
                *byte = length;
            }
            let out = UdpSocket::bind("127.0.0.1:0").unwrap();
            out.send_to(&payload, sockets[0].local_addr().unwrap()).unwrap();
            // A datagram over the loopback device has arrived when it is sent.
            let got: Vec<bool> = sockets.iter().map(|socket| socket.recv(&mut [0; 100]).is_ok()).collect();
            let wanted = hash.of(&payload).unwrap_or(0) % COUNT;
            prop_assert_eq!(got, (0..COUNT).map(|i| i == wanted).collect::<Vec<_>>());
        }

        #[test]
        fn all_fields_count_and_nothing_else(
            payload in prop::collection::vec(any::<u8>(), 60..80), at in 0usize..60, bit in 0u32..8,
        ) {
            let hash = hash();
            let mut other = payload.clone();
            other[at] ^= 1 << bit;
            let hosts = usize::from((payload[9] >> 4 & 3) + (payload[9] & 3) + 2) * 4;
            let counts = match at {
                1 => bit < 4,
                2..4 | 12..16 | 24..28 => true,
                // The lengths, which also change what is hashed.
                9 => return Ok(()),
                28.. => at < 28 + hosts,
                _ => false,
            };
            prop_assert_eq!(hash.of(&payload) != hash.of(&other), counts);
        }
    }

    #[test]
    fn flows_are_distributed_evenly() {
        let hash = hash();
        for at in [2, 12, 28, 31, 35] {
            for workers in [2, 3, 8] {
                let mut counts = vec![0; workers as usize];
                for value in 0..=255 {
                    let mut payload = [0; 60];
                    payload[at] = value;
                    counts[(hash.of(&payload).unwrap() % workers) as usize] += 1;
                }
                let even = 256 / workers as usize;
                assert!(counts.iter().all(|count| (even / 3..even * 2).contains(count)), "{at}: {counts:?}");
            }
        }
    }
}
