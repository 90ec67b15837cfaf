//! Compiles the program that the command line names and prints its diagnostics.

use std::collections::HashSet;
use std::io::IsTerminal;
use std::sync::Arc;

use hopwright_dataplane::BuildError;
use hopwright_dataplane::externs::ExternTypes;
use hopwright_driver::{Compiled, check_file, compile_file};
use hopwright_ir::{ExternCall, ExternFn, ExternKind, Pipeline, Span, StmtKind, walk};
use hopwright_reference::Unsupported;
use hopwright_syntax::{Diagnostic, Diagnostics, Options, Severity, render};

use crate::cli::program::{MAX_ERRORS, Source};
use crate::failure::Failure;

/// As [`compile`], with warnings of what other targets do not have.
///
/// # Errors
/// The program is no P4 text.
pub(crate) fn compile_portable(source: &Source, targets: &[hopwright_lint::Target]) -> Result<Compiled, Failure> {
    let mut compiled = compile(source, true);
    if targets.is_empty() || compiled.pipeline.is_none() {
        return Ok(compiled);
    }
    // Places of the same text are the same.
    let checked = check_file(&source.file, &options(source));
    let Some(typed) = &checked.typed else {
        return Err(Failure::message("--portable looks at P4 text, which a compiled program has not"));
    };
    compiled.diagnostics.extend(hopwright_lint::portable(&checked.program, typed, &checked.sources, targets));
    Ok(judged(compiled, source))
}

/// Compiles without printing anything.
pub(crate) fn compile(source: &Source, optimise: bool) -> Compiled {
    let mut compiled = read(source, optimise);
    let missing = compiled.pipeline.iter().flat_map(without_implementation).collect::<Vec<_>>();
    missing.into_iter().for_each(|d| compiled.diagnostics.push(d));
    judged(compiled, source)
}

#[cfg(not(feature = "p4runtime"))]
fn read(source: &Source, optimise: bool) -> Compiled {
    compile_file(&source.file, &options(source), optimise)
}

/// Compiles P4 source text, or what `hopwright bundle`, `hopwright as p4c` or `hopwright as bf-p4c` made of it.
#[cfg(feature = "p4runtime")]
fn read(source: &Source, optimise: bool) -> Compiled {
    if !is_compiled(source) {
        return compile_file(&source.file, &options(source), optimise);
    }
    let name = source.file.display();
    let compiled = if source.define.is_empty() && source.undefine.is_empty() && source.include.is_empty() {
        let read = || std::fs::read(&source.file).map_err(|error| format!("cannot read `{name}`: {error}"));
        source.config.clone().map_or_else(read, Ok).and_then(|config| {
            hopwright_p4runtime::compile_device_config(&config, optimise).map_err(|f| format!("{name}: {}", f.message))
        })
    } else {
        Err(format!("{name} is compiled already: -D, -U and -I cannot change it"))
    };
    compiled.unwrap_or_else(|reason| {
        let mut diagnostics = Diagnostics::new();
        diagnostics.push(Diagnostic::error("E0001", reason));
        Compiled { pipeline: None, typed: None, hashes: Vec::new(), diagnostics, sources: Arc::default() }
    })
}

/// Whether a file is a program that a compiler has packed as JSON: for BMv2's switches, or for Tofino as `tofino.bin`.
#[cfg(feature = "p4runtime")]
pub(crate) fn is_compiled(source: &Source) -> bool {
    source.config.is_some()
        || source.file.extension().is_some_and(|extension| extension == "json" || extension == "bin")
}

/// The device config of a compiled program: what a controller would send to a switch to have it run there.
#[cfg(feature = "p4runtime")]
pub(crate) fn device_config(compiled: &Compiled, source: &Source) -> Result<Vec<u8>, Failure> {
    if let Some(config) = &source.config {
        return Ok(config.clone());
    }
    if is_compiled(source) {
        return std::fs::read(&source.file).map_err(|e| Failure::message(format!("{}: {e}", source.file.display())));
    }
    let bundle = hopwright_p4runtime::Bundle::of(compiled, &source.file, &source.define, &source.include);
    Ok(bundle.to_bytes().to_vec())
}

/// Warns about what prevents the program from running: externs that are only declared, headers that are not whole bytes.
fn without_implementation(p: &Pipeline) -> Vec<Diagnostic> {
    let mut warnings = externs_without_implementation(p);
    let mut seen = HashSet::new();
    for header in p.headers.iter().filter(|h| !h.fixed_bits.is_multiple_of(8) && seen.insert(&h.type_name)) {
        let (name, bits) = (&header.type_name, header.fixed_bits);
        warnings.push(
            Diagnostic::warning("W0028", format!("`{name}` has {bits} bits: the program cannot run"))
                .at(header.span, "the first header of this type")
                .help("fill it up to whole bytes with a field that nobody reads"),
        );
    }
    warnings
}

fn externs_without_implementation(p: &Pipeline) -> Vec<Diagnostic> {
    let known = ExternTypes::standard();
    let mut missing: Vec<(Span, String)> = Vec::new();
    for object in &p.externs {
        if let ExternKind::Named { type_name, .. } = &object.kind
            && !known.has(type_name)
        {
            missing.push((object.span, format!("extern type `{type_name}`")));
        }
    }
    walk::all_stmts(p, &mut |s| {
        if let StmtKind::Extern(ExternCall { function: ExternFn::Named { instance: None, name, .. }, span, .. }) =
            &s.kind
        {
            missing.push((*span, format!("extern function `{name}`")));
        }
    });
    let warning = |(span, what): (Span, String)| {
        Diagnostic::warning("W0028", format!("{what} has no implementation: the program cannot run"))
            .at(span, "needed here")
            .note("there are those of v1model.p4, crypto.p4, internet_checksum.p4 and bits.p4")
    };
    missing.into_iter().map(warning).collect()
}

/// Removes the warnings that the command line allows, and turns those that it denies into errors.
fn judged(mut compiled: Compiled, source: &Source) -> Compiled {
    let listed = |list: &[String], code| list.iter().any(|what| hopwright_lint::means(what, code));
    let mut diagnostics = Diagnostics::new();
    for mut d in compiled.diagnostics {
        if d.severity == Severity::Warning {
            if listed(&source.allow, d.code) {
                continue;
            }
            if listed(&source.deny, d.code) {
                d = Diagnostic { severity: Severity::Error, ..d }.note("a warning that --deny takes as an error");
            }
        }
        diagnostics.push(d);
    }
    if diagnostics.has_errors() {
        compiled.pipeline = None;
    }
    compiled.diagnostics = diagnostics;
    compiled
}

/// Compiles, and prints the diagnostics on standard error.
pub(crate) fn pipeline(source: &Source) -> Result<Arc<Pipeline>, Failure> {
    printed(compile(source, true))
}

/// Prints the diagnostics on standard error; fails if there are errors.
pub(crate) fn printed(compiled: Compiled) -> Result<Arc<Pipeline>, Failure> {
    print_diagnostics(&compiled);
    compiled.pipeline.map(Arc::new).ok_or(Failure::Reported)
}

/// Prints the diagnostics on standard error, and of many errors only the first.
pub(crate) fn print_diagnostics(compiled: &Compiled) {
    let diagnostics = compiled.diagnostics.clone().first_errors(MAX_ERRORS);
    let text = render::render(&diagnostics, &compiled.sources, color());
    if !text.is_empty() {
        eprint!("{text}");
    }
}

/// Prints all diagnostics on standard error.
pub(crate) fn print_all(compiled: &Compiled) {
    let text = render::render(&compiled.diagnostics, &compiled.sources, color());
    if !text.is_empty() {
        eprint!("{text}");
    }
}

/// Prints what an engine does not support, at its place in the program.
pub(crate) fn refused(pipeline: &Pipeline, error: &BuildError) -> Failure {
    let diagnostic = match error {
        BuildError::Program(message) => return Failure::message(message),
        BuildError::NoMachineCode => {
            return Failure::message(format!("{error}; the interpreter runs it: --engine interp"));
        }
        BuildError::Unsupported { span, message } => {
            Diagnostic::error("E0600", message.clone()).at(*span, "").help("the interpreter may: --engine interp")
        }
    };
    eprint!("{}", render::render_one(&diagnostic, &pipeline.sources, color()));
    Failure::Reported
}

/// Prints what the reference does not support, at its places in the program.
pub(crate) fn refused_by_reference(pipeline: &Pipeline, found: &[Unsupported]) -> Failure {
    for Unsupported { what, span, .. } in found {
        let title = format!("the reference does not support {what}");
        let diagnostic = Diagnostic::error("E0603", title).at(*span, "").help("the interpreter does: --engine interp");
        eprintln!("{}", render::render_one(&diagnostic, &pipeline.sources, color()).trim_end());
    }
    Failure::Reported
}

/// Whether to colour standard error.
pub(crate) fn color() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// The options of the preprocessor.
pub(crate) fn options(source: &Source) -> Options {
    let mut options = Options { include_paths: source.include.clone(), ..Options::default() };
    for definition in &source.define {
        options.define(definition);
    }
    for name in &source.undefine {
        options.undefine(name);
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program with one warning, W0002, judged by a command line.
    fn judge(deny: &[&str], allow: &[&str]) -> Vec<(Severity, &'static str)> {
        let list = |names: &[&str]| names.iter().map(|n| n.to_string()).collect();
        let source = Source {
            file: "test.p4".into(),
            include: Vec::new(),
            define: Vec::new(),
            undefine: Vec::new(),
            deny: list(deny),
            allow: list(allow),
            config: None,
        };
        let text = "#include <core.p4>\nconst bit<8> X = 256;\ncontrol c(); package p(c a); control d() { apply { } } p(d()) main;";
        let compiled = hopwright_driver::compile_text("test.p4", text, &Options::default(), true);
        let judged = judged(compiled, &source);
        judged.diagnostics.iter().filter(|d| d.code.starts_with('W')).map(|d| (d.severity, d.code)).collect()
    }

    #[test]
    fn warnings_are_allowed_and_denied_by_code_and_name() {
        assert_eq!(judge(&[], &[]), [(Severity::Warning, "W0002")]);
        assert_eq!(judge(&["warnings"], &[]), [(Severity::Error, "W0002")]);
        assert_eq!(judge(&["overflow"], &[]), [(Severity::Error, "W0002")]);
        assert_eq!(judge(&["unused"], &[]), [(Severity::Warning, "W0002")]);
        assert_eq!(judge(&["warnings"], &["w0002"]), []);
    }
}
