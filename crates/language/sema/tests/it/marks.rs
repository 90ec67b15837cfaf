//! Comments of test programs that say which diagnostics their lines get: `//~ CODE…`; `//~^ CODE` speaks of the line above.

use std::collections::BTreeMap;

/// Codes by line, in order.
pub(crate) type Marks = BTreeMap<u32, Vec<String>>;

/// What the comments of a program say.
pub(crate) fn marks(text: &str) -> Marks {
    let mut found = Marks::new();
    for (i, line) in text.lines().enumerate() {
        let Some((_, marks)) = line.split_once("//~") else { continue };
        let up = marks.chars().take_while(|c| *c == '^').count();
        let codes = marks.trim_start_matches('^').split_whitespace().map(str::to_string);
        found.entry((i + 1 - up) as u32).or_default().extend(codes);
    }
    for codes in found.values_mut() {
        codes.sort();
    }
    found
}
