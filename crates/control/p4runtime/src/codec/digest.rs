//! Lists of digests to messages.

use std::time::{SystemTime, UNIX_EPOCH};

use hopwright_control::{DigestData, DigestList, bytes};
use num_bigint::BigUint;

use super::Encode;
use crate::proto::config::p4_bitstring_like_type_spec::TypeSpec as Bits;
use crate::proto::config::p4_new_type_spec::Representation;
use crate::proto::config::{self as p4, p4_data_type_spec::TypeSpec};
use crate::proto::v1;
use crate::schema::Types;
use v1::p4_data::Data;

/// The deepest nesting of types.
const MAX_DEPTH: u32 = 16;

/// The values of a digest, first member first.
type Values<'v> = std::slice::Iter<'v, (BigUint, u32)>;

impl Encode<'_> {
    /// A list of digests, now.
    pub(crate) fn digests(&self, list: &DigestList, types: &Types) -> v1::DigestList {
        let spec = types.digests.get(&list.digest);
        let one = |data: &DigestData| self.typed(spec, &types.info, &mut data.iter(), 0);
        let timestamp = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as i64);
        let data = list.data.iter().map(one).collect();
        v1::DigestList { digest_id: list.digest, list_id: list.list, data, timestamp }
    }

    /// A value of a type from its scalars.
    fn typed(
        &self,
        spec: Option<&p4::P4DataTypeSpec>,
        types: &p4::P4TypeInfo,
        values: &mut Values<'_>,
        depth: u32,
    ) -> v1::P4Data {
        let mut number = |ty| {
            let zero = BigUint::ZERO;
            self.value(ty, values.next().map_or(&zero, |(value, _)| value))
        };
        let data = match spec.and_then(|s| s.type_spec.as_ref()) {
            _ if depth > MAX_DEPTH => None,
            Some(TypeSpec::Bool(_)) => Some(Data::Bool(values.next().is_some_and(|(bits, _)| *bits != BigUint::ZERO))),
            Some(TypeSpec::SerializableEnum(_)) => Some(Data::EnumValue(number(None))),
            Some(TypeSpec::NewType(name)) => {
                let translated = self.schema.translated_types.iter().position(|ty| ty.name == name.name);
                match types.new_types.get(&name.name).and_then(|t| t.representation.as_ref()) {
                    Some(Representation::OriginalType(spec)) if translated.is_none() => {
                        return self.typed(Some(spec), types, values, depth + 1);
                    }
                    _ => Some(Data::Bitstring(number(translated))),
                }
            }
            Some(TypeSpec::Enum(name)) => {
                let members = types.enums.get(&name.name).map(|e| e.members.as_slice()).unwrap_or_default();
                let at = values.next().and_then(|(bits, _)| usize::try_from(bits).ok());
                at.and_then(|at| members.get(at)).map(|m| Data::Enum(m.name.clone()))
            }
            Some(TypeSpec::Error(_)) => {
                let at = values.next().and_then(|(bits, _)| usize::try_from(bits).ok());
                let name = types.error.as_ref().and_then(|e| e.members.get(at?));
                name.map(|name| Data::Error(name.clone()))
            }
            Some(TypeSpec::Struct(name)) => {
                let members = types.structs.get(&name.name).map(|s| s.members.as_slice()).unwrap_or_default();
                let members = members.iter().map(|m| self.typed(m.type_spec.as_ref(), types, values, depth + 1));
                Some(Data::Struct(v1::P4StructLike { members: members.collect() }))
            }
            Some(TypeSpec::Tuple(tuple)) => {
                let members = tuple.members.iter().map(|m| self.typed(Some(m), types, values, depth + 1)).collect();
                Some(Data::Tuple(v1::P4StructLike { members }))
            }
            Some(TypeSpec::Bitstring(p4::P4BitstringLikeTypeSpec { type_spec: Some(Bits::Varbit(_)), .. })) => {
                values.next().map(|(bits, width)| {
                    Data::Varbit(v1::P4Varbit { bitstring: bytes::of(bits), bitwidth: *width as i32 })
                })
            }
            Some(TypeSpec::Bitstring(_)) => Some(Data::Bitstring(number(None))),
            // Unknown types: all scalars as numbers.
            _ => {
                let members = values.map(|(bits, _)| v1::P4Data { data: Some(Data::Bitstring(bytes::of(bits))) });
                Some(Data::Tuple(v1::P4StructLike { members: members.collect() }))
            }
        };
        v1::P4Data { data }
    }
}
