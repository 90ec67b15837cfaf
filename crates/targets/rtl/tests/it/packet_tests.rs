//! Packet tests of `tests/stf` and the examples pass with the hardware IR, or are refused for a capability. The test prints
//! how many of each. `HOPWRIGHT_STF` selects some by name, with blanks between.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::harness::*;
use hopwright_interp::Interp;
use hopwright_ir::{Block, Expr, SlotId, StmtKind, walk};
use hopwright_rtl::hir::Op;
use hopwright_rtl::{Capability, Target, compile as to_hardware};
use hopwright_stf::script::Command;

/// The number of tests of `tests/stf` that must not be refused.
const CONVERTED: usize = 372;

/// Runs a test; `Ok(Some)` says why it is refused.
fn passes(program: &Path) -> Result<Option<Vec<Capability>>, String> {
    let pipeline = compile(program);
    let script = std::fs::read_to_string(program.with_extension("stf")).map_err(|e| e.to_string())?;
    let script = hopwright_stf::parse("script", &script).map_err(|e| format!("{e:?}"))?;
    let mut hardware = match Hardware::new(&pipeline) {
        Ok(hardware) => hardware,
        Err(refusals) => {
            let mut found: Vec<Capability> = refusals.iter().map(|r| r.capability).collect();
            found.sort();
            found.dedup();
            return Ok(Some(found));
        }
    };
    let report = hopwright_stf::run(&script, &mut hardware).map_err(|e| format!("{e:?}"))?;
    if !report.passed() {
        return Err(format!("{report:?}"));
    }
    // What the test does not expect must be the same, too.
    let (mut interp, mut hardware): (Interp, _) = (interpreter(&pipeline), Hardware::new(&pipeline).unwrap());
    hopwright_stf::configure(&script, &mut interp).map_err(|e| format!("{e:?}"))?;
    hopwright_stf::configure(&script, &mut hardware).map_err(|e| format!("{e:?}"))?;
    for (number, (_, command)) in script.commands.iter().enumerate() {
        let Command::Packet { port, bytes } = command else { continue };
        let now = number as u64 * 1000;
        let outputs = [interp.process(bytes, *port, now), hardware.run(bytes, *port, now)];
        let [expected, found] = outputs.map(comparable);
        if expected != found {
            let (name, file) = (&pipeline.name, program.display().to_string());
            let text = std::fs::read_to_string(program.with_extension("stf")).map_err(|e| e.to_string())?;
            let shown = counterexample::of_evaluator(name, &pipeline, Err(&file), &text);
            return Err(format!("command {number}\ninterpreter: {expected:?}\nhardware: {found:?}\n{shown}"));
        }
    }
    let entries = entries(&pipeline, &interp);
    same_state(&pipeline, &mut interp, &mut hardware, &entries)?;
    Ok(None)
}

/// What these tests expect follows from the size of software's packet buffers, or from groups with larger weights than hardware has room for.
const OF_SIZES: &[&str] = &["growth_beyond_headroom", "psa_growth", "action_selector", "selector_hashes"];

#[test]
fn packet_tests_pass_or_are_refused_for_a_capability() {
    let folder = root().join("tests/stf");
    let mut names: Vec<String> = match std::env::var("HOPWRIGHT_STF") {
        Ok(names) => names.split_whitespace().map(str::to_string).collect(),
        Err(_) => std::fs::read_dir(&folder)
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".stf").map(str::to_string))
            .collect(),
    };
    names.retain(|name| !OF_SIZES.contains(&name.as_str()));
    names.sort();
    let (mut passed, mut failed) = (0, Vec::new());
    let mut refused: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in &names {
        match passes(&folder.join(format!("{name}.p4"))) {
            Ok(None) => passed += 1,
            Ok(Some(capabilities)) => {
                let names: Vec<&str> = capabilities.iter().map(|c| c.name()).collect();
                refused.entry(names.join(" ")).or_default().push(name);
            }
            Err(message) => failed.push(format!("{name}: {message}")),
        }
    }
    println!("{passed} of {} packet tests pass", names.len());
    for (capabilities, tests) in refused {
        println!("{:4} refused for {capabilities}: {}", tests.len(), tests.join(" "));
    }
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n\n"));
    assert!(passed >= CONVERTED || std::env::var("HOPWRIGHT_STF").is_ok());
}

/// What the documentation says: how many packet tests there are, how many of them at least are compiled, and how many the table lists.
fn documented() -> (usize, usize, usize) {
    let page = std::fs::read_to_string(root().join("docs/fpga.md")).unwrap();
    let (before, after) = page.split_once(" packet tests of `tests/stf`, at least ").expect("the page says how many");
    let total = before.rsplit(' ').next().and_then(|number| number.parse().ok()).expect("a number of all");
    let compiled = after.split(' ').next().and_then(|number| number.parse().ok()).expect("a number of those compiled");
    let table = after.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let listed = table.filter_map(|row| row.split('|').nth(2)?.trim().parse::<usize>().ok()).sum();
    (total, compiled, listed)
}

/// How many tests there are and how many are compiled to hardware, as the documentation says. Prints those that are refused for the same
/// capabilities, which are the rows of its table. Whether the others pass is seen in simulation.
#[test]
#[ignore = "takes minutes"]
fn the_documentation_says_how_many_run_as_hardware() {
    let tests = root().join("tests/stf");
    let target = Target::by_name("ecp5-85-512").unwrap();
    let names: Vec<String> = std::fs::read_dir(&tests)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".stf").map(str::to_string))
        .collect();
    let (count, (total, least, listed)) = (names.len(), documented());
    assert_eq!(total, count, "the page has another number of packet tests than tests/stf");
    assert_eq!(least + listed, total, "the table of the page does not list all of the others");
    let mut compiled = 0;
    // Some tests are of the same program.
    let mut known: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut refused: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in names {
        let pipeline = compile(&tests.join(format!("{name}.p4")));
        let capabilities = known.entry(pipeline.to_string()).or_insert_with(|| match to_hardware(&pipeline, &target) {
            Ok(_) => BTreeSet::new(),
            Err(refusals) => refusals.iter().map(|r| r.capability.name()).collect(),
        });
        if capabilities.is_empty() {
            compiled += 1;
        } else {
            let together = capabilities.iter().copied().collect::<Vec<_>>().join(", ");
            refused.entry(together).or_default().push(name);
        }
    }
    for (capabilities, tests) in &refused {
        println!("{:4} refused for {capabilities}: {}", tests.len(), tests.join(" "));
    }
    println!("{compiled} of {count} packet tests run as hardware");
    assert!(compiled >= least, "only {compiled} of {count} packet tests run as hardware, not {least}");
}

/// Makes headers valid as Tofino programs do: their fields keep what they have.
fn keep_fields(block: &mut Block, validity: &[SlotId]) {
    for stmt in block {
        if let StmtKind::SetValid(header) = stmt.kind {
            stmt.kind = StmtKind::Assign(validity[header.index()], Expr::boolean(true, stmt.span));
        }
        walk::blocks_mut(stmt).into_iter().for_each(|inner| keep_fields(inner, validity));
    }
}

#[test]
fn headers_whose_validity_is_assigned_keep_their_fields() {
    let mut different = 0;
    for name in ["header_validity", "validity_changes", "emit", "stack_control"] {
        let program = root().join("tests/stf").join(name).with_extension("p4");
        let plain = compile(&program);
        let mut pipeline = (*plain).clone();
        let validity: Vec<SlotId> = pipeline.headers.iter().map(|header| header.valid).collect();
        walk::all_blocks_mut(&mut pipeline).for_each(|block| keep_fields(block, &validity));
        let pipeline = std::sync::Arc::new(pipeline);
        let mut hardware = match Hardware::new(&pipeline) {
            Ok(hardware) => hardware,
            Err(refusals) => panic!("{name} is refused: {} faults", refusals.len()),
        };
        let (mut interp, mut before) = (interpreter(&pipeline), interpreter(&plain));
        let script = std::fs::read_to_string(program.with_extension("stf")).unwrap();
        let script = hopwright_stf::parse(name, &script).unwrap();
        hopwright_stf::configure(&script, &mut interp).unwrap();
        hopwright_stf::configure(&script, &mut before).unwrap();
        hopwright_stf::configure(&script, &mut hardware).unwrap();
        for (_, command) in &script.commands {
            let Command::Packet { port, bytes } = command else { continue };
            let expected = interp.process(bytes, *port, 0);
            assert_eq!(comparable(expected.clone()), comparable(hardware.run(bytes, *port, 0)), "{name}");
            different += usize::from(expected != before.process(bytes, *port, 0));
        }
    }
    assert!(different > 0, "zeros would do");
}

#[test]
fn examples_pass() {
    for name in ["l2", "l3"] {
        assert_eq!(passes(&root().join("examples").join(format!("{name}.p4"))), Ok(None), "{name}");
    }
}

#[test]
fn the_scion_router_converts() {
    let pipeline = compile(&root().join("p4/scion/border_router.p4"));
    let design = match hopwright_rtl::convert(&pipeline) {
        Ok(design) => design,
        Err(refusals) => {
            let reports: Vec<String> = refusals.iter().map(|r| r.report(&pipeline.sources)).collect();
            panic!("{}", reports.join("\n"))
        }
    };
    assert_eq!(hopwright_rtl::hir::verify(&pipeline, &design), Ok(()));
    println!("{} operations", design.nodes.len());
    // The lookups of links, hosts and keys' users, and the two MACs of a segment change.
    let lookups = design.nodes.iter().filter(|node| matches!(node.op, Op::Lookup { .. })).count();
    let macs = design.nodes.iter().filter(|node| matches!(node.op, Op::Extern { .. })).count();
    assert!(lookups >= 5 && macs >= 2, "{lookups} lookups, {macs} MACs");
}
