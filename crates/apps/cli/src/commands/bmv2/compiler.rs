//! p4c: the driver, and the compilers for BMv2's switches.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hopwright_driver::Compiled;
use hopwright_p4runtime::p4info;
use hopwright_syntax::{Diagnostics, SourceMap};

use super::compiler_options::{CompilerOptions, InfoForm};
#[cfg(feature = "bfruntime")]
use super::tofino::{self, Chip};
use super::{Name, json, messages};
use crate::cli::program::Source;
use crate::commands;
use crate::commands::p4info::refuse_uncontrollable;
use crate::compile;
use crate::failure::Failure;

/// p4c's macro of BMv2.
const BMV2_MACRO: &str = "__TARGET_BMV2__";

const HELP: &str = "\
Compiles P4-16 for BMv2's switches and for Tofino, which Hopwright replaces. It takes p4c's options, of which these matter:

  -o PATH                        output: a folder (p4c, bf-p4c), a file (p4c-bm2-ss, p4c-bm2-psa)
  -b, --target bmv2|tofino|tofino2|tofino3
                                 the target
  -a, --arch v1model|psa|pna|tna|t2na
                                 the architecture
  --bf-rt-schema FILE, --program-name NAME
                                 for Tofino: the file that lists tables for BfRuntime, the name of the program
  -E                             preprocess only: to OUTPUT/PROGRAM.p4i (p4c), to standard output (others)
  --std p4-16                    the language; P4-14 is refused
  -I DIR, -D NAME[=VALUE], -U NAME
                                 options of the preprocessor
  --p4runtime-files FILE,…       write P4Info, in the form of the suffix: .txtpb, .txt, .json, .bin
  --Wdisable[=NAME,…], --Werror[=NAME,…]
                                 hide warnings, make them errors; names are p4c's, or codes of `hopwright explain`
  --maxErrorCount N              stop after this many errors
  --version                      print the version

The JSON file is for Hopwright's switches: it has the P4 program in it, and of BMv2's format what tools read names from.
docs/from-bmv2.md says what differs. For Tofino the folder has PROGRAM.conf, bf-rt.json, and the program as PIPELINE/tofino.bin
(tofino2.bin for a Tofino 2), which `hopwright as bf_switchd` runs; docs/tofino.md says more.
";

/// How a compiler ends.
pub(super) enum End {
    /// Well.
    Done,
    /// With this status; the reason has been printed.
    Status(u8),
}

/// Runs a compiler.
pub(super) fn run(name: Name, arguments: Vec<OsString>) -> Result<End, Failure> {
    let words: Result<Vec<String>, OsString> = arguments.into_iter().map(OsString::into_string).collect();
    let words = words.map_err(|word| Failure::message(format!("{}: not UTF-8", word.display())))?;
    let options = match CompilerOptions::read(name, &words) {
        Ok(options) => options,
        Err(wrong) if name.is_driver() => return Ok(usage(&wrong)),
        Err(wrong) => {
            eprintln!("error: {wrong}\nUse '--help' to see all available options.");
            return Ok(End::Status(1));
        }
    };
    if options.help {
        print!("{}: {HELP}", name.text());
        return Ok(End::Done);
    }
    if options.version {
        print_version(name);
        return Ok(End::Done);
    }
    let backend = match Backend::of(&options) {
        Ok(backend) => backend,
        Err(wrong) => return Ok(usage(&wrong)),
    };
    let file = match input(name, &options) {
        Ok(file) => file.to_path_buf(),
        Err(end) => return Ok(end),
    };
    options.notes.iter().for_each(|note| eprintln!("{note}"));
    if options.p4_14 {
        eprintln!(
            "error: {}: P4-14 is not supported; p4c's `p4test --std p4-14 --pp` translates it to P4-16",
            file.display()
        );
        return Ok(End::Status(1));
    }
    let outputs = Outputs::of(name, &options, &backend, &file);
    if options.dry_run {
        println!("compiler:\nhopwright as {} -o {} {}", name.text(), outputs.text(), file.display());
        return Ok(End::Done);
    }
    if options.preprocess {
        return preprocess(name, &source(&options, &backend, &file), &outputs);
    }
    compile(&options, &backend, &file, &outputs)
}

/// What is compiled for.
struct Backend {
    architecture: String,
    define: &'static str,
    /// The chip, if it is one.
    #[cfg(feature = "bfruntime")]
    chip: Option<&'static Chip>,
}

impl Backend {
    /// That of the target and the architecture.
    fn of(options: &CompilerOptions) -> Result<Backend, String> {
        let (target, wanted) = (options.target.as_str(), options.architecture.as_deref());
        let unknown = |architecture: &str, known: &str| {
            Err(format!(
                "Unknown backend: {target}-{architecture} (there are bmv2-v1model, bmv2-psa and bmv2-pna{known})"
            ))
        };
        #[cfg(feature = "bfruntime")]
        if let Some(chip) = Chip::of(target) {
            return match wanted.unwrap_or(chip.architecture) {
                known if known == chip.architecture => {
                    Ok(Backend { architecture: known.into(), define: chip.define, chip: Some(chip) })
                }
                other => unknown(other, &format!(", and {target}-{}", chip.architecture)),
            };
        }
        match wanted.unwrap_or("v1model") {
            known @ ("v1model" | "psa" | "pna") if target == "bmv2" => Ok(Backend {
                architecture: known.into(),
                define: BMV2_MACRO,
                #[cfg(feature = "bfruntime")]
                chip: None,
            }),
            other => unknown(
                other,
                if cfg!(feature = "bfruntime") { ", and those of tofino, tofino2 and tofino3" } else { "" },
            ),
        }
    }
}

/// An error of the driver's command line.
fn usage(wrong: &str) -> End {
    eprintln!(
        "usage: p4c [-h] [-V] [-b TARGET] [-a ARCH] [-o PATH] [--p4runtime-files FILES] … P4_source_file\np4c: error: {wrong}"
    );
    End::Status(2)
}

fn print_version(name: Name) {
    let version = concat!(env!("CARGO_PKG_VERSION"), " (Hopwright)");
    match name {
        Name::P4c => println!("p4c {version}"),
        _ => eprintln!("{}\nVersion {version}", name.text()),
    }
}

/// The program, or how p4c ends without one.
fn input(name: Name, options: &CompilerOptions) -> Result<&Path, End> {
    let driver = name.is_driver();
    let file = match options.files.as_slice() {
        [file] => file,
        [] if driver => return Err(usage("no input pathname was specified.")),
        [] => {
            eprintln!("error: No input files specified");
            return Err(End::Status(1));
        }
        files => {
            let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
            eprintln!("error: Only one input file must be specified: {}", names.join(","));
            return Err(End::Status(1));
        }
    };
    if !file.is_file() {
        if driver {
            eprintln!(
                "\nERROR: the input file \"{}\" does not exist.\n\nSorry; 1 error was found while analyzing the command inputs.  \
                 Aborting the P4 compiler driver.\n",
                file.display()
            );
        } else {
            eprintln!("error: {}: input file does not exist", file.display());
        }
        return Err(End::Status(1));
    }
    Ok(file)
}

/// The files to write.
struct Outputs {
    /// Made if it is missing.
    folder: Option<PathBuf>,
    json: Option<PathBuf>,
}

impl Outputs {
    fn of(name: Name, options: &CompilerOptions, backend: &Backend, file: &Path) -> Outputs {
        #[cfg(feature = "bfruntime")]
        if backend.chip.is_some() {
            let stem = PathBuf::from(file.file_stem().unwrap_or_default());
            return Outputs {
                folder: options.output.clone().or_else(|| Some(stem.with_added_extension("tofino"))),
                json: None,
            };
        }
        let _ = backend;
        if !name.is_driver() {
            return Outputs { folder: None, json: options.output.clone() };
        }
        let folder = options.output.clone().unwrap_or_else(|| ".".into());
        let json = folder.join(file.file_stem().unwrap_or_default()).with_added_extension("json");
        Outputs { folder: Some(folder), json: Some(json) }
    }

    fn text(&self) -> String {
        self.json.as_ref().or(self.folder.as_ref()).map_or_else(|| "-".into(), |file| file.display().to_string())
    }
}

fn source(options: &CompilerOptions, backend: &Backend, file: &Path) -> Source {
    let mut define = options.define.clone();
    define.insert(0, backend.define.into());
    Source {
        file: file.into(),
        include: options.include.clone(),
        define,
        undefine: options.undefine.clone(),
        deny: options.errors.clone(),
        allow: options.disabled.clone(),
        config: None,
    }
}

/// Preprocesses only: the driver to a file beside its output, whose folder it does not make, a compiler to standard output.
fn preprocess(name: Name, source: &Source, outputs: &Outputs) -> Result<End, Failure> {
    let beside = outputs.json.as_ref().filter(|_| name.is_driver()).map(|json| json.with_extension("p4i"));
    let stem = Path::new(source.file.file_stem().unwrap_or_default());
    let within = outputs.folder.as_ref().map(|folder| folder.join(stem).with_added_extension("p4pp"));
    match commands::preprocess::print(source, true, beside.or(within).as_deref()) {
        Err(Failure::Reported) => Ok(End::Status(1)),
        other => other.map(|()| End::Done),
    }
}

fn compile(options: &CompilerOptions, backend: &Backend, file: &Path, outputs: &Outputs) -> Result<End, Failure> {
    let source = source(options, backend, file);
    if let Some(folder) = &outputs.folder {
        std::fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
    }
    let mut compiled = compile::compile(&source, false);
    refuse_uncontrollable(&mut compiled);
    if compiled.pipeline.is_none() {
        return Ok(failed(&compiled.diagnostics, &compiled.sources, options));
    }
    eprint!("{}", messages::text(&compiled.diagnostics, &compiled.sources));
    if let Some(wrong) = wrong_architecture(&compiled, &backend.architecture) {
        eprintln!("error: {}: {wrong}", file.display());
        return Ok(End::Status(1));
    }
    let (Some(info), Some(pipeline)) = (p4info::of_compiled(&compiled), &compiled.pipeline) else {
        return Err(Failure::Reported);
    };
    let info = info?;
    for (file, form) in &options.info {
        let bytes = match form {
            InfoForm::Text => p4info::to_text(&info)?.into_bytes(),
            InfoForm::Json => p4info::to_json(&info)?.into_bytes(),
            InfoForm::Binary => p4info::to_binary(&info),
        };
        write(file, &bytes)?;
    }
    let bundle = compile::device_config(&compiled, &source)?;
    #[cfg(feature = "bfruntime")]
    if let (Some(chip), Some(folder)) = (backend.chip, &outputs.folder) {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let program = options.program.as_deref().unwrap_or(&stem);
        if program != stem {
            eprintln!("warning: --program-name: controllers find the program as {stem}, by its file");
        }
        let schema = options.tables.as_deref();
        tofino::outputs::Outputs { folder, program, schema, chip }.write(&compiled, &info, &bundle)?;
    }
    if let Some(json) = &outputs.json {
        let written = json::of(file, pipeline, serde_json::from_slice(&bundle)?);
        write(json, format!("{written:#}\n").as_bytes())?;
    }
    Ok(End::Done)
}

/// Prints what is wrong with the program.
fn failed(diagnostics: &Diagnostics, sources: &SourceMap, options: &CompilerOptions) -> End {
    eprint!("{}", messages::text(&diagnostics.clone().first_errors(options.max_errors.max(1)), sources));
    End::Status(1)
}

fn wrong_architecture(compiled: &Compiled, wanted: &str) -> Option<String> {
    let found = compiled.typed.as_ref()?.architecture()?.name;
    (found != wanted).then(|| format!("the program is for {found}, not for {wanted} (see --arch)"))
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(file, bytes).map_err(|e| cannot_write(file, &e))
}

fn cannot_write(file: &Path, error: &std::io::Error) -> Failure {
    Failure::message(format!("error: {}: {error}", file.display()))
}
