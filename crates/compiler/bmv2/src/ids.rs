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
            let id = P4Id::of_name(kind, &name, |id| taken.insert(id));
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
