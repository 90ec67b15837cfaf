//! Replays the fuzzers' corpora with the stable toolchain.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hopwright_fuzz_targets as targets;
use hopwright_scion::program::Reason;

/// Calls `check` with each file of `fuzz/corpus/NAME`; an empty corpus is a mistake.
fn replay(name: &str, mut check: impl FnMut(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("a readable folder").path();
        let data = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        check(&data);
        count += 1;
    }
    assert!(count > 0, "{} is empty", folder.display());
}

#[test]
fn p4_source() {
    replay("p4_source", targets::p4_source);
}

#[test]
fn topology() {
    replay("topology", targets::topology);
}

#[test]
fn router_config() {
    replay("router_config", targets::router_config);
}

#[test]
fn stf() {
    replay("stf", targets::stf);
}

#[test]
fn packets() {
    let mut routers = targets::Routers::new();
    let mut seen = BTreeSet::new();
    replay("packets", |data| seen.extend(routers.packet(data).and_then(|outcome| outcome.reason)));
    routers.compare_counters();
    // A corpus that the routers have outgrown would go unnoticed otherwise. They are configured, so one reason is out.
    let missing: Vec<_> =
        Reason::ALL.iter().filter(|r| **r != Reason::NotConfigured && !seen.contains(&(**r as u8))).collect();
    assert!(missing.is_empty(), "no packet of the corpus leads to {missing:?}");
}
