//! The objects of a program's P4Info as the control model's schema, and what only P4Runtime has: controller headers and the types of
//! digests.

use std::collections::HashMap;
use std::sync::Arc;

use hopwright_control::TranslatedType;
use hopwright_control::schema::{self as model, Action, Array, Field, Param, Profile, Register, Table, ValueSet};
use hopwright_ir::{ExternId, ExternKind, Header, Pipeline, TableId, ValueSetId};
use hopwright_sema::hir::{self, TypedProgram};

use crate::failure::{Result, invalid};
use crate::p4info::{self, flat_fields};
use crate::proto::config as p4;
use crate::schema_types::{data_type, translated_types};

/// What P4Runtime knows of a program.
#[derive(Debug, Default)]
pub struct Schema {
    /// The objects.
    pub model: Arc<model::Schema>,
    /// Metadata of packets to the controller.
    pub packet_in: Vec<Metadata>,
    /// Metadata of packets from the controller.
    pub packet_out: Vec<Metadata>,
    /// Size in bytes of the header before packets to the controller.
    pub packet_in_bytes: usize,
    /// Size in bytes of the header before packets from the controller.
    pub packet_out_bytes: usize,
    /// The types of digests.
    pub(crate) types: Types,
}

/// The types of digests.
#[derive(Debug, Default)]
pub(crate) struct Types {
    /// By id.
    pub digests: HashMap<u32, p4::P4DataTypeSpec>,
    /// The types that they consist of.
    pub info: p4::P4TypeInfo,
}

/// A field of a controller header.
#[derive(Clone, Debug)]
pub struct Metadata {
    /// Its number.
    pub id: u32,
    /// Name.
    pub name: String,
    /// The width in bits.
    pub width: u32,
    /// Bits of the header after it.
    pub below: u32,
    /// Whether a packet-out may omit it.
    pub padding: bool,
    /// The type that translates its values.
    pub translated: Option<usize>,
}

impl Schema {
    /// The schema of a pipeline, from the program it was made from and the P4Info.
    ///
    /// # Errors
    /// If an annotation is wrong that says what entries may be like.
    pub(crate) fn new(info: &p4::P4Info, program: Option<&TypedProgram>, pipeline: &Pipeline) -> Result<Schema> {
        let types = info.type_info.clone().unwrap_or_default();
        let translated = program.map_or_else(|| Ok(Vec::new()), translated_types)?;
        let builder = Builder { info, pipeline, translated };
        let mut schema = Schema { model: Arc::new(builder.schema()?), ..Schema::default() };
        let digests = info.digests.iter().filter_map(|d| Some((d.preamble.as_ref()?.id, d.type_spec.clone()?)));
        schema.types = Types { digests: digests.collect(), info: types };
        let Some(program) = program else {
            (schema.packet_in, schema.packet_in_bytes) = listed_metadata(info, "packet_in");
            (schema.packet_out, schema.packet_out_bytes) = listed_metadata(info, "packet_out");
            return Ok(schema);
        };
        for (name, header) in [("packet_in", pipeline.packet_in), ("packet_out", pipeline.packet_out)] {
            let Some(header) = header.map(|h| &pipeline[h]) else { continue };
            let fields = builder.metadata(program, name, header);
            let bytes = header.fixed_bits.div_ceil(8) as usize;
            match name {
                "packet_in" => (schema.packet_in, schema.packet_in_bytes) = (fields, bytes),
                _ => (schema.packet_out, schema.packet_out_bytes) = (fields, bytes),
            }
        }
        Ok(schema)
    }
}

/// The fields of a controller header as P4Info lists them, and its size in bytes. They fill it from its first bit on.
fn listed_metadata(info: &p4::P4Info, name: &str) -> (Vec<Metadata>, usize) {
    let named = |c: &&p4::ControllerPacketMetadata| c.preamble.as_ref().is_some_and(|p| p.name == name);
    let Some(header) = info.controller_packet_metadata.iter().find(named) else { return Default::default() };
    let width = |m: &p4::controller_packet_metadata::Metadata| u32::try_from(m.bitwidth).unwrap_or(0);
    let bits: u32 = header.metadata.iter().map(width).sum();
    let bytes = bits.div_ceil(8);
    let mut below = bytes * 8;
    let mut fields = Vec::new();
    for listed in &header.metadata {
        below -= width(listed);
        fields.push(Metadata {
            id: listed.id,
            name: listed.name.clone(),
            width: width(listed),
            below,
            padding: listed.annotations.iter().any(|a| a == "@padding"),
            translated: None,
        });
    }
    (fields, bytes as usize)
}

/// Finds the objects of P4Info in a pipeline.
struct Builder<'b> {
    info: &'b p4::P4Info,
    pipeline: &'b Pipeline,
    translated: Vec<TranslatedType>,
}

impl Builder<'_> {
    fn schema(&self) -> Result<model::Schema> {
        let Builder { info, pipeline, .. } = self;
        let mut schema = model::Schema::new(pipeline.tables.len(), self.translated.clone());
        let actions: HashMap<u32, &p4::Action> =
            info.actions.iter().filter_map(|a| Some((a.preamble.as_ref()?.id, a))).collect();
        for table in info.tables.iter().filter_map(|table| self.table(table, &actions)) {
            schema.table_ids[table.at.index()] = table.id;
            schema.tables.insert(table.id, table);
        }
        self.add_objects(&mut schema);
        schema.complete().map_err(|e| invalid(e.to_string()))?;
        Ok(schema)
    }

    fn add_objects(&self, schema: &mut model::Schema) {
        let Builder { info, pipeline, .. } = self;
        let by_name: HashMap<&str, usize> =
            pipeline.externs.iter().enumerate().map(|(at, e)| (e.name.as_str(), at)).collect();
        let array = |preamble: &Option<p4::Preamble>, size: i64| {
            let preamble = preamble.as_ref()?;
            let at = ExternId(*by_name.get(preamble.name.as_str())? as u32);
            Some((preamble.id, Array { at, name: preamble.name.clone(), size: size.max(0) as u64 }))
        };
        schema.counters = info.counters.iter().filter_map(|c| array(&c.preamble, c.size)).collect();
        schema.meters = info.meters.iter().filter_map(|c| array(&c.preamble, c.size)).collect();
        for register in &info.registers {
            if let Some((id, cells)) = array(&register.preamble, i64::from(register.size))
                && let ExternKind::Register { ty, .. } = pipeline[cells.at].kind
            {
                let translated = data_type(register.type_spec.as_ref(), info.type_info.as_ref(), &self.translated);
                schema.registers.insert(id, Register { cells, ty, translated });
            }
        }
        let named = |p: &Option<p4::Preamble>| p.as_ref().map(|p| (p.id, p.name.clone()));
        for request in &info.action_profiles {
            if let Some((id, Array { at, name, .. })) = array(&request.preamble, request.size) {
                let max_group_size = u32::try_from(request.max_group_size).unwrap_or(0);
                let tables = request.table_ids.clone();
                let of_members = match &request.selector_size_semantics {
                    Some(p4::action_profile::SelectorSizeSemantics::SumOfMembers(sum)) => {
                        Some(u32::try_from(sum.max_member_weight).unwrap_or(0))
                    }
                    _ => None,
                };
                let profile = Profile { at, name, selector: request.with_selector, max_group_size, of_members, tables };
                schema.action_profiles.insert(id, profile);
            }
        }
        for set in &info.value_sets {
            if let Some((id, name)) = named(&set.preamble)
                && let Some(at) = pipeline.value_sets.iter().position(|v| v.name == name)
            {
                let fields = set.r#match.iter().zip(&pipeline.value_sets[at].types).enumerate();
                // P4Info has no other kinds of match.
                let field = |(key, (f, ty)): (usize, (&p4::MatchField, &hopwright_ir::Type))| {
                    Some(self.field(f, key, p4info::match_kind(f.r#match.as_ref()?)?, ty.width()))
                };
                let fields = fields.filter_map(field).collect();
                schema.value_sets.insert(id, ValueSet { at: ValueSetId(at as u32), name, fields });
            }
        }
        schema.digests = info.digests.iter().filter_map(|d| named(&d.preamble)).map(|(id, name)| (name, id)).collect();
    }

    /// The fields of a controller header.
    fn metadata(&self, program: &TypedProgram, name: &str, header: &Header) -> Vec<Metadata> {
        let listed = self
            .info
            .controller_packet_metadata
            .iter()
            .find(|c| c.preamble.as_ref().is_some_and(|p| p.name == name))
            .map(|c| c.metadata.as_slice())
            .unwrap_or_default();
        let sources = program
            .structs
            .iter()
            .position(|s| {
                s.annotations
                    .iter()
                    .any(|a| a.name == "controller_header" && a.args == [hir::AnnotationArg::String(name.to_string())])
            })
            .map(|at| flat_fields(program, hir::StructId(at as u32)))
            .unwrap_or_default();
        // P4Info lists the members in order, without hidden ones.
        let shown = header.fields.iter().zip(&sources);
        shown
            .filter(|(_, source)| !p4info::has_annotation(&source.annotations, "hidden"))
            .zip(listed)
            .map(|((f, _), request)| Metadata {
                id: request.id,
                name: request.name.clone(),
                width: f.width,
                below: header.fixed_bits - f.offset_bits - f.width,
                padding: request.annotations.iter().any(|a| a == "@padding"),
                translated: self.type_of(request.type_name.as_ref()),
            })
            .collect()
    }

    fn type_of(&self, named: Option<&p4::P4NamedType>) -> Option<usize> {
        let name = &named?.name;
        self.translated.iter().position(|ty| ty.name == *name)
    }

    fn field(&self, field: &p4::MatchField, key: usize, kind: hopwright_ir::MatchKind, width: u32) -> Field {
        Field {
            id: field.id,
            name: field.name.clone(),
            annotations: field.annotations.clone(),
            kind,
            width,
            key,
            translated: self.type_of(field.type_name.as_ref()),
        }
    }

    fn table(&self, table: &p4::Table, actions: &HashMap<u32, &p4::Action>) -> Option<Table> {
        let preamble = table.preamble.as_ref()?;
        let at = TableId(self.pipeline.tables.iter().position(|t| t.name == preamble.name)? as u32);
        let model = &self.pipeline[at];
        let keys = model.keys.iter().enumerate().filter(|(_, k)| k.kind.is_matched());
        let fields = table.match_fields.iter().zip(keys);
        let fields = fields.map(|(field, (at, key))| self.field(field, at, key.kind, key.expr.ty.width()));
        // The default action may not be among those that the pipeline lists.
        let default =
            hopwright_ir::TableAction { action: model.default_action.action, table_only: false, default_only: true };
        let action = |(at, reference): (usize, &p4::ActionRef)| {
            let action = actions.get(&reference.id)?;
            // P4Info that comes beside a pipeline may list the actions in another order.
            let name = action.preamble.as_ref()?.name.as_str();
            let mut all = model.actions.iter().chain([&default]);
            let listed =
                all.find(|listed| self.pipeline[listed.action].name == name).or_else(|| model.actions.get(at))?;
            let params = action.params.iter().zip(&self.pipeline[listed.action].params);
            let params = params.map(|(param, model)| Param {
                id: param.id,
                name: param.name.clone(),
                annotations: param.annotations.clone(),
                width: model.ty.width(),
                translated: self.type_of(param.type_name.as_ref()),
            });
            let preamble = action.preamble.as_ref()?;
            Some(Action {
                id: reference.id,
                at: listed.action,
                name: preamble.name.clone(),
                annotations: preamble.annotations.clone(),
                default_only: listed.default_only,
                table_only: listed.table_only,
                params: params.collect(),
            })
        };
        let direct = |wanted: u32| table.direct_resource_ids.iter().copied().find(|id| id >> 24 == wanted);
        Some(Table {
            id: preamble.id,
            at,
            name: preamble.name.clone(),
            alias: preamble.alias.clone(),
            annotations: preamble.annotations.clone(),
            fields: fields.collect(),
            keys: model.keys.len(),
            actions: table.action_refs.iter().enumerate().filter_map(action).collect(),
            priority: model.has_priority(),
            const_entries: model.const_entries,
            direct_counter: direct(0x13),
            direct_meter: direct(0x15),
            profile: model.implementation.map(|_| table.implementation_id),
            idle_timeout: model.idle_timeout,
        })
    }
}
