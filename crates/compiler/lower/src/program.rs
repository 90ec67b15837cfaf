//! Lowers the package: the architecture's blocks, which share storage.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hopwright_opt::length;
use hopwright_sema::architecture::{self, Architecture, BlockRole, ParamRole};
use hopwright_sema::hir;
use hopwright_source::SourceMap;
use hopwright_syntax::diagnostic::Diagnostic;

use crate::storage::{Loc, Place, Purpose};
use crate::{Binding, Exit, Lowering, Reported, Result};
use hopwright_ir::{
    Block, Control, ExternKind, FieldList, HeaderId, Parser, Pipeline, SlotId, SlotKind, StandardMetadata, StmtKind,
    Type, walk,
};

/// The lowered blocks of a pipeline, and the headers of the CPU port.
pub(crate) struct Parts {
    pub parser: Parser,
    pub verify_checksum: Control,
    pub ingress: Control,
    pub egress: Control,
    pub compute_checksum: Control,
    pub deparser: Control,
    pub packet_in: Option<HeaderId>,
    pub packet_out: Option<HeaderId>,
}

impl Lowering<'_> {
    /// Lowers the whole program.
    pub(crate) fn program(&mut self, sources: Arc<SourceMap>) -> Result<Pipeline> {
        let program = self.program;
        let main = &program.main;
        let architecture = program.architecture().filter(|a| a.takes(main.blocks.len()));
        let Some(architecture) = architecture else {
            return Err(self.unknown_package());
        };
        self.check_declarations(architecture)?;
        self.count_applications();
        self.objects();
        self.value_sets();
        self.intrinsic_slots();

        if self.is_tofino() {
            return self.pipes(architecture, sources);
        }
        if self.is_pna() {
            return self.nic(architecture, sources);
        }
        if architecture.block(BlockRole::EgressParser).is_some() {
            return self.two_passes(architecture, sources);
        }
        let length_change = SlotId(self.slots.len() as u32);
        self.slots.push(length::change_slot());
        self.length_change = Some(length_change);
        let storage = self.storage(architecture)?;
        for (block, (_, id)) in architecture.blocks.iter().zip(&main.blocks) {
            for (param, role) in program[*id].params.iter().zip(block.params) {
                if let Some(place) = storage.get(role) {
                    self.env.insert(param.var, Binding::Loc(Loc::Place(place.clone())));
                }
            }
        }
        let headers = &storage[&ParamRole::Headers];

        // All blocks are lowered before errors are returned, so that the errors of all blocks are found.
        let mut parser = None;
        let mut controls: HashMap<BlockRole, Result<Control>> = HashMap::new();
        for (block, (_, id)) in architecture.blocks.iter().zip(&main.blocks) {
            match block.role {
                BlockRole::Parser => parser = Some(self.parser(*id)),
                role => drop(controls.insert(role, self.control(*id))),
            }
        }
        let nothing = || Control { name: String::new(), body: Vec::new(), span: main.span };
        let mut control = |role| controls.remove(&role).unwrap_or_else(|| Ok(nothing()));
        self.unapplied_tables();
        let packet_in = self.controller_header("packet_in", headers);
        let packet_out = self.controller_header("packet_out", headers);
        let (mut verify_checksum, mut egress) = (control(BlockRole::VerifyChecksum)?, control(BlockRole::Egress)?);
        self.finish_rejected(&mut verify_checksum)?;
        self.forget_headers_of_clones(headers, &mut egress)?;
        let parts = Parts {
            parser: parser.ok_or(Reported)??,
            verify_checksum,
            ingress: control(BlockRole::Ingress)?,
            egress,
            compute_checksum: control(BlockRole::ComputeChecksum)?,
            deparser: control(BlockRole::Deparser)?,
            packet_in,
            packet_out,
        };
        let mut pipeline = self.assemble(parts, sources);
        length::account(&mut pipeline, length_change);
        Ok(pipeline)
    }

    fn unknown_package(&mut self) -> Reported {
        let main = &self.program.main;
        let known: Vec<String> = architecture::ALL.iter().map(|a| format!("`{}` ({})", a.package, a.include)).collect();
        let blocks = match self.program.architecture() {
            Some(_) => format!(" with {} blocks", main.blocks.len()),
            None => String::new(),
        };
        let message = format!("the package `{}`{blocks} is not supported yet", main.type_name);
        let known = format!("packages that are: {}", known.join(", "));
        self.diagnostics.push(Diagnostic::error("E0501", message).at(main.span, "").note(known));
        Reported
    }

    /// Makes the pipeline of its lowered blocks and of the storage, tables and objects that they use.
    pub(crate) fn assemble(&mut self, parts: Parts, sources: Arc<SourceMap>) -> Pipeline {
        let program = self.program;
        let standard = self.standard_metadata();
        let mut pipeline = Pipeline {
            name: program.name.clone(),
            parser: parts.parser,
            verify_checksum: parts.verify_checksum,
            ingress: parts.ingress,
            egress: parts.egress,
            compute_checksum: parts.compute_checksum,
            deparser: parts.deparser,
            standard,
            slots: std::mem::take(&mut self.slots),
            headers: std::mem::take(&mut self.headers),
            stacks: std::mem::take(&mut self.stacks),
            unions: std::mem::take(&mut self.unions),
            errors: program.errors.clone(),
            actions: std::mem::take(&mut self.actions),
            tables: std::mem::take(&mut self.tables),
            value_sets: std::mem::take(&mut self.value_sets),
            externs: std::mem::take(&mut self.externs),
            field_lists: std::mem::take(&mut self.field_lists),
            packet_in: parts.packet_in,
            packet_out: parts.packet_out,
            control_plane_objects: Vec::new(),
            sources,
        };
        ignore_lonely(&mut pipeline);
        distinct_names(&mut pipeline);
        self.assign_ids(&mut pipeline);
        pipeline
    }

    pub(crate) fn control(&mut self, id: hir::InstanceId) -> Result<Control> {
        let instance = &self.program[id];
        let hir::InstanceBody::Control(stmts) = &instance.body else {
            return Err(self.unsupported(instance.span, "a parser in the place of a control"));
        };
        self.scope = instance.name.clone();
        self.exit = Exit::Direct;
        self.block = Vec::new();
        self.stmts(&instance.locals);
        self.body(stmts, Vec::new(), None, instance.span)?;
        let body = std::mem::take(&mut self.block);
        Ok(Control { name: instance.name.clone(), body, span: instance.span })
    }

    /// Allocates the storage that the blocks share, with the types that the ingress control declares.
    fn storage(&mut self, architecture: &Architecture) -> Result<HashMap<ParamRole, Place>> {
        let program = self.program;
        let main = &program.main;
        let mut storage = HashMap::new();
        if let Some((at, ingress)) = architecture.block(BlockRole::Ingress) {
            let instance = &program[main.blocks[at].1];
            if instance.params.len() != ingress.params.len() {
                return Err(self.unsupported(instance.span, "this ingress control"));
            }
            for (param, role) in instance.params.iter().zip(ingress.params) {
                let var = &program[param.var];
                let place = match role {
                    ParamRole::Packet => continue,
                    ParamRole::Headers => self.alloc(&var.ty, &var.name, Purpose::Metadata, var.span)?,
                    ParamRole::Metadata => {
                        let place = self.alloc(&var.ty, &var.name, Purpose::Metadata, var.span)?;
                        self.kept_fields(&var.ty, &place);
                        place
                    }
                    _ => self.intrinsic_place(&var.ty),
                };
                storage.insert(*role, place);
            }
        }
        if !storage.contains_key(&ParamRole::Headers) {
            return Err(self.unsupported(main.span, "a package without headers"));
        }
        Ok(storage)
    }

    fn intrinsic_slots(&mut self) {
        let span = self.program.main.span;
        for (name, width) in StandardMetadata::FIELDS {
            let slot =
                self.new_slot(&format!("standard_metadata.{name}"), Type::Bits(*width), SlotKind::Standard, span);
            self.standard.insert(name.to_string(), slot);
        }
    }

    /// Returns the storage of the program's intrinsic metadata.
    fn intrinsic_place(&mut self, ty: &hir::Type) -> Place {
        let hir::Type::Struct(id) = ty else {
            return Place::Struct(Vec::new().into());
        };
        let program = self.program;
        let mut places = Vec::new();
        for field in &program[*id].fields {
            let ty = self.scalar_type(&field.ty);
            let known = self.standard.get(&field.name).copied();
            let slot = match (known, ty) {
                (Some(slot), Some(ty)) if self.slots[slot.index()].ty == ty => {
                    self.slots[slot.index()].span = field.span;
                    slot
                }
                (_, Some(ty)) => {
                    let name = format!("standard_metadata.{}", field.name);
                    self.new_slot(&name, ty, SlotKind::Standard, field.span)
                }
                (_, None) => {
                    self.unsupported(field.span, "intrinsic metadata of this type");
                    continue;
                }
            };
            places.push(Place::Scalar(slot));
        }
        Place::Struct(places.into())
    }

    pub(crate) fn standard_metadata(&self) -> StandardMetadata {
        StandardMetadata::of(|name, _| self.standard.get(name).copied().unwrap_or(SlotId(0)))
    }

    /// Collects `@field_list(n, ..)` annotations on members of the metadata, and of structs in it.
    fn kept_fields(&mut self, ty: &hir::Type, place: &Place) {
        let (hir::Type::Struct(id), Place::Struct(places)) = (ty, place) else {
            return;
        };
        let program = self.program;
        for (field, place) in program[*id].fields.iter().zip(places.iter()) {
            for annotation in field.annotations.iter().filter(|a| a.name == "field_list") {
                for arg in &annotation.args {
                    let hir::AnnotationArg::Int(number) = arg else {
                        continue;
                    };
                    let Ok(index) = u8::try_from(number) else {
                        self.unsupported(annotation.span, "this field list number");
                        continue;
                    };
                    let mut slots = Vec::new();
                    self.slots_in(place, &mut slots);
                    match self.field_lists.iter_mut().find(|l| l.index == index) {
                        Some(list) => list.slots.extend(slots),
                        None => self.field_lists.push(FieldList { index, slots }),
                    }
                }
            }
            self.kept_fields(&field.ty, place);
        }
    }

    /// Returns the header instance whose type has the annotation `@controller_header` with this name.
    pub(crate) fn controller_header(&self, name: &str, headers: &Place) -> Option<HeaderId> {
        let mut all = Vec::new();
        self.headers_in(headers, &mut all);
        all.into_iter().find(|h| {
            self.program[self.header_types[h.index()]].annotations.iter().any(|a| {
                a.name == "controller_header"
                    && a.args.iter().any(|arg| *arg == hir::AnnotationArg::String(name.to_string()))
            })
        })
    }
}

/// Removes calls of direct counters and meters that belong to no table.
fn ignore_lonely(pipeline: &mut Pipeline) {
    let lonely: Vec<bool> = (pipeline.externs.iter())
        .map(|o| {
            matches!(
                o.kind,
                ExternKind::DirectCounter { table: None, .. } | ExternKind::DirectMeter { table: None, .. }
            )
        })
        .collect();
    if lonely.contains(&true) {
        walk::all_blocks_mut(pipeline).for_each(|block| without(block, &lonely));
    }
}

fn without(block: &mut Block, lonely: &[bool]) {
    block.retain(|stmt| match &stmt.kind {
        StmtKind::Extern(call) => !call.function.object().is_some_and(|id| lonely[id.index()]),
        _ => true,
    });
    for stmt in block {
        walk::blocks_mut(stmt).into_iter().for_each(|inner| without(inner, lonely));
    }
}

/// Makes the names of objects of each kind unique.
fn distinct_names(pipeline: &mut Pipeline) {
    fn tell_apart<'p>(names: impl Iterator<Item = &'p mut String>) {
        let mut seen = HashSet::new();
        for name in names {
            let mut n = 1;
            let given = name.clone();
            while !seen.insert(name.clone()) {
                n += 1;
                *name = format!("{given}#{n}");
            }
        }
    }
    tell_apart(pipeline.tables.iter_mut().map(|t| &mut t.name));
    tell_apart(pipeline.externs.iter_mut().map(|o| &mut o.name));
    tell_apart(pipeline.value_sets.iter_mut().map(|v| &mut v.name));
}
