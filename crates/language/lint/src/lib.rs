//! Warnings about programs that are legal and probably wrong: headers read while they may be invalid, variables read before
//! they have a value, unused declarations, comparisons with only one possible result.
//!
//! [`portable`] finds what other targets do not have. [`lint`] finds the other warnings; [`means`] and [`quiet`] switch them off. Warnings that type checking yields come from
//! `hopwright-sema`.

mod flow;
mod known;
mod portable;
mod suppress;
mod targets;
mod usage;
mod visit;

use hopwright_sema::hir::TypedProgram;
use hopwright_syntax::ast::Program;
use hopwright_syntax::diagnostic::{Diagnostic, Diagnostics};

pub use portable::{Target, portable};
pub use suppress::quiet;

/// All warnings about a program that has no errors, in source order. `@noWarn` is not applied: see [`quiet`].
pub fn lint(syntax: &Program, program: &TypedProgram) -> Diagnostics {
    let mut found: Vec<Diagnostic> = Vec::new();
    usage::lint(syntax, program, &mut found);
    known::lint(program, &mut found);
    flow::lint(program, &mut found);
    targets::lint(program, &mut found);
    found.sort_by_key(|d| d.span());
    let mut diagnostics = Diagnostics::new();
    for d in found {
        diagnostics.push(d);
    }
    diagnostics
}

/// Warnings and the names, beside their codes, that `@noWarn`, `--deny` and `--allow` accept. They include p4c's names.
pub const NAMES: [(&str, &[&str]); 41] = [
    ("W0001", &["shadow"]),
    ("W0002", &["overflow"]),
    ("W0003", &["deprecated"]),
    ("W0005", &["missing"]),
    ("W0006", &["unreachable", "parser-transition"]),
    ("W0007", &["unknown"]),
    ("W0008", &["empty_range"]),
    ("W0011", &["macro"]),
    ("W0012", &["warning"]),
    ("W0013", &["preprocessor"]),
    ("W0020", &["invalid_header"]),
    ("W0021", &["uninitialized_use", "uninitialized"]),
    ("W0022", &["uninitialized_out_param", "uninitialized"]),
    ("W0023", &["unreachable", "unused", "parser-transition"]),
    ("W0024", &["unused"]),
    ("W0025", &["unused"]),
    ("W0026", &["always"]),
    ("W0027", &["overflow"]),
    ("W0028", &["unimplemented"]),
    ("W0029", &["missing", "parser-transition"]),
    ("W0030", &["duplicate"]),
    ("W0031", &["unused"]),
    ("W0032", &["target", "invalid_header"]),
    ("W0033", &["target", "uninitialized_use", "uninitialized"]),
    ("W0034", &["target"]),
    ("W0035", &["target"]),
    ("W0036", &["parentheses"]),
    ("W0037", &["duplicate_priorities"]),
    ("W0038", &["entries_out_of_priority_order"]),
    ("W0039", &["portable"]),
    ("W0040", &["portable"]),
    ("W0041", &["portable"]),
    ("W0042", &["portable"]),
    ("W0043", &["portable"]),
    ("W0044", &["portable"]),
    ("W0045", &["portable"]),
    ("W0046", &["portable"]),
    ("W0047", &["portable"]),
    ("W0048", &["portable"]),
    ("W0049", &["portable"]),
    ("W0050", &["portable"]),
];

/// Whether `what` denotes the warning with this code: it is the code itself, one of its [`NAMES`], or `warnings`.
pub fn means(what: &str, code: &str) -> bool {
    what == "warnings"
        || what.eq_ignore_ascii_case(code)
        || NAMES.iter().any(|(c, names)| *c == code && names.contains(&what))
}
