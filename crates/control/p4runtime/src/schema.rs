//! The objects of a program's P4Info as the control model's schema, and what only P4Runtime has: controller headers and the types of
//! digests.

use std::collections::HashMap;
use std::sync::Arc;

use hopwright_control::TranslatedType;
use hopwright_control::schema::{self as model, Action, Field};
use hopwright_ir::{Header, Pipeline};
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
    /// The pipeline's objects that P4Info lists, with what it alone has of them.
    fn schema(&self) -> Result<model::Schema> {
        let Builder { info, pipeline, .. } = self;
        let mut schema = model::Schema::of(pipeline);
        schema.translated_types = self.translated.clone();
        let listed = p4info::ids(info);
        schema.retain(|id| listed.contains(&id));
        let actions: HashMap<u32, &p4::Action> =
            info.actions.iter().filter_map(|a| Some((a.preamble.as_ref()?.id, a))).collect();
        for table in &info.tables {
            if let Some((preamble, known)) = named(&table.preamble, &mut schema.tables) {
                known.alias.clone_from(&preamble.alias);
                known.annotations.clone_from(&preamble.annotations);
                self.describe(&mut known.fields, &table.match_fields);
                known
                    .actions
                    .iter_mut()
                    .for_each(|action| self.describe_action(action, actions.get(&action.id).copied()));
            }
        }
        for register in &info.registers {
            if let Some((_, known)) = named(&register.preamble, &mut schema.registers) {
                known.translated = data_type(register.type_spec.as_ref(), info.type_info.as_ref(), &self.translated);
            }
        }
        for request in &info.action_profiles {
            if let Some((_, known)) = named(&request.preamble, &mut schema.action_profiles) {
                known.max_group_size = u32::try_from(request.max_group_size).unwrap_or(0);
                known.of_members = match &request.selector_size_semantics {
                    Some(p4::action_profile::SelectorSizeSemantics::SumOfMembers(sum)) => {
                        Some(u32::try_from(sum.max_member_weight).unwrap_or(0))
                    }
                    _ => None,
                };
            }
        }
        for set in &info.value_sets {
            if let Some((_, known)) = named(&set.preamble, &mut schema.value_sets) {
                self.describe(&mut known.fields, &set.r#match);
                for (field, listed) in known.fields.iter_mut().zip(&set.r#match) {
                    // P4Info has no other kinds of match.
                    field.kind = listed.r#match.as_ref().and_then(p4info::match_kind).unwrap_or(field.kind);
                }
            }
        }
        schema.complete().map_err(|e| invalid(e.to_string()))?;
        Ok(schema)
    }

    /// Takes over what P4Info has of match fields.
    fn describe(&self, fields: &mut [Field], listed: &[p4::MatchField]) {
        for (field, listed) in fields.iter_mut().zip(listed) {
            field.id = listed.id;
            field.name.clone_from(&listed.name);
            field.annotations.clone_from(&listed.annotations);
            field.translated = self.type_of(listed.type_name.as_ref());
        }
    }

    /// Takes over what P4Info has of an action.
    fn describe_action(&self, action: &mut Action, listed: Option<&p4::Action>) {
        let Some(listed) = listed else { return };
        action.annotations = listed.preamble.as_ref().map_or_else(Vec::new, |p| p.annotations.clone());
        for (param, listed) in action.params.iter_mut().zip(&listed.params) {
            param.id = listed.id;
            param.name.clone_from(&listed.name);
            param.annotations.clone_from(&listed.annotations);
            param.translated = self.type_of(listed.type_name.as_ref());
        }
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
}

/// The object that a preamble names.
fn named<'i, 's, T>(
    preamble: &'i Option<p4::Preamble>,
    objects: &'s mut HashMap<u32, T>,
) -> Option<(&'i p4::Preamble, &'s mut T)> {
    let preamble = preamble.as_ref()?;
    Some((preamble, objects.get_mut(&preamble.id)?))
}
