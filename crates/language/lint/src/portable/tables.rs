//! Tables: where they are applied, and what they match.

use std::collections::BTreeMap;

use hopwright_sema::hir::{Call, Callee, Expr, ExprKind, Stmt, StmtKind, Table, TableId};
use hopwright_source::Span;

use super::{Lint, Target};
use crate::visit::{self, Seen};

/// The most bits that a Tofino compares with a range: five nibbles.
const RANGE_BITS: u32 = 20;

impl Lint<'_, '_> {
    pub(super) fn tables(&mut self) {
        self.applied_twice();
        let program = self.program;
        program.tables.iter().for_each(|table| self.keys(table));
    }

    fn applied_twice(&mut self) {
        if self.target == Target::Psa {
            return;
        }
        let program = self.program;
        let mut places: BTreeMap<TableId, Vec<Span>> = BTreeMap::new();
        visit::program(program, &mut |seen| {
            let (table, span) = match seen {
                Seen::Stmt(Stmt { kind: StmtKind::SwitchTable(table, _), span }) => (*table, *span),
                Seen::Expr(Expr { kind: ExprKind::TableHit(table, _), span, .. }) => (*table, *span),
                Seen::Call(Call { callee: Callee::Table(table), span, .. }) => (*table, *span),
                _ => return,
            };
            places.entry(table).or_default().push(span);
        });
        for (table, mut spans) in places {
            spans.sort_unstable();
            spans.dedup();
            let Some(second) = spans.get(1) else { continue };
            let why = match self.target {
                Target::Tofino => {
                    "a table lies in one stage: packets that are there for different reasons go on in the same way"
                }
                _ => "a table has one successor for each of its actions",
            };
            let what = format!("the table `{}` is applied in {} places", program[table].name, spans.len());
            let instead = "apply it once, where all paths meet, with a key that says why; or declare it twice";
            self.say("W0045", *second, &what, why, instead);
        }
    }

    fn keys(&mut self, table: &Table) {
        let tofino = self.target == Target::Tofino;
        let count = |kind: &str| table.keys.iter().filter(|key| key.match_kind == kind).count();
        for key in &table.keys {
            let span = key.expr.span;
            match key.match_kind.as_str() {
                kind @ ("masked" | "suffix") => {
                    let what = &format!("the match kind `{kind}` is declared by the program, and is Hopwright's");
                    let fix = self.match_kind(key, "ternary").filter(|_| table.entries.is_empty());
                    let instead = "`ternary`, with priorities that the control plane chooses";
                    self.say_with_fix("W0048", (span, fix), what, "", instead);
                }
                "optional" if tofino => {
                    let instead = "`ternary`: the mask is all ones, or zero";
                    let fix = self.match_kind(key, "ternary");
                    let what = "the match kind `optional`";
                    self.say_with_fix("W0048", (span, fix), what, "tna.p4 does not declare it", instead);
                }
                "range" if tofino && self.width(&key.expr.ty).is_some_and(|bits| bits > RANGE_BITS) => {
                    let bits = self.width(&key.expr.ty).unwrap_or_default();
                    let why = "a range is compared in at most five nibbles";
                    self.say(
                        "W0048",
                        span,
                        &format!("a range of {bits} bits"),
                        why,
                        "several `ternary` entries, or a coarser value",
                    );
                }
                _ => {}
            }
        }
        if tofino && count("lpm") > 1 {
            self.say("W0048", table.span, "several `lpm` keys in one table", "", "`ternary` for all but one of them");
        } else if tofino && count("lpm") > 0 && count("ternary") + count("range") > 0 {
            let why = "its compiler matches one or the other";
            let (fix, what) = (self.ternary_for_lpm(table), "a table with `lpm` and `ternary` keys");
            self.say_with_fix("W0048", (table.span, fix), what, why, "`ternary` for all of them");
        }
        if tofino && count("lpm") > 0 && !table.entries.is_empty() {
            let what = "entries of the program in a table with an `lpm` key";
            self.say("W0048", table.span, what, "", "`ternary` instead, or entries of the control plane");
        }
    }
}
