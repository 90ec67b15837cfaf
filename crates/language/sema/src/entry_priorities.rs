//! Priorities of a table's entries (P4-16 14.2.1.4.1).

use hopwright_syntax::diagnostic::Diagnostic;
use num_bigint::{BigInt, Sign};

use crate::analyser::Analyser;
use crate::hir;
use crate::match_kinds::MatchKind;

impl Analyser<'_> {
    /// Checks explicit priorities: where they may be, and that those that follow from them exist. Warns about equal ones and about
    /// entries that are not in the order of their priorities.
    pub(crate) fn priorities(&mut self, out: &hir::Table) {
        let ordered = out.keys.iter().any(|k| MatchKind::by_name(&k.match_kind).is_none_or(|k| k.priorities));
        let first = &out.entries[0];
        if let Some(e) = out.entries.iter().find(|e| e.priority.is_some())
            && !ordered
        {
            let message = "the entries of this table have no priorities";
            self.error("E0311", e.span, message, "only `ternary`, `range` and `optional` keys need them");
            return;
        }
        if first.priority.is_none() {
            let message = "the first entry needs a priority if any other has one";
            self.error("E0311", first.span, message, "no priority");
            return;
        }
        let mut priorities: Vec<BigInt> = Vec::with_capacity(out.entries.len());
        for e in &out.entries {
            let last = priorities.last().cloned().unwrap_or_default();
            let priority = match &e.priority {
                Some(p) => p.clone(),
                None if out.largest_priority_wins => last - out.priority_delta,
                None => last + out.priority_delta,
            };
            if priority.sign() == Sign::Minus {
                let message = format!("the priority of this entry would be {priority}");
                self.error("E0311", e.span, message, "priorities are not negative");
                return;
            }
            priorities.push(priority);
        }
        self.doubtful_priorities(out, &priorities);
    }

    fn doubtful_priorities(&mut self, out: &hir::Table, priorities: &[BigInt]) {
        let entries: Vec<_> = out.entries.iter().zip(priorities).collect();
        let mut sorted: Vec<usize> = (0..entries.len()).collect();
        sorted.sort_by_key(|at| (entries[*at].1, *at));
        for pair in sorted.windows(2) {
            let ((first, priority), (second, other)) = (entries[pair[0]], entries[pair[1]]);
            if priority == other {
                self.report(
                    Diagnostic::warning("W0037", format!("two entries have the priority {priority}"))
                        .at(second.span, "which of them wins is not specified if both match")
                        .related(first.span, "the other")
                        .help(
                            "write `@noWarn(\"duplicate_priorities\")` before `entries` if they never match together",
                        ),
                );
            }
        }
        let wins = if out.largest_priority_wins { "largest" } else { "smallest" };
        for pair in entries.windows(2) {
            let [(first, before), (second, after)] = *pair else { continue };
            let wrong = if out.largest_priority_wins { before < after } else { before > after };
            if wrong {
                self.report(
                    Diagnostic::warning(
                        "W0038",
                        format!("this entry has priority {after}, which beats the {before} of the one before it"),
                    )
                    .at(second.span, format!("the {wins} priority wins"))
                    .related(first.span, "the one before it")
                    .help("write `@noWarn(\"entries_out_of_priority_order\")` before `entries` if that is meant"),
                );
            }
        }
    }
}
