//! The verifier: checks every invariant of the IR, such as ids in range, types and widths, placement of statements, scopes,
//! layout of headers, tables and their entries.
//!
//! It runs after lowering and, in debug builds and tests, after every pass. Executors run a verified pipeline without
//! panicking.

mod body;
mod expr;

use std::collections::{BTreeSet, HashSet};

use crate::entry::{check_arguments, check_entry};
use crate::model::*;
use crate::walk;
use body::Place;

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct VerifyError {
    /// Where in the pipeline, e.g. `action MyIngress.fwd`.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// The P4 text concerned.
    pub span: Span,
}

/// Checks a pipeline.
///
/// # Errors
/// All violations. If the structure itself is broken (ids out of range), only that is reported.
pub fn verify(pipeline: &Pipeline) -> Result<(), Vec<VerifyError>> {
    let mut checker = Checker { pipeline, place: String::new(), span: Span::none(), errors: Vec::new() };
    checker.ids();
    if checker.errors.is_empty() {
        checker.state();
        checker.objects();
        checker.bodies();
        checker.tables();
    }
    if checker.errors.is_empty() { Ok(()) } else { Err(checker.errors) }
}

pub(crate) struct Checker<'a> {
    pipeline: &'a Pipeline,
    place: String,
    span: Span,
    errors: Vec<VerifyError>,
}

impl Checker<'_> {
    fn at(&mut self, place: impl Into<String>, span: Span) {
        self.place = place.into();
        self.span = span;
    }

    fn error(&mut self, message: impl Into<String>) {
        self.errors.push(VerifyError { place: self.place.clone(), message: message.into(), span: self.span });
    }

    fn require(&mut self, condition: bool, message: impl FnOnce() -> String) {
        if !condition {
            self.error(message());
        }
    }

    fn slot(&mut self, id: SlotId) {
        let count = self.pipeline.slots.len();
        self.require(id.index() < count, || format!("slot {} does not exist", id.0));
    }

    fn header(&mut self, id: HeaderId) {
        let count = self.pipeline.headers.len();
        self.require(id.index() < count, || format!("header {} does not exist", id.0));
    }

    fn stack(&mut self, id: StackId) {
        let count = self.pipeline.stacks.len();
        self.require(id.index() < count, || format!("stack {} does not exist", id.0));
    }

    fn action(&mut self, id: ActionId) {
        let count = self.pipeline.actions.len();
        self.require(id.index() < count, || format!("action {} does not exist", id.0));
    }

    fn table(&mut self, id: TableId) {
        let count = self.pipeline.tables.len();
        self.require(id.index() < count, || format!("table {} does not exist", id.0));
    }

    fn object(&mut self, id: ExternId) {
        let count = self.pipeline.externs.len();
        self.require(id.index() < count, || format!("extern {} does not exist", id.0));
    }

    /// Checks that every id is in range, so that all other checks may index freely.
    fn ids(&mut self) {
        let p = self.pipeline;
        for slot in &p.slots {
            self.at(format!("slot {}", slot.name), slot.span);
            match slot.kind {
                SlotKind::Field(h, _) | SlotKind::Valid(h) => self.header(h),
                SlotKind::NextIndex(s) => self.stack(s),
                SlotKind::Metadata | SlotKind::Standard | SlotKind::Local => {}
            }
        }
        for header in &p.headers {
            self.at(format!("header {}", header.name), header.span);
            self.slot(header.valid);
            for field in &header.fields {
                self.slot(field.slot);
            }
            if let Some((stack, _)) = header.stack {
                self.stack(stack);
            }
            if let Some(union) = header.union {
                self.require(union.index() < p.unions.len(), || format!("union {} does not exist", union.0));
            }
        }
        for stack in &p.stacks {
            self.at(format!("stack {}", stack.name), stack.span);
            self.slot(stack.next_index);
            stack.elements.iter().for_each(|&h| self.header(h));
        }
        for union in &p.unions {
            self.at(format!("union {}", union.name), union.span);
            union.members.iter().for_each(|&h| self.header(h));
        }
        self.at("standard metadata", Span::none());
        for (_, slot, _) in p.standard.fields() {
            self.slot(slot);
        }
        for list in &p.field_lists {
            self.at(format!("field list {}", list.index), Span::none());
            list.slots.iter().for_each(|&s| self.slot(s));
        }
        self.at("controller headers", Span::none());
        p.packet_in.into_iter().chain(p.packet_out).for_each(|h| self.header(h));
        for object in &p.externs {
            self.at(format!("extern {}", object.name), object.span);
            if let ExternKind::DirectCounter { table, .. } | ExternKind::DirectMeter { table, .. } = object.kind {
                table.into_iter().for_each(|t| self.table(t));
            }
        }
        for table in &p.tables {
            self.at(format!("table {}", table.name), table.span);
            table.actions.iter().for_each(|a| self.action(a.action));
            self.action(table.default_action.action);
            table.entries.iter().for_each(|e| self.action(e.action.action));
            for object in [table.implementation, table.direct_counter, table.direct_meter].into_iter().flatten() {
                self.object(object);
            }
            table.entry_cells.iter().for_each(|object| self.object(*object));
        }
        self.body_ids();
    }

    /// Checks that slots, headers, stacks, unions and metadata are consistent.
    fn state(&mut self) {
        let p = self.pipeline;
        for (i, slot) in p.slots.iter().enumerate() {
            self.at(format!("slot {}", slot.name), slot.span);
            let id = SlotId(i as u32);
            self.require(slot.ty != Type::Int(0), || "`int<0>` does not exist".into());
            let fits = match slot.kind {
                SlotKind::Field(h, i) => p[h].fields.get(i as usize).is_some_and(|f| f.slot == id),
                SlotKind::Valid(h) => p[h].valid == id && slot.ty == Type::Bool,
                SlotKind::NextIndex(s) => p[s].next_index == id && slot.ty == Type::Bits(32),
                _ => true,
            };
            self.require(fits, || format!("is not what its kind {:?} says", slot.kind));
        }
        for (i, header) in p.headers.iter().enumerate() {
            self.header_layout(HeaderId(i as u32), header);
        }
        for (i, stack) in p.stacks.iter().enumerate() {
            self.at(format!("stack {}", stack.name), stack.span);
            let id = StackId(i as u32);
            let kind = p[stack.next_index].kind;
            self.require(kind == SlotKind::NextIndex(id), || "its next index is another slot".into());
            for (index, &element) in stack.elements.iter().enumerate() {
                let at = (id, index as u32);
                self.require(p[element].stack == Some(at), || format!("element {index} does not know it"));
                self.same_shape(element, stack.elements[0]);
            }
        }
        for (i, union) in p.unions.iter().enumerate() {
            self.at(format!("union {}", union.name), union.span);
            for &member in &union.members {
                let knows = p[member].union == Some(UnionId(i as u32));
                self.require(knows, || format!("member {} does not know it", p[member].name));
            }
        }
        self.at("standard metadata", Span::none());
        for (name, slot, width) in p.standard.fields() {
            let fits = p[slot].kind == SlotKind::Standard && p[slot].ty == Type::Bits(width);
            self.require(fits, || format!("{name} must be a standard slot of bit<{width}>"));
        }
        self.at("errors", Span::none());
        self.require(p.errors.first().is_some_and(|e| e == "NoError"), || "the first is not NoError".into());
        self.require(p.errors.len() <= 1 << 16, || "more than 16 bits can tell apart".into());
    }

    fn header_layout(&mut self, id: HeaderId, header: &Header) {
        let p = self.pipeline;
        self.at(format!("header {}", header.name), header.span);
        self.require(p[header.valid].kind == SlotKind::Valid(id), || "its validity bit is another slot".into());
        let mut offset = 0;
        for (i, field) in header.fields.iter().enumerate() {
            let slot = &p[field.slot];
            let name = &field.name;
            let is_varbit = matches!(slot.ty, Type::Varbit(_));
            self.require(slot.kind == SlotKind::Field(id, i as u32), || format!("field {name} is another slot"));
            self.require(field.width == slot.ty.width(), || format!("field {name} has not its slot's width"));
            self.require(field.offset_bits == offset, || format!("field {name} is not at bit {offset}"));
            let marked = header.varbit == Some(i as u32);
            self.require(marked == is_varbit, || format!("field {name}: varbit or not?"));
            if !is_varbit {
                offset += field.width;
            }
        }
        self.require(header.fixed_bits == offset, || format!("its fixed size is {offset} bits"));
        if let Some((stack, index)) = header.stack {
            let element = p[stack].elements.get(index as usize);
            self.require(element == Some(&id), || "it is not the stack element it says".into());
        }
        if let Some(union) = header.union {
            self.require(p[union].members.contains(&id), || "it is not the union member it says".into());
        }
    }

    fn same_shape(&mut self, a: HeaderId, b: HeaderId) {
        let p = self.pipeline;
        let types = |h: HeaderId| p[h].fields.iter().map(|f| p[f.slot].ty);
        self.require(types(a).eq(types(b)), || format!("{} and {} have different fields", p[a].name, p[b].name));
    }

    /// Checks names, ids and sizes of control-plane objects.
    fn objects(&mut self) {
        let p = self.pipeline;
        self.unique("table", p.tables.iter().map(|t| (&t.name, t.span)));
        self.unique("action", p.actions.iter().map(|a| (&a.name, a.span)));
        self.unique("extern", p.externs.iter().map(|e| (&e.name, e.span)));
        self.unique("value set", p.value_sets.iter().map(|v| (&v.name, v.span)));
        self.at("P4Runtime ids", Span::none());
        let mut ids = BTreeSet::new();
        for (kind, name, id) in p.p4_ids() {
            self.require(id.is_of(kind), || format!("{:#x} of {name} is no id of a {}", id.0, kind.words()));
            self.require(ids.insert(id), || format!("{:#x} of {name} is there twice", id.0));
        }
        for object in p.externs.iter().filter(|e| e.id.is_some()) {
            self.require(object.kind.p4_kind().is_some(), || format!("{} cannot have one", object.name));
        }
        let mut seen = BTreeSet::new();
        for list in &p.field_lists {
            self.at(format!("field list {}", list.index), Span::none());
            self.require(seen.insert(list.index), || "is there twice".into());
        }
        for object in &p.externs {
            self.at(format!("extern {}", object.name), object.span);
            if let ExternKind::Counter { size, .. }
            | ExternKind::Meter { size, .. }
            | ExternKind::Register { size, .. } = object.kind
            {
                self.require(size <= 1 << 32, || format!("size {size} is beyond any index"));
            }
            let fits = match object.kind {
                ExternKind::Register { ty, .. } => object.initial.bits() <= u64::from(ty.width()),
                _ => object.initial.bits() == 0,
            };
            self.require(fits, || "the initial value does not fit".into());
            if let ExternKind::Register { ty: Type::Varbit(_), .. } = object.kind {
                self.error("a register cannot hold a varbit");
            }
        }
        for set in &p.value_sets {
            self.at(format!("value set {}", set.name), set.span);
            let scalar = set.types.iter().all(|t| !matches!(t, Type::Varbit(_)));
            self.require(scalar, || "a value set cannot hold a varbit".into());
        }
    }

    fn unique<'n>(&mut self, what: &str, names: impl Iterator<Item = (&'n String, Span)>) {
        let mut seen = BTreeSet::new();
        for (name, span) in names {
            self.at(format!("{what} {name}"), span);
            self.require(seen.insert(name), || "another has this name".into());
        }
    }

    fn bodies(&mut self) {
        let p = self.pipeline;
        let mut labels = BTreeSet::new();
        for state in &p.parser.states {
            self.at(format!("state {}", state.name), state.span);
            self.body(&state.body, Place::Parser, &[], &mut labels);
            self.at(format!("state {}", state.name), state.span);
            self.transition(&state.transition);
        }
        for control in walk::controls(p) {
            self.at(format!("control {}", control.name), control.span);
            let place = if std::ptr::eq(control, &p.deparser) { Place::Deparser } else { Place::Control };
            self.body(&control.body, place, &[], &mut labels);
        }
        for action in &p.actions {
            self.at(format!("action {}", action.name), action.span);
            for param in &action.params {
                let scalar = !matches!(param.ty, Type::Varbit(_));
                self.require(scalar, || format!("parameter {} cannot be a varbit", param.name));
            }
            self.body(&action.body, Place::Action, &action.params, &mut labels);
        }
    }

    fn tables(&mut self) {
        let p = self.pipeline;
        for (i, table) in p.tables.iter().enumerate() {
            let place = format!("table {}", table.name);
            self.at(&place, table.span);
            let id = TableId(i as u32);
            for key in &table.keys {
                self.expr(&key.expr, &[]);
                self.at(&place, table.span);
                let scalar = !matches!(key.expr.ty, Type::Varbit(_));
                self.require(scalar, || format!("key {} cannot be a varbit", key.name));
            }
            let prefixes = table.keys.iter().filter(|k| k.kind.form() == MatchForm::Prefix).count();
            self.require(prefixes <= 1, || "more than one lpm key".into());
            if let Err(e) = check_arguments(p, &table.default_action) {
                self.error(format!("default action: {e}"));
            }
            let mut seen = HashSet::new();
            for (number, entry) in table.entries.iter().enumerate() {
                if let Err(e) = check_entry(p, id, entry) {
                    self.error(format!("entry {number}: {e}"));
                }
                let identity = (&entry.matches, entry.priority);
                self.require(seen.insert(identity), || format!("entry {number} is there twice"));
            }
            if table.keys.is_empty() && !table.entries.is_empty() {
                self.error("entries without keys");
            }
            self.table_objects(id);
        }
    }

    /// Checks that a table and the objects it refers to belong together.
    fn table_objects(&mut self, id: TableId) {
        let p = self.pipeline;
        let table = &p[id];
        if let Some(object) = table.direct_counter {
            let fits = matches!(p[object].kind, ExternKind::DirectCounter { table, .. } if table == Some(id));
            self.require(fits, || format!("{} is not its direct counter", p[object].name));
        }
        if let Some(object) = table.direct_meter {
            let fits = matches!(p[object].kind, ExternKind::DirectMeter { table, .. } if table == Some(id));
            self.require(fits, || format!("{} is not its direct meter", p[object].name));
        }
        for &object in &table.entry_cells {
            let fits = match p[object].kind {
                ExternKind::Register { size, .. } => size == table.size,
                ExternKind::Named { .. } => true,
                _ => false,
            };
            self.require(fits, || format!("{} does not have a cell for each entry", p[object].name));
        }
        if let Some(object) = table.implementation {
            let fits = matches!(p[object].kind, ExternKind::ActionProfile { .. } | ExternKind::ActionSelector { .. });
            self.require(fits, || format!("{} is no action profile or selector", p[object].name));
        }
    }
}
