//! What controllers of Tofino programs want to know, and P4Info has no messages for: pipelines, port metadata of their parsers, and hashes.
//! BfRuntime reads it.

use std::collections::BTreeSet;

use hopwright_ir::hash_object::HashObject;
use hopwright_ir::{P4Id, P4Kind};
use hopwright_sema::hir;
use hopwright_sema::reached::Reached;
use prost::Message;

use super::{Builder, p4};

/// The number of blocks of a pipeline.
const BLOCKS: usize = 6;
/// The type of the ids of port metadata, in the range for extern objects that P4Runtime does not know.
const PORT_METADATA: u32 = 0x90;
/// That of hashes.
const HASH: u32 = 0x8f;
/// The name of their type.
pub(crate) const HASH_TYPE: &str = "Hash";

/// The hashes that control planes can change.
pub(super) fn hashes(all: &[HashObject]) -> Option<p4::Extern> {
    let mut used = BTreeSet::new();
    let instance = |hash: &HashObject| {
        let number = P4Id::of_name(P4Kind::Register, &hash.name, |id| used.insert(id)).0 & P4Id::NUMBER;
        let name = hash.name.clone();
        let (id, alias, annotations) = (HASH << 24 | number, name.clone(), hash.annotations());
        let preamble = Some(p4::Preamble { id, alias, name, annotations, ..Default::default() });
        p4::ExternInstance { preamble, info: None }
    };
    let instances: Vec<p4::ExternInstance> = all.iter().map(instance).collect();
    (!instances.is_empty()).then(|| p4::Extern { extern_type_id: HASH, extern_type_name: HASH_TYPE.into(), instances })
}

impl Builder<'_> {
    /// The names of the pipelines of `Switch`, by pipe, each with those of its blocks; nothing for a pipe without one.
    pub(super) fn pipelines(&self) -> Vec<p4::StructuredAnnotation> {
        use p4::structured_annotation::Body;
        let program = self.program;
        let text = |text: &String| p4::Expression { value: Some(p4::expression::Value::StringValue(text.clone())) };
        let pipelines = program.main.pipelines.iter().zip(program.main.blocks.chunks(BLOCKS)).enumerate();
        let mut by_pipe = Vec::new();
        for (at, (name, blocks)) in pipelines.filter(|(_, (_, blocks))| blocks.len() == BLOCKS) {
            let pipe = program.main.pipes.get(at).copied().unwrap_or(at);
            by_pipe.resize_with(pipe, Vec::new);
            let blocks = blocks.iter().map(|(_, id)| text(&program[*id].name));
            by_pipe.push(std::iter::once(text(name)).chain(blocks).collect());
        }
        let annotation = |expressions| {
            let body = Some(Body::ExpressionList(p4::ExpressionList { expressions }));
            p4::StructuredAnnotation { name: "pipeline".into(), body, ..Default::default() }
        };
        by_pipe.into_iter().map(annotation).collect()
    }

    /// The port metadata of ingress parsers: what they unpack, if they do.
    pub(super) fn port_metadata(&mut self, reached: &Reached<'_>) -> Option<p4::Extern> {
        let program = self.program;
        let mut instances: Vec<p4::ExternInstance> = Vec::new();
        for (pipe, blocks) in program.main.pipelines.iter().zip(0..) {
            let first = blocks * BLOCKS;
            let parser = &program[program.main.blocks.get(first)?.1];
            let own = parser.name.strip_prefix(pipe).is_some_and(|rest| rest.starts_with('.'));
            // With several programs, names begin with that of the program, and so does the pipeline's.
            let local = pipe.rsplit_once('.').and_then(|(program, _)| parser.name.strip_prefix(program));
            let above = if own { String::new() } else { format!("{pipe}.") };
            let below = local.filter(|_| !own).map_or(parser.name.as_str(), |rest| rest.trim_start_matches('.'));
            let name = format!("{above}{below}.$PORT_METADATA");
            if instances.iter().any(|i| i.preamble.as_ref().is_some_and(|p| p.name == name)) {
                continue;
            }
            let info = reached.port_metadata.get(&first).map(|ty| prost_types::Any {
                type_url: "type.googleapis.com/p4.config.v1.P4DataTypeSpec".into(),
                value: self.types.spec(ty).encode_to_vec(),
            });
            let number = P4Id::of_name(P4Kind::Register, &name, |_| true).0 & P4Id::NUMBER;
            let preamble = p4::Preamble {
                id: PORT_METADATA << 24 | number,
                alias: name.clone(),
                name,
                annotations: vec![format!("@key({})", intrinsic_metadata(program, parser))],
                ..Default::default()
            };
            instances.push(p4::ExternInstance { preamble: Some(preamble), info });
        }
        (!instances.is_empty()).then(|| p4::Extern {
            extern_type_id: PORT_METADATA,
            extern_type_name: "PortMetadata".into(),
            instances,
        })
    }
}

/// What a parser calls the intrinsic metadata.
fn intrinsic_metadata<'p>(program: &'p hir::TypedProgram, parser: &hir::Instance) -> &'p str {
    let is = |var: &&hir::Var| match &var.ty {
        hir::Type::Header(id) | hir::Type::Struct(id) => program[*id].name == "ingress_intrinsic_metadata_t",
        _ => false,
    };
    let found = parser.params.iter().map(|param| &program[param.var]).find(is);
    found.map_or("ig_intr_md", |var| var.name.as_str())
}
