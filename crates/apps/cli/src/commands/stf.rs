//! `hopwright stf`, and entries for other commands from the same files.

use std::path::Path;

use hopwright_coverage::Coverage;
use hopwright_stf::script::{Command, Script};
use hopwright_stf::{Engine, Report};

use crate::cli::StfArgs;
use crate::commands::coverage;
use crate::engine;
use crate::failure::Failure;

/// Runs packet tests.
pub(crate) fn run(args: &StfArgs) -> Result<(), Failure> {
    let mut reached: Option<Coverage> = None;
    let mut passed = true;
    for test in &args.tests {
        let mut script = read(test)?;
        if args.tofino_model {
            script.commands.insert(0, (0, Command::TofinoModel));
        }
        let report = if args.coverage.files.is_empty() {
            hopwright_stf::run(&script, &mut *engine::of_test(&args.source, args.engine.unwrap_or_default())?)?
        } else {
            let mut engine = coverage::engine(&args.source, args.engine)?;
            let report = hopwright_stf::run(&script, &mut engine)?;
            match (&mut reached, engine.reached()) {
                (Some(sum), Some(more)) => sum.add(&more),
                (sum, more) => *sum = more,
            }
            report
        };
        print_report(args, test, &report);
        passed &= report.passed();
    }
    coverage::write(&args.coverage, reached.as_ref())?;
    if passed { Ok(()) } else { Err(Failure::Reported) }
}

fn print_report(args: &StfArgs, test: &Path, report: &Report) {
    if args.json {
        let failures: Vec<_> =
            report.failures.iter().map(|f| serde_json::json!({ "line": f.line, "message": f.message })).collect();
        println!(
            "{}",
            serde_json::json!({
                "test": test, "passed": report.passed(), "packets": report.packets,
                "matched": report.matched, "failures": failures, "notes": report.notes,
            })
        );
        return;
    }
    for note in &report.notes {
        println!("{note}");
    }
    for failure in &report.failures {
        eprintln!("{failure}");
    }
    let word = if report.passed() { "passed" } else { "FAILED" };
    println!("{}: {word}: {} packets in, {} as expected", test.display(), report.packets, report.matched);
}

/// Sets up an engine by a file's `add`, `setdefault` and similar lines.
pub(crate) fn configure(file: &Path, engine: &mut dyn Engine) -> Result<(), Failure> {
    Ok(hopwright_stf::configure(&read(file)?, engine)?)
}

/// The packets of a file and the ports at which they arrive.
#[cfg(feature = "jit")]
pub(crate) fn packets(file: &Path) -> Result<Vec<(u16, Vec<u8>)>, Failure> {
    use hopwright_stf::script::Command;
    let packet = |(_, command): (u32, Command)| match command {
        Command::Packet { port, bytes } => Some((port, bytes)),
        _ => None,
    };
    Ok(read(file)?.commands.into_iter().filter_map(packet).collect())
}

pub(crate) fn read(file: &Path) -> Result<Script, Failure> {
    let text = std::fs::read_to_string(file).map_err(|e| Failure::message(format!("{}: {e}", file.display())))?;
    hopwright_stf::parse(&file.display().to_string(), &text).map_err(|errors| {
        for error in &errors {
            eprintln!("{error}");
        }
        Failure::Reported
    })
}
