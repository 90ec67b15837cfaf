//! The summary for people.

use std::fmt::Write as _;

use crate::Report;

impl Report {
    /// A table of what was reached, a line for each point that was not, and one for each entry, with the packets that hit it.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for total in self.totals.iter().filter(|total| total.all > 0) {
            let percent = 100.0 * total.reached as f64 / total.all as f64;
            let _ = writeln!(text, "{:<16}{:>6} of {:>5}  {percent:5.1} %", total.kind, total.reached, total.all);
        }
        if !self.missed.is_empty() {
            text.push_str("not reached:\n");
        }
        for (place, what) in &self.missed {
            let _ = writeln!(text, "  {place}: {what}");
        }
        if !self.entries.is_empty() {
            text.push_str("packets by entry:\n");
        }
        for entry in &self.entries {
            let _ = writeln!(text, "{:>10}  {}: {}", entry.count, entry.table, entry.label);
        }
        text
    }
}
