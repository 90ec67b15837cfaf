//! The layout of a table's key.

use hopwright_ir::{MatchForm, Table};

/// How the fields of a table's key are packed into words.
///
/// Consecutive fields share a word as long as whole fields fit; the first one is in the most significant bits. Ranges
/// and fields of more than 64 bits have words of their own. A prefix comes last. Unused bits are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLayout {
    /// One per key of the table. Selector keys have width 0.
    pub fields: Vec<KeyField>,
    /// The runs of fields that make up the key, in order.
    pub runs: Vec<KeyRun>,
    /// The length of the key in words.
    pub words: usize,
}

/// The position of a field in the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyField {
    /// Index of its first word.
    pub word: usize,
    /// Shift of its lowest bit in that word.
    pub shift: u32,
    /// Width in bits; 0 if the lookup does not use the field.
    pub width: u32,
}

/// Consecutive fields that share words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRun {
    /// Indices of the table's keys, most significant first.
    pub keys: Vec<usize>,
    /// Total width in bits, aligned to the lowest bit of the last word.
    pub width: u32,
}

impl KeyField {
    /// Number of words that it occupies.
    pub fn words(&self) -> usize {
        self.width.div_ceil(64) as usize
    }

    /// Reads its value from a key, as limbs.
    pub fn read<'a>(&self, key: &'a [u64]) -> impl Iterator<Item = u64> + use<'a> {
        let KeyField { word, shift, width } = *self;
        let mask = if width < 64 { (1 << width) - 1 } else { u64::MAX };
        key[word..word + self.words()].iter().map(move |w| w >> shift & mask)
    }

    /// Writes its value into a key, where the field must be zero. The limbs must have no bits beyond its width.
    pub fn write(&self, key: &mut [u64], value: impl IntoIterator<Item = u64>) {
        for (to, from) in key[self.word..].iter_mut().zip(value).take(self.words()) {
            *to |= from << self.shift;
        }
    }
}

impl KeyLayout {
    /// Computes the layout of a table's key.
    pub fn of(table: &Table) -> KeyLayout {
        let width = |key: usize| table.keys[key].expr.ty.width();
        let form = |key: usize| table.keys[key].kind.form();
        let mut order: Vec<usize> = (0..table.keys.len()).collect();
        order.retain(|key| form(*key) != MatchForm::Nothing && width(*key) > 0);
        order.sort_by_key(|key| form(*key) == MatchForm::Prefix);
        let alone = |key: usize| form(key) == MatchForm::Range || width(key) > 64;
        let mut runs: Vec<KeyRun> = Vec::new();
        for key in order {
            match runs.last_mut() {
                Some(run) if !alone(key) && !alone(run.keys[0]) && run.width + width(key) <= 64 => {
                    run.keys.push(key);
                    run.width += width(key);
                }
                _ => runs.push(KeyRun { keys: vec![key], width: width(key) }),
            }
        }
        let mut fields = vec![KeyField::default(); table.keys.len()];
        let mut words = 0;
        for run in &runs {
            let mut shift = run.width;
            for &key in &run.keys {
                shift -= width(key);
                fields[key] = KeyField { word: words, shift, width: width(key) };
            }
            words += run.width.div_ceil(64) as usize;
        }
        KeyLayout { fields, runs, words }
    }
}

#[cfg(test)]
mod tests {
    use hopwright_ir::{ActionCall, ActionId, Expr, Key, MatchKind, Span, Type};

    use super::*;

    fn layout(keys: &[(u32, MatchKind)]) -> KeyLayout {
        let key = |(width, kind): &(u32, MatchKind)| {
            let ty = Type::Bits(*width);
            Key { name: String::new(), expr: Expr::constant(0u32, ty, Span::none()), kind: *kind }
        };
        let table = Table {
            name: "t".into(),
            id: None,
            keys: keys.iter().map(key).collect(),
            actions: Vec::new(),
            default_action: ActionCall { action: ActionId(0), args: Vec::new() },
            const_default_action: false,
            entries: Vec::new(),
            const_entries: false,
            size: 1024,
            implementation: None,
            direct_counter: None,
            direct_meter: None,
            entry_cells: Vec::new(),
            idle_timeout: false,
            span: Span::none(),
        };
        KeyLayout::of(&table)
    }

    #[test]
    fn whole_fields_share_words() {
        use MatchKind::{Exact, Lpm, Range, Ternary};
        let place = |word, shift, width| KeyField { word, shift, width };
        let l = layout(&[(9, Exact), (48, Exact), (7, Exact), (1, Exact), (32, Exact)]);
        assert_eq!(l.fields, [place(0, 55, 9), place(0, 7, 48), place(0, 0, 7), place(1, 32, 1), place(1, 0, 32)]);
        assert_eq!(l.words, 2);
        // A prefix comes last; wide fields have words of their own.
        let l = layout(&[(32, Lpm), (128, Exact), (9, Exact)]);
        assert_eq!(l.fields, [place(2, 0, 32), place(0, 0, 128), place(2, 32, 9)]);
        assert_eq!(l.words, 3);
        // Ranges have words of their own.
        let l = layout(&[(9, Ternary), (7, Range), (32, Ternary)]);
        assert_eq!(l.fields, [place(0, 0, 9), place(1, 0, 7), place(2, 0, 32)]);
        let mut key = [0; 3];
        for (field, value) in l.fields.iter().zip([0x155, 0x7f, 0xffff_ffff]) {
            field.write(&mut key, [value]);
            assert_eq!(field.read(&key).collect::<Vec<_>>(), [value]);
        }
    }
}
