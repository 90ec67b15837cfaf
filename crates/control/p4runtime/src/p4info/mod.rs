//! P4Info: the tables, actions and extern objects of a program, with ids, as a controller needs to know them.
//!
//! It equals the P4Info that p4c makes of the program. Extern objects of types that v1model does not declare are not listed.

mod annotations;
mod error;
mod format;
mod ids;
mod objects;
mod pipeline;
mod tofino;
mod types;

use std::collections::{BTreeMap, HashSet};

use hopwright_ir::{self as ir, ExternFn, ExternKind, P4Kind as Kind, Pipeline, StmtKind, walk};
use hopwright_sema::hir::{self, Annotation, AnnotationArg, TypedProgram};
use hopwright_sema::reached::Reached;

pub(crate) use annotations::{has as has_annotation, translation};
pub use format::{from_text, to_binary, to_json, to_text};
pub use pipeline::{adopt, of_compiled, of_pipeline};
pub(crate) use tofino::HASH_TYPE;
pub(crate) use types::flat_fields;

use crate::proto::config as p4;
pub use error::P4InfoError;
use error::Result;
use ids::Names;
use objects::{Objects, add_default};
use types::{Types, padded};

/// The P4Info of a program. The pipeline is the one made from it.
///
/// # Errors
/// If an `@id` is malformed, of another kind or given twice, or another annotation is invalid.
pub fn of(program: &TypedProgram, pipeline: &Pipeline) -> Result<p4::P4Info> {
    let reached = Reached::new(program);
    let tables: Vec<&hir::Table> = reached.tables.iter().map(|t| &program[*t]).collect();
    let mut builder = Builder {
        program,
        pipeline,
        names: Names::of(pipeline),
        types: Types { program, info: p4::P4TypeInfo::default() },
        unlisted: of_unapplied_tables(program, &reached),
        actions: reached.actions(program),
        digests: digests(&reached, pipeline),
        tables,
    };
    builder.collect()?;
    builder.names.assign();
    let port_metadata = builder.port_metadata(&reached);
    let mut info = builder.build()?;
    info.externs.extend(port_metadata);
    Ok(info)
}

/// The direct counters and meters of tables that no control applies, and what such a table's properties make, by position.
fn of_unapplied_tables(program: &TypedProgram, reached: &Reached<'_>) -> HashSet<usize> {
    let mut used = HashSet::new();
    let mut unused = HashSet::new();
    for (at, table) in program.tables.iter().enumerate() {
        let applied = reached.tables.contains(&hir::TableId(at as u32));
        for property in &table.properties {
            let (_, hir::Property::Object(id)) = property else { continue };
            let object = &program[*id];
            let own = object.name.strip_prefix(&table.control_plane_name).is_some_and(|rest| rest.starts_with('.'));
            let direct = ["direct_counter", "direct_meter", "DirectCounter", "DirectMeter"];
            if applied {
                used.insert(id.0 as usize);
            } else if own || direct.contains(&object.type_name.as_str()) {
                unused.insert(id.0 as usize);
            }
        }
    }
    unused.retain(|at| !used.contains(at));
    unused
}

struct Builder<'p> {
    program: &'p TypedProgram,
    pipeline: &'p Pipeline,
    names: Names,
    types: Types<'p>,
    /// Those that a control applies, hidden ones included.
    tables: Vec<&'p hir::Table>,
    /// Objects of other tables, by position.
    unlisted: HashSet<usize>,
    /// Those of these tables (true), and others that controls call (false), hidden ones included.
    actions: Vec<(&'p hir::Function, bool)>,
    /// By name, with their definitions.
    digests: BTreeMap<String, &'p hir::Type>,
}

/// Numbers the parts of an object: by `@id`, else by position, counted from one, or with the next free number.
///
/// # Errors
/// If an `@id` is malformed, zero or given twice.
fn sub_ids<'a>(owner: &str, parts: impl Iterator<Item = (&'a str, &'a [Annotation])>) -> Result<Vec<u32>> {
    let mut taken = HashSet::new();
    let mut wanted = Vec::new();
    for (name, annotated) in parts {
        let name = format!("{owner}.{name}");
        let id = annotations::id(annotated, &name)?;
        if let Some(id) = id
            && (id == 0 || !taken.insert(id))
        {
            return Err(P4InfoError::DuplicateId { name, id });
        }
        wanted.push(id);
    }
    let mut next = 1;
    let mut ids = Vec::new();
    for id in wanted {
        // p4c continues to count from an `@id`.
        next += u32::from(id.is_some());
        ids.push(id.unwrap_or_else(|| {
            while !taken.insert(next) {
                next += 1;
            }
            next
        }));
    }
    Ok(ids)
}

fn is_hidden(annotated: &[Annotation]) -> bool {
    annotations::has(annotated, "hidden")
}

impl<'p> Builder<'p> {
    fn collect(&mut self) -> Result<()> {
        let names = &mut self.names;
        for (action, _) in &self.actions {
            names.add(Kind::Action, &action.control_plane_name)?;
        }
        for table in &self.tables {
            names.add(Kind::Table, &table.control_plane_name)?;
        }
        for set in &self.program.value_sets {
            names.add(Kind::ValueSet, &set.name)?;
        }
        // Known by what the annotation says, numbered by the type's name.
        for (header, _) in self.program.controller_headers() {
            names.add(Kind::ControllerHeader, &header.control_plane_name)?;
        }
        for (at, instance) in self.pipeline.externs.iter().enumerate() {
            if let Some(kind) = instance.kind.p4_kind()
                && !self.unlisted.contains(&at)
            {
                names.add(kind, &instance.name)?;
            }
        }
        for digest in self.digests.keys() {
            names.add(Kind::Digest, digest)?;
        }
        Ok(())
    }

    fn preamble(&self, kind: Kind, name: &str, annotated: &[Annotation], silent: &[&str]) -> p4::Preamble {
        p4::Preamble {
            id: self.names.id(kind, name),
            name: name.to_string(),
            alias: self.names.alias(name),
            annotations: annotations::texts(annotated, silent),
            structured_annotations: annotations::structured(annotated),
            doc: annotations::documentation(annotated),
            ..Default::default()
        }
    }

    fn objects(&self) -> Objects<'_> {
        Objects { pipeline: self.pipeline, names: &self.names }
    }

    fn build(mut self) -> Result<p4::P4Info> {
        let mut info = p4::P4Info { pkg_info: Some(self.package()?), ..Default::default() };
        for table in std::mem::take(&mut self.tables) {
            if !is_hidden(&table.annotations) {
                info.tables.extend(self.table(table)?);
            }
        }
        for (action, in_table) in std::mem::take(&mut self.actions) {
            if !is_hidden(&action.annotations) {
                info.actions.push(self.action(action, in_table)?);
            }
        }
        for (at, object) in self.program.objects.iter().enumerate() {
            if !is_hidden(&object.annotations) && !self.unlisted.contains(&at) {
                self.object(ir::ExternId(at as u32), object, &mut info)?;
            }
        }
        // Registers that the architecture has, not the program.
        for (at, instance) in self.pipeline.externs.iter().enumerate().skip(self.program.objects.len()) {
            if matches!(instance.kind, ExternKind::Register { .. }) {
                let preamble = self.preamble(Kind::Register, &instance.name, &[], &[]);
                self.objects().add(ir::ExternId(at as u32), preamble, &mut info);
            }
        }
        for (header, name) in self.program.controller_headers() {
            if !is_hidden(&header.annotations) {
                info.controller_packet_metadata.push(self.controller_header(header, name)?);
            }
        }
        let program = self.program;
        info.value_sets = program.value_sets.iter().map(|set| self.value_set(set)).collect::<Result<_>>()?;
        for (name, ty) in std::mem::take(&mut self.digests) {
            let type_spec = Some(self.types.spec(ty));
            info.digests.push(p4::Digest { preamble: Some(self.preamble(Kind::Digest, &name, &[], &[])), type_spec });
        }
        let types = std::mem::take(&mut self.types.info);
        info.type_info = (types != p4::P4TypeInfo::default()).then_some(types);
        Ok(info)
    }

    fn package(&self) -> Result<p4::PkgInfo> {
        const SAID: [&str; 2] = ["pkginfo", "platform_property"];
        let annotated = &self.program.main.annotations;
        let wrong = |annotation, takes| P4InfoError::BadAnnotation { name: "main".into(), annotation, takes };
        let mut package = p4::PkgInfo {
            arch: self.program.architecture().map(|a| a.name.to_string()).unwrap_or_default(),
            annotations: annotations::texts(annotated, &SAID),
            structured_annotations: annotations::structured(annotated),
            doc: annotations::documentation(annotated),
            ..Default::default()
        };
        package.structured_annotations.extend(self.pipelines());
        for (key, value) in annotations::pairs(annotated, SAID[0]) {
            let field = match key {
                "name" => &mut package.name,
                "version" => &mut package.version,
                "organization" => &mut package.organization,
                "contact" => &mut package.contact,
                "url" => &mut package.url,
                "arch" => &mut package.arch,
                _ => continue,
            };
            let AnnotationArg::String(text) = value else { return Err(wrong(SAID[0], "strings")) };
            *field = text;
        }
        let mut properties = p4::PlatformProperties::default();
        for (key, value) in annotations::pairs(annotated, SAID[1]) {
            let field = match key {
                "multicast_group_table_size" => &mut properties.multicast_group_table_size,
                "multicast_group_table_total_replicas" => &mut properties.multicast_group_table_total_replicas,
                "multicast_group_table_max_replicas_per_entry" => {
                    &mut properties.multicast_group_table_max_replicas_per_entry
                }
                _ => continue,
            };
            let number = match value {
                AnnotationArg::Int(number) => i32::try_from(number).ok(),
                _ => None,
            };
            *field = number.ok_or_else(|| wrong(SAID[1], "numbers of 31 bits"))?;
        }
        if annotations::has(annotated, SAID[1]) {
            package.platform_properties = Some(properties);
        }
        Ok(package)
    }

    fn controller_header(&mut self, header: &'p hir::Struct, name: &str) -> Result<p4::ControllerPacketMetadata> {
        let program = self.program;
        let at = program.structs.iter().position(|s| std::ptr::eq(s, header)).unwrap_or_default();
        let fields = flat_fields(program, hir::StructId(at as u32));
        let ids = sub_ids(name, fields.iter().map(|f| (f.name.as_str(), f.annotations.as_slice())))?;
        let mut metadata = Vec::new();
        for (f, id) in fields.into_iter().zip(ids).filter(|(f, _)| !is_hidden(&f.annotations)) {
            let (type_name, bitwidth) = self.types.number(f.ty, f.new_type);
            metadata.push(p4::controller_packet_metadata::Metadata {
                id,
                name: f.name,
                annotations: annotations::texts(&f.annotations, &[]),
                structured_annotations: annotations::structured(&f.annotations),
                bitwidth,
                type_name,
                ..Default::default()
            });
        }
        let preamble = self.preamble(Kind::ControllerHeader, &header.control_plane_name, &header.annotations, &[]);
        let preamble = Some(p4::Preamble { name: name.into(), alias: name.into(), ..preamble });
        Ok(p4::ControllerPacketMetadata { preamble, metadata })
    }

    fn table(&mut self, table: &hir::Table) -> Result<Option<p4::Table>> {
        let name = &table.control_plane_name;
        let Some(model) = self.pipeline.tables.iter().find(|t| t.name == *name) else { return Ok(None) };
        // Selector keys have numbers, too.
        let ids = sub_ids(name, table.keys.iter().map(|k| (k.name.as_str(), k.annotations.as_slice())))?;
        let mut match_fields = Vec::new();
        for ((key, model), id) in table.keys.iter().zip(&model.keys).zip(ids) {
            if !model.kind.is_matched() {
                continue;
            }
            let (type_name, bitwidth) = self.types.number(&key.expr.ty, key.new_type);
            match_fields.push(p4::MatchField {
                id,
                name: key.name.clone(),
                annotations: annotations::texts(&key.annotations, &[]),
                structured_annotations: annotations::structured(&key.annotations),
                doc: annotations::documentation(&key.annotations),
                bitwidth,
                r#match: Some(match_type(model.kind)),
                type_name,
                ..Default::default()
            });
        }
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
            action_refs.push(p4::ActionRef {
                id: action_id(a.action.function),
                scope: scope.into(),
                annotations: annotations::texts(&a.annotations, &[]),
                structured_annotations: annotations::structured(&a.annotations),
                ..Default::default()
            });
        }
        let default = action_id(table.default_action.function);
        add_default(&mut action_refs, default);
        let function = &self.program[table.default_action.function];
        let mut arguments = Vec::new();
        for ((param, param_id), value) in self.params(function)?.into_iter().zip(&model.default_action.args) {
            let ty = &self.program[param.var].ty;
            let value = match self.types.width(ty, param.new_type) {
                0 => value.to_string().into_bytes().into(),
                width => padded(value, width),
            };
            arguments.push(p4::table_action_call::Argument { param_id, value });
        }
        // P4Runtime knows no direct registers: a controller sees an array with a cell for each entry.
        let mut preamble = self.preamble(Kind::Table, name, &table.annotations, &[]);
        for id in &model.entry_cells {
            if let Some(kind) = self.pipeline[*id].kind.p4_kind() {
                let id = self.names.id(kind, &self.pipeline[*id].name);
                preamble.annotations.push(format!("@entry_cells({id})"));
            }
        }
        let default = p4::TableActionCall { action_id: default, arguments };
        Ok(Some(p4::Table { match_fields, action_refs, ..self.objects().table(model, preamble, Some(default)) }))
    }

    /// Action data with their numbers.
    fn params<'f>(&self, action: &'f hir::Function) -> Result<Vec<(&'f hir::Param, u32)>> {
        let params: Vec<_> = action.params.iter().filter(|p| p.direction == hir::Direction::None).collect();
        let parts = params.iter().map(|p| (p.control_plane_name.as_str(), p.annotations.as_slice()));
        let ids = sub_ids(&action.control_plane_name, parts)?;
        Ok(params.into_iter().zip(ids).collect())
    }

    /// Parameters matter to the control plane only if a table has the action.
    fn action(&mut self, action: &hir::Function, in_table: bool) -> Result<p4::Action> {
        let mut params = Vec::new();
        for (param, id) in if in_table { self.params(action)? } else { Vec::new() } {
            let (type_name, bitwidth) = self.types.number(&self.program[param.var].ty, param.new_type);
            params.push(p4::action::Param {
                id,
                name: param.control_plane_name.clone(),
                annotations: annotations::texts(&param.annotations, &[]),
                structured_annotations: annotations::structured(&param.annotations),
                doc: annotations::documentation(&param.annotations),
                bitwidth,
                type_name,
                ..Default::default()
            });
        }
        let preamble = self.preamble(Kind::Action, &action.control_plane_name, &action.annotations, &[]);
        Ok(p4::Action { preamble: Some(preamble), params })
    }

    fn object(&mut self, at: ir::ExternId, object: &hir::Object, info: &mut p4::P4Info) -> Result<()> {
        let kind = &self.pipeline[at].kind;
        let Some(p4_kind) = kind.p4_kind() else { return Ok(()) };
        let silent: &[&str] = if p4_kind == Kind::ActionProfile { &SELECTOR } else { &[] };
        let mut preamble = self.preamble(p4_kind, &object.name, &object.annotations, silent);
        match (object.type_name.as_str(), object.args.first().map(|arg| &arg.kind)) {
            ("RegisterParam", _) => preamble.annotations.push("@register_param".into()),
            // One object is both here.
            ("ActionSelector", Some(hir::ExprKind::Object(profile))) => {
                preamble.annotations.push(format!("@action_profile({})", self.program[*profile].name));
            }
            _ => {}
        }
        self.objects().add(at, preamble, info);
        match kind {
            ExternKind::Register { .. } => {
                if let (Some(register), Some(ty)) = (info.registers.last_mut(), object.type_args.first()) {
                    let new_type = object.new_types.first().copied().flatten();
                    register.type_spec = Some(self.types.declared(ty, new_type));
                }
            }
            ExternKind::ActionSelector { .. } => {
                if let Some(profile) = info.action_profiles.last_mut() {
                    profile.max_group_size = annotations::number(&object.annotations, "max_group_size").unwrap_or(0);
                    profile.selector_size_semantics = size_semantics(object)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn value_set(&mut self, set: &hir::ValueSet) -> Result<p4::ValueSet> {
        // Members of Tofino's value sets have masks.
        let tofino = self.program.architecture().is_some_and(|a| matches!(a.name, "tna" | "t2na"));
        let usual = if tofino { ir::MatchKind::Ternary } else { ir::MatchKind::Exact };
        let types = &mut self.types;
        let mut field =
            |id, name: &str, (ty, new_type): (&hir::Type, Option<hir::NewTypeId>), annotated: &[Annotation]| {
                // p4c describes these types only by their width, so that controllers could not know of a translation.
                let translated = new_type.filter(|id| translation(&self.program[*id].annotations).is_some());
                let (type_name, bitwidth) = match translated {
                    Some(_) => types.number(ty, translated),
                    None => (None, types.width(ty, None) as i32),
                };
                p4::MatchField {
                    id,
                    name: name.to_string(),
                    annotations: annotations::texts(annotated, &["match"]),
                    structured_annotations: annotations::structured(annotated),
                    doc: annotations::documentation(annotated),
                    bitwidth,
                    type_name,
                    r#match: Some(match_type(value_set_kind(annotated).unwrap_or(usual))),
                    ..Default::default()
                }
            };
        let fields = match &set.ty {
            hir::Type::Struct(id) => {
                let fields = &self.program[*id].fields;
                let parts = fields.iter().map(|f| (f.control_plane_name.as_str(), f.annotations.as_slice()));
                let ids = sub_ids(&set.name, parts)?;
                fields
                    .iter()
                    .zip(ids)
                    .map(|(f, id)| field(id, &f.control_plane_name, (&f.ty, f.new_type), &f.annotations))
                    .collect()
            }
            hir::Type::Tuple(types) => types.iter().zip(1..).map(|(ty, id)| field(id, "", (ty, None), &[])).collect(),
            ty => vec![field(1, "", (ty, None), &[])],
        };
        Ok(p4::ValueSet {
            preamble: Some(self.preamble(Kind::ValueSet, &set.name, &set.annotations, &[])),
            r#match: fields,
            size: i32::try_from(set.size).unwrap_or(i32::MAX),
        })
    }
}

/// Annotations of action profiles that P4Info expresses in fields of its own.
const SELECTOR: [&str; 3] = ["max_group_size", "selector_size_semantics", "max_member_weight"];

/// The ids of all objects that P4Info lists.
pub(crate) fn ids(info: &p4::P4Info) -> HashSet<u32> {
    macro_rules! all {
        ($($field:ident)*) => { [$(info.$field.iter().map(|object| &object.preamble).collect::<Vec<_>>()),*] };
    }
    let all = all!(tables actions action_profiles counters meters registers value_sets digests);
    all.into_iter().flatten().flatten().map(|preamble| preamble.id).collect()
}

/// The unit of a selector's size.
fn size_semantics(object: &hir::Object) -> Result<Option<p4::action_profile::SelectorSizeSemantics>> {
    use p4::action_profile::{SelectorSizeSemantics as Semantics, SumOfMembers, SumOfWeights};
    if !annotations::has(&object.annotations, SELECTOR[1]) {
        return Ok(None);
    }
    let request = annotations::string(&object.annotations, SELECTOR[1]).unwrap_or_default();
    match request.to_ascii_lowercase().as_str() {
        "sum_of_weights" => Ok(Some(Semantics::SumOfWeights(SumOfWeights {}))),
        "sum_of_members" => {
            let max_member_weight = annotations::number(&object.annotations, SELECTOR[2]).unwrap_or(0);
            Ok(Some(Semantics::SumOfMembers(SumOfMembers { max_member_weight })))
        }
        _ => Err(P4InfoError::BadAnnotation {
            name: object.name.clone(),
            annotation: SELECTOR[1],
            takes: "\"sum_of_weights\" or \"sum_of_members\"",
        }),
    }
}

/// How a member of a value set's struct is matched, if it says so: `@match(ternary)`.
fn value_set_kind(annotated: &[Annotation]) -> Option<ir::MatchKind> {
    annotations::string(annotated, "match").and_then(ir::MatchKind::by_name)
}

/// A match kind as P4Info names it: by number if P4Runtime has one for it, else by its name.
fn match_type(kind: ir::MatchKind) -> p4::match_field::Match {
    use p4::match_field::{Match, MatchType};
    let name = kind.info().name;
    match MatchType::from_str_name(&name.to_uppercase()) {
        Some(number) => Match::MatchType(number.into()),
        None => Match::OtherMatchType(name.into()),
    }
}

/// The match kind that P4Info names.
pub fn match_kind(named: &p4::match_field::Match) -> Option<ir::MatchKind> {
    use p4::match_field::{Match, MatchType};
    match named {
        Match::MatchType(number) => {
            ir::MatchKind::by_name(&MatchType::try_from(*number).ok()?.as_str_name().to_lowercase())
        }
        Match::OtherMatchType(name) => ir::MatchKind::by_name(name),
    }
}

/// What the program sends as digests, by the names that the pipeline has for them.
fn digests<'p>(reached: &Reached<'p>, pipeline: &Pipeline) -> BTreeMap<String, &'p hir::Type> {
    let mut found = BTreeMap::new();
    walk::all_stmts(pipeline, &mut |stmt| {
        if let StmtKind::Extern(call) = &stmt.kind
            && let ExternFn::Digest(name) = &call.function
            && let Some(ty) = reached.digests.get(&call.span)
        {
            found.insert(name.clone(), *ty);
        }
    });
    found
}
