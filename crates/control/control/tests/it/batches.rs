//! Random batches against a model of maps.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use hopwright_control::{Error, ErrorKind, Model, Schema, Translate, Update};
use hopwright_dataplane::{EngineKind, VirtualDataPlane};
use hopwright_driver::compile_text;
use hopwright_p4runtime::Program;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use crate::oracle::Oracle;
use crate::updates::{Ids, update};

const SOURCE: &str = include_str!("objects.p4");

fn program() -> &'static Program {
    static PROGRAM: OnceLock<Program> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let compiled = compile_text("objects.p4", SOURCE, &Default::default(), true);
        Program::from_compiled(&compiled, SOURCE.as_bytes().into()).unwrap()
    })
}

fn ids() -> Ids {
    Ids::of(&program().schema.model)
}

fn model() -> Model {
    let program = program();
    let vdp: Arc<VirtualDataPlane> = VirtualDataPlane::new(program.pipeline.clone(), EngineKind::Interp).unwrap();
    Model::new(program.schema.model.clone(), vdp)
}

fn as_it_is(_: &Schema, _: &mut Translate<'_>, update: &Update) -> Result<Update, Error> {
    Ok(update.clone())
}

fn batch(most: usize) -> impl Strategy<Value = Vec<Update>> {
    vec(update(ids()), 0..most)
}

/// Updates that a state takes, then a batch.
fn case() -> impl Strategy<Value = (Vec<Update>, Vec<Update>)> {
    (batch(60), batch(8))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// CONTINUE_ON_ERROR: exactly the updates are made that the specification allows.
    #[test]
    fn updates_are_made_or_refused_as_the_specification_says(updates in batch(80)) {
        let (mut model, ids) = (model(), ids());
        let mut oracle = Oracle::seen(&model, &ids);
        for update in &updates {
            let expected = oracle.make(update, &ids);
            let result = model.write_each(std::slice::from_ref(update), as_it_is).remove(0);
            prop_assert_eq!(result.is_ok(), expected, "{:?}: {:?}", update, result);
            prop_assert_eq!(&Oracle::seen(&model, &ids), &oracle, "{:?}", update);
        }
    }

    /// A model of a data plane that has been written finds its multicast groups and clone sessions.
    #[test]
    fn another_model_finds_groups_and_sessions(updates in batch(80)) {
        let (mut model, ids) = (model(), ids());
        model.write_each(&updates, as_it_is);
        let other = Model::new(model.schema().clone(), model.vdp().clone());
        prop_assert_eq!(Oracle::seen(&other, &ids).copies(), Oracle::seen(&model, &ids).copies());
    }

    /// ROLLBACK_ON_ERROR: all updates are made or none.
    #[test]
    fn a_refused_batch_changes_nothing((before, batch) in case()) {
        let (mut model, ids) = (model(), ids());
        model.write_each(&before, as_it_is);
        let there = Oracle::seen(&model, &ids);
        let mut oracle = there.clone();
        let refused = batch.iter().position(|update| !oracle.make(update, &ids));
        let results: Vec<Result<(), Error>> = model.write_all(&batch, as_it_is, || Ok(())).unwrap();
        match refused {
            None => prop_assert!(results.iter().all(|r| r.is_ok())),
            Some(refused) => for (at, result) in results.iter().enumerate() {
                let kind = result.as_ref().unwrap_err().kind;
                prop_assert_eq!(kind == ErrorKind::Aborted, at != refused);
            }
        }
        prop_assert_eq!(Oracle::seen(&model, &ids), if refused.is_some() { there } else { oracle });
    }

    /// Plans change nothing, and what is applied and undone leaves everything as it was.
    #[test]
    fn undoing_what_was_applied_is_identity((before, batch) in case()) {
        let (mut model, ids) = (model(), ids());
        model.write_each(&before, as_it_is);
        let there = Oracle::seen(&model, &ids);
        let mut inverses = Vec::new();
        for update in &batch {
            let now = Oracle::seen(&model, &ids);
            let plan = model.plan(update);
            prop_assert_eq!(model.validate(update).err(), plan.as_ref().err().cloned());
            prop_assert_eq!(&Oracle::seen(&model, &ids), &now);
            if let Ok(plan) = plan {
                inverses.extend(model.apply(plan));
            }
        }
        inverses.into_iter().rev().for_each(|inverse| model.undo(inverse));
        prop_assert_eq!(&Oracle::seen(&model, &ids), &there);
        // The last step of a batch fails.
        let failed = model.write_all(&batch, as_it_is, || Err(Error { kind: ErrorKind::Aborted, message: String::new() }));
        prop_assert!(failed.is_err() || failed.is_ok_and(|results| results.iter().any(|r| r.is_err())));
        prop_assert_eq!(&Oracle::seen(&model, &ids), &there);
    }
}

/// Every kind of update is generated, and enough of them are good and bad for the properties to mean something.
#[test]
fn updates_of_every_kind_are_made_and_refused() {
    let (model, ids, mut runner) = (model(), ids(), TestRunner::deterministic());
    let mut oracle = Oracle::seen(&model, &ids);
    let mut counts: BTreeMap<(String, String), [u32; 2]> = BTreeMap::new();
    for _ in 0..6000 {
        let update = update(ids).new_tree(&mut runner).unwrap().current();
        let entity = format!("{:?}", update.entity);
        let kind = entity.split([' ', '(']).next().unwrap().to_string();
        let made = oracle.make(&update, &ids);
        counts.entry((kind, format!("{:?}", update.operation))).or_default()[usize::from(made)] += 1;
    }
    let modified =
        ["Default", "DirectCounter", "Counter", "Meter", "Register", "ValueSet"].map(|kind| (kind, "Modify"));
    let all = ["Entry", "Member", "Group", "Multicast", "CloneSession", "Digest"];
    let all = all.into_iter().flat_map(|kind| ["Insert", "Modify", "Delete"].map(|operation| (kind, operation)));
    for (kind, operation) in all.chain(modified) {
        let [refused, made] = counts.get(&(kind.into(), operation.into())).copied().unwrap_or_default();
        assert!(made > 5 && refused > 5, "{operation} {kind}: {made} made, {refused} refused");
    }
}
