//! Statements (P4-16, section 12).

use hopwright_sema::hir::{Expr, ExprKind, ForRange, FunctionId, Stmt, StmtKind, TableId, VarId};
use hopwright_source::Span;
use num_bigint::BigInt;

use crate::machine::{Flow, Machine, Result};
use crate::place;
use crate::value::Value;

impl<'a> Machine<'a> {
    /// Runs statements in order, up to one that leaves the block (12.3).
    pub(crate) fn block(&mut self, body: &'a [Stmt]) -> Result<Flow> {
        for stmt in body {
            let flow = self.statement(stmt)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, stmt: &'a Stmt) -> Result<Flow> {
        match &stmt.kind {
            // 11.2; a variable is initialised each time that its declaration is executed.
            StmtKind::Declare(var, value) => {
                let value = match value {
                    Some(value) => self.eval(value)?,
                    None => self.initial(&self.program[*var].ty),
                };
                *self.var(*var) = value;
            }
            // 12.1: the l-value first, then the value, then the copy.
            StmtKind::Assign(to, value) => {
                let part_of_port = self.is_part_of_port(to);
                let to = self.place(to)?;
                let new = self.eval(value)?;
                if part_of_port {
                    self.before_part_of_port(&to);
                }
                if let ExprKind::Aggregate { .. } = value.kind
                    && let Some(old) = place::read(&self.vars, &to)
                {
                    self.count_lists(value, &old);
                }
                place::write(&mut self.vars, &to, new);
            }
            StmtKind::Call(call) => {
                self.call(call)?;
            }
            // 12.6
            StmtKind::If(condition, then, otherwise) => {
                let taken = if self.eval(condition)?.truth() { then } else { otherwise };
                return self.block(taken);
            }
            StmtKind::SwitchTable(table, cases) => return self.switch_on_action(*table, cases),
            // 12.7.2: labels are constants, at most one of which is equal.
            StmtKind::SwitchValue(value, cases) => {
                let value = self.eval(value)?;
                for (labels, body) in cases {
                    let mut chosen = labels.is_empty();
                    for label in labels {
                        chosen |= self.eval(label)?.equals(&value);
                    }
                    if chosen {
                        return self.block(body);
                    }
                }
            }
            StmtKind::Block(body) => return self.block(body),
            StmtKind::For { init, cond, update, body } => {
                self.block(init)?;
                while self.eval(cond)?.truth() {
                    self.step(stmt.span)?;
                    match self.block(body)? {
                        Flow::Next | Flow::Continue => {}
                        Flow::Break => break,
                        returned @ Flow::Return(_) => return Ok(returned),
                    }
                    self.block(update)?;
                }
            }
            StmtKind::ForIn { var, over, body } => return self.for_in(*var, over, body, stmt.span),
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
            StmtKind::Return(None) => return Ok(Flow::Return(Value::Nothing)),
            StmtKind::Return(Some(value)) => return Ok(Flow::Return(self.eval(value)?)),
            StmtKind::Exit => return Err(crate::machine::Stop::Exit),
        }
        Ok(Flow::Next)
    }

    /// Counts headers that were invalid and are assigned a list, for `packet_length` of v1model's egress: for p4c and simple_switch such an
    /// assignment is a call of `setValid` and assignments of fields.
    fn count_lists(&mut self, value: &'a Expr, old: &Value) {
        let ExprKind::Aggregate { members, .. } = &value.kind else { return };
        match old {
            Value::Header { valid: false, .. } => {
                self.packet.requests.length_change += i64::from(self.width(&value.ty) / 8);
            }
            Value::Record(old) => members.iter().zip(old).for_each(|(member, old)| self.count_lists(member, old)),
            _ => {}
        }
    }

    /// `switch (t.apply().action_run)` (12.7.1): by the action that ran, whether it was a hit or a miss.
    fn switch_on_action(&mut self, table: TableId, cases: &'a [(Vec<FunctionId>, Vec<Stmt>)]) -> Result<Flow> {
        let ran = self.apply_table(table)?.action;
        let chosen = cases.iter().find(|(actions, _)| actions.is_empty() || actions.contains(&ran));
        chosen.map_or(Ok(Flow::Next), |(_, body)| self.block(body))
    }

    /// `for (v in range)` and `for (v in list)` (12.8): the range or list is evaluated once.
    fn for_in(&mut self, var: VarId, over: &'a ForRange, body: &'a [Stmt], span: Span) -> Result<Flow> {
        let values: Box<dyn Iterator<Item = Value>> = match over {
            ForRange::Range(low, high) => {
                let (low, high) = (self.eval(low)?.number(), self.eval(high)?.number());
                let next = move |n: &BigInt| Some(n + 1).filter(|n| *n <= high);
                let first = next(&(low - 1));
                Box::new(std::iter::successors(first, next).map(Value::Number))
            }
            ForRange::Elements(list) => Box::new(self.eval(list)?.members().to_vec().into_iter()),
        };
        for value in values {
            self.step(span)?;
            *self.var(var) = value;
            match self.block(body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => break,
                returned @ Flow::Return(_) => return Ok(returned),
            }
        }
        Ok(Flow::Next)
    }
}
