//! The types of a program whose values are translated, and what has them.

use ::bytes::Bytes;
use hopwright_control::{TranslatedType, bytes, text};
use hopwright_ir::bits;
use hopwright_sema::hir::{self, TypedProgram};
use num_bigint::BigUint;

use crate::failure::{Failure, Result, invalid};
use crate::p4info;
use crate::proto::config::p4_new_type_spec::Representation;
use crate::proto::config::{self as p4, p4_data_type_spec::TypeSpec};

/// The structs of architectures that have the port of a packet, in `ingress_port`.
const PORT_STRUCTS: [&str; 2] = ["standard_metadata_t", "psa_ingress_input_metadata_t"];
/// How the URI of the type of ports ends.
const PORT_URI: &str = "PortId_t";
/// What programs call the type of ports if the architecture's ports have a plain number: SAI's have no URI.
const PORT_NAMES: [&str; 2] = ["port_id_t", "PortId_t"];
/// Bits of the ports of a Tofino, and of those of its controllers.
const PORT_BITS: u32 = 9;
const SDN_PORT_BITS: u32 = 32;
/// Pipes of a Tofino, and the bit of a port from which on it has the number of one.
const PIPES: u32 = 4;
const PIPE: u32 = 7;
/// What Stratum calls the recirculation port of the first pipe.
const FIRST_RECIRCULATION: u32 = 0xffff_ff00;
const MAPPINGS: &str = "p4runtime_translation_mappings";

/// The translated types of a program, without those whose numbers are the same on both sides.
///
/// # Errors
/// If a mapping is malformed.
pub(crate) fn translated_types(program: &TypedProgram) -> Result<Vec<TranslatedType>> {
    let of_architecture = program.structs.iter().filter(|s| PORT_STRUCTS.contains(&s.name.as_str()));
    let port = of_architecture.flat_map(|s| &s.fields).find(|f| f.name == "ingress_port").and_then(|f| f.new_type);
    let mut found = Vec::new();
    for (at, declared) in program.new_types.iter().enumerate() {
        let Some(translation) = p4info::translation(&declared.annotations) else { continue };
        let width = match declared.ty {
            hir::Type::Bits(width) | hir::Type::Int(width) => width,
            hir::Type::Bool => 1,
            _ => continue,
        };
        let named = translation.uri.is_empty() && PORT_NAMES.contains(&declared.control_plane_name.as_str());
        let is_port = port.is_some_and(|id| id.0 as usize == at) || translation.uri.ends_with(PORT_URI) || named;
        let mut fixed = fixed(declared, translation.width, width)?;
        if fixed.is_empty() && is_port && width == PORT_BITS && translation.width == Some(SDN_PORT_BITS) {
            fixed = recirculation_ports(program);
        }
        let same = translation.width.is_some_and(|sdn| sdn <= width && fixed.is_empty());
        if !same {
            let name = declared.control_plane_name.clone();
            found.push(TranslatedType { name, sdn_width: translation.width, width, port: is_port, fixed });
        }
    }
    Ok(found)
}

/// What controllers of Stratum call the recirculation ports of a Tofino's pipes: 0xffffff00, and so on.
fn recirculation_ports(program: &TypedProgram) -> Vec<(Bytes, BigUint)> {
    let first: u32 = match program.architecture().map(|architecture| architecture.name) {
        Some("tna") => 68,
        Some("t2na") => 6,
        _ => return Vec::new(),
    };
    (0..PIPES).map(|pipe| (bytes::of(&(FIRST_RECIRCULATION + pipe).into()), (first | pipe << PIPE).into())).collect()
}

/// The pairs in `@p4runtime_translation_mappings({ {"name", 1}, … })`.
fn fixed(declared: &hir::NewType, sdn_width: Option<u32>, width: u32) -> Result<Vec<(Bytes, BigUint)>> {
    let wrong = || -> Failure {
        let owner = &declared.control_plane_name;
        invalid(format!("type `{owner}`: @{MAPPINGS} takes pairs like {{\"name\", 1}} of different values that fit"))
    };
    let mut pairs: Vec<(Bytes, BigUint)> = Vec::new();
    for annotation in declared.annotations.iter().filter(|a| a.name == MAPPINGS) {
        let hir::AnnotationForm::Free(words) = &annotation.form else {
            return Err(wrong());
        };
        let inside = words.iter().map(String::as_str).filter(|w| !matches!(*w, "{" | "}" | ","));
        let inside: Vec<&str> = inside.collect();
        for pair in inside.chunks(2) {
            let read = || {
                let [name, value] = pair else { return None };
                let name = match sdn_width {
                    None => Bytes::from(name.strip_prefix('"')?.strip_suffix('"')?.to_string()),
                    Some(width) => bytes::of(&text::number(name).filter(|n| *n <= bits::mask(width))?),
                };
                let value = text::number(value).filter(|n| *n <= bits::mask(width))?;
                let new = pairs.iter().all(|(other, of)| *other != name && *of != value);
                new.then_some((name, value))
            };
            let pair = read();
            pairs.push(pair.ok_or_else(wrong)?);
        }
    }
    Ok(pairs)
}

/// The translation of a type: its own, or that of the type that it is a new name of.
pub(crate) fn data_type<'i>(
    mut spec: Option<&'i p4::P4DataTypeSpec>,
    types: Option<&'i p4::P4TypeInfo>,
    translated: &[TranslatedType],
) -> Option<usize> {
    loop {
        let Some(TypeSpec::NewType(named)) = &spec?.type_spec else { return None };
        if let Some(found) = translated.iter().position(|ty| ty.name == named.name) {
            return Some(found);
        }
        match &types?.new_types.get(&named.name)?.representation {
            Some(Representation::OriginalType(original)) => spec = Some(original),
            _ => return None,
        }
    }
}
