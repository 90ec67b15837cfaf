//! What a driver writes to the registers of a design: entries of tables, keys, cells of counters and registers.
//!
//! The words are those of the engines' contract (`lib/README.md`).

mod copies;
mod cuckoo;
mod lpm;
mod masked;
mod members;
mod table;
mod ternary;
mod value_set;

use std::io;
use std::ops::Range;

use hopwright_interp::Digest;
use hopwright_ir::Unit;
use hopwright_ir::meter::Rates;
use num_bigint::BigUint;

use crate::digest;
use crate::hir::{Design, Op};
use crate::keys;
use crate::map::{
    COUNT_BITS, DATA, IDENTITY, MAGIC, MEMORIES, METER_BURST_BITS, METER_FRACTION_BITS, METER_RATE_BITS, Map,
    MemoryKind, OBJECTS, STATUS, VERSION,
};

pub use copies::CopyDriver;
pub use table::{Change, TableDriver};
pub use value_set::ValueSetDriver;

/// The table's memories have no room for an entry; why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Full(pub String);

impl std::fmt::Display for Full {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// An access to the register bus. Addresses are of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Writes 32 bits.
    Write {
        /// The address.
        address: u32,
        /// The word.
        data: u32,
    },
    /// Reads until the word is zero.
    Wait {
        /// The address.
        address: u32,
    },
}

/// The registers of a design, wherever it runs.
pub trait Registers: Send {
    /// Reads words.
    ///
    /// # Errors
    /// The design does not answer.
    fn read(&mut self, addresses: &[u32]) -> io::Result<Vec<u32>>;

    /// Makes accesses in order, while packets are under way.
    ///
    /// # Errors
    /// The design does not answer, or has been reset since [`Registers::attach`]: then its tables are empty.
    fn access(&mut self, accesses: &[Access]) -> io::Result<()>;

    /// Reads cells of an object of the map.
    ///
    /// # Errors
    /// As above.
    fn cells(&mut self, map: &Map, object: usize, cells: Range<u64>) -> io::Result<Vec<BigUint>>;

    /// Makes the design as it is after it has been loaded: whatever another driver has written is cleared. That it is the design of this map
    /// is checked.
    ///
    /// # Errors
    /// It does not answer, or is another design.
    fn attach(&mut self, map: &Map) -> io::Result<()>;
}

/// Checks that registers are those of a design, and says that its driver begins.
///
/// # Errors
/// It does not answer, or is another design.
pub(crate) fn identify(registers: &mut dyn Registers, map: &Map, place: &str) -> io::Result<()> {
    let wrong = |message: String| Err(io::Error::new(io::ErrorKind::InvalidData, message));
    let found = registers.read(&[IDENTITY, IDENTITY + 4, IDENTITY + 8, IDENTITY + 12])?;
    if found[0] != MAGIC {
        return wrong(format!("what answers at {place} is no design of ours: its first word is {:#010x}", found[0]));
    }
    if found[1] != VERSION {
        return wrong(format!("the design at {place} has version {} of the register map, not {VERSION}", found[1]));
    }
    let hash = u64::from(found[3]) << 32 | u64::from(found[2]);
    if hash != map.hash {
        return wrong(format!(
            "{place} runs another design: its hash is {hash:016x}, that of `{}` for {} is {:016x}",
            map.program, map.target, map.hash
        ));
    }
    registers.access(&[Access::Write { address: STATUS, data: 0 }])
}

/// The accesses that clear tables, value sets, lists of copies, counters, registers and meters. Default actions of tables and keys of ciphers stay.
/// Lookups miss first; then the rest is cleared.
pub fn clear(map: &Map) -> Vec<Access> {
    let mut all = Vec::new();
    for (number, memory) in map.memories.iter().enumerate() {
        let address = MEMORIES + 4 * number as u32;
        let kind = |kind: u32| kind << (memory.addr_bits - 2)..(kind + 1) << (memory.addr_bits - 2);
        let one = |kind: u32| kind << (memory.addr_bits - 2)..(kind << (memory.addr_bits - 2)) + 1;
        let whole = 0..1 << memory.addr_bits;
        let parts = match memory.kind {
            MemoryKind::Default | MemoryKind::Keys { .. } => continue,
            MemoryKind::Lpm { .. } => vec![kind(1), kind(0), one(2)],
            MemoryKind::Ternary { .. } => vec![one(2), kind(0), kind(1)],
            // Masks without values match nothing.
            MemoryKind::Masked { .. } => vec![kind(2), kind(3)],
            MemoryKind::Index | MemoryKind::Exact { .. } | MemoryKind::Lists { .. } | MemoryKind::Members { .. } => {
                vec![whole]
            }
        };
        if memory.kind.has_banks() {
            all.push(Access::Wait { address });
        }
        // The data stay for all addresses.
        all.extend((0..memory.data_bits.div_ceil(32)).map(|i| Access::Write { address: DATA + 4 * i, data: 0 }));
        all.extend(parts.into_iter().flatten().map(|data| Access::Write { address, data }));
    }
    for (number, object) in map.objects.iter().enumerate() {
        let address = OBJECTS + 4 * number as u32;
        all.extend((0..object.bits.div_ceil(32)).map(|i| Access::Write { address: DATA + 4 * i, data: 0 }));
        if object.kind == digest::KIND {
            let take = [Access::Write { address, data: 1 << 31 }, Access::Wait { address }];
            all.extend((0..digest::QUEUE).flat_map(|_| take));
        }
        let cell = |cell: u32| [Access::Write { address, data: 1 << 31 | cell }, Access::Wait { address }];
        all.extend((0..object.size as u32).flat_map(cell));
    }
    all
}

/// The objects of `crypto.p4` with keys, and how many each has room for.
pub fn keyed(map: &Map) -> impl Iterator<Item = (&str, u32)> {
    map.memories.iter().filter_map(|memory| match memory.kind {
        MemoryKind::Keys { keys } => Some((memory.name.as_str(), keys as u32)),
        _ => None,
    })
}

/// A word for a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Write {
    /// The address in the memory.
    addr: u32,
    /// The word.
    data: BigUint,
}

/// The accesses that write words to a memory in order, when it may be written.
fn accesses(map: &Map, memory: usize, writes: &[Write]) -> Vec<Access> {
    let (words, address) = (map.memories[memory].data_bits.div_ceil(32), MEMORIES + 4 * memory as u32);
    let wait = (!writes.is_empty() && map.memories[memory].kind.has_banks()).then_some(Access::Wait { address });
    let write = |write: &Write| {
        let digits = write.data.to_u32_digits();
        let word = move |i: u32| digits.get(i as usize).copied().unwrap_or(0);
        // They pass from word to word, and may come by the address of any.
        let words = (0..words).map(move |i| Access::Write { address: DATA + 4 * i, data: word(words - 1 - i) });
        words.chain([Access::Write { address, data: write.addr }])
    };
    wait.into_iter().chain(writes.iter().flat_map(write)).collect()
}

/// The accesses that give an object of `crypto.p4` a key. What has no key should have one that nobody knows, and so should the
/// slot behind the last. While they are written, what the key computes is wrong.
pub fn set_key(map: &Map, object: &str, index: u32, key: &[u8; 16]) -> Vec<Access> {
    let memory = map.memories.iter().position(|m| matches!(m.kind, MemoryKind::Keys { .. }) && m.name == object);
    let Some(memory) = memory else { return Vec::new() };
    let rounds = keys::rounds(key).into_iter().enumerate();
    let write = |(round, bits): (usize, [u8; 16])| Write {
        addr: index << 4 | round as u32,
        data: BigUint::from_bytes_be(&bits),
    };
    accesses(map, memory, &rounds.map(write).collect::<Vec<_>>())
}

/// A meter's rate or burst that has more bits than the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value} is more than 2^{bits} - 1, which is the most of hardware")]
pub struct ExcessiveRate {
    /// The rate, or the burst.
    pub value: u64,
    /// The bits of the hardware.
    pub bits: u32,
}

/// The cell of a meter with these rates, or of one that is always green.
///
/// # Errors
/// Rates or bursts are more than the engine has bits for.
pub fn meter(rates: Option<Rates>) -> Result<BigUint, ExcessiveRate> {
    let Some(Rates { cir, cburst, pir, pburst }) = rates else { return Ok(BigUint::ZERO) };
    // Bursts are in millionths of tokens.
    let fields = [
        (cir, METER_RATE_BITS, 1u32),
        (cburst, METER_BURST_BITS, 1_000_000),
        (pir, METER_RATE_BITS, 1),
        (pburst, METER_BURST_BITS, 1_000_000),
    ];
    let mut word = BigUint::from(1u32);
    for (value, bits, factor) in fields {
        if value >> bits != 0 {
            return Err(ExcessiveRate { value, bits });
        }
        let width = bits + if factor == 1 { 0 } else { METER_FRACTION_BITS };
        word = (word << width) + BigUint::from(value) * factor;
    }
    Ok(word)
}

/// Takes the digests that wait in the queues of a design, ingress's first.
///
/// # Errors
/// The design does not answer.
pub fn take_digests(registers: &mut dyn Registers, map: &Map, design: &Design) -> io::Result<Vec<Digest>> {
    let queues = map.objects.iter().enumerate().filter(|(_, object)| object.kind == digest::KIND);
    let calls = design.nodes.iter().filter_map(|node| match &node.op {
        Op::Digest { calls, .. } => Some(calls),
        _ => None,
    });
    let mut digests = Vec::new();
    // Operations are written to the map from the last one on.
    for ((number, object), calls) in queues.rev().zip(calls) {
        let address = OBJECTS + 4 * number as u32;
        let words: Vec<u32> = (0..object.bits.div_ceil(32)).map(|i| DATA + 4 * i).collect();
        loop {
            registers.access(&[Access::Write { address, data: 1 << 31 }, Access::Wait { address }])?;
            let word = BigUint::new(registers.read(&words)?);
            if !word.bit(u64::from(object.bits - 1)) {
                break;
            }
            digests.extend(digest::decode(calls, &word));
        }
    }
    Ok(digests)
}

/// The write to the register bus that starts a read of an object's cell.
pub fn read_object(number: usize, index: u32) -> (u32, u32) {
    (OBJECTS + 4 * number as u32, index)
}

/// A cell of a counter: packets in front of bytes. What it does not count is left out.
pub fn count_cell(unit: Unit, packets: u64, bytes: u64) -> BigUint {
    match unit {
        Unit::Packets => packets.into(),
        Unit::Bytes => bytes.into(),
        Unit::Both => (BigUint::from(packets) << COUNT_BITS) + bytes,
    }
}

/// Packets and bytes of a cell of a counter; zero for what it does not count.
pub fn counts_of(unit: Unit, cell: &BigUint) -> (u64, u64) {
    let mut counts = cell.iter_u64_digits();
    let low = counts.next().unwrap_or(0);
    match unit {
        Unit::Packets => (low, 0),
        Unit::Bytes => (0, low),
        Unit::Both => (counts.next().unwrap_or(0), low),
    }
}

/// The accesses that set an object's cell.
pub fn write_object(map: &Map, number: usize, index: u32, value: &BigUint) -> Vec<Access> {
    let (words, address) = (map.objects[number].bits.div_ceil(32), OBJECTS + 4 * number as u32);
    let digits = value.to_u32_digits();
    let word = |i: u32| digits.get(i as usize).copied().unwrap_or(0);
    let data = (0..words).map(|i| Access::Write { address: DATA + 4 * i, data: word(i) });
    data.chain([Access::Write { address, data: 1 << 31 | index }, Access::Wait { address }]).collect()
}
