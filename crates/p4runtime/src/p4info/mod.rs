//! P4Info: the tables, actions and extern objects of a program, with ids, as a controller needs to know them.
//!
//! Ids, names and aliases are those p4c gives (rooms: `ids`, `annotations`, `types`, `format`). Left out, because the
//! typed program does not know them any more: `type` newtypes and their translations, annotations of action parameters.
//! Extern objects of other types than v1model's are not listed.

mod annotations;
mod format;
mod ids;
mod types;

use std::collections::{BTreeMap, BTreeSet};

use hopwright_ir::{self as ir, ExternFn, ExternKind, Pipeline, Unit, walk};
use hopwright_sema::hir::{self, Annotation, Callee, TypedProgram};

pub use format::{to_binary, to_json, to_text};
pub use ids::Kind;

use crate::bytes;
use crate::proto::config as p4;
use annotations::Annotations;
use ids::Names;
use types::Types;

/// Why there is no P4Info for a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum P4InfoError {
    #[error("`{name}`: @id({id:#x}) is of another kind: ids of its kind begin with {prefix:#04x}")]
    WrongId { name: String, id: u32, prefix: u8 },
    #[error("`{name}`: @id({id:#x}) is used twice, or zero")]
    DuplicateId { name: String, id: u32 },
    #[error("two {kind}s are called `{name}`: give one of them another `@name`")]
    SharedName { kind: &'static str, name: String },
    #[error("P4Info cannot be written: {0}")]
    Form(String),
}

/// The P4Info of a program. The pipeline is the one made from it.
///
/// # Errors
/// If an `@id` is of another kind or given twice, or two objects have one name.
pub fn of(program: &TypedProgram, pipeline: &Pipeline) -> Result<p4::P4Info, P4InfoError> {
    if let Some(shared) = program.shared_names().into_iter().next() {
        return Err(P4InfoError::SharedName { kind: shared.kind, name: shared.name });
    }
    let annotations = Annotations { sources: &pipeline.sources };
    let mut builder = Builder {
        program,
        pipeline,
        annotations,
        names: Names::default(),
        types: Types { program, annotations, info: p4::P4TypeInfo::default() },
        actions: actions(program),
        digests: digests(pipeline),
    };
    builder.collect();
    builder.names.assign()?;
    Ok(builder.build())
}

struct Builder<'p> {
    program: &'p TypedProgram,
    pipeline: &'p Pipeline,
    annotations: Annotations<'p>,
    names: Names,
    types: Types<'p>,
    /// Those of tables, and those controls call.
    actions: Vec<&'p hir::Function>,
    digests: BTreeSet<String>,
}

/// A field of a structured annotation's or header's element: its number.
fn sub_ids<'a>(annotations: impl Iterator<Item = &'a [Annotation]>) -> Vec<u32> {
    let wanted: Vec<Option<u32>> = annotations.map(|a| annotations::number(a, "id")).collect();
    let mut next = 1;
    let mut ids = Vec::new();
    for id in &wanted {
        ids.push(id.unwrap_or_else(|| {
            while wanted.contains(&Some(next)) {
                next += 1;
            }
            next += 1;
            next - 1
        }));
    }
    ids
}

impl<'p> Builder<'p> {
    fn collect(&mut self) {
        let id = |a: &[Annotation]| annotations::number(a, "id");
        for action in &self.actions {
            self.names.add(Kind::Action, &action.control_plane_name, id(&action.annotations));
        }
        for table in self.tables() {
            self.names.add(Kind::Table, &table.control_plane_name, id(&table.annotations));
        }
        for set in &self.program.value_sets {
            self.names.add(Kind::ValueSet, &set.name, id(&set.annotations));
        }
        // Known by what the annotation says, numbered by the type's name.
        for (header, _) in self.controller_headers() {
            self.names.add(Kind::ControllerHeader, &header.name, id(&header.annotations));
        }
        for object in &self.program.objects {
            if let Some(kind) = object_kind(&object.type_name)
                && !annotations::has(&object.annotations, "hidden")
            {
                self.names.add(kind, &object.name, id(&object.annotations));
            }
        }
        for digest in &self.digests {
            self.names.add(Kind::Digest, digest, None);
        }
    }

    fn tables(&self) -> impl Iterator<Item = &'p hir::Table> + use<'p> {
        let pipeline = self.pipeline;
        self.program.tables.iter().filter(move |t| {
            !annotations::has(&t.annotations, "hidden")
                && pipeline.tables.iter().any(|i| i.name == t.control_plane_name)
        })
    }

    fn controller_headers(&self) -> impl Iterator<Item = (&'p hir::Struct, &'p str)> + use<'p> {
        let mut seen = BTreeSet::new();
        self.program
            .structs
            .iter()
            .filter_map(|s| annotations::string(&s.annotations, "controller_header").map(|name| (s, name)))
            .filter(move |(_, name)| seen.insert(*name))
    }

    fn preamble(&self, kind: Kind, name: &str, annotated: &[Annotation]) -> p4::Preamble {
        let text = |name| annotations::string(annotated, name).unwrap_or_default().to_string();
        let doc = p4::Documentation { brief: text("brief"), description: text("description") };
        p4::Preamble {
            id: self.names.id(kind, name),
            name: name.to_string(),
            alias: self.names.alias(name),
            annotations: self.annotations.texts(annotated),
            doc: (doc != p4::Documentation::default()).then_some(doc),
            ..Default::default()
        }
    }

    fn build(mut self) -> p4::P4Info {
        let mut info = p4::P4Info { pkg_info: Some(self.package()), ..Default::default() };
        info.tables = self.tables().filter_map(|t| self.table(t)).collect();
        info.actions = self.actions.iter().map(|a| self.action(a)).collect();
        for (object, instance) in self.program.objects.iter().zip(&self.pipeline.externs) {
            if !annotations::has(&object.annotations, "hidden") {
                self.object(object, instance, &mut info);
            }
        }
        info.controller_packet_metadata = self
            .controller_headers()
            .map(|(header, name)| {
                let ids = sub_ids(header.fields.iter().map(|f| f.annotations.as_slice()));
                let metadata = |(f, id): (&hir::Field, u32)| p4::controller_packet_metadata::Metadata {
                    id,
                    name: f.name.clone(),
                    annotations: self.annotations.texts(&f.annotations),
                    bitwidth: self.types.width(&f.ty) as i32,
                    ..Default::default()
                };
                let preamble = self.preamble(Kind::ControllerHeader, &header.name, &header.annotations);
                p4::ControllerPacketMetadata {
                    preamble: Some(p4::Preamble { name: name.into(), alias: name.into(), ..preamble }),
                    metadata: header.fields.iter().zip(ids).map(metadata).collect(),
                }
            })
            .collect();
        info.value_sets = self.program.value_sets.iter().map(|set| self.value_set(set)).collect();
        for name in std::mem::take(&mut self.digests) {
            let found = self.program.structs.iter().position(|s| s.name == name);
            let type_spec = found.map(|at| self.types.spec(&hir::Type::Struct(hir::StructId(at as u32))));
            info.digests.push(p4::Digest { preamble: Some(self.preamble(Kind::Digest, &name, &[])), type_spec });
        }
        let types = std::mem::take(&mut self.types.info);
        info.type_info = (types != p4::P4TypeInfo::default()).then_some(types);
        info
    }

    fn package(&self) -> p4::PkgInfo {
        p4::PkgInfo { arch: "v1model".into(), ..Default::default() }
    }

    fn table(&self, table: &hir::Table) -> Option<p4::Table> {
        let model = self.pipeline.tables.iter().find(|t| t.name == table.control_plane_name)?;
        let keys: Vec<_> = table.keys.iter().zip(&model.keys).filter(|(k, _)| k.match_kind != "selector").collect();
        let ids = sub_ids(keys.iter().map(|(k, _)| k.annotations.as_slice()));
        let match_fields = keys
            .iter()
            .zip(ids)
            .map(|((key, model), id)| p4::MatchField {
                id,
                name: key.name.clone(),
                annotations: self.annotations.texts(&key.annotations),
                bitwidth: model.expr.ty.width() as i32,
                r#match: Some(match_type(model.kind)),
                ..Default::default()
            })
            .collect();
        let action_id = |f: hir::FunctionId| self.names.id(Kind::Action, &self.program[f].control_plane_name);
        let mut action_refs: Vec<p4::ActionRef> = Vec::new();
        for a in &table.actions {
            let scope = match (
                annotations::has(&a.annotations, "tableonly"),
                annotations::has(&a.annotations, "defaultonly"),
            ) {
                (true, false) => p4::action_ref::Scope::TableOnly,
                (false, true) => p4::action_ref::Scope::DefaultOnly,
                _ => p4::action_ref::Scope::TableAndDefault,
            };
            let written: Vec<String> = ["tableonly", "defaultonly"]
                .into_iter()
                .filter(|name| annotations::has(&a.annotations, name))
                .map(|name| format!("@{name}"))
                .chain(self.annotations.texts(&a.annotations))
                .collect();
            let id = action_id(a.action.function);
            action_refs.push(p4::ActionRef { id, scope: scope.into(), annotations: written, ..Default::default() });
        }
        let default = action_id(table.default_action.function);
        if !action_refs.iter().any(|a| a.id == default) {
            action_refs.push(p4::ActionRef {
                id: default,
                scope: p4::action_ref::Scope::DefaultOnly.into(),
                annotations: vec!["@defaultonly".into()],
                ..Default::default()
            });
        }
        let arguments = model
            .default_action
            .args
            .iter()
            .zip(1..)
            .map(|(value, param_id)| p4::table_action_call::Argument { param_id, value: bytes::of(value) })
            .collect();
        let object = |id: ir::ExternId, kind| self.names.id(kind, &self.pipeline[id].name);
        let direct = [(model.direct_counter, Kind::DirectCounter), (model.direct_meter, Kind::DirectMeter)];
        Some(p4::Table {
            preamble: Some(self.preamble(Kind::Table, &table.control_plane_name, &table.annotations)),
            match_fields,
            action_refs,
            const_default_action_id: if model.const_default_action { default } else { 0 },
            initial_default_action: Some(p4::TableActionCall { action_id: default, arguments }),
            implementation_id: model.implementation.map_or(0, |id| object(id, Kind::ActionProfile)),
            direct_resource_ids: direct.into_iter().filter_map(|(id, kind)| Some(object(id?, kind))).collect(),
            size: model.size as i64,
            idle_timeout_behavior: match model.idle_timeout {
                true => p4::table::IdleTimeoutBehavior::NotifyControl.into(),
                false => p4::table::IdleTimeoutBehavior::NoTimeout.into(),
            },
            is_const_table: model.const_entries,
            has_initial_entries: !model.entries.is_empty(),
            other_properties: None,
        })
    }

    fn action(&self, action: &hir::Function) -> p4::Action {
        let params = action
            .params
            .iter()
            .filter(|p| p.direction == hir::Direction::None)
            .zip(1..)
            .map(|(p, id)| {
                let var = &self.program[p.var];
                let bitwidth = self.types.width(&var.ty) as i32;
                p4::action::Param { id, name: p.control_plane_name.clone(), bitwidth, ..Default::default() }
            })
            .collect();
        let preamble = self.preamble(Kind::Action, &action.control_plane_name, &action.annotations);
        p4::Action { preamble: Some(preamble), params }
    }

    fn object(&mut self, object: &hir::Object, instance: &ir::ExternInstance, info: &mut p4::P4Info) {
        let Some(kind) = object_kind(&object.type_name) else { return };
        let preamble = Some(self.preamble(kind, &object.name, &object.annotations));
        let table_id =
            |table: &Option<ir::TableId>| table.map_or(0, |t| self.names.id(Kind::Table, &self.pipeline[t].name));
        match &instance.kind {
            ExternKind::Counter { size, unit } => info.counters.push(p4::Counter {
                preamble,
                spec: Some(counter_spec(*unit)),
                size: *size as i64,
                index_type_name: None,
            }),
            // A direct resource of no table has nothing to offer.
            ExternKind::DirectCounter { table: None, .. } | ExternKind::DirectMeter { table: None, .. } => {}
            ExternKind::Checksum16 => {}
            ExternKind::DirectCounter { table, unit } => info.direct_counters.push(p4::DirectCounter {
                preamble,
                spec: Some(counter_spec(*unit)),
                direct_table_id: table_id(table),
            }),
            ExternKind::Meter { size, unit } => info.meters.push(p4::Meter {
                preamble,
                spec: Some(meter_spec(*unit)),
                size: *size as i64,
                index_type_name: None,
            }),
            ExternKind::DirectMeter { table, unit } => info.direct_meters.push(p4::DirectMeter {
                preamble,
                spec: Some(meter_spec(*unit)),
                direct_table_id: table_id(table),
            }),
            ExternKind::Register { size, ty } => info.registers.push(p4::Register {
                preamble,
                type_spec: Some(match object.type_args.first() {
                    Some(ty) => self.types.spec(ty),
                    None => types::scalar(*ty),
                }),
                size: i32::try_from(*size).unwrap_or(i32::MAX),
                index_type_name: None,
            }),
            ExternKind::ActionProfile { size } | ExternKind::ActionSelector { size, .. } => {
                let id = self.program.objects.iter().position(|o| std::ptr::eq(o, object));
                let used = |t: &&ir::Table| t.implementation.is_some_and(|i| Some(i.index()) == id);
                let tables = self.pipeline.tables.iter().filter(used);
                info.action_profiles.push(p4::ActionProfile {
                    preamble,
                    table_ids: tables.map(|t| self.names.id(Kind::Table, &t.name)).collect(),
                    with_selector: matches!(instance.kind, ExternKind::ActionSelector { .. }),
                    size: *size as i64,
                    max_group_size: annotations::number(&object.annotations, "max_group_size").unwrap_or(0) as i32,
                    ..Default::default()
                });
            }
            ExternKind::Named { .. } => {}
        }
    }

    fn value_set(&self, set: &hir::ValueSet) -> p4::ValueSet {
        let field = |id: u32, name: &str, ty: &hir::Type, annotated: &[Annotation]| p4::MatchField {
            id,
            name: name.to_string(),
            annotations: self.annotations.texts(annotated),
            bitwidth: self.types.width(ty) as i32,
            r#match: Some(match_type(value_set_kind(annotated))),
            ..Default::default()
        };
        let fields = match &set.ty {
            hir::Type::Struct(id) => {
                let fields = &self.program[*id].fields;
                let ids = sub_ids(fields.iter().map(|f| f.annotations.as_slice()));
                fields.iter().zip(ids).map(|(f, id)| field(id, &f.name, &f.ty, &f.annotations)).collect()
            }
            hir::Type::Tuple(types) => types.iter().zip(1..).map(|(ty, id)| field(id, "", ty, &[])).collect(),
            ty => vec![field(1, "", ty, &[])],
        };
        p4::ValueSet {
            preamble: Some(self.preamble(Kind::ValueSet, &set.name, &set.annotations)),
            r#match: fields,
            size: i32::try_from(set.size).unwrap_or(i32::MAX),
        }
    }
}

/// How a member of a value set's struct is matched: `@match(ternary)`.
pub(crate) fn value_set_kind(annotated: &[Annotation]) -> ir::MatchKind {
    match annotations::string(annotated, "match") {
        Some("ternary") => ir::MatchKind::Ternary,
        Some("lpm") => ir::MatchKind::Lpm,
        Some("range") => ir::MatchKind::Range,
        Some("optional") => ir::MatchKind::Optional,
        _ => ir::MatchKind::Exact,
    }
}

fn match_type(kind: ir::MatchKind) -> p4::match_field::Match {
    use p4::match_field::MatchType;
    let kind = match kind {
        ir::MatchKind::Exact => MatchType::Exact,
        ir::MatchKind::Lpm => MatchType::Lpm,
        ir::MatchKind::Ternary => MatchType::Ternary,
        ir::MatchKind::Range => MatchType::Range,
        ir::MatchKind::Optional => MatchType::Optional,
        ir::MatchKind::Selector => MatchType::Unspecified,
    };
    p4::match_field::Match::MatchType(kind.into())
}

fn counter_spec(unit: Unit) -> p4::CounterSpec {
    let unit = match unit {
        Unit::Packets => p4::counter_spec::Unit::Packets,
        Unit::Bytes => p4::counter_spec::Unit::Bytes,
        Unit::Both => p4::counter_spec::Unit::Both,
    };
    p4::CounterSpec { unit: unit.into() }
}

fn meter_spec(unit: Unit) -> p4::MeterSpec {
    let unit = match unit {
        Unit::Packets => p4::meter_spec::Unit::Packets,
        Unit::Bytes | Unit::Both => p4::meter_spec::Unit::Bytes,
    };
    p4::MeterSpec { unit: unit.into(), r#type: p4::meter_spec::Type::TwoRateThreeColor.into() }
}

fn object_kind(type_name: &str) -> Option<Kind> {
    Some(match type_name {
        "counter" => Kind::Counter,
        "direct_counter" => Kind::DirectCounter,
        "meter" => Kind::Meter,
        "direct_meter" => Kind::DirectMeter,
        "register" => Kind::Register,
        "action_profile" | "action_selector" => Kind::ActionProfile,
        _ => return None,
    })
}

/// Struct types whose values the program sends as digests.
fn digests(pipeline: &Pipeline) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    walk::all_stmts(pipeline, &mut |stmt| {
        if let ir::StmtKind::Extern(call) = &stmt.kind
            && let ExternFn::Digest(name) = &call.function
        {
            found.insert(name.clone());
        }
    });
    found
}

/// Actions of tables and those that controls call, in order of declaration, one for each name.
fn actions(program: &TypedProgram) -> Vec<&hir::Function> {
    let mut used: BTreeMap<u32, ()> = BTreeMap::new();
    for table in &program.tables {
        used.extend(table.actions.iter().map(|a| (a.action.function.0, ())));
        used.insert(table.default_action.function.0, ());
    }
    for instance in &program.instances {
        if let hir::InstanceBody::Control(body) = &instance.body {
            calls(body, &mut |f| {
                used.insert(f.0, ());
            });
        }
    }
    let mut names = BTreeSet::new();
    used.keys()
        .map(|f| &program[hir::FunctionId(*f)])
        .filter(|f| f.is_action && !annotations::has(&f.annotations, "hidden"))
        .filter(|f| names.insert(f.control_plane_name.as_str()))
        .collect()
}

/// Functions and actions that these statements call as statements.
fn calls(body: &[hir::Stmt], found: &mut impl FnMut(hir::FunctionId)) {
    use hir::StmtKind::{Block, Call, For, ForIn, If, SwitchTable, SwitchValue};
    for stmt in body {
        match &stmt.kind {
            Call(call) => {
                if let Callee::Function(f) = call.callee {
                    found(f);
                }
            }
            If(_, then, otherwise) => {
                calls(then, found);
                calls(otherwise, found);
            }
            SwitchTable(_, cases) => cases.iter().for_each(|(_, body)| calls(body, found)),
            SwitchValue(_, cases) => cases.iter().for_each(|(_, body)| calls(body, found)),
            Block(body) | For { body, .. } | ForIn { body, .. } => calls(body, found),
            _ => {}
        }
    }
}
