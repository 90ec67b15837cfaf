//! `hopwright fmt`.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use hopwright_fmt::Error;
use hopwright_syntax::{SourceMap, render};
use similar::TextDiff;

use crate::cli::fmt::FmtArgs;
use crate::compile;
use crate::failure::Failure;
use crate::output;

/// What became of a text.
enum Outcome {
    Unchanged,
    Changed(String),
    /// The reason has been printed.
    Refused,
}

/// Formats files.
pub(crate) fn run(args: &FmtArgs) -> Result<(), Failure> {
    if args.stdin || args.paths.iter().any(|path| path == Path::new("-")) {
        if args.paths.len() > 1 {
            return Err(Failure::message("standard input is formatted alone: name no files beside `-`"));
        }
        return standard_input(args.check);
    }
    let mut failed = false;
    for file in files(&args.paths)? {
        let text = match read(&file) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("hopwright: {}: {error}", file.display());
                failed = true;
                continue;
            }
        };
        match format(&file, &text) {
            Outcome::Unchanged => {}
            Outcome::Changed(formatted) if args.check => {
                print_diff(&file, &text, &formatted);
                failed = true;
            }
            Outcome::Changed(formatted) => {
                output::rewrite(&file, &formatted)
                    .map_err(|error| Failure::message(format!("{}: {error}", file.display())))?;
            }
            Outcome::Refused => failed = true,
        }
    }
    if failed { Err(Failure::Reported) } else { Ok(()) }
}

fn standard_input(check: bool) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    let name = Path::new("<stdin>");
    let text = String::from_utf8(bytes).map_err(|_| Failure::message("<stdin>: not UTF-8"))?;
    match (format(name, &text), check) {
        (Outcome::Unchanged, true) => Ok(()),
        (Outcome::Unchanged, false) => {
            print!("{text}");
            Ok(())
        }
        (Outcome::Changed(formatted), false) => {
            print!("{formatted}");
            Ok(())
        }
        (Outcome::Changed(formatted), true) => {
            print_diff(name, &text, &formatted);
            Err(Failure::Reported)
        }
        (Outcome::Refused, _) => Err(Failure::Reported),
    }
}

fn format(file: &Path, text: &str) -> Outcome {
    match hopwright_fmt::format(text) {
        Ok(formatted) if formatted == text => Outcome::Unchanged,
        Ok(formatted) => Outcome::Changed(formatted),
        Err(Error::Lex(diagnostic)) => {
            let mut sources = SourceMap::new();
            sources.add(file.display().to_string(), text, None);
            eprintln!("{}\n", render::render_one(&diagnostic, &sources, compile::color()));
            Outcome::Refused
        }
        Err(error) => {
            eprintln!("hopwright: {}: {error}", file.display());
            Outcome::Refused
        }
    }
}

fn read(file: &Path) -> Result<String, String> {
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| format!("not UTF-8 from byte {} on", error.utf8_error().valid_up_to()))
}

/// The files that paths name, each once.
fn files(paths: &[PathBuf]) -> Result<BTreeSet<PathBuf>, Failure> {
    let mut found = BTreeSet::new();
    for path in paths {
        let failed = |error: std::io::Error| Failure::message(format!("{}: {error}", path.display()));
        if std::fs::metadata(path).map_err(failed)?.is_dir() {
            add_folder(path, &mut found).map_err(failed)?;
        } else {
            found.insert(path.clone());
        }
    }
    Ok(found)
}

/// Adds the .p4 files of a folder and of those in it. Links to folders are not followed, hidden ones are left out.
fn add_folder(folder: &Path, found: &mut BTreeSet<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
            add_folder(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "p4") && !kind.is_dir() && path.is_file() {
            found.insert(path);
        }
    }
    Ok(())
}

fn print_diff(file: &Path, old: &str, new: &str) {
    let name = file.display().to_string();
    let diff = TextDiff::from_lines(old, new);
    print!("{}", diff.unified_diff().context_radius(3).header(&name, &format!("{name} (formatted)")));
}
