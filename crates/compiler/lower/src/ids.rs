//! P4Runtime ids of a program's objects. They are assigned as p4c does, so that clients and files made with p4c keep
//! working.
//!
//! The highest byte of an id is the object's kind. The other bytes are given by `@id`, or else are a hash of the
//! object's full name (P4Runtime 6.3.9 leaves this choice to the compiler). Only objects that the package reaches have
//! an id.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use hopwright_ir::{ControlPlaneObject, ExternFn, P4Id, P4Kind, Pipeline, StmtKind, walk};
use hopwright_sema::hir::{Annotation, TypedProgram};
use hopwright_sema::reached::Reached;
use hopwright_source::Span;

use crate::Lowering;

/// An invalid `@id`.
#[derive(Debug)]
struct WrongId {
    span: Span,
    message: String,
}

/// The objects of a program by kind and name, with the ids that their `@id` annotations specify. Of several objects
/// with the same name, the first one counts.
#[derive(Debug, Default)]
struct Objects {
    by_kind: BTreeMap<P4Kind, BTreeMap<String, Option<(u32, Span)>>>,
    /// What names begin with if there are several programs. Each may use an id that another one uses: objects whose names come later
    /// have one as without `@id`.
    programs: BTreeSet<String>,
}

impl Objects {
    /// Adds an object with the id that its `@id` annotation specifies, if any.
    fn add(&mut self, kind: P4Kind, name: &str, annotations: &[Annotation]) -> Result<(), WrongId> {
        let wanted = match Annotation::id_of(annotations) {
            Ok(wanted) => wanted,
            Err(span) => return Err(WrongId { span, message: format!("`{name}`: @id takes a number of 32 bits") }),
        };
        self.by_kind.entry(kind).or_default().entry(name.to_string()).or_insert(wanted);
        Ok(())
    }

    /// Returns the ids of all objects.
    fn assign(&self) -> Result<HashMap<(P4Kind, &str), P4Id>, WrongId> {
        let mut ids = HashMap::new();
        for (kind, names) in &self.by_kind {
            let prefix = u32::from(*kind as u8) << 24;
            let mut taken: HashMap<P4Id, Option<&str>> = HashMap::new();
            let mut others: Vec<&str> = Vec::new();
            for (name, wanted) in names {
                let Some((wanted, span)) = *wanted else {
                    others.push(name);
                    continue;
                };
                let id = P4Id(prefix | wanted & P4Id::NUMBER);
                if wanted >> 24 != 0 && wanted & !P4Id::NUMBER != prefix {
                    let what = kind.words();
                    let message = format!(
                        "`{name}`: @id({wanted:#x}) is of another kind: ids of {what}s begin with {:#04x}",
                        *kind as u8
                    );
                    return Err(WrongId { span, message });
                }
                let program = self.program_of(name);
                if program.is_some() && taken.get(&id).is_some_and(|other| other.is_some() && *other != program) {
                    others.push(name);
                    continue;
                }
                if !id.is_of(*kind) || taken.insert(id, program).is_some() {
                    let message = format!("`{name}`: @id({wanted:#x}) is used twice, or zero");
                    return Err(WrongId { span, message });
                }
                ids.insert((*kind, name.as_str()), id);
            }
            for name in others {
                let id = P4Id::of_name(*kind, name, |id| taken.insert(id, None).is_none());
                ids.insert((*kind, name), id);
            }
        }
        Ok(ids)
    }

    /// The one of several programs that has an object of this name.
    fn program_of<'n>(&self, name: &'n str) -> Option<&'n str> {
        let (program, _) = name.split_once('.')?;
        self.programs.contains(program).then_some(program)
    }
}

impl Lowering<'_> {
    /// Assigns ids to the objects of the pipeline.
    pub(crate) fn assign_ids(&mut self, pipeline: &mut Pipeline) {
        let named = Objects::of(self.program, pipeline);
        let assigned = named
            .as_ref()
            .map_err(|e| (e.span, e.message.clone()))
            .and_then(|objects| objects.assign().map_err(|e| (e.span, e.message)));
        let ids = match assigned {
            Ok(ids) => ids,
            Err((span, message)) => {
                self.refuse(span, "E0460", message);
                return;
            }
        };
        let id = |kind: P4Kind, name: &str| ids.get(&(kind, name)).copied();
        pipeline.tables.iter_mut().for_each(|t| t.id = id(P4Kind::Table, &t.name));
        pipeline.actions.iter_mut().for_each(|a| a.id = id(P4Kind::Action, &a.name));
        pipeline.value_sets.iter_mut().for_each(|v| v.id = id(P4Kind::ValueSet, &v.name));
        pipeline.externs.iter_mut().for_each(|e| e.id = e.kind.p4_kind().and_then(|kind| id(kind, &e.name)));
        let known: HashSet<P4Id> = pipeline.p4_ids().map(|(_, _, id)| id).collect();
        let mut others: Vec<ControlPlaneObject> = ids
            .iter()
            .filter(|(_, id)| !known.contains(id))
            .map(|(&(kind, name), &id)| ControlPlaneObject { kind, name: name.to_string(), id })
            .collect();
        others.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
        pipeline.control_plane_objects = others;
    }
}

impl Objects {
    /// Collects the objects of a program that a control plane can access.
    fn of(program: &TypedProgram, pipeline: &Pipeline) -> Result<Objects, WrongId> {
        let reached = Reached::new(program);
        // The names of pipelines of several programs begin with those of the programs.
        let programs = program.main.pipelines.iter().filter_map(|name| name.rsplit_once('.'));
        let programs = programs.map(|(program, _)| program.to_string()).collect();
        let mut objects = Objects { programs, ..Objects::default() };
        for (action, _) in reached.actions(program) {
            objects.add(P4Kind::Action, &action.control_plane_name, &action.annotations)?;
        }
        for table in reached.tables.iter().map(|t| &program[*t]) {
            objects.add(P4Kind::Table, &table.control_plane_name, &table.annotations)?;
        }
        for set in &program.value_sets {
            objects.add(P4Kind::ValueSet, &set.name, &set.annotations)?;
        }
        for (header, _) in program.controller_headers() {
            objects.add(P4Kind::ControllerHeader, &header.control_plane_name, &header.annotations)?;
        }
        for (object, instance) in program.objects.iter().zip(&pipeline.externs) {
            if let Some(kind) = instance.kind.p4_kind() {
                objects.add(kind, &object.name, &object.annotations)?;
            }
        }
        // Those that the architecture has, not the program.
        for instance in pipeline.externs.iter().skip(program.objects.len()) {
            if let Some(kind) = instance.kind.p4_kind() {
                objects.add(kind, &instance.name, &[])?;
            }
        }
        let mut digests = BTreeSet::new();
        walk::all_stmts(pipeline, &mut |stmt| {
            if let StmtKind::Extern(call) = &stmt.kind
                && let ExternFn::Digest(name) = &call.function
            {
                digests.insert(name.as_str());
            }
        });
        digests.into_iter().try_for_each(|digest| objects.add(P4Kind::Digest, digest, &[]))?;
        Ok(objects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwright_sema::hir::{AnnotationArg, AnnotationForm};

    fn id(number: u32) -> Annotation {
        let form = AnnotationForm::Free(vec![number.to_string()]);
        Annotation { name: "id".into(), args: vec![AnnotationArg::Int(number.into())], form, span: Span::none() }
    }

    /// Ids found in public P4Info files made by p4c.
    #[test]
    fn ids_of_p4c() {
        let cases = [
            (P4Kind::Table, "MyIngress.ipv4_lpm", 37375156),
            (P4Kind::Action, "MyIngress.ipv4_forward", 28792405),
            (P4Kind::Action, "MyIngress.drop", 25652968),
            (P4Kind::Action, "MyIngress.myTunnel_ingress", 24181246),
            (P4Kind::Action, "NoAction", 21257015),
            (P4Kind::ControllerHeader, "packet_in_header_t", 81826293),
            (P4Kind::ControllerHeader, "packet_out_header_t", 76689799),
        ];
        let mut objects = Objects::default();
        for (kind, name, _) in cases {
            objects.add(kind, name, &[]).unwrap();
        }
        let ids = objects.assign().unwrap();
        for (kind, name, id) in cases {
            assert_eq!(ids[&(kind, name)], P4Id(id), "{name}");
        }
    }

    #[test]
    fn ids_of_the_source() {
        let mut objects = Objects::default();
        objects.add(P4Kind::Table, "a", &[id(7)]).unwrap();
        objects.add(P4Kind::Table, "b", &[id(0x0200_0008)]).unwrap();
        let ids = objects.assign().unwrap();
        assert_eq!(ids[&(P4Kind::Table, "a")], P4Id(0x0200_0007));
        assert_eq!(ids[&(P4Kind::Table, "b")], P4Id(0x0200_0008));

        // Of several programs each has ids of its own.
        let mut several = Objects { programs: ["x".into(), "y".into()].into(), ..Objects::default() };
        for (name, number) in [("x.a", 7), ("y.a", 7), ("y.b", 8)] {
            several.add(P4Kind::Table, name, &[id(number)]).unwrap();
        }
        let ids = several.assign().unwrap();
        let by_name = P4Id::of_name(P4Kind::Table, "y.a", |_| true);
        let expected = [("x.a", P4Id(0x0200_0007)), ("y.a", by_name), ("y.b", P4Id(0x0200_0008))];
        expected.into_iter().for_each(|(name, id)| assert_eq!(ids[&(P4Kind::Table, name)], id, "{name}"));
        several.add(P4Kind::Table, "y.c", &[id(8)]).unwrap();
        assert!(several.assign().unwrap_err().message.contains("twice"));

        objects.add(P4Kind::Table, "c", &[id(8)]).unwrap();
        assert!(objects.assign().unwrap_err().message.contains("twice"));
        let mut objects = Objects::default();
        objects.add(P4Kind::Action, "a", &[id(0x0200_0001)]).unwrap();
        assert!(objects.assign().unwrap_err().message.contains("another kind"));
        let mut objects = Objects::default();
        objects.add(P4Kind::Action, "a", &[id(0)]).unwrap();
        assert!(objects.assign().unwrap_err().message.contains("zero"));
    }
}
