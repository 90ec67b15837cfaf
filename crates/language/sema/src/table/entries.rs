//! Entries of tables in the program.

use hopwright_source::Span;
use hopwright_syntax::ast::{self};
use hopwright_syntax::diagnostic::Diagnostic;
use num_bigint::BigInt;

use super::Actions;
use crate::analyser::Analyser;
use crate::hir::{self, Set};
use crate::match_kinds::MatchKind;
use crate::types::Ty;
use crate::value::Value;

impl<'a> Analyser<'a> {
    pub(super) fn entries(
        &mut self,
        entries: &'a [ast::Entry],
        types: &[Ty],
        listed: &Actions<'a>,
        out: &mut hir::Table,
    ) {
        if types.is_empty() && !entries.is_empty() {
            self.error("E0313", entries[0].span, "a table without keys has no entries", "nothing to match");
            return;
        }
        let mut annotated = false;
        for (i, e) in entries.iter().enumerate() {
            let sets = self.keyset(&e.keyset, types, true);
            let args: &'a [ast::Arg] = e.action.args.as_deref().unwrap_or(&[]);
            let action = self.complete(&e.action.path, args, e.action.span, listed, false);
            let mut priority = None;
            if let Some(p) = &e.priority {
                if out.const_entries {
                    let message = "entries of `const entries` have no priorities";
                    self.error("E0311", p.span, message, "their order in the program counts");
                }
                let t = self.expr(p, None);
                match t.value {
                    Some(Value::Int(i)) => priority = Some(i),
                    Some(Value::Opaque) => {}
                    _ if t.is_err() => {}
                    _ => self.not_constant(p.span),
                }
            }
            if let Some(a) = ast::find_annotation(&e.annotations, "priority") {
                match a.single_int() {
                    Some(n) => {
                        annotated = true;
                        priority = Some(n.clone());
                    }
                    None => self.error("E0311", a.span, "`@priority` takes an integer", "not an integer"),
                }
            }
            let (Some(sets), Some(action)) = (sets, action) else {
                continue;
            };
            if out.keys.len() == sets.len() {
                // What a constant table has instead of an entry for each value (P4-16 14.2.1.4); nobody else adds entries. Then the first entry
                // that matches wins, which must not be in place of the one that compares more bits.
                let ranked =
                    |k: &hir::TableKey| MatchKind::by_name(&k.match_kind).is_some_and(MatchKind::more_bits_win);
                let open = out.const_entries && !out.keys.iter().any(ranked);
                for ((set, key), item) in sets.iter().zip(&mut out.keys).zip(e.keyset.items.iter().cycle()) {
                    if open && key.match_kind == "exact" && matches!(set, Set::Any) {
                        key.match_kind = "optional".to_string();
                    }
                    self.check_set(set, &key.match_kind, item.span);
                }
            }
            // Without a number the position counts, as where `@priority` came from.
            let priority = priority.or_else(|| annotated.then(|| BigInt::from(i + 1)));
            out.entries.push(hir::Entry {
                sets,
                action,
                priority,
                is_const: e.is_const || out.const_entries,
                span: e.span,
            });
        }
        if out.entries.iter().any(|e| e.priority.is_some()) && !annotated {
            self.priorities(out);
        }
        if annotated {
            // `@priority` counts from the most important.
            out.largest_priority_wins = false;
            for (i, e) in out.entries.iter_mut().enumerate() {
                e.priority.get_or_insert_with(|| BigInt::from(i + 1));
            }
        }
    }

    pub(super) fn check_set(&mut self, set: &Set, kind: &str, span: Span) {
        let Some(rules) = MatchKind::by_name(kind) else { return };
        if !rules.allows(set) {
            let d = Diagnostic::error("E0313", format!("this set is not possible for a key of kind `{kind}`"))
                .at(span, format!("a key of kind `{kind}` matches {}", rules.takes));
            let any = kind == "exact" && matches!(set, Set::Any);
            self.report(match any {
                true => d.help(
                    "entries may leave it open in `const entries` of a table without `lpm`, `masked` or `suffix` keys",
                ),
                false => d,
            });
        }
    }
}
