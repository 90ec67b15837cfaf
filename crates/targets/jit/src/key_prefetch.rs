//! Key prefetch: a backward slice of the program that computes the keys of lookups in large tables. It runs over a
//! batch before the program does, so that the data plane can prefetch what these lookups will read, for all packets at
//! once.
//!
//! The slice has no other effect. It consists of those parts of the parser and of ingress that do not depend on the
//! result of a lookup or of an extern. What it cannot know is left out, together with everything that depends on it. A
//! missing or wrong key only costs time.

use std::collections::HashSet;
use std::mem::offset_of;

use cranelift_codegen::ir::{InstBuilder, Value, types};
use hopwright_ir::{
    Block, Control, Expr, ExprKind, ExternArg, HeaderId, MatchForm, Pipeline, SlotId, SlotKind, State, Stmt, StmtKind,
    TableId, Transition, Type, walk,
};
use serde::{Deserialize, Serialize};

use crate::code::memory;
use crate::emit::Emitter;
use crate::emit::point::{Point, actions_of};
use hopwright_abi::KeyLayout;
use hopwright_abi::{self as abi, direct_entries};

/// Tables with a smaller expected size are not prefetched.
const LARGE: u64 = 16_384;
/// Longer keys are not prefetched.
const MAX_KEY_WORDS: usize = 8;

/// The function, and the tables whose keys it computes.
pub struct KeyPrefetcher {
    pub(crate) code: memory::Code,
    /// The tables, in order.
    pub tables: Vec<PrefetchedTable>,
}

/// A table whose keys are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrefetchedTable {
    /// The table.
    pub table: TableId,
    /// Size of a key in words.
    pub key_words: usize,
    /// The maximum number of keys that one packet looks up.
    pub uses: usize,
}

impl KeyPrefetcher {
    /// The function. It is called like [`crate::CompiledPipeline::run`], except that [`abi::Runtime::context`] points
    /// to an array with a word per table of the pipeline. The words of [`KeyPrefetcher::tables`] point to buffers for
    /// the keys of all packets. The function advances each word to the end of the keys written.
    pub fn run(&self) -> abi::RunBatch {
        self.code.entry()
    }
}

/// Returns the slice and its tables; `None` if no table is worth it.
pub(crate) fn slice(p: &Pipeline) -> Option<(Pipeline, Vec<PrefetchedTable>)> {
    let wanted = |table: &hopwright_ir::Table| {
        let words = KeyLayout::of(table).words;
        let kinds = table.match_keys().all(|k| matches!(k.kind.form(), MatchForm::Value | MatchForm::Prefix));
        table.size >= LARGE && kinds && (1..=MAX_KEY_WORDS).contains(&words) && direct_entries(table).is_none()
    };
    if !p.tables.iter().any(wanted) {
        return None;
    }
    let mut slicer =
        Slicer { p, extracted: extracted(p), unknown: HashSet::new(), tables: Vec::new(), wanted: &wanted };
    let states = slicer.parser()?;
    let mut body = slicer.block(&p.ingress.body, true);
    let applies = |s: &Stmt| {
        let mut found = matches!(s.kind, StmtKind::Apply { .. });
        walk::blocks(s).into_iter().for_each(|b| {
            walk::stmts(b, &mut |s| found |= matches!(s.kind, StmtKind::Apply { .. }));
        });
        found
    };
    let last = body.iter().rposition(applies)?;
    body.truncate(last + 1);
    let tables = slicer.tables;
    let mut slice = p.clone();
    let empty = |control: &mut Control| control.body.clear();
    [&mut slice.verify_checksum, &mut slice.egress, &mut slice.compute_checksum, &mut slice.deparser]
        .into_iter()
        .for_each(empty);
    slice.parser.states = states;
    slice.ingress.body = body;
    slice.actions.iter_mut().for_each(|a| a.body.clear());
    Some((slice, tables))
}

/// The headers that the parser extracts. Their fields lie in the packet, which must not change.
fn extracted(p: &Pipeline) -> HashSet<HeaderId> {
    let mut headers = HashSet::new();
    for state in &p.parser.states {
        walk::stmts(&state.body, &mut |stmt| match &stmt.kind {
            StmtKind::Extract { header, .. } => headers.extend([*header]),
            StmtKind::ExtractNext { stack, .. } => headers.extend(p[*stack].elements.iter().copied()),
            _ => {}
        });
    }
    headers
}

/// Whether a statement changes where the parser is in the packet.
fn moves(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Extract { .. } | StmtKind::ExtractNext { .. } | StmtKind::Advance { .. })
        || walk::blocks(stmt).into_iter().flatten().any(moves)
}

/// Removes what cannot be known.
struct Slicer<'a> {
    p: &'a Pipeline,
    extracted: HashSet<HeaderId>,
    unknown: HashSet<SlotId>,
    tables: Vec<PrefetchedTable>,
    wanted: &'a dyn Fn(&hopwright_ir::Table) -> bool,
}

impl Slicer<'_> {
    /// Slices the parser's states. What a state writes without knowing the value is unknown everywhere, because states may be
    /// visited in many orders. Returns `None` if the path through the states cannot be known.
    fn parser(&mut self) -> Option<Vec<State>> {
        loop {
            let before = self.unknown.len();
            let mut states = self.p.parser.states.clone();
            for state in &mut states {
                state.body = self.parser_block(&state.body)?;
                if let Transition::Select { keys, .. } = &state.transition
                    && !keys.iter().all(|k| self.knows(k))
                {
                    return None;
                }
            }
            if self.unknown.len() == before {
                return Some(states);
            }
        }
    }

    fn parser_block(&mut self, body: &Block) -> Option<Block> {
        let mut out = Vec::new();
        for stmt in body {
            let mut kind = stmt.kind.clone();
            let keep = match &mut kind {
                StmtKind::Extract { varbit_bits, .. } | StmtKind::ExtractNext { varbit_bits, .. } => {
                    varbit_bits.as_ref().is_none_or(|bits| self.knows(bits))
                }
                StmtKind::Advance { bits, .. } => self.knows(bits),
                StmtKind::Verify(cond, error) => self.knows(cond) && self.knows(error),
                StmtKind::Assign(slot, value) | StmtKind::AssignSlice { slot, value, .. } => {
                    self.is_private(*slot) && self.knows(value)
                }
                StmtKind::Lookahead { parts, .. } => {
                    let all = std::mem::take(parts);
                    let (private, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|p| self.is_private(p.0));
                    self.unknown.extend(others.iter().map(|p| p.0));
                    *parts = private;
                    true
                }
                StmtKind::SetValid(header) | StmtKind::SetInvalid(header) => !self.extracted.contains(header),
                StmtKind::If { cond, then, otherwise } if self.knows(cond) => {
                    *then = self.parser_block(then)?;
                    *otherwise = self.parser_block(otherwise)?;
                    true
                }
                _ => false,
            };
            if keep {
                out.push(Stmt { kind, span: stmt.span });
            } else if moves(stmt) {
                return None;
            } else {
                self.forget(stmt);
            }
        }
        Some(out)
    }

    /// Whether a slot can be written without a change of the packet.
    fn is_private(&self, slot: SlotId) -> bool {
        let in_packet = match self.p[slot].kind {
            SlotKind::Field(header, _) => self.extracted.contains(&header),
            SlotKind::Valid(_) => true,
            _ => false,
        };
        !in_packet && !matches!(self.p[slot].ty, Type::Varbit(_))
    }

    /// Slices a block. If it is uncertain whether the block runs (`sure` is false), only its lookups stay.
    fn block(&mut self, body: &Block, sure: bool) -> Block {
        let mut out = Vec::new();
        for stmt in body {
            self.statement(stmt, sure, &mut out);
        }
        out
    }

    fn statement(&mut self, stmt: &Stmt, sure: bool, out: &mut Block) {
        let mut keep = |kind: StmtKind| out.push(Stmt { kind, span: stmt.span });
        match &stmt.kind {
            StmtKind::Assign(slot, value) => {
                if sure && self.is_private(*slot) && self.knows(value) {
                    self.unknown.remove(slot);
                    keep(stmt.kind.clone());
                } else {
                    self.unknown.insert(*slot);
                }
            }
            StmtKind::AssignSlice { slot, value, .. } => {
                if sure && self.is_private(*slot) && !self.unknown.contains(slot) && self.knows(value) {
                    keep(stmt.kind.clone());
                } else {
                    self.unknown.insert(*slot);
                }
            }
            StmtKind::SetValid(header) | StmtKind::SetInvalid(header) if sure && !self.extracted.contains(header) => {
                keep(stmt.kind.clone());
            }
            StmtKind::If { cond, then, otherwise } if sure && self.knows(cond) => {
                let before = self.unknown.clone();
                let then = self.block(then, true);
                let after = std::mem::replace(&mut self.unknown, before);
                let otherwise = self.block(otherwise, true);
                self.unknown.extend(after);
                if !(then.is_empty() && otherwise.is_empty()) {
                    keep(StmtKind::If { cond: cond.clone(), then, otherwise });
                }
            }
            StmtKind::Switch { value, cases, default } if sure && self.knows(value) => {
                let before = self.unknown.clone();
                let mut after = HashSet::new();
                let mut arm = |body: &Block| {
                    self.unknown.clone_from(&before);
                    let body = self.block(body, true);
                    after.extend(self.unknown.drain());
                    body
                };
                let cases = cases.iter().map(|(values, body)| (values.clone(), arm(body))).collect();
                let default = arm(default);
                self.unknown = after;
                keep(StmtKind::Switch { value: value.clone(), cases, default });
            }
            StmtKind::If { .. } | StmtKind::Switch { .. } => {
                for body in walk::blocks(stmt) {
                    let body = self.block(body, false);
                    out.extend(body);
                }
            }
            StmtKind::Scope { label, body } => {
                let body = self.block(body, sure);
                keep(StmtKind::Scope { label: *label, body });
            }
            StmtKind::Leave(_) | StmtKind::Exit => {
                if sure {
                    keep(stmt.kind.clone());
                }
            }
            StmtKind::Apply { table, .. } => {
                let model = &self.p[*table];
                if (self.wanted)(model) && model.match_keys().all(|k| self.knows(&k.expr)) {
                    let key_words = KeyLayout::of(model).words;
                    match self.tables.iter_mut().find(|t| t.table == *table) {
                        Some(known) => known.uses += 1,
                        None => self.tables.push(PrefetchedTable { table: *table, key_words, uses: 1 }),
                    }
                    keep(StmtKind::Apply { table: *table, hit: None, action_run: None });
                }
                self.forget(stmt);
            }
            _ => self.forget(stmt),
        }
    }

    fn knows(&self, value: &Expr) -> bool {
        let mut knows = !matches!(value.ty, Type::Varbit(_));
        walk::exprs(value, &mut |e| {
            if let ExprKind::Slot(slot) = e.kind {
                knows &= !self.unknown.contains(&slot) && !matches!(self.p[slot].ty, Type::Varbit(_));
            }
        });
        knows
    }

    /// Marks everything that a statement may write as unknown.
    fn forget(&mut self, stmt: &Stmt) {
        let p = self.p;
        match &stmt.kind {
            StmtKind::Assign(slot, _) | StmtKind::AssignSlice { slot, .. } => {
                self.unknown.insert(*slot);
            }
            StmtKind::SetValid(header) | StmtKind::SetInvalid(header) => self.forget_header(*header),
            StmtKind::CopyHeader { dst, .. } => self.forget_header(*dst),
            StmtKind::PushFront(stack, _) | StmtKind::PopFront(stack, _) => {
                p[*stack].elements.iter().for_each(|h| self.forget_header(*h));
                self.unknown.insert(p[*stack].next_index);
            }
            StmtKind::Extern(call) => {
                for arg in &call.args {
                    if let ExternArg::Out(slot) | ExternArg::InOut(slot) = arg {
                        self.unknown.insert(*slot);
                    }
                }
            }
            StmtKind::Apply { table, hit, action_run } => {
                self.unknown.extend(hit.iter().chain(action_run));
                for action in actions_of(&p[*table]) {
                    p[action].body.iter().for_each(|s| self.forget(s));
                }
            }
            _ => walk::blocks(stmt).into_iter().flatten().for_each(|s| self.forget(s)),
        }
    }

    fn forget_header(&mut self, header: HeaderId) {
        self.unknown.extend(walk::header_slots(self.p, header));
    }
}

impl<'a> Emitter<'a> {
    /// Stores a key and continues.
    pub(crate) fn emit_key(&mut self, table: TableId, key: &[Value], then: &Point<'a>) {
        let at = offset_of!(abi::Runtime, context) as i32;
        let context = self.b.ins().load(types::I64, self.flags.runtime, self.runtime, at);
        let (flags, place) = (self.flags.cells, 8 * table.index() as i32);
        let to = self.b.ins().load(types::I64, flags, context, place);
        for (i, &word) in key.iter().enumerate() {
            self.b.ins().store(flags, word, to, 8 * i as i32);
        }
        let behind = self.b.ins().iadd_imm_s(to, 8 * key.len() as i64);
        self.b.ins().store(flags, behind, context, place);
        self.go(then);
    }
}
