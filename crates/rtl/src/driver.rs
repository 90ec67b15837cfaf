//! What a driver writes to the memories of a table so that lookups find its entries.
//!
//! The words are those of the engines' contract (`lib/README.md`). A table is loaded as a whole.

use std::cmp::Reverse;

use hopwright_ir::{ActionCall, MatchValue, Pipeline, TableEntry, TableId, bits};
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};

use crate::hir::LookupLayout;
use crate::keys;
use crate::map::{DATA, MEMORIES, Map, MemoryKind, OBJECTS};

/// A word for a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The memory's number in the map.
    pub memory: usize,
    /// The address.
    pub addr: u32,
    /// The word.
    pub data: BigUint,
}

impl Write {
    /// The writes to the register bus: address in bytes and 32 bits.
    pub fn bus(&self, map: &Map) -> Vec<(u32, u32)> {
        let words = map.memories[self.memory].data_bits.div_ceil(32);
        let mut writes: Vec<(u32, u32)> = data_words(&self.data, words);
        writes.push((MEMORIES + 4 * self.memory as u32, self.addr));
        writes
    }
}

/// The writes that give an object of `crypto.p4` a key. What has no key should have one that nobody knows, and so should the slot
/// behind the last.
pub fn set_key(map: &Map, object: &str, index: u32, key: &[u8; 16]) -> Vec<Write> {
    let memory = map.memories.iter().position(|m| matches!(m.kind, MemoryKind::Keys { .. }) && m.name == object);
    let Some(memory) = memory else { return Vec::new() };
    let rounds = keys::rounds(key).into_iter().enumerate();
    let write = |(round, bits): (usize, [u8; 16])| Write {
        memory,
        addr: index << 4 | round as u32,
        data: BigUint::from_bytes_be(&bits),
    };
    rounds.map(write).collect()
}

/// The writes to the register bus that start a read of an object's cell.
pub fn read_object(number: usize, index: u32) -> (u32, u32) {
    (OBJECTS + 4 * number as u32, index)
}

fn data_words(data: &BigUint, words: u32) -> Vec<(u32, u32)> {
    let digits = data.to_u32_digits();
    (0..words).map(|i| (DATA + 4 * i, digits.get(i as usize).copied().unwrap_or(0))).collect()
}

/// The writes that give an empty table these entries and this default action.
///
/// # Errors
/// The table has no room for the entries.
pub fn load(
    pipeline: &Pipeline,
    map: &Map,
    id: TableId,
    entries: &[TableEntry],
    default: &ActionCall,
) -> Result<Vec<Write>, String> {
    let table = &pipeline[id];
    let layout = LookupLayout::of(pipeline, id);
    let mut writes = Vec::new();
    let width = |i: usize| table.keys[i].expr.ty.width();
    for (memory, description) in map.memories.iter().enumerate().filter(|(_, m)| m.name == table.name) {
        let data_bits = layout.action_bits + layout.data_bits;
        let key = |matches: &[MatchValue]| {
            matches.iter().enumerate().fold(BigUint::zero(), |key, (i, m)| {
                let (value, _) = m.value_and_mask(width(i)).unwrap_or_default();
                (key << width(i)) + value
            })
        };
        match description.kind {
            MemoryKind::Default => writes.push(Write { memory, addr: 0, data: word(pipeline, &layout, default) }),
            MemoryKind::Index => {
                for entry in entries {
                    let addr = key(&entry.matches).to_u32().unwrap_or(0);
                    let data = word(pipeline, &layout, &entry.action) + (BigUint::one() << data_bits.max(1));
                    writes.push(Write { memory, addr, data });
                }
            }
            MemoryKind::Exact { buckets, slots } => {
                let keyed = entries.iter().map(|e| (key(&e.matches), word(pipeline, &layout, &e.action)));
                let keyed: Vec<(BigUint, BigUint)> = keyed.collect();
                let key_bits = description.key_bits;
                let places = cuckoo(&keyed, key_bits, buckets, slots)?;
                let bucket_bits = buckets.ilog2();
                for ((key, data), (function, slot, bucket)) in keyed.into_iter().zip(places) {
                    let addr = ((function * slots + slot) << bucket_bits) + bucket;
                    let data = (((BigUint::one() << key_bits) + key) << data_bits.max(1)) + data;
                    writes.push(Write { memory, addr, data });
                }
            }
            MemoryKind::Lpm { levels } => {
                writes.extend(lpm(pipeline, &layout, entries, description.key_bits, levels, memory)?);
            }
            // An object's, which no table is.
            MemoryKind::Keys { .. } => {}
            MemoryKind::Ternary { entries: most, chunks } => {
                let mut sorted: Vec<(usize, &TableEntry)> = entries.iter().enumerate().collect();
                let rank = |e: &TableEntry| MatchValue::rank(&e.matches, e.priority, table.has_priority());
                sorted.sort_by_key(|(sequence, entry)| (Reverse(rank(entry)), *sequence));
                let mut rows = Vec::new();
                for (_, entry) in sorted {
                    for (value, mask) in ternary(&entry.matches, &width) {
                        rows.push((value, mask, word(pipeline, &layout, &entry.action)));
                    }
                }
                if rows.len() > most as usize {
                    return Err(format!("table `{}` has room for {most} entries, not {}", table.name, rows.len()));
                }
                writes.extend(ternary_writes(&rows, most, chunks, description.key_bits, memory));
            }
        }
    }
    Ok(writes)
}

/// Action number and data of an action.
fn word(pipeline: &Pipeline, layout: &LookupLayout, call: &ActionCall) -> BigUint {
    let number = layout.actions.iter().position(|a| *a == call.action).unwrap_or(0);
    let (mut data, mut used) = (BigUint::zero(), 0);
    for (param, arg) in pipeline[call.action].params.iter().zip(&call.args) {
        data = (data << param.ty.width()) + arg;
        used += param.ty.width();
    }
    (BigUint::from(number) << layout.data_bits) + (data << (layout.data_bits - used))
}

/// The CRC of a key with a reflected polynomial, without initial value and final complement.
fn crc(key: &BigUint, key_bits: u32, polynomial: u32) -> u32 {
    let length = key_bits.div_ceil(8) as usize;
    let digits = if key.is_zero() { Vec::new() } else { key.to_bytes_be() };
    let padding = std::iter::repeat_n(0, length - digits.len());
    padding.chain(digits).fold(0, |mut crc, byte: u8| {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (polynomial & (crc & 1).wrapping_neg());
        }
        crc
    })
}

/// The place of each key: hash function, slot, bucket.
fn cuckoo(
    keyed: &[(BigUint, BigUint)],
    key_bits: u32,
    buckets: u64,
    slots: u32,
) -> Result<Vec<(u32, u32, u32)>, String> {
    const POLYNOMIALS: [u32; 2] = [0xedb8_8320, 0x82f6_3b78];
    let bucket_of =
        |at: usize, function: u32| crc(&keyed[at].0, key_bits, POLYNOMIALS[function as usize]) & (buckets as u32 - 1);
    let mut table: Vec<Option<usize>> = vec![None; 2 * slots as usize * buckets as usize];
    let index =
        |function: u32, slot: u32, bucket: u32| ((function * slots + slot) as u64 * buckets) as usize + bucket as usize;
    let mut places = vec![(0, 0, 0); keyed.len()];
    for first in 0..keyed.len() {
        let mut moving = first;
        let mut placed = false;
        for step in 0..500u32 {
            let free = (0..2).flat_map(|f| (0..slots).map(move |s| (f, s)));
            let mut free = free.map(|(f, s)| (f, s, bucket_of(moving, f)));
            if let Some(place) = free.find(|(f, s, b)| table[index(*f, *s, *b)].is_none()) {
                table[index(place.0, place.1, place.2)] = Some(moving);
                places[moving] = place;
                placed = true;
                break;
            }
            // Takes another's place, which then looks for a new one.
            let (function, slot) = (step % 2, step / 2 % slots);
            let bucket = bucket_of(moving, function);
            let evicted = table[index(function, slot, bucket)].replace(moving);
            places[moving] = (function, slot, bucket);
            moving = evicted.expect("no place is free");
        }
        if !placed {
            return Err(format!("no place for entry {first} of {}", keyed.len()));
        }
    }
    Ok(places)
}

/// The words of an LPM engine: the first keys of intervals as a search tree, and what each interval gives.
fn lpm(
    pipeline: &Pipeline,
    layout: &LookupLayout,
    entries: &[TableEntry],
    key_bits: u32,
    levels: u32,
    memory: usize,
) -> Result<Vec<Write>, String> {
    let data_bits = (layout.action_bits + layout.data_bits).max(1);
    let mut prefixes: Vec<(BigUint, u32, BigUint)> = Vec::new();
    for entry in entries {
        let MatchValue::Lpm { value, prefix_len } = &entry.matches[0] else { continue };
        // Of equal prefixes the first one wins.
        if !prefixes.iter().any(|(v, len, _)| v == value && len == prefix_len) {
            prefixes.push((value.clone(), *prefix_len, word(pipeline, layout, &entry.action)));
        }
    }
    let mut starts: Vec<BigUint> = vec![BigUint::zero()];
    for (value, len, _) in &prefixes {
        starts.push(value.clone());
        starts.push(value + (BigUint::one() << (key_bits - len)));
    }
    starts.sort();
    starts.dedup();
    starts.retain(|start| bits::fits(start, key_bits));
    let count = 1usize << levels;
    if starts.len() > count {
        return Err(format!("{} intervals, of at most {count}", starts.len()));
    }
    let found = |start: &BigUint| {
        let matching = prefixes.iter().filter(|(value, len, _)| {
            let rest = key_bits - len;
            start >> rest == value >> rest
        });
        matching
            .max_by_key(|(_, len, _)| *len)
            .map_or(BigUint::zero(), |(_, _, data)| (BigUint::one() << data_bits) + data)
    };
    // Banks: 1 is filled and then used; a new design uses bank 0.
    let bank = 1u32 << levels;
    let mut writes = Vec::new();
    let all_ones = bits::mask(key_bits);
    for node in 1..count as u32 {
        // In order, node n of level l is interval (2 (n - 2^l) + 1) * 2^(levels - 1 - l).
        let level = node.ilog2();
        let interval = (2 * (node - (1 << level)) + 1) << (levels - 1 - level);
        let key = starts.get(interval as usize).unwrap_or(&all_ones).clone();
        writes.push(Write { memory, addr: bank | node, data: key });
    }
    for interval in 0..count {
        let start = starts.get(interval).or(starts.last()).expect("there is one interval at least");
        let addr = (1u32 << (levels + 1)) | bank | interval as u32;
        writes.push(Write { memory, addr, data: found(start) });
    }
    writes.push(Write { memory, addr: 2u32 << (levels + 1), data: BigUint::one() });
    Ok(writes)
}

/// Values and masks over the whole key that together match what an entry matches.
fn ternary(matches: &[MatchValue], width: &dyn Fn(usize) -> u32) -> Vec<(BigUint, BigUint)> {
    let mut rows = vec![(BigUint::zero(), BigUint::zero())];
    for (i, one) in matches.iter().enumerate() {
        let width = width(i);
        let parts = match one {
            MatchValue::Range { lo, hi } => prefixes_of(lo, hi, width),
            other => vec![other.value_and_mask(width).unwrap_or_default()],
        };
        let shifted = |(value, mask): &(BigUint, BigUint)| (value << width, mask << width);
        rows = rows
            .iter()
            .map(shifted)
            .flat_map(|(value, mask)| parts.iter().map(move |(v, m)| (&value + v, &mask + m)))
            .collect();
    }
    rows
}

/// The prefixes that a range consists of.
fn prefixes_of(lo: &BigUint, hi: &BigUint, width: u32) -> Vec<(BigUint, BigUint)> {
    let mut rows = Vec::new();
    let mut at = lo.clone();
    while at <= *hi {
        // The largest aligned block that begins here and does not end behind the range.
        let mut free = at.trailing_zeros().unwrap_or(u64::from(width)).min(u64::from(width)) as u32;
        while &at + bits::mask(free) > *hi {
            free -= 1;
        }
        rows.push((at.clone(), bits::mask(width) - bits::mask(free)));
        at += BigUint::one() << free;
    }
    rows
}

fn ternary_writes(
    rows: &[(BigUint, BigUint, BigUint)],
    entries: u32,
    chunks: u32,
    key_bits: u32,
    memory: usize,
) -> Vec<Write> {
    use crate::schedule::TERNARY_CHUNK_BITS as CHUNK;
    let low_bits = (chunks.next_power_of_two().ilog2() + CHUNK).max(entries.ilog2());
    let mut writes = Vec::new();
    let padded = chunks * CHUNK;
    debug_assert!(padded >= key_bits);
    for chunk in 0..chunks {
        for value in 0..1u32 << CHUNK {
            let mut accepting = BigUint::zero();
            for (row, (wanted, mask, _)) in rows.iter().enumerate() {
                let part = |bits: &BigUint| ((bits >> (chunk * CHUNK)) & bits::mask(CHUNK)).to_u32().unwrap_or(0);
                if value & part(mask) == part(wanted) {
                    accepting.set_bit(row as u64, true);
                }
            }
            writes.push(Write { memory, addr: (chunk << CHUNK) | value, data: accepting });
        }
    }
    for (row, (_, _, data)) in rows.iter().enumerate() {
        writes.push(Write { memory, addr: (1 << low_bits) | row as u32, data: data.clone() });
    }
    writes.push(Write { memory, addr: 2 << low_bits, data: bits::mask(rows.len() as u32) });
    writes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_its_prefixes() {
        for lo in 0u32..16 {
            for hi in lo..16 {
                let rows = prefixes_of(&lo.into(), &hi.into(), 4);
                for key in 0u32..16 {
                    let hits = rows.iter().filter(|(v, m)| BigUint::from(key) & m == *v).count();
                    assert_eq!(hits, usize::from((lo..=hi).contains(&key)), "{key} in {lo}..{hi}");
                }
            }
        }
    }

    #[test]
    fn cuckoo_hashing_fills_nine_tenths() {
        let keys: Vec<(BigUint, BigUint)> = (0u32..115).map(|i| ((i * 7919).into(), BigUint::zero())).collect();
        let places = cuckoo(&keys, 48, 16, 4).unwrap();
        let mut seen = places.clone();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 115);
        for (place, (key, _)) in places.iter().zip(&keys) {
            let polynomial = if place.0 == 0 { 0xedb8_8320 } else { 0x82f6_3b78 };
            assert_eq!(place.2, crc(key, 48, polynomial) & 15);
        }
    }

    #[test]
    fn the_crc_of_a_key_is_that_of_its_bytes() {
        // CRC-32 of "123456789" is 0xcbf43926; without initial value and complement its check value is 0x2dfd2d88.
        let key = BigUint::from_bytes_be(b"123456789");
        assert_eq!(crc(&key, 72, 0xedb8_8320), 0x2dfd_2d88);
    }
}
