//! The types of a program as P4Info describes them (P4Runtime 8.4).

use ::bytes::Bytes;
use hopwright_ir::Type as IrType;
use hopwright_sema::hir::{Annotation, NewTypeId, StructId, Type, TypedProgram};
use num_bigint::BigUint;

use super::annotations;
use crate::proto::config as p4;
use p4::p4_bitstring_like_type_spec::TypeSpec as Bits;
use p4::p4_data_type_spec::TypeSpec;

/// Describes types, and collects the named ones.
pub(super) struct Types<'p> {
    pub program: &'p TypedProgram,
    pub info: p4::P4TypeInfo,
}

impl Types<'_> {
    /// A type as digests and registers refer to it: by the name that `type` declares, if any.
    pub(super) fn declared(&mut self, ty: &Type, new_type: Option<NewTypeId>) -> p4::P4DataTypeSpec {
        match new_type {
            Some(id) => {
                let name = self.new_type(id);
                p4::P4DataTypeSpec { type_spec: Some(TypeSpec::NewType(p4::P4NamedType { name })) }
            }
            None => self.spec(ty),
        }
    }

    /// Describes the type of a number that a controller sees: its name, if `type` declares it, and its bits. Strings
    /// have none.
    pub(super) fn number(&mut self, ty: &Type, new_type: Option<NewTypeId>) -> (Option<p4::P4NamedType>, i32) {
        self.declared(ty, new_type);
        let name = new_type.map(|id| p4::P4NamedType { name: self.program[id].control_plane_name.clone() });
        (name, self.width(ty, new_type) as i32)
    }

    /// The width of a number for controllers.
    pub(super) fn width(&self, ty: &Type, new_type: Option<NewTypeId>) -> u32 {
        match new_type.and_then(|id| annotations::translation(&self.program[id].annotations)) {
            Some(translation) => translation.width.unwrap_or(0),
            None => self.bits(ty),
        }
    }

    fn new_type(&mut self, id: NewTypeId) -> String {
        use p4::p4_new_type_spec::Representation;
        use p4::p4_new_type_translation::SdnType;
        let declared = &self.program[id];
        let name = declared.control_plane_name.clone();
        if self.info.new_types.contains_key(&name) {
            return name;
        }
        let original = self.spec(&declared.ty);
        let representation = match annotations::translation(&declared.annotations) {
            Some(translation) => Representation::TranslatedType(p4::P4NewTypeTranslation {
                uri: translation.uri,
                sdn_type: Some(match translation.width {
                    Some(width) => SdnType::SdnBitwidth(width as i32),
                    None => SdnType::SdnString(p4::p4_new_type_translation::SdnString {}),
                }),
            }),
            None => Representation::OriginalType(original),
        };
        let spec = p4::P4NewTypeSpec {
            representation: Some(representation),
            annotations: annotations::texts(&declared.annotations, &["p4runtime_translation"]),
            structured_annotations: annotations::structured(&declared.annotations),
            ..Default::default()
        };
        self.info.new_types.insert(name.clone(), spec);
        name
    }

    /// A type by itself.
    pub(super) fn spec(&mut self, ty: &Type) -> p4::P4DataTypeSpec {
        let spec = match ty {
            Type::Bool => TypeSpec::Bool(p4::P4BoolType {}),
            Type::Bits(w) => TypeSpec::Bitstring(bit(*w)),
            Type::Int(w) => TypeSpec::Bitstring(int(*w)),
            Type::Varbit(w) => {
                TypeSpec::Bitstring(bits(Bits::Varbit(p4::P4VarbitTypeSpec { max_bitwidth: *w as i32 })))
            }
            Type::Error => {
                let members = self.program.errors.clone();
                self.info.error = Some(p4::P4ErrorTypeSpec { members });
                TypeSpec::Error(p4::P4ErrorType {})
            }
            Type::Enum(id) => {
                let e = &self.program[*id];
                let name = p4::P4NamedType { name: e.control_plane_name.clone() };
                match &e.underlying {
                    Some(under) => {
                        let width = width_of(under);
                        let member = |(name, value): &(String, num_bigint::BigInt)| {
                            let modulus = num_bigint::BigInt::from(1) << width;
                            let bits = ((value % &modulus) + &modulus) % &modulus;
                            p4::p4_serializable_enum_type_spec::Member {
                                name: name.clone(),
                                value: padded(&bits.magnitude().clone(), width),
                                ..Default::default()
                            }
                        };
                        let spec = p4::P4SerializableEnumTypeSpec {
                            underlying_type: Some(p4::P4BitTypeSpec { bitwidth: width as i32 }),
                            members: e.members.iter().map(member).collect(),
                            ..Default::default()
                        };
                        self.info.serializable_enums.insert(e.control_plane_name.clone(), spec);
                        TypeSpec::SerializableEnum(name)
                    }
                    None => {
                        let member = |(name, _): &(String, _)| p4::p4_enum_type_spec::Member {
                            name: name.clone(),
                            ..Default::default()
                        };
                        let members = e.members.iter().map(member).collect();
                        let spec = p4::P4EnumTypeSpec { members, ..Default::default() };
                        self.info.enums.insert(e.control_plane_name.clone(), spec);
                        TypeSpec::Enum(name)
                    }
                }
            }
            Type::Struct(id) => {
                self.structure(*id);
                TypeSpec::Struct(self.named(*id))
            }
            Type::Header(id) => {
                self.header(*id);
                TypeSpec::Header(self.named(*id))
            }
            Type::Tuple(types) => {
                let members = types.iter().map(|t| self.spec(t)).collect();
                TypeSpec::Tuple(p4::P4TupleTypeSpec { members })
            }
            // Unions, stacks and types that are never stored: no register or digest of v1model holds one.
            _ => return p4::P4DataTypeSpec { type_spec: None },
        };
        p4::P4DataTypeSpec { type_spec: Some(spec) }
    }

    fn named(&self, id: StructId) -> p4::P4NamedType {
        p4::P4NamedType { name: self.program[id].control_plane_name.clone() }
    }

    fn structure(&mut self, id: StructId) {
        let program = self.program;
        let s = &program[id];
        if self.info.structs.contains_key(&s.control_plane_name) {
            return;
        }
        let members = s
            .fields
            .iter()
            .map(|f| p4::p4_struct_type_spec::Member {
                name: f.control_plane_name.clone(),
                type_spec: Some(self.declared(&f.ty, f.new_type)),
            })
            .collect();
        let spec = p4::P4StructTypeSpec { members, ..Default::default() };
        self.info.structs.insert(s.control_plane_name.clone(), spec);
    }

    fn header(&mut self, id: StructId) {
        let name = self.program[id].control_plane_name.clone();
        if self.info.headers.contains_key(&name) {
            return;
        }
        let members = flat_fields(self.program, id)
            .into_iter()
            .map(|f| p4::p4_header_type_spec::Member {
                type_spec: Some(match f.ty {
                    Type::Int(w) => int(*w),
                    Type::Varbit(w) => bits(Bits::Varbit(p4::P4VarbitTypeSpec { max_bitwidth: *w as i32 })),
                    _ => bit(self.bits(f.ty)),
                }),
                name: f.name,
            })
            .collect();
        self.info.headers.insert(name, p4::P4HeaderTypeSpec { members, ..Default::default() });
    }

    /// The width of a scalar in a header.
    fn bits(&self, ty: &Type) -> u32 {
        match ty {
            Type::Enum(id) => self.program[*id].underlying.as_ref().map_or(32, width_of),
            other => width_of(other),
        }
    }
}

/// A scalar in a header.
pub(crate) struct FlatField<'p> {
    /// Prefixed with the names of the enclosing structs.
    pub name: String,
    pub ty: &'p Type,
    pub new_type: Option<NewTypeId>,
    /// Its own, then those of the enclosing structs.
    pub annotations: Vec<Annotation>,
}

/// The members of a header, with structs flattened.
pub(crate) fn flat_fields(program: &TypedProgram, id: StructId) -> Vec<FlatField<'_>> {
    let mut found = Vec::new();
    let annotations = |own: &[Annotation], around: &[Annotation]| {
        let mut all = own.to_vec();
        all.extend(around.iter().filter(|a| !self::annotations::has(own, &a.name)).cloned());
        all
    };
    for field in &program[id].fields {
        match &field.ty {
            Type::Struct(inner) => found.extend(flat_fields(program, *inner).into_iter().map(|f| FlatField {
                // As p4c does, the names inside are those of the source.
                name: format!("{}.{}", field.name, f.name),
                annotations: annotations(&f.annotations, &field.annotations),
                ..f
            })),
            Type::Stack(element, n) => found.extend((0..*n).map(|i| FlatField {
                name: format!("{}[{i}]", field.control_plane_name),
                ty: element,
                new_type: None,
                annotations: field.annotations.clone(),
            })),
            ty => found.push(FlatField {
                name: field.control_plane_name.clone(),
                ty,
                new_type: field.new_type,
                annotations: field.annotations.clone(),
            }),
        }
    }
    found
}

/// A scalar of the IR.
pub(super) fn scalar(ty: IrType) -> p4::P4DataTypeSpec {
    let spec = match ty {
        IrType::Bool => TypeSpec::Bool(p4::P4BoolType {}),
        IrType::Bits(w) => TypeSpec::Bitstring(bit(w)),
        IrType::Int(w) => TypeSpec::Bitstring(int(w)),
        IrType::Varbit(w) => TypeSpec::Bitstring(bits(Bits::Varbit(p4::P4VarbitTypeSpec { max_bitwidth: w as i32 }))),
    };
    p4::P4DataTypeSpec { type_spec: Some(spec) }
}

fn width_of(ty: &Type) -> u32 {
    match ty {
        Type::Bool => 1,
        Type::Bits(w) | Type::Int(w) | Type::Varbit(w) => *w,
        _ => 0,
    }
}

fn bits(spec: Bits) -> p4::P4BitstringLikeTypeSpec {
    p4::P4BitstringLikeTypeSpec { type_spec: Some(spec), ..Default::default() }
}

fn bit(width: u32) -> p4::P4BitstringLikeTypeSpec {
    bits(Bits::Bit(p4::P4BitTypeSpec { bitwidth: width as i32 }))
}

fn int(width: u32) -> p4::P4BitstringLikeTypeSpec {
    bits(Bits::Int(p4::P4IntTypeSpec { bitwidth: width as i32 }))
}

/// A number as p4c writes it in P4Info: in as many bytes as its type needs.
pub(super) fn padded(value: &BigUint, width: u32) -> Bytes {
    let digits = value.to_bytes_be();
    let mut bytes = vec![0; (width.div_ceil(8) as usize).saturating_sub(digits.len())];
    bytes.extend(digits);
    bytes.into()
}
