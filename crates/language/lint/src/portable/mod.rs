//! Portability: what a program uses that another target does not have, or has in another way.
//!
//! - W0039: the program is for another architecture.
//! - W0040: metadata of the architecture.
//! - W0041: extern functions and objects.
//! - W0042: arithmetic that a Tofino has no units for.
//! - W0043: types: `varbit`, header unions, headers that are not whole bytes.
//! - W0044: parsers: distances and sizes that are known at run time only, wide `select`s.
//! - W0045: tables that are applied in several places.
//! - W0046: registers that one packet reaches several times.
//! - W0047: conditions in actions.
//! - W0048: match kinds.
//! - W0049: checksums.
//! - W0050: loops, and stack elements chosen at run time.
//!
//! What a target accepts is taken from its compiler's public messages and documents. A program without these warnings may still be too
//! large for a Tofino: `hopwright fit` estimates that.

mod actions;
mod architecture;
mod externs;
mod fixes;
mod statements;
mod tables;

use hopwright_sema::hir::{Type, TypedProgram};
use hopwright_source::{SourceMap, Span};
use hopwright_syntax::ast::Program;
use hopwright_syntax::diagnostic::{Diagnostic, Diagnostics};

use fixes::Edit;

/// A target that a program may have to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// BMv2's switches, by p4c: v1model and the Portable Switch Architecture.
    Bmv2,
    /// Tofino and Tofino 2, by p4c's backend for them.
    Tofino,
    /// Whatever has the Portable Switch Architecture.
    Psa,
}

impl Target {
    /// All targets.
    pub const ALL: [Target; 3] = [Target::Bmv2, Target::Tofino, Target::Psa];

    /// Its name in options.
    pub fn name(self) -> &'static str {
        match self {
            Target::Bmv2 => "bmv2",
            Target::Tofino => "tofino",
            Target::Psa => "psa",
        }
    }

    /// The target with a name.
    pub fn by_name(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.name() == name)
    }

    /// Its name in sentences.
    fn title(self) -> &'static str {
        match self {
            Target::Bmv2 => "BMv2",
            Target::Tofino => "Tofino",
            Target::Psa => "PSA",
        }
    }

    /// Whether it runs programs of an architecture.
    fn runs(self, architecture: &str) -> bool {
        match self {
            Target::Bmv2 => matches!(architecture, "v1model" | "psa"),
            Target::Tofino => matches!(architecture, "tna" | "t2na"),
            Target::Psa => architecture == "psa",
        }
    }
}

/// Warnings about what targets do not have, in source order, without those that `@noWarn` suppresses. None for a program whose
/// architecture is not described. Suggested edits are made of the text in `sources`.
pub fn portable(syntax: &Program, program: &TypedProgram, sources: &SourceMap, targets: &[Target]) -> Diagnostics {
    let mut found = Vec::new();
    let Some(architecture) = program.architecture() else { return Diagnostics::new() };
    for target in Target::ALL.into_iter().filter(|target| targets.contains(target)) {
        let mut lint = Lint { program, sources, architecture: architecture.name, target, out: &mut found };
        lint.architecture();
        lint.externs();
        lint.statements();
        lint.types();
        lint.tables();
        lint.actions();
    }
    found.sort_by_key(|d| d.span());
    let mut diagnostics = Diagnostics::new();
    found.into_iter().for_each(|d| diagnostics.push(d));
    crate::quiet(syntax, diagnostics)
}

/// The search for what one target does not have.
struct Lint<'p, 'o> {
    program: &'p TypedProgram,
    sources: &'p SourceMap,
    /// The program's architecture.
    architecture: &'static str,
    target: Target,
    out: &'o mut Vec<Diagnostic>,
}

impl Lint<'_, '_> {
    /// Width of a type in bits.
    fn width(&self, ty: &Type) -> Option<u32> {
        crate::targets::width(self.program, ty)
    }

    /// Says that the target does not have something, why, and what takes its place.
    fn say(&mut self, code: &'static str, span: Span, what: &str, why: &str, instead: &str) {
        self.say_with_fix(code, (span, None), what, why, instead);
    }

    /// The same, with the edit that does so, if there is one.
    fn say_with_fix(
        &mut self,
        code: &'static str,
        (span, fix): (Span, Option<Edit>),
        what: &str,
        why: &str,
        instead: &str,
    ) {
        let title = format!("{}: {what}", self.target.title());
        let warning = Diagnostic::warning(code, title.clone()).at(span, format!("not for {}", self.target.name()));
        // Instances of a control have the same text.
        if self.out.iter().any(|d| d.code == code && d.span() == Some(span) && d.message == title) {
            return;
        }
        let warning = if why.is_empty() { warning } else { warning.note(why) };
        let warning = if instead.is_empty() { warning } else { warning.help(instead) };
        self.out.push(match fix {
            Some((at, new)) => warning.suggest(at, self.sources.snippet(at), new),
            None => warning,
        });
    }
}
