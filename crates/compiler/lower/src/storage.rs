//! Storage: maps variables of any type to slots, headers, stacks and unions, and finds the parts of these.

use std::rc::Rc;

use hopwright_sema::hir;
use hopwright_source::Span;

use crate::{Lowering, Result};
use hopwright_ir::{Expr, Header, HeaderField, HeaderId, Slot, SlotId, SlotKind, Stack, StackId, Type, Union, UnionId};

/// The storage of a value of some type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A scalar.
    Scalar(SlotId),
    /// Members of a struct or tuple, or elements of an array that is not a stack.
    Struct(Rc<[Place]>),
    /// A header.
    Header(HeaderId),
    /// A header union.
    Union(UnionId),
    /// A header stack.
    Stack(StackId),
    /// A stack of header unions. The IR knows only its headers.
    Unions(Rc<UnionStack>),
}

/// A stack of header unions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnionStack {
    /// Elements.
    pub unions: Vec<UnionId>,
    /// `nextIndex`.
    pub next: SlotId,
}

/// The location of an lvalue: a place, or one of several selected by a run-time index.
#[derive(Clone, Debug)]
pub(crate) enum Loc {
    /// A place known at compile time.
    Place(Place),
    /// The option number `index` (a pure expression). If it is out of range, reads return zero and writes do nothing.
    Select { index: Expr, options: Rc<[Loc]> },
}

/// The purpose of new slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// User metadata and headers of the pipeline.
    Metadata,
    /// Variables of parsers, controls and functions; temporaries.
    Local,
}

impl Lowering<'_> {
    /// Returns the IR type of a scalar; `None` for other types.
    pub(crate) fn scalar_type(&self, ty: &hir::Type) -> Option<Type> {
        Some(match ty {
            hir::Type::Bool => Type::Bool,
            hir::Type::Bits(w) => Type::Bits(*w),
            hir::Type::Int(w) => Type::Int(*w),
            hir::Type::Varbit(w) => Type::Varbit(*w),
            hir::Type::Error => Type::Bits(16),
            hir::Type::Enum(id) => match &self.program[*id].underlying {
                Some(underlying) => return self.scalar_type(underlying),
                None => Type::Bits(32),
            },
            _ => return None,
        })
    }

    /// Creates a slot with a unique name.
    pub(crate) fn new_slot(&mut self, name: &str, ty: Type, kind: SlotKind, span: Span) -> SlotId {
        let name = self.unique(name);
        let id = SlotId(self.slots.len() as u32);
        self.slots.push(Slot { name, ty, kind, span });
        id
    }

    /// Creates a temporary.
    pub(crate) fn temp(&mut self, ty: Type, span: Span) -> SlotId {
        let name = format!("{}.$tmp", self.scope);
        self.new_slot(&name, ty, SlotKind::Local, span)
    }

    /// Returns `name`, or `name$2` and so on if it is taken.
    pub(crate) fn unique(&mut self, name: &str) -> String {
        let uses = self.names.entry(name.to_string()).or_insert(0);
        *uses += 1;
        match *uses {
            1 => name.to_string(),
            n => format!("{name}${n}"),
        }
    }

    /// Allocates storage for a variable.
    pub(crate) fn alloc(&mut self, ty: &hir::Type, name: &str, purpose: Purpose, span: Span) -> Result<Place> {
        if let Some(scalar) = self.scalar_type(ty) {
            let kind = match purpose {
                Purpose::Metadata => SlotKind::Metadata,
                Purpose::Local => SlotKind::Local,
            };
            return Ok(Place::Scalar(self.new_slot(name, scalar, kind, span)));
        }
        match ty {
            hir::Type::Struct(id) => {
                let fields = &self.program[*id].fields;
                let places: Result<Vec<Place>> =
                    fields.iter().map(|f| self.alloc(&f.ty, &format!("{name}.{}", f.name), purpose, f.span)).collect();
                Ok(Place::Struct(places?.into()))
            }
            hir::Type::Tuple(types) => {
                let places: Result<Vec<Place>> = types
                    .iter()
                    .enumerate()
                    .map(|(i, t)| self.alloc(t, &format!("{name}.f{i}"), purpose, span))
                    .collect();
                Ok(Place::Struct(places?.into()))
            }
            hir::Type::Header(id) => Ok(Place::Header(self.alloc_header(*id, name, None, None, span)?)),
            hir::Type::Union(id) => self.alloc_union(*id, name, span),
            hir::Type::Stack(element, size) => match **element {
                hir::Type::Union(union) => self.alloc_union_stack(union, *size, name, purpose, span),
                hir::Type::Header(header) => self.alloc_stack(header, *size, name, span),
                _ => {
                    let places: Result<Vec<Place>> =
                        (0..*size).map(|i| self.alloc(element, &format!("{name}[{i}]"), purpose, span)).collect();
                    Ok(Place::Struct(places?.into()))
                }
            },
            other => Err(self.unsupported(span, format!("a variable of type {}", self.type_name(other)))),
        }
    }

    fn alloc_union(&mut self, ty: hir::StructId, name: &str, span: Span) -> Result<Place> {
        let id = UnionId(self.unions.len() as u32);
        self.unions.push(Union { name: name.to_string(), members: Vec::new(), span });
        self.union_types.push(ty);
        let program = self.program;
        let mut members = Vec::new();
        for f in &program[ty].fields {
            let hir::Type::Header(header) = f.ty else {
                return Err(self.unsupported(f.span, "a header union member that is no header"));
            };
            members.push(self.alloc_header(header, &format!("{name}.{}", f.name), None, Some(id), f.span)?);
        }
        self.unions[id.index()].members = members;
        Ok(Place::Union(id))
    }

    fn alloc_union_stack(
        &mut self,
        union: hir::StructId,
        size: u32,
        name: &str,
        purpose: Purpose,
        span: Span,
    ) -> Result<Place> {
        let kind = match purpose {
            Purpose::Metadata => SlotKind::Metadata,
            Purpose::Local => SlotKind::Local,
        };
        let next = self.new_slot(&format!("{name}.$nextIndex"), Type::Bits(32), kind, span);
        let mut unions = Vec::new();
        for i in 0..size {
            if let Place::Union(id) = self.alloc_union(union, &format!("{name}[{i}]"), span)? {
                unions.push(id);
            }
        }
        Ok(Place::Unions(Rc::new(UnionStack { unions, next })))
    }

    fn alloc_stack(&mut self, header: hir::StructId, size: u32, name: &str, span: Span) -> Result<Place> {
        let id = StackId(self.stacks.len() as u32);
        let name = &self.unique(name);
        let next_index = self.new_slot(&format!("{name}.$nextIndex"), Type::Bits(32), SlotKind::NextIndex(id), span);
        self.stacks.push(Stack { name: name.to_string(), elements: Vec::new(), next_index, span });
        let elements: Result<Vec<HeaderId>> =
            (0..size).map(|i| self.alloc_header(header, &format!("{name}[{i}]"), Some((id, i)), None, span)).collect();
        self.stacks[id.index()].elements = elements?;
        Ok(Place::Stack(id))
    }

    fn alloc_header(
        &mut self,
        ty: hir::StructId,
        name: &str,
        stack: Option<(StackId, u32)>,
        union: Option<UnionId>,
        span: Span,
    ) -> Result<HeaderId> {
        let id = HeaderId(self.headers.len() as u32);
        let program = self.program;
        let name = &self.unique(name);
        let valid = self.new_slot(&format!("{name}.$valid"), Type::Bool, SlotKind::Valid(id), span);
        self.headers.push(Header {
            name: name.to_string(),
            type_name: program[ty].name.clone(),
            fields: Vec::new(),
            valid,
            fixed_bits: 0,
            varbit: None,
            stack,
            union,
            span,
        });
        self.header_types.push(ty);
        self.header_places.push(Rc::from([]));
        let mut wire = Wire { header: id, header_name: name, fields: Vec::new(), bits: 0, varbit: None };
        let places: Result<Vec<Place>> =
            program[ty].fields.iter().map(|f| self.alloc_field(&mut wire, &f.ty, &f.name, f.span)).collect();
        self.header_places[id.index()] = places?.into();
        let short = wire.bits % 8;
        if short != 0 && self.is_tofino() && self.is_flexible(ty) {
            // Only programs of one compiler exchange such headers.
            self.alloc_field(&mut wire, &hir::Type::Bits(8 - short), "padding", span)?;
        }
        let Wire { fields, bits, varbit, .. } = wire;
        let header = &mut self.headers[id.index()];
        header.fields = fields;
        header.fixed_bits = bits;
        header.varbit = varbit;
        Ok(id)
    }

    /// Whether the layout of a struct or header is left to the compiler: a member has `@flexible`.
    fn is_flexible(&self, ty: hir::StructId) -> bool {
        let flexible = |annotations: &[hir::Annotation]| annotations.iter().any(|a| a.name == "flexible");
        let declared = &self.program[ty];
        flexible(&declared.annotations)
            || declared.fields.iter().any(|f| {
                flexible(&f.annotations) || matches!(f.ty, hir::Type::Struct(inner) if self.is_flexible(inner))
            })
    }

    /// Lays out a header member after the previous ones. A struct member is replaced by its own members.
    fn alloc_field(&mut self, wire: &mut Wire<'_>, ty: &hir::Type, name: &str, span: Span) -> Result<Place> {
        if let hir::Type::Struct(id) = ty {
            let program = self.program;
            let places: Result<Vec<Place>> = program[*id]
                .fields
                .iter()
                .map(|f| self.alloc_field(wire, &f.ty, &format!("{name}.{}", f.name), f.span))
                .collect();
            return Ok(Place::Struct(places?.into()));
        }
        if let hir::Type::Stack(element, size) = ty {
            let places: Result<Vec<Place>> =
                (0..*size).map(|i| self.alloc_field(wire, element, &format!("{name}[{i}]"), span)).collect();
            return Ok(Place::Struct(places?.into()));
        }
        let Some(scalar) = self.scalar_type(ty) else {
            return Err(self.unsupported(span, format!("a header member of type {}", self.type_name(ty))));
        };
        let index = wire.fields.len() as u32;
        let slot =
            self.new_slot(&format!("{}.{name}", wire.header_name), scalar, SlotKind::Field(wire.header, index), span);
        wire.fields.push(HeaderField { slot, name: name.to_string(), offset_bits: wire.bits, width: scalar.width() });
        if matches!(scalar, Type::Varbit(_)) {
            if wire.varbit.is_some() {
                return Err(self.unsupported(span, "a second varbit member of a header"));
            }
            wire.varbit = Some(index);
        } else {
            wire.bits += scalar.width();
        }
        Ok(Place::Scalar(slot))
    }

    /// Returns member `index` of a place.
    pub(crate) fn place_field(&self, place: &Place, index: usize) -> Option<Place> {
        match place {
            Place::Struct(places) => places.get(index).cloned(),
            Place::Header(h) => self.header_places[h.index()].get(index).cloned(),
            Place::Union(u) => self.unions[u.index()].members.get(index).map(|&h| Place::Header(h)),
            Place::Scalar(_) | Place::Stack(_) | Place::Unions(_) => None,
        }
    }

    /// Returns member `index` of a location.
    pub(crate) fn loc_field(&self, loc: &Loc, index: usize) -> Option<Loc> {
        match loc {
            Loc::Place(place) => self.place_field(place, index).map(Loc::Place),
            Loc::Select { index: i, options } => {
                let options: Option<Vec<Loc>> = options.iter().map(|o| self.loc_field(o, index)).collect();
                Some(Loc::Select { index: i.clone(), options: options?.into() })
            }
        }
    }

    /// Returns the elements of a stack or another array; none for other places.
    pub(crate) fn elements(&self, place: &Place) -> Vec<Place> {
        match place {
            Place::Stack(s) => self.stacks[s.index()].elements.iter().map(|&h| Place::Header(h)).collect(),
            Place::Unions(stack) => stack.unions.iter().map(|&u| Place::Union(u)).collect(),
            Place::Struct(places) => places.to_vec(),
            _ => Vec::new(),
        }
    }

    /// Returns the `nextIndex` of a stack.
    pub(crate) fn next_index(&self, place: &Place) -> Option<SlotId> {
        match place {
            Place::Stack(s) => Some(self.stacks[s.index()].next_index),
            Place::Unions(stack) => Some(stack.next),
            _ => None,
        }
    }

    /// Returns the type of a header, header union, or stack of these; `void` for other places.
    pub(crate) fn headers_type(&self, place: &Place) -> hir::Type {
        match place {
            Place::Header(h) => hir::Type::Header(self.header_types[h.index()]),
            Place::Union(u) => hir::Type::Union(self.union_types[u.index()]),
            Place::Stack(_) | Place::Unions(_) => {
                let elements = self.elements(place);
                let element = elements.first().map_or(hir::Type::Void, |e| self.headers_type(e));
                hir::Type::Stack(Rc::new(element), elements.len() as u32)
            }
            Place::Scalar(_) | Place::Struct(_) => hir::Type::Void,
        }
    }

    /// Collects the headers in a place, in order.
    pub(crate) fn headers_in(&self, place: &Place, out: &mut Vec<HeaderId>) {
        match place {
            Place::Scalar(_) => {}
            Place::Struct(places) => places.iter().for_each(|p| self.headers_in(p, out)),
            Place::Header(h) => out.push(*h),
            Place::Union(u) => out.extend(&self.unions[u.index()].members),
            Place::Stack(s) => out.extend(&self.stacks[s.index()].elements),
            Place::Unions(s) => s.unions.iter().for_each(|u| out.extend(&self.unions[u.index()].members)),
        }
    }

    /// Collects all slots of a place: scalars, validity bits, stack indices.
    pub(crate) fn slots_in(&self, place: &Place, out: &mut Vec<SlotId>) {
        match place {
            Place::Scalar(slot) => out.push(*slot),
            Place::Struct(places) => places.iter().for_each(|p| self.slots_in(p, out)),
            Place::Header(_) | Place::Union(_) | Place::Stack(_) | Place::Unions(_) => {
                out.extend(self.next_index(place));
                let mut headers = Vec::new();
                self.headers_in(place, &mut headers);
                for h in headers {
                    out.push(self.headers[h.index()].valid);
                    out.extend(self.headers[h.index()].fields.iter().map(|f| f.slot));
                }
            }
        }
    }

    /// Collects the scalars of a place in declaration order, including header members but not validity bits.
    pub(crate) fn scalars_in(&self, place: &Place, out: &mut Vec<SlotId>) {
        match place {
            Place::Scalar(slot) => out.push(*slot),
            Place::Struct(places) => places.iter().for_each(|p| self.scalars_in(p, out)),
            Place::Header(_) | Place::Union(_) | Place::Stack(_) | Place::Unions(_) => {
                let mut headers = Vec::new();
                self.headers_in(place, &mut headers);
                for h in headers {
                    out.extend(self.headers[h.index()].fields.iter().map(|f| f.slot));
                }
            }
        }
    }

    /// Returns a type as written in the source, for messages.
    pub(crate) fn type_name(&self, ty: &hir::Type) -> String {
        match ty {
            hir::Type::Bool => "bool".into(),
            hir::Type::Bits(w) => format!("bit<{w}>"),
            hir::Type::Int(w) => format!("int<{w}>"),
            hir::Type::InfInt => "int".into(),
            hir::Type::Varbit(w) => format!("varbit<{w}>"),
            hir::Type::String => "string".into(),
            hir::Type::Error => "error".into(),
            hir::Type::MatchKind => "match_kind".into(),
            hir::Type::Void => "void".into(),
            hir::Type::Enum(id) => self.program[*id].name.clone(),
            hir::Type::Struct(id) | hir::Type::Header(id) | hir::Type::Union(id) => self.program[*id].name.clone(),
            hir::Type::Stack(element, n) => format!("{}[{n}]", self.type_name(element)),
            hir::Type::Tuple(types) => {
                let names: Vec<String> = types.iter().map(|t| self.type_name(t)).collect();
                format!("tuple<{}>", names.join(", "))
            }
            hir::Type::Extern(name) => name.clone(),
        }
    }
}

/// A header whose members are being laid out.
struct Wire<'a> {
    header: HeaderId,
    header_name: &'a str,
    fields: Vec<HeaderField>,
    bits: u32,
    varbit: Option<u32>,
}
