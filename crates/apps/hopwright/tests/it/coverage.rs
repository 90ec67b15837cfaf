//! What the packets of a test reach.

use hopwright::{Compiler, Engine};

use crate::program;

#[test]
fn a_test_measures_what_it_reaches() {
    let text = program("", "if (h.frame.value == 7) { s.egress_spec = 3; } else { mark_to_drop(s); }");
    let program = Compiler::new().optimise(false).compile(&text).unwrap();
    let mut runner = program.runner_with(Engine::Interpreter).unwrap();
    assert!(runner.coverage().is_none());
    runner.measure_coverage().unwrap();
    let branches = |runner: &hopwright::Runner| {
        let report = runner.coverage().unwrap();
        report.totals.iter().find(|total| total.kind == "branches").map(|total| (total.reached, total.all)).unwrap()
    };
    assert_eq!(branches(&runner), (0, 2));
    runner.send(1, &[0, 0, 7]).unwrap();
    assert_eq!(branches(&runner), (1, 2));
    runner.send(1, &[0, 0, 8]).unwrap();
    assert_eq!(branches(&runner), (2, 2));
    assert!(runner.coverage().unwrap().to_lcov().contains("BRH:2"));
}

#[cfg(feature = "jit")]
#[test]
fn machine_code_is_not_measured() {
    let program = hopwright::compile(&program("", "s.egress_spec = 3;")).unwrap();
    let refused = program.runner_with(Engine::Jit).unwrap().measure_coverage().unwrap_err();
    assert!(refused.to_string().contains("interpreter"), "{refused}");
}
