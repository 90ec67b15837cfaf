//! Compiles a P4 program's text to a pipeline in one call: parse, analyse, lint, lower, optimise, verify.

mod bindings;

use std::path::Path;
use std::sync::Arc;

pub use bindings::{bindings, write_bindings};
use hopwright_ir::hash_object::HashObject;
use hopwright_ir::{Pipeline, verify};
pub use hopwright_lower::Hashes;
use hopwright_sema::hir::TypedProgram;
use hopwright_sema::index::Index;
use hopwright_source::stack;
use hopwright_syntax::{Diagnostic, Diagnostics, Program, SourceMap, render};

pub use hopwright_syntax::Options;

/// The result of a compilation.
#[derive(Debug)]
pub struct Compiled {
    /// The pipeline, unless there are errors.
    pub pipeline: Option<Pipeline>,
    /// The typed program of the pipeline, with annotations and types of the source, for P4Info.
    pub typed: Option<TypedProgram>,
    /// `Hash` objects of the program that control planes can change: those that are used in one place.
    pub hashes: Vec<HashObject>,
    /// Errors and warnings.
    pub diagnostics: Diagnostics,
    /// The text that spans point into.
    pub sources: Arc<SourceMap>,
}

impl Compiled {
    /// The same program with hashes that a control plane has changed; as it is if it has errors.
    pub fn with_hashes(self, hashes: &Hashes, optimise: bool) -> Compiled {
        match self {
            Compiled { typed: Some(typed), diagnostics, sources, .. } => {
                stack::with_room(|| lowered(typed, diagnostics, sources, optimise, hashes))
            }
            without => without,
        }
    }

    /// The diagnostics as text; `color` adds terminal escapes.
    pub fn report(&self, color: bool) -> String {
        render::render(&self.diagnostics, &self.sources, color)
    }
}

/// Compiles the program in a file. With `optimise` false the pipeline is as lowered.
pub fn compile_file(file: &Path, options: &Options, optimise: bool) -> Compiled {
    let mut sources = SourceMap::new();
    let name = file.file_stem().map_or_else(|| "program".into(), |s| s.to_string_lossy().into_owned());
    stack::with_room(|| {
        let parsed = hopwright_syntax::parse(&mut sources, file, options);
        compile(parsed, &name, sources, optimise)
    })
}

/// Compiles text in memory; `name` is what diagnostics call it.
pub fn compile_text(name: &str, text: &str, options: &Options, optimise: bool) -> Compiled {
    let mut sources = SourceMap::new();
    let stem = Path::new(name).file_stem().map_or_else(|| name.into(), |s| s.to_string_lossy().into_owned());
    stack::with_room(|| {
        let parsed = hopwright_syntax::parse_text(&mut sources, name, text, options);
        compile(parsed, &stem, sources, optimise)
    })
}

fn compile(parsed: (Program, Diagnostics), name: &str, sources: SourceMap, optimise: bool) -> Compiled {
    let sources = Arc::new(sources);
    let (program, mut diagnostics) = parsed;
    let failed = |diagnostics| without_pipeline(diagnostics, &sources);
    if diagnostics.has_errors() {
        return failed(diagnostics);
    }
    let analysis = hopwright_sema::analyse(&program, name);
    diagnostics.extend(analysis.diagnostics);
    let Some(typed) = analysis.program.filter(|_| !diagnostics.has_errors()) else { return failed(diagnostics) };
    diagnostics.extend(hopwright_lint::lint(&program, &typed));
    diagnostics = hopwright_lint::quiet(&program, diagnostics);
    lowered(typed, diagnostics, sources, optimise, &Hashes::new())
}

fn without_pipeline(diagnostics: Diagnostics, sources: &Arc<SourceMap>) -> Compiled {
    Compiled { pipeline: None, typed: None, hashes: Vec::new(), diagnostics, sources: sources.clone() }
}

/// Lowers, optimises and verifies a typed program.
fn lowered(
    typed: TypedProgram,
    mut diagnostics: Diagnostics,
    sources: Arc<SourceMap>,
    optimise: bool,
    hashes: &Hashes,
) -> Compiled {
    let failed = |diagnostics| without_pipeline(diagnostics, &sources);
    let (mut pipeline, hashes) = match hopwright_lower::lower_with(&typed, sources.clone(), hashes) {
        Ok(lowered) => (lowered.pipeline, lowered.hashes),
        Err(found) => {
            diagnostics.extend(found);
            return failed(diagnostics);
        }
    };
    if optimise {
        hopwright_opt::optimise(&mut pipeline);
    }
    if let Err(errors) = verify::verify(&pipeline) {
        // A bug of this compiler is reported as such; the pipeline is not run.
        for error in errors {
            diagnostics.push(
                Diagnostic::error("E0900", format!("the compiler built a wrong pipeline: {error}"))
                    .note("this is a bug in hopwright, not in your program"),
            );
        }
        return failed(diagnostics);
    }
    Compiled { pipeline: Some(pipeline), typed: Some(typed), hashes, diagnostics, sources }
}

/// One of several programs of a device with pipes, such as a Tofino.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name, which is in front of the names of its objects.
    pub name: String,
    /// What diagnostics call its text.
    pub main: String,
    /// Its text.
    pub text: String,
    /// Where its further files are.
    pub options: Options,
    /// The names of its pipelines, each with the pipes that it is in.
    pub pipes: Vec<(String, Vec<usize>)>,
}

/// Compiles programs that have pipes of their own to one pipeline of this name.
pub fn compile_together(name: &str, parts: &[Part], optimise: bool) -> Compiled {
    stack::with_room(|| {
        let (mut sources, mut diagnostics) = (SourceMap::new(), Diagnostics::new());
        let mut programs = Vec::new();
        for part in parts {
            let (program, found) = hopwright_syntax::parse_text(&mut sources, &part.main, &part.text, &part.options);
            diagnostics.extend(found);
            programs.push(program);
        }
        let sources = Arc::new(sources);
        let failed = |diagnostics| without_pipeline(diagnostics, &sources);
        if diagnostics.has_errors() {
            return failed(diagnostics);
        }
        let together: Vec<_> = (parts.iter().zip(&programs))
            .map(|(part, program)| hopwright_sema::Part { program, name: &part.name, pipes: &part.pipes })
            .collect();
        let analysis = hopwright_sema::analyse_together(name, &together);
        diagnostics.extend(analysis.diagnostics);
        let Some(typed) = analysis.program.filter(|_| !diagnostics.has_errors()) else { return failed(diagnostics) };
        for (part, program) in parts.iter().zip(&programs) {
            // Warnings are about each program as it is alone.
            if let Some(alone) = hopwright_sema::analyse(program, &part.name).program {
                diagnostics.extend(hopwright_lint::lint(program, &alone));
            }
            diagnostics = hopwright_lint::quiet(program, diagnostics);
        }
        lowered(typed, diagnostics, sources, optimise, &Hashes::new())
    })
}

/// A program as an editor asks for it.
#[derive(Debug)]
pub struct Checked {
    /// The syntax tree, with everything that could be read.
    pub program: Program,
    /// The typed program, unless there are errors.
    pub typed: Option<TypedProgram>,
    /// Names and types by place, also of a program with errors.
    pub index: Index,
    /// Errors and warnings: the same as those of a compilation.
    pub diagnostics: Diagnostics,
    /// The text that spans point into.
    pub sources: Arc<SourceMap>,
}

/// Checks the program in a file as [`compile_file`] does, and makes no pipeline.
pub fn check_file(file: &Path, options: &Options) -> Checked {
    let mut sources = SourceMap::new();
    let name = file.file_stem().map_or_else(|| "program".into(), |s| s.to_string_lossy().into_owned());
    stack::with_room(|| {
        let parsed = hopwright_syntax::parse(&mut sources, file, options);
        check(parsed, &name, sources)
    })
}

/// Checks text in memory as [`compile_text`] does, and makes no pipeline.
pub fn check_text(name: &str, text: &str, options: &Options) -> Checked {
    let mut sources = SourceMap::new();
    let stem = Path::new(name).file_stem().map_or_else(|| name.into(), |s| s.to_string_lossy().into_owned());
    stack::with_room(|| {
        let parsed = hopwright_syntax::parse_text(&mut sources, name, text, options);
        check(parsed, &stem, sources)
    })
}

fn check((program, mut diagnostics): (Program, Diagnostics), name: &str, sources: SourceMap) -> Checked {
    let sources = Arc::new(sources);
    let (analysis, index) = hopwright_sema::analyse_indexed(&program, name);
    // What the syntax errors left out may be missing elsewhere.
    if !diagnostics.has_errors() {
        diagnostics.extend(analysis.diagnostics);
    }
    let typed = analysis.program.filter(|_| !diagnostics.has_errors());
    if let Some(typed) = &typed {
        diagnostics.extend(hopwright_lint::lint(&program, typed));
        diagnostics = hopwright_lint::quiet(&program, diagnostics);
        if let Err(found) = hopwright_lower::lower(typed, sources.clone()) {
            diagnostics.extend(found);
        }
    }
    Checked { program, typed, index, diagnostics, sources }
}

/// Options for a program whose further files are in memory, by the names they include each other by. Nothing is read from disk.
pub fn in_memory(files: &[(&str, &str)]) -> Options {
    let embedded = files.iter().map(|(name, text)| (name.to_string(), (*text).into())).collect();
    Options { embedded, no_disk: true, ..Options::default() }
}
