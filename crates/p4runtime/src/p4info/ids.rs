//! Ids and aliases of P4 objects, as p4c assigns them, so that clients and files made with it keep working.
//!
//! An id is the object's kind in the highest byte and a hash of its full name in the others (P4Runtime 6.3.9 leaves the
//! choice to the compiler).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use hopwright_sema::hir::Annotation;

use super::{P4InfoError, annotations};

/// Kinds of objects, numbered as the first byte of their ids (P4Runtime 6.3.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Kind {
    Action = 0x01,
    Table = 0x02,
    ValueSet = 0x03,
    ControllerHeader = 0x04,
    ActionProfile = 0x11,
    Counter = 0x12,
    DirectCounter = 0x13,
    Meter = 0x14,
    DirectMeter = 0x15,
    Register = 0x16,
    Digest = 0x17,
}

impl Kind {
    /// For messages.
    fn words(self) -> &'static str {
        match self {
            Kind::Action => "action",
            Kind::Table => "table",
            Kind::ValueSet => "value set",
            Kind::ControllerHeader => "controller header",
            Kind::ActionProfile => "action profile",
            Kind::Counter => "counter",
            Kind::DirectCounter => "direct counter",
            Kind::Meter => "meter",
            Kind::DirectMeter => "direct meter",
            Kind::Register => "register",
            Kind::Digest => "digest",
        }
    }
}

/// Bits of an id that are not its kind.
const NUMBER: u32 = 0x00ff_ffff;

/// Bob Jenkins' one-at-a-time hash.
fn jenkins(name: &str) -> u32 {
    let mut hash = 0u32;
    for byte in name.bytes() {
        hash = hash.wrapping_add(u32::from(byte));
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

/// The objects of a program by name, then their ids and aliases.
#[derive(Debug, Default)]
pub struct Names {
    /// By kind and name: the id the source asks for.
    wanted: BTreeMap<Kind, BTreeMap<String, Option<u32>>>,
    ids: HashMap<(Kind, String), u32>,
    aliases: HashMap<String, String>,
}

impl Names {
    /// Adds an object with the id that its `@id` asks for.
    ///
    /// # Errors
    /// An `@id` that is no number of 32 bits, or a name that another object of the kind has.
    pub fn add(&mut self, kind: Kind, name: &str, annotated: &[Annotation]) -> Result<(), P4InfoError> {
        let id = annotations::id(annotated, name)?;
        match self.wanted.entry(kind).or_default().insert(name.to_string(), id) {
            None => Ok(()),
            Some(_) => Err(P4InfoError::DuplicateName { kind: kind.words(), name: name.to_string() }),
        }
    }

    /// Assigns ids and aliases to all objects that were added.
    ///
    /// # Errors
    /// An `@id` that is of another kind, or given twice.
    pub fn assign(&mut self) -> Result<(), P4InfoError> {
        for (kind, names) in &self.wanted {
            let prefix = u32::from(*kind as u8) << 24;
            let mut taken = HashSet::new();
            for (name, id) in names {
                let Some(id) = *id else { continue };
                if id >> 24 != 0 && id & !NUMBER != prefix {
                    return Err(P4InfoError::WrongId { name: name.clone(), id, prefix: *kind as u8 });
                }
                let id = prefix | id & NUMBER;
                if id & NUMBER == 0 || !taken.insert(id) {
                    return Err(P4InfoError::DuplicateId { name: name.clone(), id });
                }
                self.ids.insert((*kind, name.clone()), id);
            }
            for name in names.iter().filter(|(_, id)| id.is_none()).map(|(name, _)| name) {
                let mut number = jenkins(name) & NUMBER;
                while number == 0 || !taken.insert(prefix | number) {
                    number = number.wrapping_add(1) & NUMBER;
                }
                self.ids.insert((*kind, name.clone()), prefix | number);
            }
        }
        let all: BTreeSet<&String> = self.wanted.values().flat_map(|names| names.keys()).collect();
        let mut suffixes: HashMap<&str, u32> = HashMap::new();
        for name in &all {
            for suffix in suffixes_of(name) {
                *suffixes.entry(suffix).or_default() += 1;
            }
        }
        for name in all {
            let alias = suffixes_of(name).find(|suffix| suffixes[suffix] == 1).unwrap_or(name);
            self.aliases.insert(name.clone(), alias.to_string());
        }
        Ok(())
    }

    /// The id of an object, zero if it was not added.
    pub fn id(&self, kind: Kind, name: &str) -> u32 {
        self.ids.get(&(kind, name.to_string())).copied().unwrap_or_default()
    }

    /// The shortest suffix after a dot that no other object has.
    pub fn alias(&self, name: &str) -> String {
        self.aliases.get(name).cloned().unwrap_or_else(|| name.to_string())
    }
}

/// `c`, `b.c`, `a.b.c` of `a.b.c`.
fn suffixes_of(name: &str) -> impl Iterator<Item = &str> {
    name.rmatch_indices('.').map(|(at, _)| &name[at + 1..]).chain([name])
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwright_sema::hir::{AnnotationArg, AnnotationForm};
    use hopwright_syntax::Span;

    fn id(number: u32) -> Annotation {
        let form = AnnotationForm::Free(vec![number.to_string()]);
        Annotation { name: "id".into(), args: vec![AnnotationArg::Int(number.into())], form, span: Span::none() }
    }

    /// Ids found in public P4Info files made by p4c.
    #[test]
    fn ids_of_p4c() {
        let cases = [
            (Kind::Table, "MyIngress.ipv4_lpm", 37375156),
            (Kind::Action, "MyIngress.ipv4_forward", 28792405),
            (Kind::Action, "MyIngress.drop", 25652968),
            (Kind::Action, "MyIngress.myTunnel_ingress", 24181246),
            (Kind::Action, "NoAction", 21257015),
            (Kind::ControllerHeader, "packet_in_header_t", 81826293),
            (Kind::ControllerHeader, "packet_out_header_t", 76689799),
        ];
        let mut names = Names::default();
        for (kind, name, _) in cases {
            names.add(kind, name, &[]).unwrap();
        }
        names.assign().unwrap();
        for (kind, name, id) in cases {
            assert_eq!(names.id(kind, name), id, "{name}");
        }
    }

    #[test]
    fn ids_of_the_source() {
        let mut names = Names::default();
        names.add(Kind::Table, "a", &[id(7)]).unwrap();
        names.add(Kind::Table, "b", &[id(0x0200_0008)]).unwrap();
        names.assign().unwrap();
        assert_eq!((names.id(Kind::Table, "a"), names.id(Kind::Table, "b")), (0x0200_0007, 0x0200_0008));

        names.add(Kind::Table, "c", &[id(8)]).unwrap();
        assert!(matches!(names.assign(), Err(P4InfoError::DuplicateId { .. })));
        let mut names = Names::default();
        names.add(Kind::Action, "a", &[id(0x0200_0001)]).unwrap();
        assert!(matches!(names.assign(), Err(P4InfoError::WrongId { .. })));
    }

    #[test]
    fn aliases_are_the_shortest_unique_suffixes() {
        let mut names = Names::default();
        for name in ["A.x.t", "B.x.t", "B.u", "v"] {
            names.add(Kind::Table, name, &[]).unwrap();
        }
        names.add(Kind::Action, "C.u", &[]).unwrap();
        names.assign().unwrap();
        let aliases = ["A.x.t", "B.x.t", "B.u", "C.u", "v"].map(|n| names.alias(n));
        assert_eq!(aliases, ["A.x.t", "B.x.t", "B.u", "C.u", "v"]);
        let mut names = Names::default();
        names.add(Kind::Table, "A.x.t", &[]).unwrap();
        names.add(Kind::Action, "A.x.u", &[]).unwrap();
        names.assign().unwrap();
        assert_eq!((names.alias("A.x.t"), names.alias("A.x.u")), ("t".into(), "u".into()));
    }
}
