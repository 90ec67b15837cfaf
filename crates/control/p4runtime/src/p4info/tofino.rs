//! What controllers of Tofino programs want to know, and P4Info has no messages for: pipelines, and port metadata of their parsers.
//! BfRuntime reads it.

use std::collections::HashMap;

use hopwright_ir::{P4Id, P4Kind};
use hopwright_sema::hir;
use hopwright_sema::reached::Reached;
use num_traits::ToPrimitive;
use prost::Message;

use super::{Builder, p4};

/// The number of blocks of a pipeline.
const BLOCKS: usize = 6;
/// The type of the ids of port metadata, in the range for extern objects that P4Runtime does not know.
const PORT_METADATA: u32 = 0x90;

impl Builder<'_> {
    /// The names of the pipelines of `Switch`, by pipe, each with those of its blocks.
    pub(super) fn pipelines(&self) -> Vec<p4::StructuredAnnotation> {
        use p4::structured_annotation::Body;
        let program = self.program;
        let text = |text: &String| p4::Expression { value: Some(p4::expression::Value::StringValue(text.clone())) };
        let pipelines = program.main.pipelines.iter().zip(program.main.blocks.chunks(BLOCKS));
        pipelines
            .filter(|(_, blocks)| blocks.len() == BLOCKS)
            .map(|(name, blocks)| {
                let blocks = blocks.iter().map(|(_, id)| text(&program[*id].name));
                let expressions = std::iter::once(text(name)).chain(blocks).collect();
                let body = Some(Body::ExpressionList(p4::ExpressionList { expressions }));
                p4::StructuredAnnotation { name: "pipeline".into(), body, ..Default::default() }
            })
            .collect()
    }

    /// What annotations say of hashes that a control plane can change: fields, width, and the program's function.
    pub(super) fn dynamic_hashes(&self, reached: &Reached<'_>) -> HashMap<usize, Vec<String>> {
        let is_dynamic =
            |at: &usize| self.pipeline.externs.get(*at).is_some_and(|e| e.kind.p4_kind() == Some(P4Kind::DynHash));
        let program = self.program;
        let of = |at: usize| {
            let hash = &program.objects[at];
            let fields = reached.hash_fields(program, hir::ObjectId(at as u32))?;
            let width = match hash.type_args.first()? {
                hir::Type::Bits(width) => *width,
                _ => return None,
            };
            let mut texts: Vec<String> =
                fields.iter().map(|(name, bits)| format!("@hash_field({name},{bits})")).collect();
            texts.push(format!("@hash_width({width})"));
            texts.extend(function_of(program, hash));
            Some((at, texts))
        };
        (0..program.objects.len()).filter(is_dynamic).filter_map(of).collect()
    }

    /// The port metadata of ingress parsers: what they unpack, if they do.
    pub(super) fn port_metadata(&mut self, reached: &Reached<'_>) -> Option<p4::Extern> {
        let program = self.program;
        let mut instances: Vec<p4::ExternInstance> = Vec::new();
        for (pipe, blocks) in program.main.pipelines.iter().zip(0..) {
            let first = blocks * BLOCKS;
            let parser = &program[program.main.blocks.get(first)?.1];
            let own = parser.name.strip_prefix(pipe).is_some_and(|rest| rest.starts_with('.'));
            let above = if own { String::new() } else { format!("{pipe}.") };
            let name = format!("{above}{}.$PORT_METADATA", parser.name);
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

/// The function of a hash: a CRC's width, polynomial, whether it is reversed, whether wider results repeat it, initial value and final
/// exclusive or; or the width of words. Nothing for the identity.
fn function_of(program: &hir::TypedProgram, hash: &hir::Object) -> Option<String> {
    fn constant(e: &hir::Expr) -> Option<u64> {
        match &e.kind {
            hir::ExprKind::Int(value) => value.to_u64(),
            hir::ExprKind::Bool(value) => Some(u64::from(*value)),
            hir::ExprKind::Cast(inner) => constant(inner),
            _ => None,
        }
    }
    fn member<'p>(program: &'p hir::TypedProgram, e: &hir::Expr) -> Option<&'p str> {
        match &e.kind {
            hir::ExprKind::EnumMember(id, at) => program[*id].members.get(*at).map(|member| member.0.as_str()),
            hir::ExprKind::Cast(inner) => member(program, inner),
            _ => None,
        }
    }
    let numbers: Vec<u64> = match member(program, hash.args.first()?)? {
        "CRC8" => vec![8, 0x07, 0, 1, 0, 0],
        "CRC16" => vec![16, 0x8005, 1, 1, 0, 0],
        "CRC32" => vec![32, 0x04c1_1db7, 1, 1, 0xffff_ffff, 0xffff_ffff],
        "CRC64" => vec![64, 0x42f0_e1eb_a9ea_3693, 0, 1, 0, 0],
        "CUSTOM" => {
            let hir::ExprKind::Object(polynomial) = hash.args.get(1)?.kind else { return None };
            let polynomial = &program[polynomial];
            let [hir::Type::Bits(width)] = polynomial.type_args.as_slice() else { return None };
            let args: Vec<u64> = polynomial.args.iter().map(constant).collect::<Option<_>>()?;
            let [coefficients, reversed, _msb, extends, initial, xor] = args.as_slice() else { return None };
            vec![u64::from(*width), *coefficients, *reversed, *extends, *initial, *xor]
        }
        name => return name.strip_prefix("XOR").map(|bits| format!("@hash_xor({bits})")),
    };
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    Some(format!("@hash_crc({})", numbers.join(",")))
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
