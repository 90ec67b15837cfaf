//! Invariants of schedules, on generated programs.

use hopwright_driver::compile_text;
use hopwright_ir::analysis::dependencies::OperationKind;

use crate::nodes::Nodes;
use crate::place::{earliest, place};
use crate::pragmas::Pragmas;
use crate::target::Target;

/// Operations that depend on each other by match or action do not share a stage; no stage has more than it can; a schedule is not
/// shorter than its longest chain.
#[test]
fn schedules_of_generated_programs_respect_dependencies_and_resources() {
    let mut dependencies = 0;
    for seed in 0..40 {
        let text = hopwright_p4gen::generate(seed, &Default::default()).program;
        let compiled = compile_text("generated.p4", &text, &Default::default(), true);
        let pipeline = compiled.pipeline.unwrap_or_else(|| panic!("seed {seed}: {:#?}", compiled.diagnostics));
        for target in Target::all() {
            let nodes = Nodes::of(&pipeline, None, &Pragmas::default());
            let schedule = place(&pipeline, &nodes, &target, &Pragmas::default());
            let of: Vec<Vec<usize>> = (0..nodes.threads.len())
                .map(|thread| {
                    let count = nodes.threads[thread].graph.operations.len();
                    let node_of = |op| {
                        let mut all = nodes.nodes.iter();
                        all.position(|n| n.thread == thread && n.operations.contains(&op))
                            .expect("every operation has a node")
                    };
                    (0..count).map(node_of).collect()
                })
                .collect();
            for (thread, of) in nodes.threads.iter().zip(&of) {
                for d in &thread.graph.dependencies {
                    let (from, to) = (of[d.from], of[d.to]);
                    let ((_, end), (start, _)) = (schedule.nodes[from], schedule.nodes[to]);
                    // A hash is an index in the stage that computes it.
                    let index = matches!(thread.graph.operations[d.from].kind, OperationKind::Extern(_));
                    if d.kind.needs_a_later_stage() && from != to && !index {
                        dependencies += 1;
                        assert!(end < start, "seed {seed}: {d:?} in stages {end} and {start}");
                    }
                    assert!(end <= start || from == to, "seed {seed}: {d:?} in stages {end} and {start}");
                }
            }
            if schedule.too_large.is_empty() {
                for stage in &schedule.stages {
                    assert_eq!(stage.used.exceeds(&target.stage), None, "seed {seed}");
                }
            }
            let chain = earliest(&nodes).iter().zip(&nodes.nodes).map(|(at, n)| at.0 + n.depth).max().unwrap_or(0);
            assert!(schedule.stages.len() >= chain as usize, "seed {seed}");
        }
    }
    assert!(dependencies > 1000, "generated programs have few dependencies: {dependencies}");
}
