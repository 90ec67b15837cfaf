//! Tables.

use std::rc::Rc;

use hopwright_ir::{ActionId, SlotId, Span, TableId, Type};

use super::{Builder, COLOR, Context, Point, State, Step, sub};
use crate::emit::point::PointId;
use crate::emit::point::actions_of;
use crate::trace_ir::values::{Op, ValueId, ValueType};
use crate::trace_ir::{Effect, Name};

impl<'a> Builder<'a> {
    /// Applies a table: the actions whose bodies paths go on with become branches.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn apply(
        &mut self,
        id: TableId,
        hit: Option<SlotId>,
        action_run: Option<SlotId>,
        point_id: &PointId,
        then: &Point<'a>,
        context: &Rc<Context<'a>>,
        span: Span,
        mut state: State,
    ) -> Step {
        let table = &self.p[id];
        if !table.entry_cells.is_empty() {
            let site = self.site(span, "cells of entries");
            return self.exit(&state, &site);
        }
        let meter = table.direct_meter.filter(|_| self.p.measures_hits(id)).map(|meter| self.name_of(meter));
        if meter.as_ref().is_some_and(|meter| state.has_measured(meter)) {
            let site = self.site(span, "a direct meter that runs twice");
            return self.exit(&state, &site);
        }
        let keys: Vec<ValueId> = table.keys.iter().map(|key| self.value(&state, context, &key.expr)).collect();
        let entry = self.ir.values.make(Op::Lookup { table: table.name.as_str().into(), keys }, ValueType::Entry);
        if table.direct_counter.is_some() || table.idle_timeout {
            state.effects.push(Effect::CountHit(entry));
        }
        let found = self.ir.values.data(Op::Hit(entry), Type::Bool);
        if let Some(slot) = hit {
            state.slots[slot.index()] = found;
        }
        let mut candidates: Vec<(ActionId, bool, Point<'a>)> = Vec::new();
        for (k, action) in actions_of(table).into_iter().enumerate() {
            // Entries have no default-only actions.
            let may_hit = table.actions.iter().any(|a| a.action == action && !a.default_only);
            let color = meter.clone().filter(|_| may_hit).map(|meter| Op::Color { meter, of: entry });
            let color = color.map(|color| self.ir.values.data(color, COLOR));
            let context = Context { color, ..(**context).clone() };
            let point = self.action_point(entry, action, &sub(point_id, k + 1), then, context);
            if self.is_on_path(&state, &point) {
                candidates.push((action, may_hit, point));
            }
        }
        for (k, (action, may_hit, point)) in candidates.iter().enumerate() {
            let name: Name = self.p[*action].name.as_str().into();
            let is = self.ir.values.data(Op::Is(entry, name.clone()), Type::Bool);
            let site = self.site(span, &format!("{}: {name}", table.name));
            let mut here = if k + 1 < candidates.len() {
                let (here, other) = self.branch(&state, is, &site);
                state = other;
                here
            } else {
                self.guard(&mut state, is, true, &site)?;
                state.clone()
            };
            if let Some(slot) = action_run {
                here.slots[slot.index()] = self.ir.values.constant(action.0, self.p[slot].ty);
            }
            if !may_hit {
                let missed = self.ir.values.truth(false);
                here.known.insert(found, missed);
            } else if let Some(meter) = meter.clone() {
                here.effects.push(Effect::Measure { meter, of: entry });
            }
            let _ = self.go(point, here);
        }
        if candidates.is_empty() {
            let site = self.site(span, &format!("{}: another action", table.name));
            return self.exit(&state, &site);
        }
        Ok(())
    }

    /// The point where an action's body begins.
    fn action_point(
        &mut self,
        entry: ValueId,
        id: ActionId,
        prefix: &PointId,
        then: &Point<'a>,
        context: Context<'a>,
    ) -> Point<'a> {
        let action = &self.p[id];
        let params = action.params.iter().enumerate().map(|(index, param)| {
            let argument = Op::Argument { entry, action: action.name.as_str().into(), index: index as u32 };
            self.ir.values.data(argument, param.ty)
        });
        let params: Rc<[ValueId]> = params.collect();
        let context = Rc::new(Context { params, ..context });
        Point::stmts(prefix.clone(), &action.body, then, &context)
    }
}
