//! Replays the fuzzers' corpora with the stable toolchain.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hopwright_fuzz_targets as targets;
use hopwright_scion::control::program::Reason;
use hopwright_scion::scmp::Outcome;

/// Calls `check` with each file of `fuzz/corpus/NAME`; an empty corpus is a mistake.
fn replay(name: &str, mut check: impl FnMut(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus").join(name);
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
fn format() {
    replay("p4_source", targets::format);
}

#[test]
fn pipeline_text() {
    replay("pipeline_text", targets::pipeline_text);
}

#[test]
fn topology() {
    replay("topology", targets::topology);
}

#[test]
fn stun() {
    replay("stun", targets::stun);
}

#[test]
fn hand_over() {
    replay("hand_over", targets::hand_over);
}

#[test]
fn router_config() {
    replay("router_config", targets::router_config);
}

#[test]
fn reload() {
    let reloads = targets::Reloads::new();
    replay("reload", |data| reloads.reload(data));
}

#[test]
fn openflow() {
    let mut controllers = targets::Controllers::new();
    let (mut messages, mut refused, mut flows) = (0, 0, 0);
    replay("openflow", |data| {
        let heard = controllers.messages(data);
        messages += heard.messages;
        refused += heard.refused;
        flows += heard.flows;
    });
    assert!(messages > refused && refused > 0 && flows > 0, "{messages} messages, {refused} refused, {flows} flows");
}

#[test]
fn bfruntime() {
    let controller = targets::bfruntime_controller();
    let (mut updates, mut refused, mut found, mut entries, mut programs) = (0, 0, 0, 0, 0);
    replay("bfruntime", |data| {
        let heard = controller.requests(data);
        updates += heard.updates;
        refused += heard.refused;
        found += heard.found;
        entries += heard.entries;
        programs += heard.programs;
    });
    assert!(updates > refused && refused > 0 && found > 0 && entries > 0, "{updates} {refused} {found} {entries}");
    assert!(programs > 1, "{programs}");
}

#[test]
fn lsp_edits() {
    replay("lsp_edits", targets::lsp_edits);
}

#[test]
fn gnmi() {
    let (mut planned, mut found) = (0, 0);
    replay("gnmi", |data| {
        let (settings, leaves) = targets::gnmi(data);
        planned += settings;
        found += leaves;
    });
    assert!(planned > 0 && found > 0, "{planned} settings, {found} leaves");
}

#[test]
fn agentx() {
    let mut values = 0;
    replay("agentx", |data| values += targets::agentx(data));
    assert!(values > 20, "{values}");
}

#[test]
fn thrift() {
    let mut client = targets::thrift_client();
    let (mut calls, mut refused, mut entries) = (0, 0, 0);
    replay("thrift", |data| {
        let heard = client.messages(data);
        calls += heard.calls;
        refused += heard.refused;
        entries += heard.entries;
    });
    assert!(calls > refused && refused > 0 && entries > 0, "{calls} calls, {refused} refused, {entries} entries");
}

#[test]
fn rina_management() {
    let (mut pdus, mut discarded, mut objects, mut flows) = (0, 0, 0, 0);
    replay("rina_management", |data| {
        let heard = targets::rina_management(data);
        pdus += heard.pdus;
        discarded += heard.discarded;
        objects += heard.objects;
        flows += heard.flows;
    });
    assert!(pdus > discarded && discarded > 0 && objects > 0 && flows > 0, "{pdus} {discarded} {objects} {flows}");
}

#[test]
fn bmv2_json() {
    replay("bmv2_json", targets::bmv2_json);
}

#[test]
fn stf() {
    replay("stf", targets::stf);
}

#[test]
fn switch_config() {
    let configs = targets::switch_configs();
    let mut outcomes = BTreeSet::new();
    replay("switch_config", |data| {
        if let Ok(text) = std::str::from_utf8(data) {
            outcomes.insert(configs.file(text));
        }
    });
    assert!(outcomes.contains(&targets::ConfigOutcome::Refused), "{outcomes:?}");
    assert!(outcomes.contains(&targets::ConfigOutcome::Accepted(4)), "{outcomes:?}");
}

#[test]
fn netlink() {
    let mut changed = 0;
    replay("netlink", |data| changed += targets::netlink(data));
    assert!(changed > 30, "{changed}");
}

#[test]
fn bfd() {
    let mut all = targets::BfdOutcome::default();
    replay("bfd", |data| {
        let heard = targets::bfd(data);
        all.received += heard.received;
        all.discarded += heard.discarded;
        all.strays += heard.strays;
        all.up += heard.up;
        all.down += heard.down;
    });
    let targets::BfdOutcome { received, discarded, strays, up, down } = all;
    assert!(received > 10 && discarded > 10 && strays > 2 && up > 2 && down > 2, "{all:?}");
}

#[test]
fn slow_path() {
    let mut kinds = BTreeSet::new();
    let mut others = BTreeSet::new();
    replay("slow_path", |data| match targets::slow_path(data) {
        Some(Outcome::Reply(kind, _)) => drop(kinds.insert(kind.label())),
        Some(Outcome::Bounce(_)) => drop(others.insert("bounce")),
        Some(Outcome::Stun(_)) => drop(others.insert("stun")),
        Some(Outcome::Process { .. }) => drop(others.insert("process")),
        Some(Outcome::Drop(silence)) => drop(others.insert(silence.label())),
        None => {}
    });
    let wanted = [
        "destination_unreachable",
        "external_interface_down",
        "internal_connectivity_down",
        "packet_too_big",
        "parameter_problem_19",
        "parameter_problem_33",
        "parameter_problem_34",
        "parameter_problem_48",
        "parameter_problem_49",
        "parameter_problem_50",
        "parameter_problem_51",
        "parameter_problem_52",
        "parameter_problem_53",
        "traceroute_reply",
    ];
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), wanted);
    let wanted = [
        "bad_checksum",
        "bad_source",
        "bounce",
        "malformed",
        "no_port",
        "no_return_path",
        "not_ours",
        "process",
        "scmp_error",
    ];
    assert_eq!(others.into_iter().collect::<Vec<_>>(), wanted);
}

#[test]
fn packets() {
    let mut routers = targets::Routers::new();
    let mut seen = BTreeSet::new();
    replay("packets", |data| seen.extend(routers.packet(data).and_then(|outcome| outcome.reason)));
    routers.compare_counters();
    // A corpus that the routers have outgrown would go unnoticed otherwise. They are configured, and take packets by any
    // device. Their program has all features. EPIC depends on the time of day, and who sends BFD on more than bytes: the border router's own tests have
    // these.
    let elsewhere = [
        Reason::NotConfigured,
        Reason::WrongDevice,
        Reason::OwnPort,
        Reason::EpicTooOld,
        Reason::EpicFromFuture,
        Reason::EpicHvf,
        Reason::BfdFromHost,
        Reason::FeatureLeftOut,
        Reason::Stun,
    ];
    let missing: Vec<_> =
        Reason::ALL.iter().filter(|r| !elsewhere.contains(r) && !seen.contains(&(**r as u8))).collect();
    assert!(missing.is_empty(), "no packet of the corpus leads to {missing:?}");
}
