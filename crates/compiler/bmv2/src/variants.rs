//! Actions of tables. A compiler may write an action once for each table that has it, with the same name. The pipeline has one action
//! for a name. If the bodies differ, the action has all of them, and each table chooses its own before it is applied.

use std::collections::HashMap;

use hopwright_ir::{
    Action, ActionId, BinaryOp, Block, Expr, ExprKind, ExternArg, ExternFn, ExternId, Param, SlotId, SlotKind, Span,
    StmtKind, Type,
};

use crate::choice::Choice;
use crate::lvalue::Lvalue;
use crate::number::binary;
use crate::state::Field;
use crate::{Reader, Result, constant, error};

/// The direct meter of a table, and the field that its colour is stored into.
pub(crate) type Measured = Option<(ExternId, Field)>;

/// The actions of the tables.
#[derive(Debug, Default)]
pub(crate) struct Variants<'j> {
    named: Vec<Named<'j>>,
    by_name: HashMap<&'j str, usize>,
}

/// The actions with one name.
#[derive(Debug)]
struct Named<'j> {
    name: &'j str,
    /// Positions of JSON actions whose bodies differ, each with the meter that it reads first, and the text of both.
    bodies: Vec<(usize, Measured, String)>,
    /// Says which of several bodies runs.
    selector: Option<SlotId>,
}

impl<'j> Reader<'j> {
    /// Notes that a table with this meter has a JSON action.
    pub(crate) fn note_action(&mut self, at: usize, measured: Measured) {
        let action = &self.json.actions[at];
        let meter = measured.map(|(meter, _)| meter);
        let text = format!("{meter:?} {:?}", action.primitives);
        let variants = &mut self.variants;
        let index = *variants.by_name.entry(&action.name).or_insert_with(|| {
            variants.named.push(Named { name: &action.name, bodies: Vec::new(), selector: None });
            variants.named.len() - 1
        });
        let named = &mut variants.named[index];
        if !named.bodies.iter().any(|(_, _, other)| *other == text) {
            named.bodies.push((at, measured, text));
        }
    }

    /// Writes the actions that were noted.
    pub(crate) fn write_actions(&mut self) -> Result<()> {
        for index in 0..self.variants.named.len() {
            let named = &self.variants.named[index];
            let (name, first) = (named.name, named.bodies[0].0);
            let json = &self.json.actions;
            let widths = |at: usize| json[at].runtime_data.iter().map(|data| data.bitwidth).collect::<Vec<_>>();
            let bodies: Vec<(usize, Measured)> = named.bodies.iter().map(|(at, meter, _)| (*at, *meter)).collect();
            if let Some((at, _)) = bodies.iter().find(|(at, _)| widths(*at) != widths(first)) {
                return error(
                    &format!("actions[{at}].runtime_data"),
                    format!("another action `{name}` has other data"),
                );
            }
            let mut params = Vec::new();
            for (at, data) in json[first].runtime_data.iter().enumerate() {
                if !(1..=1 << 16).contains(&data.bitwidth) {
                    let path = format!("actions[{first}].runtime_data[{at}].bitwidth");
                    return error(&path, format!("data of {} bits", data.bitwidth));
                }
                params.push(Param { name: data.name.clone(), ty: Type::Bits(data.bitwidth) });
            }
            let data: Vec<Expr> = (0u32..)
                .zip(&params)
                .map(|(at, p)| Expr { kind: ExprKind::Param(at), ty: p.ty, span: Span::none() })
                .collect();
            let selector =
                (bodies.len() > 1).then(|| self.new_slot(format!("{name}.$body"), Type::Bits(16), SlotKind::Local));
            self.variants.named[index].selector = selector;
            let mut body: Block = Vec::new();
            for (number, (at, measured)) in bodies.into_iter().enumerate().rev() {
                let own = self.nested(|this| {
                    this.read_meter(measured)?;
                    this.action_body(at, data.clone())
                })?;
                body = match selector {
                    None => own,
                    Some(slot) => self.nested(|this| {
                        let cond = binary(BinaryOp::Eq, this.slot_expr(slot), constant(number, 16), Type::Bool);
                        this.emit(StmtKind::If { cond, then: own, otherwise: std::mem::take(&mut body) });
                        Ok(())
                    })?,
                };
            }
            self.p.actions.push(Action { name: name.into(), id: None, params, body, span: Span::none() });
        }
        Ok(())
    }

    /// Stores the colour of the direct meter of the entry that was hit.
    fn read_meter(&mut self, measured: Measured) -> Result<()> {
        let Some((meter, field)) = measured else { return Ok(()) };
        self.through_slot(&Lvalue::Field(Choice::only(field)), None, ".", |this, slot| {
            this.call(ExternFn::DirectMeterRead(meter), vec![ExternArg::Out(slot)]);
            Ok(())
        })
    }

    /// The pipeline's action for a JSON action that was noted.
    pub(crate) fn action_id(&self, at: usize) -> ActionId {
        ActionId(self.variants.by_name[self.json.actions[at].name.as_str()] as u32)
    }

    /// The statement before a table is applied that chooses the body of a JSON action, if there are several.
    pub(crate) fn choose_body(&self, at: usize, measured: Measured) -> Option<StmtKind> {
        let named = &self.variants.named[self.action_id(at).index()];
        let text = format!("{:?} {:?}", measured.map(|(meter, _)| meter), self.json.actions[at].primitives);
        let number = named.bodies.iter().position(|(_, _, other)| *other == text)?;
        Some(StmtKind::Assign(named.selector?, constant(number, 16)))
    }

    /// An action that does nothing, for tables whose misses run none.
    pub(crate) fn no_action(&mut self) -> ActionId {
        let fits = |a: &Action| a.params.is_empty() && a.body.is_empty() && a.name == "NoAction";
        if let Some(at) = self.p.actions.iter().position(fits) {
            return ActionId(at as u32);
        }
        let taken = self.p.actions.iter().any(|a| a.name == "NoAction");
        let name = if taken { "$NoAction" } else { "NoAction" }.to_string();
        if let Some(at) = self.p.actions.iter().position(|a| a.name == name) {
            return ActionId(at as u32);
        }
        self.p.actions.push(Action { name, id: None, params: Vec::new(), body: Vec::new(), span: Span::none() });
        ActionId(self.p.actions.len() as u32 - 1)
    }
}

impl Reader<'_> {
    /// Whether a table has a JSON action.
    pub(crate) fn variants_has(&self, at: usize) -> bool {
        self.variants.by_name.contains_key(self.json.actions[at].name.as_str())
    }
}
