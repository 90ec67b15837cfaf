//! Bodies of actions: primitives in order, with jumps.

use hopwright_ir::{Block, Expr, SlotId, Span, StmtKind, Type};
use num_traits::ToPrimitive;

use crate::format::{Action, Call};
use crate::graph::{Graph, Part, structure};
use crate::{Reader, Result, error};

const JUMP: &str = "_jump";
const JUMP_IF_ZERO: &str = "_jump_if_zero";

impl<'j> Reader<'j> {
    /// The JSON action with this id, by its position.
    pub(crate) fn action_by_id(&self, id: i64, path: &str) -> Result<usize> {
        match self.actions.get(&id) {
            Some(at) => Ok(*at),
            None => error(path, format!("no action has id {id}")),
        }
    }

    /// Adds the body of a JSON action with these data.
    pub(crate) fn action_body(&mut self, at: usize, data: Vec<Expr>) -> Result<()> {
        let action: &'j Action = &self.json.actions[at];
        let outer = std::mem::replace(&mut self.data, data);
        let body = self.nested(|this| this.primitives(&action.primitives, &format!("actions[{at}]")));
        self.data = outer;
        self.block.extend(body?);
        Ok(())
    }

    fn primitives(&mut self, calls: &[Call], path: &str) -> Result<()> {
        let successors = (0..calls.len()).map(|at| self.successors(calls, at, path)).collect::<Result<Vec<_>>>()?;
        // simple_switch goes on behind `exit` to the end of the action.
        let leaves_late = |at: &usize| calls[*at].op == "exit" && !ends(calls, &successors, at + 1);
        let exits = (0..calls.len()).any(|at| leaves_late(&at)).then(|| self.temporary(Type::Bool));
        if let Some(exits) = exits {
            self.emit(StmtKind::Assign(exits, Expr::boolean(false, Span::none())));
        }
        let graph = Graph { successors };
        let Some(parts) = structure(&graph, 0, &mut || self.label()) else {
            return error(&format!("{path}.primitives"), "a loop with several entries");
        };
        self.primitive_parts(&parts, calls, exits, path)?;
        if let Some(exits) = exits {
            let cond = self.slot_expr(exits);
            let then = self.nested(|this| {
                this.emit(StmtKind::Exit);
                Ok(())
            })?;
            self.emit(StmtKind::If { cond, then, otherwise: Vec::new() });
        }
        Ok(())
    }

    /// The primitives that may follow one.
    fn successors(&mut self, calls: &[Call], at: usize, path: &str) -> Result<Vec<usize>> {
        let call = &calls[at];
        let path = format!("{path}.primitives[{at}].parameters");
        let target = match (call.op.as_str(), call.parameters.as_slice()) {
            (JUMP, [target]) | (JUMP_IF_ZERO, [_, target]) => target,
            (JUMP | JUMP_IF_ZERO, _) => return error(&path, format!("`{}` does not take these parameters", call.op)),
            _ => return Ok(vec![at + 1]),
        };
        let target = self.number(target, &path)?;
        match target.as_constant().and_then(|n| n.to_usize()) {
            Some(target) if target <= calls.len() && call.op == JUMP => Ok(vec![target]),
            Some(target) if target <= calls.len() => Ok(vec![at + 1, target]),
            _ => error(&path, format!("expected the number of a primitive, up to {}", calls.len())),
        }
    }

    fn primitive_parts(&mut self, parts: &[Part], calls: &[Call], exits: Option<SlotId>, path: &str) -> Result<()> {
        for part in parts {
            match part {
                Part::Node(at, branches) => self.primitive_node(*at, branches, calls, exits, path)?,
                Part::Scope(label, inner) => {
                    let body = self.nested(|this| this.primitive_parts(inner, calls, exits, path))?;
                    self.emit(StmtKind::Scope { label: *label, body });
                }
                Part::Loop(inner) => {
                    let body = self.nested(|this| this.primitive_parts(inner, calls, exits, path))?;
                    self.emit(StmtKind::Loop { body, bound: None });
                }
                Part::Leave(label) => self.emit(StmtKind::Leave(*label)),
            }
        }
        Ok(())
    }

    fn primitive_node(
        &mut self,
        at: usize,
        branches: &[Vec<Part>],
        calls: &[Call],
        exits: Option<SlotId>,
        path: &str,
    ) -> Result<()> {
        let call = &calls[at];
        let call_path = format!("{path}.primitives[{at}]");
        match (call.op.as_str(), branches) {
            (JUMP, _) => {}
            (JUMP_IF_ZERO, [not_zero, zero]) => {
                let cond = self.condition(&call.parameters[0], &format!("{call_path}.parameters[0]"))?;
                let mut block = |parts: &[Part]| -> Result<Block> {
                    self.nested(|this| this.primitive_parts(parts, calls, exits, path))
                };
                let (then, otherwise) = (block(not_zero)?, block(zero)?);
                self.emit(StmtKind::If { cond, then, otherwise });
            }
            ("exit", _) => match exits {
                Some(exits) => self.emit(StmtKind::Assign(exits, Expr::boolean(true, Span::none()))),
                None => self.emit(StmtKind::Exit),
            },
            _ => self.primitive(call, &call_path)?,
        }
        Ok(())
    }
}

/// Whether nothing but jumps lies between a primitive and the end of the action.
fn ends(calls: &[Call], successors: &[Vec<usize>], mut at: usize) -> bool {
    for _ in 0..=calls.len() {
        if at == calls.len() {
            return true;
        }
        if calls[at].op != JUMP {
            return false;
        }
        at = successors[at][0];
    }
    false
}
