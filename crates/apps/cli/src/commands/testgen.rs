//! `hopwright testgen`.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hopwright_dataplane::externs::ExternTypes;
use hopwright_interp::Interp;
use hopwright_ir::Pipeline;
use hopwright_stf::script::{Command, Script};
use hopwright_testgen::{Generated, Options, Test, Unreached};
use pcap_file::pcap::PcapPacket;

use crate::cli::program::{EngineChoice, Source};
use crate::cli::testgen::TestgenArgs;
use crate::commands::{coverage, stf};
use crate::compile;
use crate::engine::{data_plane, one_by_one};
use crate::failure::Failure;
use crate::progress::Progress;

/// Makes tests of a program, and runs each with the engines before it is written.
pub(crate) fn run(args: &TestgenArgs) -> Result<(), Failure> {
    let begun = Instant::now();
    let pipeline = compile::printed(compile::compile(&args.source, false))?;
    let optimised = quietly(&args.source)?;
    let setup = args.setup.as_deref().map(set_up).transpose()?;
    let registry = ExternTypes::standard().for_interpreter();
    let prepare = || -> Result<Interp, Failure> {
        let mut interp = Interp::with_externs(pipeline.clone(), &registry)?;
        if let Some((script, _)) = &setup {
            hopwright_stf::configure(script, &mut interp)?;
        }
        Ok(interp)
    };
    std::fs::create_dir_all(&args.output).map_err(|e| in_file(&args.output, &e))?;
    let options = Options {
        seed: args.seed,
        max_tests: args.max_tests.unwrap_or(usize::MAX),
        time: Duration::from_secs(args.time),
        patience: args.patience,
        cases: !args.points_only,
    };
    let first = setup.as_ref().map_or("", |(_, text)| text.as_str());
    let engines = Engines::of(&optimised)?;
    let mut tests = Vec::new();
    let made = Arc::new(AtomicUsize::new(0));
    let shown = made.clone();
    let searching = Progress::start(move || format!("searching: {} tests", shown.load(Ordering::Relaxed)));
    let mut found = |test: &Test| {
        tests.push(test.clone());
        made.store(tests.len(), Ordering::Relaxed);
    };
    let generated = hopwright_testgen::generate(&prepare, &options, &mut found)?;
    drop(searching);
    let all = tests.len();
    made.store(0, Ordering::Relaxed);
    let shown = made.clone();
    let running = Progress::start(move || format!("running tests: {} of {all}", shown.load(Ordering::Relaxed)));
    for (number, test) in (1..).zip(&tests) {
        made.store(number, Ordering::Relaxed);
        let name = format!("{}_{number}", pipeline.name);
        let stf = test.to_stf(&pipeline, &comment(&pipeline, args, test), first);
        let file = args.output.join(format!("{name}.stf"));
        engines.agree(&file, &stf).map_err(Failure::message)?;
        std::fs::write(&file, &stf).map_err(|e| in_file(&file, &e))?;
        if args.pcap {
            capture(&args.output.join(format!("{name}.pcap")), test)?;
        }
    }
    drop(running);
    summary(&generated, begun.elapsed());
    coverage::write(&args.coverage, Some(&generated.coverage))
}

/// The program as it is run, whose diagnostics have been printed.
fn quietly(source: &Source) -> Result<Arc<Pipeline>, Failure> {
    compile::compile(source, true).pipeline.map(Arc::new).ok_or(Failure::Reported)
}

fn in_file(file: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::message(format!("{}: {error}", file.display()))
}

/// What tests begin with, and its text. Packets belong to tests.
fn set_up(file: &Path) -> Result<(Script, String), Failure> {
    let script = stf::read(file)?;
    let packet = script.commands.iter().find(|(_, command)| {
        matches!(
            command,
            Command::Packet { .. }
                | Command::Expect { .. }
                | Command::NoPacket
                | Command::NoPacketAt(_)
                | Command::ExpectDigest(..)
        )
    });
    if let Some((line, _)) = packet {
        let what = "a set-up has no packets and expects nothing: tests do";
        return Err(Failure::message(format!("{}:{line}: {what}", file.display())));
    }
    let mut text = std::fs::read_to_string(file).map_err(|e| in_file(file, &e))?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok((script, text))
}

/// What a test is for: the points that no test before it reaches.
fn comment(pipeline: &Arc<Pipeline>, args: &TestgenArgs, test: &Test) -> String {
    let points = hopwright_testgen::points_of(pipeline, test);
    let mut lines = vec![format!("hopwright testgen --seed {} {}", args.seed, args.source.file.display())];
    if points.is_empty() {
        lines.push("a case of a condition, a bound of a comparison or the end of a packet".into());
    }
    lines.extend(points);
    if test.at_zero {
        lines.push("the packet must arrive at time zero".into());
    }
    lines.join("\n")
}

/// The packet as a capture.
fn capture(file: &Path, test: &Test) -> Result<(), Failure> {
    let mut output = hopwright_ports::pcap::create(file)?;
    let packet =
        PcapPacket { timestamp: Duration::ZERO, orig_len: test.packet.len() as u32, data: Cow::Borrowed(&test.packet) };
    output.write_packet(&packet).map_err(Failure::message)?;
    Ok(())
}

/// The engines that must agree about each test.
struct Engines<'a> {
    pipeline: &'a Arc<Pipeline>,
    kinds: Vec<(&'static str, EngineChoice)>,
}

impl<'a> Engines<'a> {
    /// The interpreter and machine code, as far as they run the program.
    fn of(pipeline: &'a Arc<Pipeline>) -> Result<Engines<'a>, Failure> {
        data_plane(pipeline, EngineChoice::Interp)?;
        #[cfg_attr(not(feature = "jit"), expect(unused_mut))]
        let mut kinds = vec![("interpreter", EngineChoice::Interp)];
        #[cfg(feature = "jit")]
        match data_plane(pipeline, EngineChoice::Jit) {
            Ok(_) => kinds.push(("machine code", EngineChoice::Jit)),
            Err(_) => eprintln!("the code generator does not support the program: only the interpreter runs the tests"),
        }
        Ok(Engines { pipeline, kinds })
    }

    /// Runs a test. A difference is an error of an engine.
    fn agree(&self, file: &Path, text: &str) -> Result<(), String> {
        let name = file.display().to_string();
        let script = hopwright_stf::parse(&name, text);
        let script = script.map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
        for (engine, kind) in &self.kinds {
            let failed =
                |failure: &dyn std::fmt::Display| format!("the {engine} differs from what it should do: {failure}");
            let vdp = data_plane(self.pipeline, *kind).map_err(|f| f.reason())?;
            let mut engine = one_by_one(vdp).map_err(|f| f.reason())?;
            let report = hopwright_stf::run(&script, &mut engine).map_err(|e| failed(&e))?;
            if let Some(failure) = report.failures.first() {
                return Err(failed(failure));
            }
        }
        Ok(())
    }
}

fn summary(generated: &Generated, time: Duration) {
    let report = generated.coverage.report();
    for total in report.totals.iter().filter(|total| total.all > 0) {
        let percent = 100.0 * total.reached as f64 / total.all as f64;
        println!("{:<16}{:>6} of {:>5}  {percent:5.1} %", total.kind, total.reached, total.all);
    }
    let points = generated.coverage.points();
    for (title, proved) in [("proved: no packet reaches", true), ("not reached:", false)] {
        let unreached: Vec<_> = generated.unreached.iter().filter(|unreached| unreached.proved == proved).collect();
        if !unreached.is_empty() {
            println!("{title}");
        }
        for Unreached { point, why, .. } in unreached {
            let why = if proved { String::new() } else { format!(": {why}") };
            println!("  {}: {}{why}", points.location(*point), points.all()[*point].label);
        }
    }
    println!(
        "{} tests of {} runs in {:.1} s; the search ended because {}",
        generated.tests.len(),
        generated.runs,
        time.as_secs_f64(),
        generated.ended
    );
    if generated.by_chance > 0 {
        println!(
            "{} runs make no test: what comes of their packets depends on time or chance, or entries contradict each other",
            generated.by_chance
        );
    }
    if generated.faults > 0 {
        println!("{} runs ended in a fault of the program", generated.faults);
    }
}
