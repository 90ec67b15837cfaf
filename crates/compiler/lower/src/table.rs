//! Lowers tables, their entries and their actions.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use hopwright_sema::hir;
use hopwright_source::Span;
use num_bigint::{BigInt, BigUint};
use num_traits::ToPrimitive;

use crate::call::Given;
use crate::{Exit, LoweredTable, Lowering, Result};
use hopwright_ir::{
    Action, ActionCall, ActionId, ExternId, ExternKind, Key, MatchForm, MatchKind, MatchValue, Param, SlotId, StmtKind,
    Table, TableAction, TableEntry, TableId, Type, WrittenMatch, walk,
};

/// The `size` of a table that does not specify it or specifies zero.
const DEFAULT_SIZE: u64 = 1024;

/// A table's keys, and those that must be computed into a slot before each apply.
type Keys = (Vec<Key>, Vec<(usize, SlotId)>);

impl Lowering<'_> {
    /// Applies a table, lowering it first if this is the first time.
    pub(crate) fn apply(
        &mut self,
        table: hir::TableId,
        hit: Option<SlotId>,
        action_run: Option<SlotId>,
        span: Span,
    ) -> Result<LoweredTable> {
        let lowered = self.table(table)?;
        for &(index, slot) in lowered.computed_keys.iter() {
            let key = &self.program[table].keys[index];
            let mut value = self.scalar(&key.expr)?;
            if let Some(masks) = lowered.masks {
                value = self.masked_key(masks, index, value)?;
            }
            self.emit(StmtKind::Assign(slot, value), key.expr.span);
        }
        self.emit(StmtKind::Apply { table: lowered.id, hit, action_run }, span);
        if let Some(flag) = lowered.exit_flag {
            let cond = self.slot_expr(flag, span);
            let then = self.nested(|this| this.exit_stmt(span))?;
            self.emit(StmtKind::If { cond, then, otherwise: Vec::new() }, span);
        }
        Ok(lowered)
    }

    /// Returns a table. It is lowered once, with the variables as bound where it is first applied.
    pub(crate) fn table(&mut self, id: hir::TableId) -> Result<LoweredTable> {
        if let Some(lowered) = self.lowered_tables.get(&id) {
            return Ok(lowered.clone());
        }
        let table = &self.program[id];
        let ir_id = TableId(self.tables.len() as u32);
        // The table's index is reserved first, because actions refer to tables by id.
        self.tables.push(Table {
            name: table.control_plane_name.clone(),
            id: None,
            keys: Vec::new(),
            actions: Vec::new(),
            default_action: ActionCall { action: ActionId(0), args: Vec::new() },
            const_default_action: table.const_default_action,
            entries: Vec::new(),
            const_entries: table.const_entries,
            size: table.size.filter(|size| *size != 0).unwrap_or(DEFAULT_SIZE),
            implementation: None,
            direct_counter: None,
            direct_meter: None,
            entry_cells: Vec::new(),
            idle_timeout: false,
            span: table.span,
        });
        let masked = self.has_key_masks(table);
        let (keys, computed_keys) = self.keys(table, masked)?;
        let masks = masked.then(|| self.key_masks(table, &keys)).transpose()?;
        self.tables[ir_id.index()].keys = keys;
        self.properties(table, ir_id)?;
        self.symmetric_selector(table, ir_id)?;

        let pending = matches!(self.exit, Exit::Leave(_)) || self.frames.iter().any(|f| !f.copy_outs.is_empty());
        let functions = table.actions.iter().map(|a| a.action.function).chain([table.default_action.function]);
        let exits = functions.into_iter().any(|f| self.may_exit(f));
        let exit_flag = (pending && exits).then(|| self.temp(Type::Bool, table.span));

        let mut actions = HashMap::new();
        let mut listed = Vec::new();
        for a in &table.actions {
            let action = self.action(&a.action, &table.control_plane_name, exit_flag)?;
            actions.insert(a.action.function, action);
            let has = |name: &str| a.annotations.iter().any(|n| n.name == name);
            listed.push(TableAction { action, table_only: has("tableonly"), default_only: has("defaultonly") });
        }
        let default = table.default_action.function;
        if let Entry::Vacant(place) = actions.entry(default) {
            let action = self.action(&table.default_action, &table.control_plane_name, exit_flag)?;
            place.insert(action);
            listed.push(TableAction { action, table_only: false, default_only: true });
        }
        self.check_entry_cells(ir_id, &listed)?;
        self.tables[ir_id.index()].actions = listed;
        let call = self.action_call(&table.default_action, &actions)?;
        self.tables[ir_id.index()].default_action = call;
        let entries = self.entries(table, ir_id, &actions)?;
        self.tables[ir_id.index()].entries = entries;

        let lowered =
            LoweredTable { id: ir_id, computed_keys: computed_keys.into(), masks, actions: actions.into(), exit_flag };
        self.lowered_tables.insert(id, lowered.clone());
        Ok(lowered)
    }

    fn keys(&mut self, table: &hir::Table, masked: bool) -> Result<Keys> {
        let mut keys = Vec::new();
        let mut computed = Vec::new();
        for (index, key) in table.keys.iter().enumerate() {
            let span = key.expr.span;
            let Some(kind) = MatchKind::by_name(&key.match_kind).or_else(|| self.other_match_kind(&key.match_kind))
            else {
                return Err(self.unsupported(span, format!("the match kind `{}`", key.match_kind)));
            };
            if kind.form() == MatchForm::Prefix && keys.iter().any(|k: &Key| k.kind.form() == MatchForm::Prefix) {
                return Err(self.refuse(span, "E0455", "a table has at most one lpm key; this is its second".into()));
            }
            // A key keeps its value despite the effects of later ones.
            let effects = table.keys[index..].iter().any(|k| self.has_effects(&k.expr));
            let expr = if effects || masked {
                let Some(ty) = self.scalar_type(&key.expr.ty) else {
                    return Err(self.unsupported(span, "a key that is no scalar"));
                };
                let slot = self.temp(ty, span);
                computed.push((index, slot));
                self.slot_expr(slot, span)
            } else {
                self.scalar(&key.expr)?
            };
            if matches!(expr.ty, Type::Varbit(_)) {
                return Err(self.unsupported(span, "a key of type varbit"));
            }
            keys.push(Key { name: key.name.clone(), expr, kind });
        }
        Ok((keys, computed))
    }

    fn properties(&mut self, table: &hir::Table, id: TableId) -> Result<()> {
        for (name, property) in &table.properties {
            match (name.as_str(), property) {
                ("implementation" | "psa_implementation" | "pna_implementation", hir::Property::Object(object)) => {
                    // `Atcam` and `Alpm` say how hardware finds entries.
                    let finds = matches!(self.program[*object].type_name.as_str(), "Atcam" | "Alpm");
                    self.tables[id.index()].implementation = (!finds).then_some(ExternId(object.0));
                }
                ("counters" | "psa_direct_counter" | "pna_direct_counter", hir::Property::Object(object)) => {
                    self.tables[id.index()].direct_counter = Some(ExternId(object.0));
                    if let ExternKind::DirectCounter { table, .. } = &mut self.externs[object.0 as usize].kind {
                        *table = Some(id);
                    }
                }
                ("meters" | "psa_direct_meter" | "pna_direct_meter", hir::Property::Object(object)) => {
                    self.tables[id.index()].direct_meter = Some(ExternId(object.0));
                    if let ExternKind::DirectMeter { table, .. } = &mut self.externs[object.0 as usize].kind {
                        *table = Some(id);
                    }
                }
                // A filter with an index is no part of entries.
                ("registers" | "filters", hir::Property::Object(object))
                    if matches!(self.program[*object].type_name.as_str(), "Lpf" | "Wred") => {}
                ("registers" | "filters", hir::Property::Object(object)) => {
                    self.entry_cells(id, ExternId(object.0), table.span)?
                }
                ("support_timeout" | "idle_timeout", hir::Property::Value(value)) => {
                    let on = self.constant(value)? != BigUint::ZERO;
                    self.tables[id.index()].idle_timeout = on;
                }
                ("psa_idle_timeout" | "pna_idle_timeout", hir::Property::Value(value)) => {
                    self.tables[id.index()].idle_timeout = self.member_name(value) == Some("NOTIFY_CONTROL");
                }
                // Properties of other architectures are ignored.
                _ => {}
            }
        }
        Ok(())
    }

    /// Gives each entry of a table a cell of an object.
    fn entry_cells(&mut self, id: TableId, object: ExternId, span: Span) -> Result<()> {
        let used = matches!(self.externs[object.index()].kind, ExternKind::Register { size: 1.., .. });
        if used || self.tables.iter().any(|table| table.entry_cells.contains(&object)) {
            let what =
                format!("`{}` in several tables, or in one and outside of it,", self.externs[object.index()].name);
            return Err(self.unsupported(span, what));
        }
        let table = &mut self.tables[id.index()];
        table.entry_cells.push(object);
        match &mut self.externs[object.index()].kind {
            ExternKind::Register { size, .. } => *size = table.size,
            ExternKind::Named { args, .. } if !args.is_empty() => args[0] = table.size.into(),
            _ => {}
        }
        Ok(())
    }

    /// Actions use the cells of entries of their table only.
    fn check_entry_cells(&mut self, id: TableId, actions: &[TableAction]) -> Result<()> {
        let Table { entry_cells, .. } = &self.tables[id.index()];
        let mut foreign = None;
        for action in actions {
            let action = &self.actions[action.action.index()];
            walk::stmts(&action.body, &mut |stmt| {
                if let StmtKind::Extern(call) = &stmt.kind
                    && let Some(object) = call.function.object()
                    && self.has_entry_cells(object)
                    && !entry_cells.contains(&object)
                {
                    foreign = Some((object, call.span));
                }
            });
        }
        let Some((object, span)) = foreign else { return Ok(()) };
        let what = format!("`{}`, which is not of the table,", self.externs[object.index()].name);
        Err(self.unsupported(span, what))
    }

    /// Lowers an action as tables run it, with its directional parameters bound.
    fn action(&mut self, reference: &hir::ActionRef, table: &str, exit_flag: Option<SlotId>) -> Result<ActionId> {
        let id = reference.function;
        let function = &self.program[id];
        let bound = function.params.iter().any(|p| p.direction != hir::Direction::None);
        let flag = exit_flag.filter(|_| self.may_exit(id));
        if !bound && let Some(&action) = self.lowered_actions.get(&(id, flag)) {
            return Ok(action);
        }
        let mut params = Vec::new();
        let mut given = Vec::new();
        for (i, p) in function.params.iter().enumerate() {
            if p.direction == hir::Direction::None {
                let declared = &self.program[p.var];
                let Some(ty) = self.scalar_type(&declared.ty) else {
                    return Err(self.unsupported(declared.span, "action data of this type"));
                };
                given.push(Given::Data(params.len() as u32));
                params.push(Param { name: p.control_plane_name.clone(), ty });
            } else {
                let value = reference.args.get(i).and_then(Option::as_ref);
                given.push(value.map_or(Given::Omitted, |value| Given::Expr(value, i)));
            }
        }

        // The body is lowered separately, outside the scopes of the control that applies the table.
        let label = self.label();
        let exit = flag.map_or(Exit::Direct, |flag| Exit::Flag { flag, label });
        let outer_exit = std::mem::replace(&mut self.exit, exit);
        let frames = std::mem::take(&mut self.frames);
        let loops = std::mem::take(&mut self.loops);
        let repeats = std::mem::replace(&mut self.repeats, true);
        let outer_block = std::mem::take(&mut self.block);
        let in_table = std::mem::replace(&mut self.in_table, true);
        let body = self.nested(|this| this.inline_function(id, &given, reference.span).map(|_| ()));
        let body = body.map(|body| {
            self.scoped(label, body, function.span);
            std::mem::take(&mut self.block)
        });
        self.in_table = in_table;
        self.block = outer_block;
        self.repeats = repeats;
        self.loops = loops;
        self.frames = frames;
        self.exit = outer_exit;

        let action = ActionId(self.actions.len() as u32);
        // With other bound arguments it is a different action, named after the table.
        let mut name = function.control_plane_name.clone();
        if !self.action_names.insert(name.clone()) {
            name = self.unique(&format!("{table}.{}", function.name));
            self.action_names.insert(name.clone());
        }
        self.actions.push(Action { name, id: None, params, body: body?, span: function.span });
        if !bound {
            self.lowered_actions.insert((id, flag), action);
        }
        Ok(action)
    }

    /// Returns an action call with the data given in the source.
    fn action_call(
        &mut self,
        reference: &hir::ActionRef,
        actions: &HashMap<hir::FunctionId, ActionId>,
    ) -> Result<ActionCall> {
        let function = &self.program[reference.function];
        let Some(&action) = actions.get(&reference.function) else {
            let message = format!("`{}` is no action of this table", function.name);
            return Err(self.refuse(reference.span, "E0452", message));
        };
        let mut args = Vec::new();
        for (p, value) in function.params.iter().zip(&reference.args) {
            if p.direction == hir::Direction::None {
                match value {
                    Some(value) => args.push(self.constant(value)?),
                    None => {
                        let message = format!("`{}` needs all its action data here", function.name);
                        return Err(self.refuse(reference.span, "E0452", message));
                    }
                }
            }
        }
        Ok(ActionCall { action, args })
    }

    fn entries(
        &mut self,
        table: &hir::Table,
        id: TableId,
        actions: &HashMap<hir::FunctionId, ActionId>,
    ) -> Result<Vec<TableEntry>> {
        let priorities =
            if self.tables[id.index()].has_priority() { self.priorities(table)? } else { vec![0; table.entries.len()] };
        let mut entries = Vec::with_capacity(table.entries.len());
        let mut seen: HashSet<(Vec<MatchValue>, i32)> = HashSet::new();
        for (entry, priority) in table.entries.iter().zip(priorities) {
            let mut matches = Vec::new();
            for (i, set) in entry.sets.iter().enumerate() {
                let Some((kind, ty)) = self.tables[id.index()].keys.get(i).map(|k| (k.kind, k.expr.ty)) else {
                    return Err(self.refuse(entry.span, "E0452", "more sets than keys".into()));
                };
                matches.push(self.match_value(set, kind, ty, entry.span)?);
            }
            if !seen.insert((matches.clone(), priority)) {
                let message = "an earlier entry has these keys: this one could never be hit".into();
                return Err(self.refuse(entry.span, "E0456", message));
            }
            let action = self.action_call(&entry.action, actions)?;
            entries.push(TableEntry { matches, priority, action });
        }
        Ok(entries)
    }

    /// Returns priorities of which the highest wins, whatever the table's convention (P4-16 14.2.1.4). If none is
    /// given, the first entry wins.
    fn priorities(&mut self, table: &hir::Table) -> Result<Vec<i32>> {
        let delta = BigInt::from(table.priority_delta);
        let count = table.entries.len();
        let mut written: Vec<BigInt> = Vec::with_capacity(count);
        let largest_wins = table.largest_priority_wins;
        for entry in &table.entries {
            let priority = match (&entry.priority, written.last()) {
                (Some(priority), _) => priority.clone(),
                (None, Some(before)) if largest_wins => before - &delta,
                (None, Some(before)) => before + &delta,
                (None, None) if largest_wins => {
                    // Leaves room for the following entries, whose priorities count down from this one.
                    let run = table.entries.iter().skip(1).take_while(|e| e.priority.is_none()).count();
                    BigInt::from(run) * &delta + 1
                }
                (None, None) => BigInt::from(1),
            };
            written.push(priority);
        }
        if !largest_wins {
            let highest = written.iter().max().cloned().unwrap_or_default();
            written.iter_mut().for_each(|p| *p = &highest - &*p + 1);
        }
        let mut priorities = Vec::with_capacity(count);
        for (p, entry) in written.iter().zip(&table.entries) {
            match p.to_i32() {
                Some(p) => priorities.push(p),
                None => return Err(self.unsupported(entry.span, "a priority beyond 2147483647")),
            }
        }
        Ok(priorities)
    }

    fn match_value(&mut self, set: &hir::Set, kind: MatchKind, ty: Type, span: Span) -> Result<MatchValue> {
        let written = match set {
            hir::Set::Any => WrittenMatch::Any,
            hir::Set::Value(v) => WrittenMatch::Value(self.constant(v)?),
            hir::Set::Mask(v, m) => WrittenMatch::Mask(self.constant(v)?, self.constant(m)?),
            hir::Set::Range(lo, hi) => WrittenMatch::Range(self.constant(lo)?, self.constant(hi)?),
            _ => return Err(self.refuse(span, "E0452", "this set does not fit the key's match kind".into())),
        };
        kind.value(written, ty.width()).map_err(|e| self.refuse(span, "E0452", e.to_string()))
    }

    /// Lowers tables that no control applies, unless their keys or actions depend on one.
    pub(crate) fn unapplied_tables(&mut self) {
        for i in 0..self.program.tables.len() {
            let id = hir::TableId(i as u32);
            if self.lowered_tables.contains_key(&id) {
                continue;
            }
            let errors = self.diagnostics.clone();
            let (tables, actions) = (self.tables.len(), self.actions.len());
            let lowered_actions = self.lowered_actions.clone();
            if self.table(id).is_err() || self.diagnostics.error_count() > errors.error_count() {
                // Its control is never applied, so nothing uses the table.
                self.diagnostics = errors;
                self.tables.truncate(tables);
                for object in &mut self.externs {
                    if let ExternKind::DirectCounter { table, .. } | ExternKind::DirectMeter { table, .. } =
                        &mut object.kind
                    {
                        *table = table.filter(|t| t.index() < tables);
                    }
                }
                for action in self.actions.drain(actions..) {
                    self.action_names.remove(&action.name);
                }
                self.lowered_actions = lowered_actions;
                self.lowered_tables.remove(&id);
            }
        }
    }
}
