//! The rows of `hw_ternary`: values with masks, the first that matches wins. Rows move to make room for others in between, as many at
//! a time as there are free rows to move to, and all rows of an entry become valid in one write.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use hopwright_ir::{MatchValue, bits};
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};

use super::{Full, Write};
use crate::schedule::TERNARY_CHUNK_BITS as CHUNK;

/// What decides between rows that match: the least wins.
pub(super) type Order = (Reverse<i64>, u64);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    order: Order,
    /// Whether it is in force.
    valid: bool,
    value: BigUint,
    mask: BigUint,
    data: BigUint,
}

/// The rows of a table.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    chunks: u32,
    low_bits: u32,
    rows: Vec<Option<Row>>,
    /// Words of the chunks' memories, which start as zeros: a bit for each row.
    accepting: Vec<BigUint>,
    /// Words for rows that are not valid yet, by address.
    filled: BTreeMap<u32, BigUint>,
    writes: Vec<Write>,
}

impl Rows {
    pub(super) fn new(entries: u32, chunks: u32) -> Rows {
        Rows {
            chunks,
            low_bits: (chunks.next_power_of_two().ilog2() + CHUNK).max(entries.ilog2()),
            rows: vec![None; entries as usize],
            accepting: vec![BigUint::zero(); (chunks << CHUNK) as usize],
            filled: BTreeMap::new(),
            writes: Vec::new(),
        }
    }

    /// Values and masks over the whole key that together match what an entry matches.
    ///
    /// # Errors
    /// There are more than the table has rows.
    pub(super) fn values_and_masks(
        &self,
        matches: &[MatchValue],
        width: impl Fn(usize) -> u32,
    ) -> Result<Vec<(BigUint, BigUint)>, Full> {
        values_and_masks(matches, width, self.rows.len())
    }

    /// Replaces the rows of this order, of which there may be none, by values with masks. Returns what is to be written.
    pub(super) fn set(&mut self, order: Order, new: &[(BigUint, BigUint)], data: &BigUint) -> Result<Vec<Write>, Full> {
        let of_order = |row: &Option<Row>| row.as_ref().is_some_and(|row| row.order == order);
        let old = self.rows.iter().filter(|row| of_order(row)).count();
        let free = self.rows.iter().filter(|row| row.is_none()).count();
        if new.len() > free + old {
            let most = self.rows.len();
            return Err(Full(format!("its entries take {} rows, of at most {most}", most - free - old + new.len())));
        }
        if new.len() > free {
            // No room for both: the old rows go first.
            self.rows.iter_mut().filter(|row| of_order(row)).for_each(|row| *row = None);
            self.write_valid();
        }
        let start = self.make_room(order, new.len());
        for (at, (value, mask)) in new.iter().enumerate() {
            let row = Row { order, valid: false, value: value.clone(), mask: mask.clone(), data: data.clone() };
            self.fill_row(start + at, row);
        }
        for row in &mut self.rows {
            match row {
                Some(old) if old.order == order && old.valid => *row = None,
                Some(new) => new.valid = true,
                None => {}
            }
        }
        self.write_valid();
        Ok(std::mem::take(&mut self.writes))
    }

    /// Removes all rows. Returns what is to be written.
    pub(super) fn clear(&mut self) -> Vec<Write> {
        self.rows.fill(None);
        self.write_valid();
        std::mem::take(&mut self.writes)
    }

    /// Where this many free rows begin that are between those that win against an order and those that do not. There are as many.
    fn make_room(&mut self, order: Order, count: usize) -> usize {
        let taken = |row: &Option<Row>| row.is_some();
        let before = |row: &Option<Row>| row.as_ref().is_some_and(|row| row.order <= order);
        let mut first = self.rows.iter().rposition(before).map_or(0, |at| at + 1);
        let mut end = self.rows[first..].iter().position(taken).map_or(self.rows.len(), |at| first + at);
        if end - first < count {
            let free = |at: &usize| self.rows[*at].is_none();
            let above: Vec<usize> = (0..first).rev().filter(free).collect();
            let below: Vec<usize> = (end..self.rows.len()).filter(free).collect();
            // The nearest ones, and half of those that follow: the same rows move for them, and it is the others' room later.
            let (mut of_above, mut of_below) = (0, 0);
            while end - first + of_above + of_below < count {
                match (above.get(of_above), below.get(of_below)) {
                    (Some(above), Some(below)) if below - end > first - 1 - above => of_above += 1,
                    (_, Some(_)) => of_below += 1,
                    (_, None) => of_above += 1,
                }
            }
            of_above += following(&above, of_above) / 2;
            of_below += following(&below, of_below) / 2;
            if let Some(to) = of_above.checked_sub(1).map(|last| above[last]) {
                let moving = (to..first).filter(|at| taken(&self.rows[*at]));
                self.move_rows(moving.zip(to..).collect());
            }
            if let Some(to) = of_below.checked_sub(1).map(|last| below[last]) {
                let moving = (end..to).rev().filter(|at| taken(&self.rows[*at]));
                self.move_rows(moving.zip((0..=to).rev()).collect());
            }
            (first, end) = (first - of_above, end + of_below);
        }
        // Beside the others where rows are free as far as the table goes, otherwise in the middle, for those that come later.
        match (first, self.rows.len() - end) {
            (1.., 0) => first,
            (0, 1..) => end - count,
            _ => first + (end - first - count).div_ceil(2),
        }
    }

    /// Moves rows to others: to a free one, or to one that an earlier row of the list leaves.
    fn move_rows(&mut self, moves: Vec<(usize, usize)>) {
        let mut left = Vec::new();
        for (from, to) in moves {
            if self.rows[to].is_some() {
                self.leave(&mut left);
            }
            let row = self.rows[from].clone().expect("rows that move are taken");
            self.fill_row(to, row);
            left.push(from);
        }
        self.leave(&mut left);
    }

    /// Rows that have been filled become valid in the place of these.
    fn leave(&mut self, left: &mut Vec<usize>) {
        for from in left.drain(..) {
            self.rows[from] = None;
        }
        self.write_valid();
    }

    /// Fills a row that is not valid. Words of the chunks that are right already are not written.
    fn fill_row(&mut self, at: usize, row: Row) {
        for chunk in 0..self.chunks {
            let part = |bits: &BigUint| ((bits >> (chunk * CHUNK)) & bits::mask(CHUNK)).to_u32().unwrap_or(0);
            for value in 0..1u32 << CHUNK {
                let addr = (chunk << CHUNK) | value;
                let word = &mut self.accepting[addr as usize];
                let accepts = value & part(&row.mask) == part(&row.value);
                if word.bit(at as u64) != accepts {
                    word.set_bit(at as u64, accepts);
                    self.filled.insert(addr, word.clone());
                }
            }
        }
        self.filled.insert((1 << self.low_bits) | at as u32, row.data.clone());
        self.rows[at] = Some(row);
    }

    /// Writes the rows that have been filled, each word once, and then which rows are valid.
    fn write_valid(&mut self) {
        self.writes.extend(std::mem::take(&mut self.filled).into_iter().map(|(addr, data)| Write { addr, data }));
        let mut valid = BigUint::zero();
        for (at, row) in self.rows.iter().enumerate() {
            valid.set_bit(at as u64, row.as_ref().is_some_and(|row| row.valid));
        }
        self.writes.push(Write { addr: 2 << self.low_bits, data: valid });
    }
}

/// Values and masks over the whole key that together match what an entry matches: at most this many.
pub(super) fn values_and_masks(
    matches: &[MatchValue],
    width: impl Fn(usize) -> u32,
    most: usize,
) -> Result<Vec<(BigUint, BigUint)>, Full> {
    let mut all = vec![(BigUint::zero(), BigUint::zero())];
    for (i, one) in matches.iter().enumerate() {
        let width = width(i);
        let parts = match one {
            MatchValue::Range { lo, hi } => prefixes_of(lo, hi, width),
            other => vec![other.value_and_mask(width).unwrap_or_default()],
        };
        if all.len() * parts.len() > most {
            return Err(Full(format!("an entry with these ranges takes more than {most} rows")));
        }
        let joined = |(value, mask): &(BigUint, BigUint)| {
            let (value, mask) = (value << width, mask << width);
            parts.iter().map(|(v, m)| (&value + v, &mask + m)).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(joined).collect();
    }
    Ok(all)
}

/// How many rows after the first `count` of a list follow the last of these without another one in between.
fn following(rows: &[usize], count: usize) -> usize {
    let Some(last) = count.checked_sub(1) else { return 0 };
    rows[last..].windows(2).take_while(|pair| pair[0].abs_diff(pair[1]) == 1).count()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The memories, as lookups see them.
    struct Memory {
        words: std::collections::HashMap<u32, BigUint>,
        low_bits: u32,
    }

    impl Memory {
        /// The data that an 8-bit key finds.
        fn lookup(&self, key: u32) -> Option<BigUint> {
            let word = |addr: u32| self.words.get(&addr).cloned().unwrap_or_default();
            let accepting = word(key & 15) & word(1 << CHUNK | key >> CHUNK) & word(2 << self.low_bits);
            accepting.trailing_zeros().map(|row| word(1 << self.low_bits | row as u32))
        }
    }

    #[test]
    fn lookups_find_what_was_or_what_is_while_rows_move() {
        let mut rows = Rows::new(16, 2);
        let mut memory = Memory { words: Default::default(), low_bits: rows.low_bits };
        // Entries by order, with the values and masks of their rows and the data that they give; the first that matches wins.
        let mut entries: BTreeMap<Order, (Vec<(u32, u32)>, u32)> = BTreeMap::new();
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        let mut below = |n: u32| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 33) as u32 % n
        };
        type Entries = BTreeMap<Order, (Vec<(u32, u32)>, u32)>;
        let find = |entries: &Entries, key: u32| {
            let matches = |rows: &Vec<(u32, u32)>| rows.iter().any(|(value, mask)| key & mask == *value);
            entries.values().find(|(rows, _)| matches(rows)).map(|(_, data)| BigUint::from(*data))
        };
        let taken = |entries: &Entries| entries.values().map(|(rows, _)| rows.len()).sum::<usize>();
        let mut full = 0;
        for step in 0..600 {
            let before = entries.clone();
            let order = (Reverse(i64::from(below(6))), u64::from(below(4)));
            let mut new = Vec::new();
            let writes = if below(3) == 0 {
                entries.remove(&order);
                rows.set(order, &[], &BigUint::zero()).unwrap()
            } else {
                for _ in 0..=below(4) {
                    let mask = below(256);
                    new.push((below(256) & mask, mask));
                }
                let wide: Vec<_> = new.iter().map(|(value, mask)| ((*value).into(), (*mask).into())).collect();
                match rows.set(order, &wide, &(step + 1).into()) {
                    Ok(writes) => {
                        entries.insert(order, (new.clone(), step + 1));
                        writes
                    }
                    Err(_) => {
                        full += 1;
                        continue;
                    }
                }
            };
            let no_room = taken(&before) + new.len() > 16;
            for write in writes {
                memory.words.insert(write.addr, write.data);
                for key in (step % 7..256).step_by(7) {
                    let found = memory.lookup(key);
                    let either = found == find(&before, key) || found == find(&entries, key);
                    assert!(either || no_room, "step {step}: {key} finds {found:?}");
                }
            }
            for key in 0..256 {
                assert_eq!(memory.lookup(key), find(&entries, key), "step {step}, key {key}");
            }
        }
        assert!(full > 3);
    }

    /// How often the word that says which rows are valid is written.
    fn changes_of_valid(rows: &Rows, writes: &[Write]) -> usize {
        writes.iter().filter(|write| write.addr == 2 << rows.low_bits).count()
    }

    #[test]
    fn rows_move_together() {
        let row = |n: u32| (BigUint::from(n), bits::mask(8));
        let mut rows = Rows::new(256, 2);
        let last: Vec<_> = (0..150).map(row).collect();
        rows.set((Reverse(1), 0), &last, &BigUint::one()).unwrap();
        // Rows 53 to 202 are taken now, and there is no room for 60 in front of them. They make it in steps of 30.
        let first: Vec<_> = (150..210).map(row).collect();
        let writes = rows.set((Reverse(2), 1), &first, &BigUint::one()).unwrap();
        assert_eq!(changes_of_valid(&rows, &writes), 150 / 30 + 1);
    }

    #[test]
    fn entries_that_win_against_all_others_or_against_none_seldom_move_them() {
        for sign in [1, -1] {
            let mut rows = Rows::new(256, 2);
            let mut changes = 0;
            for n in 0..256 {
                let row = [(BigUint::from(n as u32), bits::mask(8))];
                let writes = rows.set((Reverse(sign * n), 0), &row, &BigUint::one()).unwrap();
                changes += changes_of_valid(&rows, &writes);
            }
            assert!(changes < 4 * 256, "{changes} writes of which rows are valid");
        }
    }

    /// All values of this many bits but the first and the last: a prefix for each bit but one, twice.
    fn inner(bits: u32) -> MatchValue {
        MatchValue::Range { lo: BigUint::one(), hi: bits::mask(bits) - 1u32 }
    }

    #[test]
    fn ranges_of_more_rows_than_there_are_do_not_fit() {
        let rows = Rows::new(16, 2);
        assert_eq!(rows.values_and_masks(&[inner(9)], |_| 9).unwrap().len(), 16);
        assert!(rows.values_and_masks(&[inner(10)], |_| 10).is_err());
        assert!(rows.values_and_masks(&vec![inner(128); 8], |_| 128).is_err());
    }

    #[test]
    fn an_entry_of_many_rows_writes_each_word_once() {
        let mut rows = Rows::new(16, 2);
        let new = rows.values_and_masks(&[inner(8)], |_| 8).unwrap();
        let writes = rows.set((Reverse(0), 0), &new, &BigUint::one()).unwrap();
        let addresses: std::collections::HashSet<u32> = writes.iter().map(|write| write.addr).collect();
        assert_eq!((new.len(), addresses.len()), (14, writes.len()));
    }

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
}
