//! The hardware IR agrees with the reference interpreter on generated programs: bytes, copies, verdicts, parser errors,
//! counters, registers.
//!
//! `HOPWRIGHT_TIMES=N` runs N times as many programs, `HOPWRIGHT_SEEDS=FIRST..END` others. A failure names its seed, and
//! `cargo run -p hopwright-p4gen --example p4gen SEED DIRECTORY` writes that program and its packets.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::harness::*;
use hopwright_p4gen::{Case, Config, generate, seeds};

const NOW_US: u64 = 1_234_567;

/// What the programs of a test did as a whole.
#[derive(Debug, Default)]
struct Seen {
    programs: usize,
    refused: BTreeMap<&'static str, usize>,
    forwarded: usize,
    dropped: usize,
    parser_errors: usize,
}

fn differ(case: &Case, seen: &mut Seen) -> Result<(), String> {
    let pipeline = compile_source(&case.program)?;
    let mut hardware = match Hardware::new(&pipeline) {
        Ok(hardware) => hardware,
        Err(refusals) => {
            *seen.refused.entry(refusals[0].capability.name()).or_default() += 1;
            return Ok(());
        }
    };
    seen.programs += 1;
    let mut interp = interpreter(&pipeline);
    let script = hopwright_stf::parse("entries", &case.entries).map_err(|e| format!("{e:?}"))?;
    hopwright_stf::configure(&script, &mut interp).map_err(|e| e.to_string())?;
    hopwright_stf::configure(&script, &mut hardware).map_err(|e| e.to_string())?;
    for (number, (port, bytes)) in case.packets.iter().enumerate() {
        let outputs = [interp.process(bytes, *port, NOW_US), hardware.run(bytes, *port, NOW_US)];
        let [wanted, found] = outputs.map(comparable);
        if wanted != found {
            let test = format!("{}\n{}", case.entries, counterexample::packet_lines(&case.packets));
            let shown = counterexample::of_evaluator("generated", &pipeline, Ok(&case.program), &test);
            return Err(format!(
                "packet {number} at port {port}: {bytes:02x?}\ninterpreter: {wanted:02x?}\nhardware: {found:02x?}\n{shown}"
            ));
        }
        seen.forwarded += usize::from(!wanted.sent.is_empty());
        seen.dropped += usize::from(wanted.sent.is_empty());
        seen.parser_errors += usize::from(wanted.parser_error != 0);
    }
    let entries = entries(&pipeline, &interp);
    same_state(&pipeline, &mut interp, &mut hardware, &entries)
}

fn check(seeds: Range<u64>, config: &Config) {
    let count = seeds.end - seeds.start;
    let mut seen = Seen::default();
    for seed in seeds {
        let case = generate(seed, config);
        if let Err(message) = differ(&case, &mut seen) {
            panic!("seed {seed}: {message}\n{}", case.program);
        }
    }
    println!("{seen:?}");
    // If nearly all programs were refused, or did nothing of interest, the comparison would tell nothing.
    let Seen { programs, forwarded, dropped, parser_errors, .. } = seen;
    assert!(programs as u64 * 3 > count && forwarded > 0 && dropped > 0 && parser_errors > 0);
}

/// What hardware can do.
fn hardware() -> Config {
    Config { extensions: false, ..Config::default() }
}

#[test]
fn generated_programs_agree() {
    check(seeds(0..60), &hardware());
}

#[test]
fn generated_programs_with_long_controls_agree() {
    check(seeds(5000..5020), &Config { statements: 30, division: false, ..hardware() });
}

#[test]
fn generated_programs_that_copy_packets_agree_or_are_refused() {
    let mut seen = Seen::default();
    for seed in seeds(9000..9040) {
        let case = generate(seed, &Config { traffic: true, ..hardware() });
        if let Err(message) = differ(&case, &mut seen) {
            panic!("seed {seed}: {message}\n{}", case.program);
        }
    }
    println!("{seen:?}");
    assert!(seen.programs > 0 && seen.forwarded > 0 && !seen.refused.is_empty());
}
