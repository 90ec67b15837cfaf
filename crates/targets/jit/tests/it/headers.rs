//! Random programs over headers mean the same to generated code and to the interpreter: parser graphs, stacks, varbit
//! fields, validity, copies, changes, tables, and every way of putting the packet together again.

use crate::harness;
use crate::harness::build::*;
use hopwright_ir::hash::Random;
use hopwright_ir::*;
use num_bigint::BigUint;

/// Choices from a seed, so that a failure names the program that shows it.
struct Dice(Random);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n.max(1) as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn bits(&mut self, width: u32) -> BigUint {
        let mut v = BigUint::ZERO;
        for _ in 0..width.div_ceil(64) {
            v = (v << 64u32) + self.0.next_u64();
        }
        v & ((BigUint::from(1u32) << width) - 1u32)
    }
}

struct Program {
    p: Pipeline,
    dice: Dice,
    /// Headers by type: those of one type can be copied to each other.
    types: Vec<Vec<Type>>,
    by_type: Vec<Vec<HeaderId>>,
    scratch: Vec<SlotId>,
}

fn field_types(dice: &mut Dice, varbit: bool) -> Vec<Type> {
    let mut out = Vec::new();
    let mut total = 0;
    for _ in 0..1 + dice.below(6) {
        let w = dice.pick(&[1, 3, 4, 6, 8, 8, 12, 13, 16, 16, 20, 24, 32, 32, 48, 64, 67, 128]);
        out.push(Type::Bits(w));
        total += w;
    }
    if total % 8 != 0 {
        out.push(Type::Bits(8 - total % 8));
    }
    if varbit {
        out.push(Type::Varbit(dice.pick(&[32, 320])));
        if dice.chance(50) {
            out.extend([Type::Bits(4), Type::Bits(12)]);
        }
    }
    out
}

impl Program {
    fn new(seed: u64) -> Program {
        let mut dice = Dice(Random::new(seed));
        let mut p = pipeline();
        let (mut types, mut by_type) = (Vec::new(), Vec::new());
        for t in 0..1 + dice.below(4) {
            let varbit = dice.chance(20);
            let fields = field_types(&mut dice, varbit);
            let mut headers = Vec::new();
            for i in 0..1 + dice.below(3) {
                headers.push(header(&mut p, &format!("h{t}_{i}"), &fields));
            }
            if !varbit && dice.chance(30) {
                let size = 1 + dice.below(3) as u32;
                let s = stack(&mut p, &format!("s{t}"), &fields, size);
                headers.extend(p[s].elements.clone());
            }
            types.push(fields);
            by_type.push(headers);
        }
        let scratch = [1, 8, 16, 64, 128].map(|w| local(&mut p, &format!("x{w}"), Type::Bits(w))).to_vec();
        let mut program = Program { p, dice, types, by_type, scratch };
        program.parser();
        program.p.ingress.body = program.body(3, false);
        program.p.egress.body = if program.dice.chance(50) { program.body(2, false) } else { Vec::new() };
        program.deparser();
        program
    }

    fn any_header(&mut self) -> HeaderId {
        let t = self.dice.below(self.by_type.len());
        let list = self.by_type[t].clone();
        self.dice.pick(&list)
    }

    fn any_field(&mut self) -> SlotId {
        loop {
            let h = self.any_header();
            let f = self.dice.below(self.p[h].fields.len());
            let slot = field(&self.p, h, f);
            if !matches!(self.p[slot].ty, Type::Varbit(_)) {
                return slot;
            }
        }
    }

    fn any_target(&mut self) -> SlotId {
        if self.dice.chance(25) {
            let list = self.scratch.clone();
            self.dice.pick(&list)
        } else {
            self.any_field()
        }
    }

    /// A value of a type, from constants, fields and locals.
    fn value(&mut self, ty: Type) -> Expr {
        let w = ty.width();
        if self.dice.chance(25) {
            return constant(self.dice.bits(w), ty);
        }
        let from = self.any_target();
        let e = slot(&self.p, from);
        let e = if e.ty.width() == w { e } else { expr(ExprKind::Cast(Box::new(e)), ty) };
        if self.dice.chance(30) {
            let other = constant(self.dice.bits(w), ty);
            let op = self.dice.pick(&[BinaryOp::Add, BinaryOp::Xor, BinaryOp::Sub]);
            return binary(op, e, other, ty);
        }
        e
    }

    fn condition(&mut self) -> Expr {
        match self.dice.below(8) {
            0 => {
                let (a, b) = (self.condition(), self.condition());
                let op = self.dice.pick(&[BinaryOp::LogicalAnd, BinaryOp::LogicalOr]);
                binary(op, a, b, Type::Bool)
            }
            1 => expr(ExprKind::Unary(UnaryOp::Not, Box::new(self.condition())), Type::Bool),
            _ => self.simple_condition(),
        }
    }

    fn simple_condition(&mut self) -> Expr {
        if self.dice.chance(40) {
            let h = self.any_header();
            return slot(&self.p, self.p[h].valid);
        }
        let from = self.any_field();
        let e = slot(&self.p, from);
        let ty = e.ty;
        let other = self.value(ty);
        let op = self.dice.pick(&[BinaryOp::Lt, BinaryOp::Ge, BinaryOp::Eq, BinaryOp::Ne]);
        binary(op, e, other, Type::Bool)
    }

    fn varbit_size(&mut self, h: HeaderId) -> Option<Expr> {
        self.p[h].varbit?;
        let ty = Type::Bits(32);
        if self.dice.chance(40) {
            return Some(constant(8 * self.dice.below(8), ty));
        }
        // A small number from a field, mostly whole bytes.
        let from = self.any_field();
        let e = expr(ExprKind::Cast(Box::new(slot(&self.p, from))), ty);
        let e = binary(BinaryOp::And, e, constant(15u32, ty), ty);
        let by = if self.dice.chance(90) { 8u32 } else { 4 };
        Some(binary(BinaryOp::Mul, e, constant(by, ty), ty))
    }

    fn parser(&mut self) {
        let count = 1 + self.dice.below(5);
        let mut states = Vec::new();
        for i in 0..count {
            let mut body = Vec::new();
            for _ in 0..1 + self.dice.below(3) {
                if !self.p.stacks.is_empty() && self.dice.chance(30) {
                    let s = StackId(self.dice.below(self.p.stacks.len()) as u32);
                    body.push(stmt(StmtKind::ExtractNext { stack: s, varbit_bits: None }));
                } else {
                    let header = self.any_header();
                    let varbit_bits = self.varbit_size(header);
                    body.push(stmt(StmtKind::Extract { header, varbit_bits }));
                }
                if self.dice.chance(25) {
                    let extra = self.parser_extra();
                    body.push(extra);
                }
            }
            let transition = self.transition(i, count);
            states.push(state(&format!("s{i}"), body, transition));
        }
        self.p.parser.states = states;
    }

    fn parser_extra(&mut self) -> Stmt {
        match self.dice.below(6) {
            0 => stmt(StmtKind::Advance { bits: constant(8 * self.dice.below(4), Type::Bits(32)), bound: None }),
            1 => {
                let e = self.value(Type::Bits(32));
                let e = binary(BinaryOp::And, e, constant(31u32, Type::Bits(32)), Type::Bits(32));
                stmt(StmtKind::Advance { bits: e, bound: None })
            }
            2 => {
                let (a, b) = (self.any_target(), self.any_target());
                let (wa, wb) = (self.p[a].ty.width(), self.p[b].ty.width());
                stmt(StmtKind::Lookahead { total_bits: wa + wb, parts: vec![(a, 0), (b, wa)] })
            }
            3 => {
                let c = self.condition();
                stmt(StmtKind::Verify(c, constant(7u32, Type::Bits(16))))
            }
            4 => {
                let h = self.any_header();
                stmt(if self.dice.chance(50) { StmtKind::SetValid(h) } else { StmtKind::SetInvalid(h) })
            }
            _ => self.assignment(),
        }
    }

    fn transition(&mut self, at: usize, count: usize) -> Transition {
        let target = |dice: &mut Dice| match dice.below(10) {
            // Mostly forwards, sometimes in a circle.
            0..6 if at + 1 < count => Target::State(StateId((at + 1 + dice.below(count - at - 1)) as u32)),
            6 => Target::State(StateId(dice.below(count) as u32)),
            7 => Target::Reject,
            _ => Target::Accept,
        };
        if self.dice.chance(30) {
            return Transition::Goto(target(&mut self.dice));
        }
        let keys: Vec<SlotId> = (0..1 + self.dice.below(2)).map(|_| self.any_field()).collect();
        let mut cases = Vec::new();
        for _ in 0..1 + self.dice.below(4) {
            let mut sets = Vec::new();
            for &k in &keys {
                let w = self.p[k].ty.width();
                let v = self.dice.bits(w);
                sets.push(match self.dice.below(5) {
                    0 => KeySet::Any,
                    1 => KeySet::Value(self.dice.bits(w.min(2))),
                    2 => KeySet::Range(BigUint::ZERO, v),
                    _ => {
                        // A mask of few bits is hit now and then.
                        let mask = BigUint::from(1u32) << self.dice.below(w as usize) as u32;
                        KeySet::Mask(v, mask)
                    }
                });
            }
            cases.push(SelectCase { sets, target: target(&mut self.dice), span: span() });
        }
        Transition::Select { keys: keys.iter().map(|&k| slot(&self.p, k)).collect(), cases }
    }

    fn assignment(&mut self) -> Stmt {
        let to = self.any_target();
        let ty = self.p[to].ty;
        if self.dice.chance(20) {
            let w = ty.width();
            let lo = self.dice.below(w as usize) as u32;
            let hi = lo + self.dice.below((w - lo) as usize) as u32;
            let value = self.value(Type::Bits(hi - lo + 1));
            return stmt(StmtKind::AssignSlice { slot: to, hi, lo, value });
        }
        let v = self.value(ty);
        assign(to, v)
    }

    fn body(&mut self, depth: usize, in_action: bool) -> Block {
        let mut out = Vec::new();
        for _ in 0..1 + self.dice.below(4) {
            let s = match self.dice.below(14) {
                0..4 => self.assignment(),
                4 => stmt(StmtKind::SetValid(self.any_header())),
                5 => stmt(StmtKind::SetInvalid(self.any_header())),
                6 | 7 => {
                    let t = self.dice.below(self.by_type.len());
                    let list = self.by_type[t].clone();
                    let (dst, src) = (self.dice.pick(&list), self.dice.pick(&list));
                    stmt(StmtKind::CopyHeader { dst, src })
                }
                8 if !self.p.stacks.is_empty() => {
                    let s = StackId(self.dice.below(self.p.stacks.len()) as u32);
                    let n = 1 + self.dice.below(2) as u32;
                    stmt(if self.dice.chance(50) { StmtKind::PushFront(s, n) } else { StmtKind::PopFront(s, n) })
                }
                9 => {
                    let to = self.p.standard.egress_spec;
                    let port = self.dice.pick(&[1u32, 5, 510, 511]);
                    assign(to, constant(port, Type::Bits(9)))
                }
                10 if !in_action => self.table(),
                11 if depth > 0 => {
                    let label = 1000 + self.dice.below(1_000_000) as u32;
                    let mut body = self.body(depth - 1, in_action);
                    let cond = self.condition();
                    body.insert(
                        0,
                        stmt(StmtKind::If { cond, then: vec![stmt(StmtKind::Leave(label))], otherwise: Vec::new() }),
                    );
                    stmt(StmtKind::Scope { label, body })
                }
                12 if self.dice.chance(20) => stmt(StmtKind::Exit),
                _ if depth > 0 => {
                    let cond = self.condition();
                    let then = self.body(depth - 1, in_action);
                    let otherwise = if self.dice.chance(50) { self.body(depth - 1, in_action) } else { Vec::new() };
                    stmt(StmtKind::If { cond, then, otherwise })
                }
                _ => self.assignment(),
            };
            out.push(s);
        }
        out
    }

    /// A new table with entries, applied.
    fn table(&mut self) -> Stmt {
        let mut actions = Vec::new();
        for _ in 0..1 + self.dice.below(3) {
            let params: Vec<Param> = (0..self.dice.below(3))
                .map(|i| Param { name: format!("p{i}"), ty: Type::Bits(self.dice.pick(&[1, 9, 32, 48, 65, 128])) })
                .collect();
            let mut body = self.body(1, true);
            for (i, param) in params.iter().enumerate() {
                let to = self.any_target();
                let e = expr(ExprKind::Param(i as u32), param.ty);
                let ty = self.p[to].ty;
                body.push(assign(to, expr(ExprKind::Cast(Box::new(e)), ty)));
            }
            self.p.actions.push(Action {
                name: format!("a{}", self.p.actions.len()),
                id: None,
                params,
                body,
                span: span(),
            });
            actions.push(ActionId(self.p.actions.len() as u32 - 1));
        }
        let keys: Vec<Key> = (0..self.dice.below(3))
            .map(|i| {
                let from = self.any_field();
                Key { name: format!("k{i}"), expr: slot(&self.p, from), kind: MatchKind::Ternary }
            })
            .collect();
        let call = |g: &mut Program| {
            let action = g.dice.pick(&actions);
            let widths: Vec<u32> = g.p[action].params.iter().map(|p| p.ty.width()).collect();
            ActionCall { action, args: widths.into_iter().map(|w| g.dice.bits(w)).collect() }
        };
        let mut entries: Vec<TableEntry> = Vec::new();
        if !keys.is_empty() {
            for i in 0..self.dice.below(4) {
                let matches = keys
                    .iter()
                    .map(|k| {
                        let w = k.expr.ty.width();
                        let mask = BigUint::from(1u32) << self.dice.below(w as usize) as u32;
                        MatchValue::Ternary { value: self.dice.bits(w) & &mask, mask }
                    })
                    .collect();
                let action = call(self);
                entries.push(TableEntry { matches, priority: i as i32, action });
            }
        }
        let default_action = call(self);
        self.p.tables.push(Table {
            name: format!("t{}", self.p.tables.len()),
            id: None,
            keys,
            actions: actions
                .iter()
                .map(|&action| TableAction { action, table_only: false, default_only: false })
                .collect(),
            default_action,
            const_default_action: false,
            entries,
            const_entries: false,
            size: 16,
            implementation: None,
            direct_counter: None,
            direct_meter: None,
            entry_cells: Vec::new(),
            idle_timeout: false,
            span: span(),
        });
        let hit = self.dice.chance(30).then(|| local(&mut self.p, "hit", Type::Bool));
        let run = self.dice.chance(30).then(|| self.scratch[3]).map(|_| local(&mut self.p, "run", Type::Bits(32)));
        let table = TableId(self.p.tables.len() as u32 - 1);
        let apply = stmt(StmtKind::Apply { table, hit, action_run: run });
        let Some(run) = run else { return apply };
        // What ran is seen from outside.
        let to = self.any_field();
        let ty = self.p[to].ty;
        let mut e = expr(ExprKind::Cast(Box::new(slot(&self.p, run))), ty);
        if let Some(hit) = hit {
            e = expr(
                ExprKind::Mux(Box::new(slot(&self.p, hit)), Box::new(e.clone()), Box::new(constant(0u32, ty))),
                ty,
            );
        }
        stmt(StmtKind::Scope { label: 2_000_000 + table.0, body: vec![apply, assign(to, e)] })
    }

    fn deparser(&mut self) {
        // Mostly in order of declaration with gaps; sometimes anything.
        let all: Vec<HeaderId> = (0..self.p.headers.len() as u32).map(HeaderId).collect();
        let mut body = Vec::new();
        if self.dice.chance(70) {
            // The order in which the parser's states extract them.
            let mut order = Vec::new();
            for s in &self.p.parser.states {
                for b in &s.body {
                    match &b.kind {
                        StmtKind::Extract { header, .. } => order.push(*header),
                        StmtKind::ExtractNext { stack, .. } => order.extend(&self.p[*stack].elements),
                        _ => {}
                    }
                }
            }
            let mut seen = Vec::new();
            for h in order.into_iter().chain(all) {
                if !seen.contains(&h) && !self.dice.chance(10) {
                    seen.push(h);
                }
            }
            body.extend(seen.into_iter().map(emit));
        } else {
            for _ in 0..self.dice.below(8) {
                let h = self.any_header();
                if self.dice.chance(20) {
                    let cond = self.condition();
                    body.push(stmt(StmtKind::If { cond, then: vec![emit(h)], otherwise: Vec::new() }));
                } else {
                    body.push(emit(h));
                }
            }
        }
        self.p.deparser.body = body;
    }

    fn packets(&mut self) -> Vec<Vec<u8>> {
        let _ = &self.types;
        let mut out = vec![Vec::new()];
        for _ in 0..12 {
            let length = self.dice.below(160);
            let style = self.dice.below(3);
            out.push(
                (0..length)
                    .map(|_| match style {
                        0 => self.dice.0.next_u64() as u8,
                        1 => self.dice.pick(&[0, 0, 1, 2, 0x10, 0x80, 0xff]),
                        _ => 0,
                    })
                    .collect(),
            );
        }
        out
    }
}

fn check(seed: u64) -> Result<(), String> {
    let mut program = Program::new(seed);
    let packets = program.packets();
    harness::compare(&program.p, &packets).map_err(|e| format!("seed {seed}: {e}"))
}

#[test]
fn random_programs_over_headers() {
    let seeds = match std::env::var("SEED").ok().and_then(|s| s.parse::<u64>().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..std::env::var("CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(400),
    };
    for seed in seeds {
        if let Err(e) = check(seed) {
            panic!("{e}");
        }
    }
}

/// Traces are made of the paths of half of the packets; the others may leave them.
#[test]
fn differential_random_programs_on_traces() {
    let mut total = harness::OnTraces::default();
    for seed in 0..80 {
        let mut program = Program::new(seed);
        let packets = program.packets();
        let views: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
        let profiled: Vec<&[u8]> = views.iter().copied().step_by(2).collect();
        match harness::compare_traces(&program.p, &profiled, &views) {
            Ok(Some(on_traces)) => {
                total.completed += on_traces.completed;
                total.side_exits += on_traces.side_exits;
            }
            Ok(None) => {}
            Err(e) => panic!("seed {seed}: {e}"),
        }
    }
    assert!(total.completed > 300 && total.side_exits > 20, "{total:?}");
}
