//! The arguments of calls of externs: evaluated in the order of the source, and given to the IR in the order of the
//! declaration.

use hopwright_ir::{ExternArg, ExternCall, ExternFn, ParamShape, SlotId, StmtKind, Type, TypeRule};
use hopwright_sema::hir;
use hopwright_source::Span;

use crate::storage::{Loc, Place};
use crate::value::{Target, Value, first_place};
use crate::{Lowering, Reported, Result};

/// The arguments of an extern call that is being lowered.
pub(crate) struct Arguments<'a> {
    pub(crate) call: &'a hir::Call,
    pub(crate) args: Vec<ExternArg>,
    /// Results to copy to their targets after the call, with the turns of their arguments.
    outs: Vec<(usize, Target, Value)>,
    /// Arguments that the source names before their turn in the declaration.
    early: Vec<Option<Early>>,
}

/// An argument that has been evaluated before its turn in the declaration.
enum Early {
    Value(Value),
    Target(Target, Option<Value>),
}

impl<'a> Arguments<'a> {
    pub(crate) fn new(lowering: &mut Lowering<'_>, call: &'a hir::Call) -> Result<Arguments<'a>> {
        let early = call.args.iter().map(|_| None).collect();
        let mut arguments = Arguments { call, args: Vec::new(), outs: Vec::new(), early };
        let in_order = call.args.is_sorted_by_key(|a| a.turn);
        if !in_order && call.args.iter().any(|a| a.value.as_ref().is_some_and(|e| lowering.has_effects(e))) {
            let mut order: Vec<usize> = (0..call.args.len()).collect();
            order.sort_by_key(|i| call.args[*i].turn);
            for i in order {
                let Some(e) = &call.args[i].value else { continue };
                let known =
                    matches!(e.kind, hir::ExprKind::Int(_) | hir::ExprKind::String(_) | hir::ExprKind::EnumMember(..));
                if known || matches!(e.ty, hir::Type::Extern(_)) {
                    continue;
                }
                let evaluated = match call.args[i].direction {
                    hir::Direction::None | hir::Direction::In => {
                        let value = lowering.value(e)?;
                        Early::Value(lowering.freeze_value(value, e.span)?)
                    }
                    hir::Direction::Out | hir::Direction::InOut => {
                        let (target, saved) = arguments.target(lowering, i)?;
                        Early::Target(target, saved)
                    }
                };
                arguments.early[i] = Some(evaluated);
            }
        }
        Ok(arguments)
    }

    /// Returns an argument. If it is missing, that is reported with the statement.
    pub(crate) fn at(&self, index: usize) -> Result<&'a hir::Expr> {
        self.call.args.get(index).and_then(|a| a.value.as_ref()).ok_or(Reported)
    }

    /// Reports an argument that is not a number; the declarations of these externs accept any type.
    pub(crate) fn check_number(&self, lowering: &mut Lowering<'_>, index: usize) -> Result<()> {
        let e = self.at(index)?;
        match lowering.scalar_type(&e.ty) {
            Some(Type::Bits(_)) => Ok(()),
            _ => Err(no_bits(lowering, e)),
        }
    }

    /// Reports an argument that is not a `bit<W>`. Enumerations and errors are none: the result would have their type.
    pub(crate) fn check_bits(&self, lowering: &mut Lowering<'_>, index: usize) -> Result<()> {
        let e = self.at(index)?;
        if matches!(e.ty, hir::Type::Bits(_)) { Ok(()) } else { Err(no_bits(lowering, e)) }
    }

    pub(crate) fn number(&mut self, lowering: &mut Lowering<'_>, index: usize) -> Result<()> {
        self.check_number(lowering, index)?;
        self.input(lowering, index)
    }

    /// Lowers all arguments by the function's description, for functions whose parameters are those of their
    /// declaration. A result is one more out parameter at the end.
    pub(crate) fn described(
        &mut self,
        lowering: &mut Lowering<'_>,
        function: &ExternFn,
        ty: Option<&hir::Type>,
    ) -> Result<Option<Value>> {
        let shapes = function.info().params.unwrap_or_default();
        let declared = match shapes.split_last() {
            Some((ParamShape::Out(_), others)) if others.len() == self.call.args.len() => others,
            _ => shapes,
        };
        for (index, shape) in declared.iter().enumerate() {
            if let ParamShape::In(TypeRule::Bits)
            | ParamShape::Out(TypeRule::Bits)
            | ParamShape::InOut(TypeRule::Bits) = shape
            {
                self.check_number(lowering, index)?;
            }
            match shape {
                ParamShape::In(_) => self.input(lowering, index)?,
                ParamShape::List => self.list(lowering, index)?,
                ParamShape::Out(_) => self.output(lowering, index)?,
                ParamShape::InOut(_) => self.in_out(lowering, index)?,
            }
        }
        if declared.len() == shapes.len() { Ok(None) } else { self.result(lowering, ty) }
    }

    /// Adds a temporary for the result as the last argument, if there is a result.
    pub(crate) fn result(&mut self, lowering: &mut Lowering<'_>, ty: Option<&hir::Type>) -> Result<Option<Value>> {
        let Some(ty) = ty.filter(|ty| **ty != hir::Type::Void) else { return Ok(None) };
        let span = self.call.span;
        let Some(scalar) = lowering.scalar_type(ty) else {
            return Err(lowering.unsupported(span, "an extern's result that is no scalar"));
        };
        let slot = lowering.temp(scalar, span);
        self.args.push(ExternArg::Out(slot));
        Ok(Some(Value::Loc(Loc::Place(Place::Scalar(slot)))))
    }

    /// Returns the arguments that are evaluated after the one at `index`.
    fn after(&self, index: usize) -> impl Iterator<Item = &'a hir::Expr> + use<'a> {
        let turn = self.call.args[index].turn;
        self.call.args.iter().filter(move |a| a.turn > turn).filter_map(|a| a.value.as_ref())
    }

    /// Evaluates an argument. It keeps its value despite the effects of later ones.
    pub(crate) fn value(&mut self, lowering: &mut Lowering<'_>, index: usize) -> Result<Value> {
        let e = self.at(index)?;
        if let Some(Early::Value(value)) = self.early.get_mut(index).and_then(Option::take) {
            return Ok(value);
        }
        let value = lowering.value(e)?;
        let effects = self.after(index).any(|e| lowering.has_effects(e));
        if effects { lowering.freeze_value(value, e.span) } else { Ok(value) }
    }

    /// Evaluates an argument that is a scalar, like [`Self::value`].
    pub(crate) fn scalar(&mut self, lowering: &mut Lowering<'_>, index: usize) -> Result<hopwright_ir::Expr> {
        let e = self.at(index)?;
        let value = self.value(lowering, index)?;
        lowering.as_scalar(value, e.span)
    }

    pub(crate) fn input(&mut self, lowering: &mut Lowering<'_>, index: usize) -> Result<()> {
        let value = self.scalar(lowering, index)?;
        self.args.push(ExternArg::In(value));
        Ok(())
    }

    pub(crate) fn list(&mut self, lowering: &mut Lowering<'_>, index: usize) -> Result<()> {
        let e = self.at(index)?;
        let value = self.value(lowering, index)?;
        let mut scalars = Vec::new();
        lowering.flatten(&value, e.span, &mut scalars)?;
        self.args.push(ExternArg::List(scalars));
        Ok(())
    }

    /// Adds every scalar of a struct or header as a separate argument.
    pub(crate) fn inputs(&mut self, lowering: &mut Lowering<'_>, index: usize) -> Result<()> {
        self.list(lowering, index)?;
        if let Some(ExternArg::List(scalars)) = self.args.pop() {
            self.args.extend(scalars.into_iter().map(ExternArg::In));
        }
        Ok(())
    }

    /// Adds the slot for a result.
    pub(crate) fn output(&mut self, lowering: &mut Lowering<'_>, index: usize) -> Result<()> {
        if self.at(index).is_err() {
            return Err(lowering.unsupported(self.call.span, "an omitted out argument of an extern"));
        }
        let slot = self.output_slot(lowering, index)?;
        self.args.push(ExternArg::Out(slot));
        Ok(())
    }

    pub(crate) fn in_out(&mut self, lowering: &mut Lowering<'_>, index: usize) -> Result<()> {
        let slot = self.output_slot(lowering, index)?;
        self.args.push(ExternArg::InOut(slot));
        Ok(())
    }

    /// Evaluates the l-value of an out or inout argument. It comes with the value that an inout argument has now if evaluating later ones may
    /// change it.
    pub(crate) fn target(&mut self, lowering: &mut Lowering<'_>, index: usize) -> Result<(Target, Option<Value>)> {
        let e = self.at(index)?;
        if let Some(Early::Target(target, saved)) = self.early.get_mut(index).and_then(Option::take) {
            return Ok((target, saved));
        }
        let Target { loc, slice } = lowering.target(e)?;
        let target = Target { loc: lowering.freeze_loc(loc), slice };
        let saved = match self.call.args[index].direction {
            hir::Direction::InOut => lowering.saved(&target, self.after(index), e.span)?,
            _ => None,
        };
        Ok((target, saved))
    }

    /// Whether results are copied in another order than the declaration's, so that it shows where they go if they go to the same place.
    fn reordered(&self) -> bool {
        let outputs =
            self.call.args.iter().filter(|a| matches!(a.direction, hir::Direction::Out | hir::Direction::InOut));
        !outputs.is_sorted_by_key(|a| a.turn)
    }

    /// Returns the slot of an out argument, or a temporary with its value (an extern may leave it unchanged).
    pub(crate) fn output_slot(&mut self, lowering: &mut Lowering<'_>, index: usize) -> Result<SlotId> {
        let e = self.at(index)?;
        let (target, saved) = self.target(lowering, index)?;
        let slice = target.slice;
        let value = match (target.whole_place(), saved) {
            (Some(Place::Scalar(slot)), None) if !self.reordered() => return Ok(*slot),
            (_, Some(saved)) => saved,
            (_, None) => lowering.target_value(&target, e.span)?,
        };
        let ty = match (slice, first_place(&target.loc)) {
            (Some((hi, lo)), _) => Type::Bits(hi - lo + 1),
            (None, Some(Place::Scalar(slot))) => lowering.slots[slot.index()].ty,
            _ => return Err(lowering.unsupported(e.span, "an extern's result that is no scalar")),
        };
        let slot = lowering.temp(ty, e.span);
        lowering.store_loc(&Loc::Place(Place::Scalar(slot)), value, e.span)?;
        self.copy_later(index, target, Value::Loc(Loc::Place(Place::Scalar(slot))));
        Ok(slot)
    }

    /// Copies a result to the target of an argument after the call.
    pub(crate) fn copy_later(&mut self, index: usize, target: Target, value: Value) {
        self.outs.push((self.call.args[index].turn, target, value));
    }

    pub(crate) fn finish(mut self, lowering: &mut Lowering<'_>, function: ExternFn, span: Span) -> Result<()> {
        let args = std::mem::take(&mut self.args);
        lowering.emit(StmtKind::Extern(ExternCall { function, args, span }), span);
        self.copy_out(lowering, span)
    }

    /// Copies results to their targets, in the order of the arguments in the source (P4-16 6.8, step 6).
    pub(crate) fn copy_out(mut self, lowering: &mut Lowering<'_>, span: Span) -> Result<()> {
        self.outs.sort_by_key(|(turn, ..)| *turn);
        self.outs.into_iter().try_for_each(|(_, target, value)| lowering.store(&target, value, span))
    }
}

fn no_bits(lowering: &mut Lowering<'_>, e: &hir::Expr) -> Reported {
    let name = lowering.type_name(&e.ty);
    lowering.refuse(e.span, "E0300", format!("a `bit<W>` is wanted here, not a `{name}`"))
}
