//! Types of a program as P4Info describes them (P4Runtime 8.4). Does not live here: values of these types.

use hopwright_ir::Type as IrType;
use hopwright_sema::hir::{StructId, Type, TypedProgram};

use super::annotations::Annotations;
use crate::proto::config as p4;
use p4::p4_bitstring_like_type_spec::TypeSpec as Bits;
use p4::p4_data_type_spec::TypeSpec;

/// Describes types, collecting the named ones on the way.
pub struct Types<'p> {
    pub program: &'p TypedProgram,
    pub annotations: Annotations<'p>,
    pub info: p4::P4TypeInfo,
}

impl Types<'_> {
    /// A type as digests and registers name it.
    pub fn spec(&mut self, ty: &Type) -> p4::P4DataTypeSpec {
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
                let name = p4::P4NamedType { name: e.name.clone() };
                match &e.underlying {
                    Some(under) => {
                        let width = width_of(under);
                        let member = |(name, value): &(String, num_bigint::BigInt)| {
                            let modulus = num_bigint::BigInt::from(1) << width;
                            let bits = ((value % &modulus) + &modulus) % &modulus;
                            p4::p4_serializable_enum_type_spec::Member {
                                name: name.clone(),
                                value: bits.to_bytes_be().1.into(),
                                ..Default::default()
                            }
                        };
                        let spec = p4::P4SerializableEnumTypeSpec {
                            underlying_type: Some(p4::P4BitTypeSpec { bitwidth: width as i32 }),
                            members: e.members.iter().map(member).collect(),
                            ..Default::default()
                        };
                        self.info.serializable_enums.insert(e.name.clone(), spec);
                        TypeSpec::SerializableEnum(name)
                    }
                    None => {
                        let member = |(name, _): &(String, _)| p4::p4_enum_type_spec::Member {
                            name: name.clone(),
                            ..Default::default()
                        };
                        let members = e.members.iter().map(member).collect();
                        let spec = p4::P4EnumTypeSpec { members, ..Default::default() };
                        self.info.enums.insert(e.name.clone(), spec);
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
            // Unions, stacks and what is never stored: no register or digest of v1model holds one.
            _ => return p4::P4DataTypeSpec { type_spec: None },
        };
        p4::P4DataTypeSpec { type_spec: Some(spec) }
    }

    fn named(&self, id: StructId) -> p4::P4NamedType {
        p4::P4NamedType { name: self.program[id].name.clone() }
    }

    fn structure(&mut self, id: StructId) {
        let program = self.program;
        let s = &program[id];
        if self.info.structs.contains_key(&s.name) {
            return;
        }
        let members = s
            .fields
            .iter()
            .map(|f| p4::p4_struct_type_spec::Member { name: f.name.clone(), type_spec: Some(self.spec(&f.ty)) })
            .collect();
        let annotations = self.annotations.texts(&s.annotations);
        let spec = p4::P4StructTypeSpec { members, annotations, ..Default::default() };
        self.info.structs.insert(s.name.clone(), spec);
    }

    fn header(&mut self, id: StructId) {
        let s = &self.program[id];
        let members = s
            .fields
            .iter()
            .map(|f| p4::p4_header_type_spec::Member {
                name: f.name.clone(),
                type_spec: Some(match f.ty {
                    Type::Int(w) => int(w),
                    Type::Varbit(w) => bits(Bits::Varbit(p4::P4VarbitTypeSpec { max_bitwidth: w as i32 })),
                    _ => bit(self.width(&f.ty)),
                }),
            })
            .collect();
        let annotations = self.annotations.texts(&s.annotations);
        let spec = p4::P4HeaderTypeSpec { members, annotations, ..Default::default() };
        self.info.headers.insert(s.name.clone(), spec);
    }

    /// Width in bits of a scalar as it stands in a header.
    pub fn width(&self, ty: &Type) -> u32 {
        match ty {
            Type::Enum(id) => self.program[*id].underlying.as_ref().map_or(32, width_of),
            Type::Stack(element, n) => n * self.width(element),
            other => width_of(other),
        }
    }
}

/// A scalar of the IR.
pub fn scalar(ty: IrType) -> p4::P4DataTypeSpec {
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
        Type::Error => 16,
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
