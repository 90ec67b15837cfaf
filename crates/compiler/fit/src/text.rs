//! The estimate as text.

use std::fmt::Write;
use std::ops::Range;

use crate::estimate::{Estimate, Item};

impl Estimate {
    /// Text for people.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", self.verdict());
        let _ = writeln!(
            out,
            "packet header vector: {} of {} bits, and {} that are only passed on",
            self.phv_bits(),
            self.phv_available,
            self.carried_bits
        );
        if !self.problems.is_empty() {
            let _ = writeln!(out, "\nWhat does not fit:");
            for problem in &self.problems {
                let _ = match &problem.place {
                    Some(place) => writeln!(out, "  {}:{}: {}", place.file, place.line, problem.message),
                    None => writeln!(out, "  {}", problem.message),
                };
            }
        }
        let _ = writeln!(out, "\nThe longest chain of dependencies:");
        for link in &self.chain {
            let why = match (link.dependency, &link.variable) {
                (Some(kind), Some(variable)) => format!("   ({kind}: {variable})"),
                (Some(kind), None) => format!("   ({kind})"),
                _ => String::new(),
            };
            let _ = writeln!(out, "  stage {:>2}  {}{why}", link.stage, described(&link.item));
        }
        let _ = writeln!(
            out,
            "\n  stage  tables  SRAM  TCAM  crossbar exact/ternary  hash bits  ALUs stateful/statistics   PHV"
        );
        for stages in alike(self) {
            let stage = &self.stages[stages.start];
            let u = &stage.used;
            let _ = writeln!(
                out,
                "{:>7}  {:>6}  {:>4}  {:>4}  {:>14}/{:<7}  {:>9}  {:>13}/{:<10}  {:>5}",
                numbers(&stages),
                u.logical_tables,
                u.sram_blocks,
                u.tcam_blocks,
                u.exact_crossbar_bytes,
                u.ternary_crossbar_bytes,
                u.hash_bits,
                u.stateful_alus,
                u.statistics_alus,
                stage.phv_bits
            );
        }
        let l = &self.limits;
        let _ = writeln!(
            out,
            "     of  {:>6}  {:>4}  {:>4}  {:>14}/{:<7}  {:>9}  {:>13}/{:<10}  {:>5}",
            l.logical_tables,
            l.sram_blocks,
            l.tcam_blocks,
            l.exact_crossbar_bytes,
            l.ternary_crossbar_bytes,
            l.hash_bits,
            l.stateful_alus,
            l.statistics_alus,
            self.phv_available
        );
        for stages in alike(self) {
            let plural = if stages.len() > 1 { "s" } else { "" };
            let _ = writeln!(out, "\nStage{plural} {}", numbers(&stages));
            for item in &self.stages[stages.start].items {
                let part = item.entries.map(|n| format!(", {n} entries")).unwrap_or_default();
                let _ = writeln!(out, "  {}{part}", described(item));
            }
        }
        out
    }
}

/// Stages that follow each other and are the same.
fn alike(e: &Estimate) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (i, stage) in e.stages.iter().enumerate() {
        match ranges.last_mut() {
            Some(last) if e.stages[last.start] == *stage => last.end = i + 1,
            _ => ranges.push(i..i + 1),
        }
    }
    ranges
}

fn numbers(stages: &Range<usize>) -> String {
    match stages.len() {
        1 => stages.start.to_string(),
        _ => format!("{}-{}", stages.start, stages.end - 1),
    }
}

fn described(item: &Item) -> String {
    let kind = match (item.table, item.algorithmic) {
        (true, true) => "algorithmic table ",
        (true, false) => "table ",
        (false, _) => "",
    };
    format!("{}:{}: {}: {kind}{}", item.place.file, item.place.line, item.thread, item.name)
}
