//! The package: v1model's six blocks over one storage.

use std::collections::HashSet;
use std::sync::Arc;

use hopwright_sema::hir;
use hopwright_source::SourceMap;

use crate::storage::{Loc, Place, Purpose};
use crate::{Binding, Exit, Lowering, Result};
use hopwright_ir::{
    Block, Control, ExternFn, ExternKind, FieldList, HeaderId, Pipeline, SlotId, SlotKind, StandardMetadata, StmtKind,
    Type, walk,
};

/// v1model's intrinsic metadata: names and widths.
const STANDARD: [(&str, u32); 16] = [
    ("ingress_port", 9),
    ("egress_spec", 9),
    ("egress_port", 9),
    ("instance_type", 32),
    ("packet_length", 32),
    ("enq_timestamp", 32),
    ("enq_qdepth", 19),
    ("deq_timedelta", 32),
    ("deq_qdepth", 19),
    ("ingress_global_timestamp", 48),
    ("egress_global_timestamp", 48),
    ("mcast_grp", 16),
    ("egress_rid", 16),
    ("checksum_error", 1),
    ("parser_error", 16),
    ("priority", 3),
];

impl Lowering<'_> {
    /// The whole program.
    pub(crate) fn program(&mut self, sources: Arc<SourceMap>) -> Result<Pipeline> {
        let program = self.program;
        let main = &program.main;
        let [parser, verify, ingress, egress, compute, deparser] = main.blocks.as_slice() else {
            return Err(self.unsupported(main.span, format!("the package `{}`", main.type_name)));
        };
        if main.type_name != "V1Switch" {
            return Err(self.unsupported(main.span, format!("the package `{}`", main.type_name)));
        }
        self.count_applications();
        self.objects();
        self.value_sets();
        self.standard_slots();

        let ingress_params = &program[ingress.1].params;
        let [headers, metadata, standard] = ingress_params.as_slice() else {
            return Err(self.unsupported(program[ingress.1].span, "this ingress control"));
        };
        let headers_var = &program[headers.var];
        let metadata_var = &program[metadata.var];
        let headers = self.alloc(&headers_var.ty, &headers_var.name, Purpose::Metadata, headers_var.span)?;
        let metadata = self.alloc(&metadata_var.ty, &metadata_var.name, Purpose::Metadata, metadata_var.span)?;
        let standard = self.standard_place(&program[standard.var].ty);
        self.kept_fields(&metadata_var.ty, &metadata);

        // The parser has the packet before these, the deparser before its headers.
        let storage = [Some(headers.clone()), Some(metadata.clone()), Some(standard)];
        let blocks: [(hir::InstanceId, usize); 6] =
            [(parser.1, 1), (verify.1, 0), (ingress.1, 0), (egress.1, 0), (compute.1, 0), (deparser.1, 1)];
        for (id, skipped) in blocks {
            for (param, place) in program[id].params.iter().skip(skipped).zip(storage.iter().flatten()) {
                self.env.insert(param.var, Binding::Loc(Loc::Place(place.clone())));
            }
        }

        let parser = self.parser(parser.1);
        let verify_checksum = self.control(verify.1);
        let ingress = self.control(ingress.1);
        let egress = self.control(egress.1);
        let compute_checksum = self.control(compute.1);
        let deparser = self.control(deparser.1);
        self.unapplied_tables();
        let packet_in = self.controller_header("packet_in", &headers);
        let packet_out = self.controller_header("packet_out", &headers);
        let standard = self.standard_metadata();
        let mut pipeline = Pipeline {
            name: program.name.clone(),
            parser: parser?,
            verify_checksum: verify_checksum?,
            ingress: ingress?,
            egress: egress?,
            compute_checksum: compute_checksum?,
            deparser: deparser?,
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
            packet_in,
            packet_out,
            control_plane_objects: Vec::new(),
            sources,
        };
        ignore_lonely(&mut pipeline);
        distinct_names(&mut pipeline);
        self.assign_ids(&mut pipeline);
        Ok(pipeline)
    }

    fn control(&mut self, id: hir::InstanceId) -> Result<Control> {
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

    fn standard_slots(&mut self) {
        let span = self.program.main.span;
        for (name, width) in STANDARD {
            let slot = self.new_slot(&format!("standard_metadata.{name}"), Type::Bits(width), SlotKind::Standard, span);
            self.standard.insert(name.to_string(), slot);
        }
    }

    /// The storage of the program's `standard_metadata_t`.
    fn standard_place(&mut self, ty: &hir::Type) -> Place {
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

    fn standard_metadata(&self) -> StandardMetadata {
        let slot = |name: &str| self.standard.get(name).copied().unwrap_or(SlotId(0));
        StandardMetadata {
            ingress_port: slot("ingress_port"),
            egress_spec: slot("egress_spec"),
            egress_port: slot("egress_port"),
            instance_type: slot("instance_type"),
            packet_length: slot("packet_length"),
            enq_timestamp: slot("enq_timestamp"),
            enq_qdepth: slot("enq_qdepth"),
            deq_timedelta: slot("deq_timedelta"),
            deq_qdepth: slot("deq_qdepth"),
            ingress_global_timestamp: slot("ingress_global_timestamp"),
            egress_global_timestamp: slot("egress_global_timestamp"),
            mcast_grp: slot("mcast_grp"),
            egress_rid: slot("egress_rid"),
            checksum_error: slot("checksum_error"),
            parser_error: slot("parser_error"),
            priority: slot("priority"),
        }
    }

    /// `@field_list(n, ..)` on members of the metadata, and of structs in it.
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

    /// The header instance whose type is the `@controller_header` of this name.
    fn controller_header(&self, name: &str, headers: &Place) -> Option<HeaderId> {
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

/// Leaves out what is asked of direct counters and meters that belong to no table.
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
        StmtKind::Extern(call) => !matches!(call.function, ExternFn::DirectCounterCount(id) | ExternFn::DirectMeterRead(id) if lonely[id.index()]),
        _ => true,
    });
    for stmt in block {
        walk::blocks_mut(stmt).into_iter().for_each(|inner| without(inner, lonely));
    }
}

/// Tells objects of a kind apart that the program gives one name: no control plane will ask for them.
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
