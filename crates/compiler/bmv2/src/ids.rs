//! P4Runtime ids, as p4c makes them from names.

use std::collections::{BTreeSet, HashMap};

use hopwright_ir::{ControlPlaneObject, ExternFn, P4Id, P4Kind, Pipeline, StmtKind, walk};

/// Gives ids to the objects of a pipeline.
pub(crate) fn assign(p: &mut Pipeline) {
    let mut named: BTreeSet<(P4Kind, String)> = BTreeSet::new();
    named.extend(p.tables.iter().map(|table| (P4Kind::Table, table.name.clone())));
    named.extend(p.actions.iter().map(|action| (P4Kind::Action, action.name.clone())));
    named.extend(p.value_sets.iter().map(|set| (P4Kind::ValueSet, set.name.clone())));
    named.extend(p.externs.iter().filter_map(|object| Some((object.kind.p4_kind()?, object.name.clone()))));
    let mut digests = BTreeSet::new();
    walk::all_stmts(p, &mut |stmt| {
        if let StmtKind::Extern(call) = &stmt.kind
            && let ExternFn::Digest(name) = &call.function
        {
            digests.insert(name.clone());
        }
    });
    named.extend(digests.iter().map(|name| (P4Kind::Digest, name.clone())));
    // What only the reader has names of their own for is not for controllers.
    named.retain(|(_, name)| !name.contains('$'));
    let mut taken = BTreeSet::new();
    let ids: HashMap<(P4Kind, String), P4Id> = named
        .into_iter()
        .map(|(kind, name)| {
            let id = id_of_name(kind, &name, &mut |id| taken.insert(id));
            ((kind, name), id)
        })
        .collect();
    let id = |kind: P4Kind, name: &str| ids.get(&(kind, name.to_string())).copied();
    p.tables.iter_mut().for_each(|table| table.id = id(P4Kind::Table, &table.name));
    p.actions.iter_mut().for_each(|action| action.id = id(P4Kind::Action, &action.name));
    p.value_sets.iter_mut().for_each(|set| set.id = id(P4Kind::ValueSet, &set.name));
    for object in &mut p.externs {
        object.id = object.kind.p4_kind().and_then(|kind| id(kind, &object.name));
    }
    let digest = |name: String| Some(ControlPlaneObject { kind: P4Kind::Digest, id: id(P4Kind::Digest, &name)?, name });
    p.control_plane_objects = digests.into_iter().filter_map(digest).collect();
}

/// The id of an object: a hash of its full name, or the next number that is free. `take` takes an id, and returns whether it was free.
fn id_of_name(kind: P4Kind, name: &str, take: &mut dyn FnMut(P4Id) -> bool) -> P4Id {
    const NUMBER: u32 = 0x00ff_ffff;
    let prefix = (kind as u32) << 24;
    let mut number = jenkins(name) & NUMBER;
    while number == 0 || !take(P4Id(prefix | number)) {
        number = number.wrapping_add(1) & NUMBER;
    }
    P4Id(prefix | number)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids found in public P4Info files made by p4c.
    #[test]
    fn ids_are_those_of_p4c() {
        let cases = [
            (P4Kind::Table, "MyIngress.ipv4_lpm", 37375156),
            (P4Kind::Action, "MyIngress.ipv4_forward", 28792405),
            (P4Kind::Action, "NoAction", 21257015),
        ];
        for (kind, name, id) in cases {
            assert_eq!(id_of_name(kind, name, &mut |_| true), P4Id(id), "{name}");
        }
    }
}
