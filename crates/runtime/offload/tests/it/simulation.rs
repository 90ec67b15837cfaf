//! Packet tests pass with simulated hardware, or are refused for a capability; generated programs agree with the interpreter.
//!
//! Needs verilator 5 and a C++ compiler: `make test-rtl-long`. `HOPWRIGHT_STF` selects packet tests by name, with blanks between; `all` means all
//! of `tests/stf`, which takes an hour. `HOPWRIGHT_SEEDS=FIRST..END` generates other programs than usual.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hopwright_dataplane::{EngineKind, FrameSize, VirtualDataPlane};
use hopwright_driver::{compile_file, compile_text};
use hopwright_ir::{ExternId, ExternKind, Pipeline};
use hopwright_offload::{DEFAULT_TARGET, OffloadError, SimulatedDesign};
use hopwright_p4gen::{Case, Config, generate};
use hopwright_rtl::Target;
use hopwright_stf::counterexample::{self, difference};
use hopwright_stf::{DataPlaneEngine, Engine, Script};

/// What runs unless `HOPWRIGHT_STF` says otherwise: kinds of tables and objects, groups, headers added and removed, arithmetic, a checksum,
/// digests, packets that pass again, clones at the end of egress, assertions, sums over the payload.
const SOME: &str = "action_profile changing_entries checksum16 checksum_payload clone_egress_chain counter_write digests emit log_assert \
    lpm_ipv6 mixed_keys program_vlan psa_paths recirculate_grows registers resubmit_rounds shared_profile stack_shift table_keyless \
    table_range wide";
/// The number of tests of `tests/stf` that must pass, if all are run.
const PASSING: usize = 253;
/// These give groups larger weights than hardware has room for, or expect a packet without bytes.
const OTHERS: [&str; 3] = ["action_selector", "counter_kinds", "selector_hashes"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// A program as simulated hardware with random gaps and initial values; or the capabilities for which it is refused.
fn simulated(pipeline: &Arc<Pipeline>, seed: u64) -> Result<Result<DataPlaneEngine, String>, String> {
    let design = match SimulatedDesign::start(pipeline, &Target::by_name(DEFAULT_TARGET).unwrap(), Some(seed)) {
        Ok(design) => design,
        Err(OffloadError::Refused(refusals)) => {
            let mut names: Vec<&str> = refusals.iter().map(|r| r.capability.name()).collect();
            names.sort_unstable();
            names.dedup();
            return Ok(Err(names.join(" ")));
        }
        Err(error) => return Err(error.to_string()),
    };
    let vdp = VirtualDataPlane::offloaded(pipeline.clone(), Box::new(design)).map_err(|e| e.to_string())?;
    Ok(Ok(DataPlaneEngine::new(vdp, FrameSize::JUMBO).map_err(|e| e.to_string())?))
}

fn interpreter(pipeline: &Arc<Pipeline>) -> Result<DataPlaneEngine, String> {
    let vdp = VirtualDataPlane::new(pipeline.clone(), EngineKind::Interp).map_err(|e| e.to_string())?;
    DataPlaneEngine::new(vdp, FrameSize::JUMBO).map_err(|e| e.to_string())
}

/// What shows, in `target/counterexamples`, that hardware and interpreter differ on a test.
fn shown(name: &str, pipeline: &Arc<Pipeline>, seed: u64, program: Result<&str, &str>, test: &str) -> String {
    let mut differs = |script: &Script| {
        let mut hardware = simulated(pipeline, seed).ok()?.ok()?;
        difference(script, &mut interpreter(pipeline).ok()?, &mut hardware).ok().flatten()
    };
    counterexample::report(&root().join("target/counterexamples").join(name), program, test, &mut differs)
}

/// Runs a test; `Ok(Some)` names the capabilities for which it is refused.
fn passes(program: &Path) -> Result<Option<String>, String> {
    let compiled = compile_file(program, &Default::default(), true);
    let report = compiled.report(false);
    let pipeline = Arc::new(compiled.pipeline.ok_or(report)?);
    let text = std::fs::read_to_string(program.with_extension("stf")).map_err(|e| e.to_string())?;
    let script = hopwright_stf::parse("script", &text).map_err(|e| format!("{e:?}"))?;
    let mut engine = match simulated(&pipeline, 1)? {
        Ok(engine) => engine,
        Err(capabilities) => return Ok(Some(capabilities)),
    };
    let report = hopwright_stf::run(&script, &mut engine).map_err(|e| e.to_string())?;
    if report.passed() {
        return Ok(None);
    }
    let name = program.file_stem().map_or("test".into(), |name| name.to_string_lossy());
    let shown = shown(&name, &pipeline, 1, Err(&program.display().to_string()), &text);
    Err(format!("{:?}\n{shown}", report.failures))
}

/// What each of these gives, with two compilers at a time.
fn each<T: Clone + Ord + Send + Sync, R: Send>(jobs: Vec<T>, run: impl Fn(&T) -> R + Sync) -> BTreeMap<T, R> {
    let waiting = Mutex::new(jobs.iter());
    let results = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(job) = { waiting.lock().unwrap().next() } {
                    let result = run(job);
                    results.lock().unwrap().insert(job.clone(), result);
                }
            });
        }
    });
    results.into_inner().unwrap()
}

#[test]
#[ignore = "needs verilator"]
fn simulation_of_packet_tests() {
    let folder = root().join("tests/stf");
    let selected = std::env::var("HOPWRIGHT_STF").unwrap_or_else(|_| SOME.to_string());
    let mut names: Vec<String> = match selected.as_str() {
        "all" => std::fs::read_dir(&folder)
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".stf").map(str::to_string))
            .collect(),
        names => names.split_whitespace().map(str::to_string).collect(),
    };
    names.retain(|name| !OTHERS.contains(&name.as_str()));
    names.sort();
    let results = each(names, |name| {
        let result = passes(&folder.join(format!("{name}.p4")));
        if selected == "all" {
            println!("{name}: {result:?}");
        }
        result
    });
    let passed = results.values().filter(|result| **result == Ok(None)).count();
    println!("{passed} of {} packet tests pass", results.len());
    let mut refused: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, result) in &results {
        if let Ok(Some(capabilities)) = result {
            refused.entry(capabilities).or_default().push(name);
        }
    }
    for (capabilities, tests) in refused {
        println!("{:4} refused for {capabilities}: {}", tests.len(), tests.join(" "));
    }
    let failed: Vec<_> = results.iter().filter(|(_, result)| result.is_err()).collect();
    assert!(failed.is_empty(), "{} failed: {failed:#?}", failed.len());
    let wanted = if selected == "all" { PASSING } else { results.len() };
    assert!(passed >= wanted, "{passed} pass, not {wanted}");
}

/// Runs a generated program and its packets; `Ok(None)` if it is refused, otherwise the number of packets that were sent.
fn agrees(seed: u64) -> Result<Option<usize>, String> {
    const NOW_US: u64 = 1_234_567;
    let config = Config { division: false, hash: false, profiles: false, ..Config::default() };
    let Case { program, entries, packets, .. } = generate(seed, &config);
    let compiled = compile_text("generated.p4", &program, &Default::default(), true);
    let report = compiled.report(false);
    let pipeline = compiled.pipeline.map(Arc::new).ok_or(report)?;
    let Ok(mut hardware) = simulated(&pipeline, seed)? else { return Ok(None) };
    let mut interp = interpreter(&pipeline)?;
    let script = hopwright_stf::parse("entries", &entries).map_err(|e| format!("{e:?}"))?;
    for engine in [&mut interp, &mut hardware] {
        hopwright_stf::configure(&script, engine).map_err(|e| e.to_string())?;
    }
    let mut sent = 0;
    for (number, (port, bytes)) in packets.iter().enumerate().filter(|(_, (_, bytes))| !bytes.is_empty()) {
        let (mut wanted, found) = (interp.process(*port, bytes, NOW_US)?, hardware.process(*port, bytes, NOW_US)?);
        // Hardware sends no packets without bytes.
        wanted.sent.retain(|(_, bytes)| !bytes.is_empty());
        if wanted != found {
            let lines = packets[..=number].iter().filter(|(_, bytes)| !bytes.is_empty()).map(|(port, bytes)| {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("packet {port} {hex}\n")
            });
            let test = format!("{entries}\n{}", lines.collect::<String>());
            let shown = shown(&format!("generated-{seed}"), &pipeline, seed, Ok(&program), &test);
            return Err(format!("packet {number} at port {port}: {bytes:02x?}\n{wanted:02x?}\n{found:02x?}\n{shown}"));
        }
        sent += wanted.sent.len();
    }
    for (number, object) in pipeline.externs.iter().enumerate() {
        let id = ExternId(number as u32);
        let (size, counter) = match object.kind {
            ExternKind::Counter { size, unit } => (size, Some(unit)),
            ExternKind::Register { size, .. } => (size, None),
            _ => continue,
        };
        for index in 0..size.min(256) {
            let cell = |engine: &mut DataPlaneEngine| match counter {
                Some(unit) => engine.counter(id, index).map(|count| {
                    // A counter in hardware has only the fields of its unit.
                    let (packets, bytes) =
                        (unit.packets().then_some(count.packets), unit.bytes().then_some(count.bytes));
                    format!("{packets:?} packets, {bytes:?} bytes")
                }),
                None => engine.register(id, index).map(|value| format!("{value:?}")),
            };
            let (wanted, found) = (cell(&mut interp)?, cell(&mut hardware)?);
            if wanted != found {
                return Err(format!("{}[{index}]: interpreter {wanted}, hardware {found}", object.name));
            }
        }
    }
    Ok(Some(sent))
}

#[test]
#[ignore = "needs verilator"]
fn simulations_of_generated_programs_agree() {
    let seeds = std::env::var("HOPWRIGHT_SEEDS").unwrap_or_else(|_| "0..16".to_string());
    let (first, end) = seeds.split_once("..").expect("HOPWRIGHT_SEEDS is FIRST..END");
    let seeds: Vec<u64> = (first.parse().expect("a number")..end.parse().expect("a number")).collect();
    let results = each(seeds, |seed| agrees(*seed).inspect_err(|error| println!("{seed}: {error}")));
    let failed: Vec<_> = results.iter().filter(|(_, result)| result.is_err()).collect();
    assert!(failed.is_empty(), "{} failed: {failed:#?}", failed.len());
    let sent: Vec<usize> = results.values().flatten().flatten().copied().collect();
    println!(
        "{} of {} programs agree, {} packets sent; the others are refused",
        sent.len(),
        results.len(),
        sent.iter().sum::<usize>()
    );
    assert!(results.len() < 16 || sent.len() * 6 > results.len() && sent.iter().any(|sent| *sent > 0));
}
