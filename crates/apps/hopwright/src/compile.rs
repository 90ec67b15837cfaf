//! From text to a program.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hopwright_dataplane::externs::ExternTypes;
use hopwright_driver::{Compiled, Options};
use hopwright_ir::Pipeline;
use hopwright_syntax::{SourceMap, render};

use crate::{BuildError, Engine, ExternObject, Number, Runner, Severity, SwitchBuilder};

/// What diagnostics call a program that is compiled from a text, unless it is given a name.
const NAME: &str = "program.p4";

/// Compiles the text of a P4-16 program. `core.p4`, `v1model.p4`, `psa.p4`, `pna.p4`, `tna.p4`, `t2na.p4` and further
/// [include files](https://p4.org/p4-spec/docs/P4-16-v1.2.5.html) of architectures are built in; what else the text includes is looked
/// up in the current folder.
///
/// # Errors
/// The program has errors. The error's text shows each with its file, line and a mark below the place.
pub fn compile(text: &str) -> Result<Program, CompileError> {
    Compiler::new().compile(text)
}

/// Compiles the program in a file. What it includes in quotes is looked up in the file's folder.
///
/// # Errors
/// As [`compile`], or the file cannot be read.
pub fn compile_file(file: impl AsRef<Path>) -> Result<Program, CompileError> {
    Compiler::new().compile_file(file)
}

/// Compiles programs with include paths, macros and extern types.
///
/// ```
/// # fn main() -> Result<(), hopwright::CompileError> {
/// # let text = hopwright::doc::EMPTY;
/// let program = hopwright::Compiler::new().include("p4/include").define("PORTS=8").compile(text)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Compiler {
    options: Options,
    /// Of programs that are compiled from a text.
    name: String,
    /// As given, `NAME` or `NAME=VALUE`.
    #[cfg(feature = "p4runtime")]
    defines: Vec<String>,
    externs: ExternTypes,
    optimise: bool,
}

impl Default for Compiler {
    fn default() -> Compiler {
        Compiler::new()
    }
}

impl Compiler {
    /// A compiler without include paths and macros, with the extern types of `crypto.p4` and of Tofino.
    pub fn new() -> Compiler {
        Compiler {
            options: Options::default(),
            name: NAME.into(),
            #[cfg(feature = "p4runtime")]
            defines: Vec::new(),
            externs: ExternTypes::standard(),
            optimise: true,
        }
    }

    /// Whether programs are optimised, as they are without a call of this method. Without optimisation every statement is there, which is
    /// what [`Runner::measure_coverage`] wants.
    #[must_use]
    pub fn optimise(mut self, optimise: bool) -> Compiler {
        self.optimise = optimise;
        self
    }

    /// What errors and traces call a program that is compiled from a text: `router.p4`. Without it that is `program.p4`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Compiler {
        self.name = name.into();
        self
    }

    /// Adds a folder in which files of `#include` are looked up, after those given before.
    #[must_use]
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Compiler {
        self.options.include_paths.push(folder.into());
        self
    }

    /// Adds an include file that is in memory, by the name that `#include` has.
    #[must_use]
    pub fn include_text(mut self, name: impl Into<String>, text: impl AsRef<str>) -> Compiler {
        self.options.embedded.push((name.into(), Arc::from(text.as_ref())));
        self
    }

    /// Defines a macro: `NAME` or `NAME=VALUE`.
    #[must_use]
    pub fn define(mut self, definition: &str) -> Compiler {
        self.options.define(definition);
        #[cfg(feature = "p4runtime")]
        self.defines.push(definition.into());
        self
    }

    /// Undefines a macro.
    #[must_use]
    pub fn undefine(mut self, name: &str) -> Compiler {
        self.options.undefine(name);
        self
    }

    /// Implements an extern type that programs declare. `constructor` has the arguments of the P4 constructor, and makes an object for
    /// each instance; its error refuses the program. See [`ExternObject`].
    #[must_use]
    pub fn extern_type<T: ExternObject>(
        mut self,
        name: &'static str,
        constructor: impl Fn(&[Number]) -> Result<T, String> + Send + Sync + 'static,
    ) -> Compiler {
        self.externs.add_object(name, constructor);
        self
    }

    /// Compiles a text; see [`compile`].
    ///
    /// # Errors
    /// The program has errors.
    pub fn compile(&self, text: &str) -> Result<Program, CompileError> {
        let compiled = hopwright_driver::compile_text(&self.name, text, &self.options, self.optimise);
        self.program(Path::new(&self.name), compiled)
    }

    /// Compiles a file; see [`compile_file`].
    ///
    /// # Errors
    /// The program has errors, or the file cannot be read.
    pub fn compile_file(&self, file: impl AsRef<Path>) -> Result<Program, CompileError> {
        let file = file.as_ref();
        self.program(file, hopwright_driver::compile_file(file, &self.options, self.optimise))
    }

    fn program(&self, file: &Path, compiled: Compiled) -> Result<Program, CompileError> {
        let diagnostics = Diagnostics::of(&compiled);
        let Some(pipeline) = &compiled.pipeline else { return Err(CompileError(diagnostics)) };
        // Used with a feature only.
        let _ = file;
        Ok(Program {
            pipeline: Arc::new(pipeline.clone()),
            warnings: diagnostics,
            externs: self.externs.clone(),
            #[cfg(feature = "p4runtime")]
            config: Arc::new(crate::p4runtime_server::Config::of(
                &compiled,
                file,
                &self.defines,
                &self.options.include_paths,
            )),
        })
    }
}

/// A compiled program. Cheap to clone.
#[derive(Clone)]
pub struct Program {
    pub(crate) pipeline: Arc<Pipeline>,
    warnings: Diagnostics,
    pub(crate) externs: ExternTypes,
    #[cfg(feature = "p4runtime")]
    pub(crate) config: Arc<crate::p4runtime_server::Config>,
}

impl Program {
    /// Its name: that of its file without folders and ending.
    pub fn name(&self) -> &str {
        &self.pipeline.name
    }

    /// What the compiler warns about. Warnings are about legal code that is probably wrong.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings.list
    }

    /// The names of the tables, as the control plane sees them: `MyIngress.ipv4_lpm`.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.pipeline.tables.iter().map(|table| table.name.as_str())
    }

    /// The names of counters, meters, registers and other extern objects.
    pub fn objects(&self) -> impl Iterator<Item = &str> {
        self.pipeline.externs.iter().map(|object| object.name.as_str())
    }

    /// Collects the ports of a switch that runs the program.
    pub fn switch(&self) -> SwitchBuilder {
        SwitchBuilder::new(self.clone())
    }

    /// Runs the program on one packet after the other, in memory, with [`Engine::Auto`].
    ///
    /// # Errors
    /// As [`Program::runner_with`].
    pub fn runner(&self) -> Result<Runner, BuildError> {
        self.runner_with(Engine::Auto)
    }

    /// The same, with an engine.
    ///
    /// # Errors
    /// The engine does not support the program, an extern type has no implementation, or there is no memory.
    pub fn runner_with(&self, engine: Engine) -> Result<Runner, BuildError> {
        Runner::new(engine.start(self)?)
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// An error or a warning of the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// How severe it is.
    pub severity: Severity,
    /// Its code, such as `E0300`. `hopwright explain E0300` and `docs/errors.md` explain it.
    pub code: &'static str,
    /// One line that says what is wrong.
    pub message: String,
    /// Where, unless it is about no place.
    pub place: Option<SourcePlace>,
    /// All of it for people: the line of the program with a mark below the place, explanations, and what helps.
    pub text: String,
}

/// A place in a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourcePlace {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// What the compiler says about a program.
#[derive(Clone, Debug)]
struct Diagnostics {
    list: Vec<Diagnostic>,
    /// All of them for people.
    text: String,
}

impl Diagnostics {
    fn of(compiled: &Compiled) -> Diagnostics {
        let list = compiled.diagnostics.iter().map(|d| diagnostic(d, &compiled.sources)).collect();
        Diagnostics { list, text: compiled.report(false) }
    }
}

fn diagnostic(found: &hopwright_syntax::Diagnostic, sources: &SourceMap) -> Diagnostic {
    let place = found.span().map(|span| {
        let at = sources.location(span);
        SourcePlace { file: at.file.to_string(), line: at.line, column: at.column }
    });
    let text = render::render_one(found, sources, false);
    Diagnostic { severity: found.severity, code: found.code, message: found.message.clone(), place, text }
}

/// The program has errors. The text has all of them, and the warnings, with file, line and a mark below the place.
#[derive(Clone)]
pub struct CompileError(Diagnostics);

impl CompileError {
    /// Errors and warnings, in the order they were found.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0.list
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.text.trim_end())
    }
}

/// As people read it: `main` prints its error in this way.
impl fmt::Debug for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the program has errors\n{self}")
    }
}

impl std::error::Error for CompileError {}
