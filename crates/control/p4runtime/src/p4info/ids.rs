//! Names of P4 objects: their ids, which the pipeline carries, and their aliases, as p4c makes them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hopwright_ir::{P4Kind, Pipeline};

use super::error::P4InfoError;

/// The objects of a program by name, then their ids and aliases.
#[derive(Debug, Default)]
pub(super) struct Names {
    listed: BTreeMap<P4Kind, BTreeSet<String>>,
    ids: HashMap<(P4Kind, String), u32>,
    aliases: HashMap<String, String>,
}

impl Names {
    /// The ids of a pipeline's objects; no object is listed yet.
    pub(super) fn of(pipeline: &Pipeline) -> Names {
        let ids = pipeline.p4_ids().map(|(kind, name, id)| ((kind, name.to_string()), id.0)).collect();
        Names { ids, ..Names::default() }
    }

    /// Adds an object that P4Info lists.
    ///
    /// # Errors
    /// If another object of the kind has the name.
    pub(super) fn add(&mut self, kind: P4Kind, name: &str) -> Result<(), P4InfoError> {
        match self.listed.entry(kind).or_default().insert(name.to_string()) {
            true => Ok(()),
            false => Err(P4InfoError::DuplicateName { kind: kind.words(), name: name.to_string() }),
        }
    }

    /// Finds aliases for all objects that were added.
    pub(super) fn assign(&mut self) {
        let all: BTreeSet<&String> = self.listed.values().flatten().collect();
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
    }

    /// The id of an object, zero if it has none.
    pub(super) fn id(&self, kind: P4Kind, name: &str) -> u32 {
        self.ids.get(&(kind, name.to_string())).copied().unwrap_or_default()
    }

    /// The shortest suffix after a dot that no other object has.
    pub(super) fn alias(&self, name: &str) -> String {
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

    #[test]
    fn aliases_are_the_shortest_unique_suffixes() {
        let mut names = Names::default();
        for name in ["A.x.t", "B.x.t", "B.u", "v"] {
            names.add(P4Kind::Table, name).unwrap();
        }
        names.add(P4Kind::Action, "C.u").unwrap();
        assert!(matches!(names.add(P4Kind::Action, "C.u"), Err(P4InfoError::DuplicateName { .. })));
        names.assign();
        let aliases = ["A.x.t", "B.x.t", "B.u", "C.u", "v"].map(|n| names.alias(n));
        assert_eq!(aliases, ["A.x.t", "B.x.t", "B.u", "C.u", "v"]);
        let mut names = Names::default();
        names.add(P4Kind::Table, "A.x.t").unwrap();
        names.add(P4Kind::Action, "A.x.u").unwrap();
        names.assign();
        assert_eq!((names.alias("A.x.t"), names.alias("A.x.u")), ("t".into(), "u".into()));
    }
}
