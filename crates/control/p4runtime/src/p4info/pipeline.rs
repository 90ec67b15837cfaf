//! P4Info of a pipeline without a typed program, as those that are read from BMv2's JSON; and the ids of P4Info that comes beside one.

use std::collections::{BTreeMap, HashMap};

use hopwright_ir::{self as ir, ExternArg, ExternFn, ExternKind, P4Id, P4Kind as Kind, Pipeline, StmtKind, Unit, walk};

use super::error::{P4InfoError, Result};
use super::ids::Names;
use super::match_type;
use super::objects::{Objects, add_default};
use super::types::{self, padded};
use crate::proto::config as p4;

/// The P4Info of a pipeline: what it says of its objects. Annotations, structs and controller headers are not known.
///
/// # Errors
/// If two objects of a kind have the same name.
pub fn of_pipeline(pipeline: &Pipeline) -> Result<p4::P4Info> {
    let mut names = Names::of(pipeline);
    for (kind, name, _) in pipeline.p4_ids() {
        names.add(kind, name)?;
    }
    names.assign();
    let mut info = p4::P4Info {
        pkg_info: Some(p4::PkgInfo { arch: "v1model".into(), ..Default::default() }),
        ..Default::default()
    };
    let objects = Objects { pipeline, names: &names };
    info.tables = pipeline.tables.iter().filter(|t| t.id.is_some()).map(|t| objects.table_info(t)).collect();
    info.actions = pipeline.actions.iter().filter(|a| a.id.is_some()).map(|a| objects.action(a)).collect();
    for (at, object) in pipeline.externs.iter().enumerate() {
        if let (Some(_), Some(kind)) = (object.id, object.kind.p4_kind()) {
            objects.add(ir::ExternId(at as u32), objects.preamble(kind, &object.name), &mut info);
        }
    }
    info.value_sets = pipeline.value_sets.iter().map(|set| objects.value_set(set)).collect();
    info.digests = objects.digests();
    Ok(info)
}

impl Objects<'_> {
    fn preamble(&self, kind: Kind, name: &str) -> p4::Preamble {
        let (id, alias) = (self.names.id(kind, name), self.names.alias(name));
        p4::Preamble { id, name: name.into(), alias, ..Default::default() }
    }

    fn table_info(&self, table: &ir::Table) -> p4::Table {
        let action_id = |action: ir::ActionId| self.names.id(Kind::Action, &self.pipeline[action].name);
        let fields = (1..).zip(&table.keys).filter(|(_, key)| key.kind.is_matched());
        let action_ref =
            |action: &ir::TableAction| p4::ActionRef { id: action_id(action.action), ..Default::default() };
        let mut action_refs: Vec<p4::ActionRef> = table.actions.iter().map(action_ref).collect();
        let default = Some(action_id(table.default_action.action)).filter(|id| *id != 0);
        default.into_iter().for_each(|id| add_default(&mut action_refs, id));
        let params = &self.pipeline[table.default_action.action].params;
        let arguments = (1..).zip(params).zip(&table.default_action.args);
        let arguments = arguments.map(|((param_id, param), value)| p4::table_action_call::Argument {
            param_id,
            value: padded(value, param.ty.width()),
        });
        let match_fields = fields.map(|(id, key)| p4::MatchField {
            id,
            name: key.name.clone(),
            bitwidth: key.expr.ty.width() as i32,
            r#match: Some(match_type(key.kind)),
            ..Default::default()
        });
        let default = default.map(|action_id| p4::TableActionCall { action_id, arguments: arguments.collect() });
        let preamble = self.preamble(Kind::Table, &table.name);
        p4::Table { match_fields: match_fields.collect(), action_refs, ..self.table(table, preamble, default) }
    }

    fn action(&self, action: &ir::Action) -> p4::Action {
        let param = |(id, param): (u32, &ir::Param)| p4::action::Param {
            id,
            name: param.name.clone(),
            bitwidth: param.ty.width() as i32,
            ..Default::default()
        };
        let params = (1..).zip(&action.params).map(param).collect();
        p4::Action { preamble: Some(self.preamble(Kind::Action, &action.name)), params }
    }

    fn value_set(&self, set: &ir::ValueSet) -> p4::ValueSet {
        let field = |(id, ty): (u32, &ir::Type)| p4::MatchField {
            id,
            bitwidth: ty.width() as i32,
            r#match: Some(match_type(ir::MatchKind::Exact)),
            ..Default::default()
        };
        p4::ValueSet {
            preamble: Some(self.preamble(Kind::ValueSet, &set.name)),
            r#match: (1..).zip(&set.types).map(field).collect(),
            size: i32::try_from(set.size).unwrap_or(i32::MAX),
        }
    }

    fn digests(&self) -> Vec<p4::Digest> {
        let mut found = BTreeMap::new();
        walk::all_stmts(self.pipeline, &mut |stmt| {
            if let StmtKind::Extern(call) = &stmt.kind
                && let ExternFn::Digest(name) = &call.function
                && let Some(ExternArg::List(data)) = call.args.last()
            {
                let members: Vec<p4::P4DataTypeSpec> = data.iter().map(|value| types::scalar(value.ty)).collect();
                found.entry(name.clone()).or_insert(members);
            }
        });
        let digest = |(name, mut members): (String, Vec<p4::P4DataTypeSpec>)| p4::Digest {
            preamble: Some(self.preamble(Kind::Digest, &name)),
            type_spec: match members.len() {
                1 => members.pop(),
                _ => Some(p4::P4DataTypeSpec {
                    type_spec: Some(p4::p4_data_type_spec::TypeSpec::Tuple(p4::P4TupleTypeSpec { members })),
                }),
            },
        };
        found.into_iter().map(digest).collect()
    }
}

/// Why P4Info and a pipeline are not of the same program.
type Mismatch = String;

/// Gives a pipeline's objects the ids that P4Info has for them, and what it alone says of them: units of counters, and which actions
/// may be used in entries and as default. Objects that it does not list lose their ids.
///
/// # Errors
/// If P4Info lists what the pipeline does not have, or has it in another form.
pub fn adopt(pipeline: &mut Pipeline, info: &p4::P4Info) -> std::result::Result<(), Mismatch> {
    let mut listed = HashMap::new();
    let mut list = |kind: Kind, preamble: &Option<p4::Preamble>| {
        let Some(preamble) = preamble else { return Err(format!("{} without a preamble", kind.words())) };
        let id = P4Id(preamble.id);
        if !id.is_of(kind) {
            return Err(format!("`{}` has id {:#x}, which is none of a {}", preamble.name, preamble.id, kind.words()));
        }
        match listed.insert((kind, preamble.name.clone()), id) {
            None => Ok(()),
            Some(_) => Err(format!("the {} `{}` is there twice", kind.words(), preamble.name)),
        }
    };
    macro_rules! list {
        ($($kind:ident $field:ident;)*) => { $(for o in &info.$field { list(Kind::$kind, &o.preamble)?; })* };
    }
    list! {
        Table tables; Action actions; ActionProfile action_profiles; Counter counters; DirectCounter direct_counters;
        Meter meters; DirectMeter direct_meters; ValueSet value_sets; Register registers; Digest digests;
    }
    let mut take = |kind: Kind, name: &str| listed.remove(&(kind, name.to_string()));
    pipeline.tables.iter_mut().for_each(|table| table.id = take(Kind::Table, &table.name));
    pipeline.actions.iter_mut().for_each(|action| action.id = take(Kind::Action, &action.name));
    pipeline.value_sets.iter_mut().for_each(|set| set.id = take(Kind::ValueSet, &set.name));
    for object in &mut pipeline.externs {
        object.id = object.kind.p4_kind().and_then(|kind| take(kind, &object.name));
    }
    for object in &mut pipeline.control_plane_objects {
        if let Some(id) = take(object.kind, &object.name) {
            object.id = id;
        }
    }
    // A compiler inlines actions that no table has, and drops digests that nobody sends.
    listed.retain(|(kind, _), _| !matches!(kind, Kind::Action | Kind::Digest));
    if let Some(((kind, name), _)) = listed.into_iter().min_by_key(|(_, id)| id.0) {
        return Err(format!("the program has no {} `{name}`", kind.words()));
    }
    adopt_tables(pipeline, info)?;
    adopt_units(pipeline, info);
    Ok(())
}

fn adopt_tables(pipeline: &mut Pipeline, info: &p4::P4Info) -> std::result::Result<(), Mismatch> {
    let ids: Vec<Option<P4Id>> = pipeline.actions.iter().map(|action| action.id).collect();
    for request in &info.tables {
        let id = request.preamble.as_ref().map(|p| P4Id(p.id));
        let Some(table) = pipeline.tables.iter_mut().find(|table| table.id == id) else { continue };
        let name = table.name.clone();
        let wrong = || format!("the match fields of table `{name}` are not those of the program");
        let wanted: Vec<_> =
            request.match_fields.iter().filter_map(|f| super::match_kind(f.r#match.as_ref()?)).collect();
        if wanted.len() != table.match_keys().count() {
            return Err(wrong());
        }
        let places: Vec<usize> = (0..table.keys.len()).filter(|at| table.keys[*at].kind.is_matched()).collect();
        for (at, wanted) in places.into_iter().zip(wanted) {
            // BMv2 has no optional keys: they are ternary ones with masks of ones or zeros.
            let optional = (table.keys[at].kind, wanted) == (ir::MatchKind::Ternary, ir::MatchKind::Optional);
            if table.keys[at].kind != wanted && !(optional && table.entries.is_empty()) {
                return Err(wrong());
            }
            table.keys[at].kind = wanted;
        }
        for listed in &mut table.actions {
            let Some(found) = request.action_refs.iter().find(|a| Some(P4Id(a.id)) == ids[listed.action.index()])
            else {
                return Err(format!("table `{}` does not list all of the program's actions", table.name));
            };
            listed.table_only = found.scope == i32::from(p4::action_ref::Scope::TableOnly);
            listed.default_only = found.scope == i32::from(p4::action_ref::Scope::DefaultOnly);
        }
    }
    for request in &info.actions {
        let id = request.preamble.as_ref().map(|p| P4Id(p.id));
        let action = pipeline.actions.iter().find(|action| action.id == id);
        if let Some(action) = action.filter(|action| action.params.len() != request.params.len()) {
            return Err(format!("the parameters of action `{}` are not those of the program", action.name));
        }
    }
    Ok(())
}

fn adopt_units(pipeline: &mut Pipeline, info: &p4::P4Info) {
    let unit = |spec: &Option<p4::CounterSpec>| match spec.as_ref().map(|spec| spec.unit()) {
        Some(p4::counter_spec::Unit::Packets) => Unit::Packets,
        Some(p4::counter_spec::Unit::Bytes) => Unit::Bytes,
        _ => Unit::Both,
    };
    let counters = info.counters.iter().map(|c| (&c.preamble, unit(&c.spec)));
    let direct = info.direct_counters.iter().map(|c| (&c.preamble, unit(&c.spec)));
    for (preamble, counted) in counters.chain(direct) {
        let id = preamble.as_ref().map(|p| P4Id(p.id));
        let object = pipeline.externs.iter_mut().find(|object| object.id == id);
        if let Some(ExternKind::Counter { unit, .. } | ExternKind::DirectCounter { unit, .. }) =
            object.map(|object| &mut object.kind)
        {
            *unit = counted;
        }
    }
}

/// The P4Info of a compiled program; `None` if it has errors.
///
/// # Errors
/// As [`super::of`] and [`of_pipeline`].
pub fn of_compiled(compiled: &hopwright_driver::Compiled) -> Option<std::result::Result<p4::P4Info, P4InfoError>> {
    let pipeline = compiled.pipeline.as_ref()?;
    Some(match &compiled.typed {
        Some(typed) => super::of(typed, pipeline).map(|mut info| {
            info.externs.extend(super::tofino::hashes(&compiled.hashes));
            info
        }),
        None => of_pipeline(pipeline),
    })
}
