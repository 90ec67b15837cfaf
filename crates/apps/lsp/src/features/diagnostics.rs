//! Diagnostics of the compiler as those of the protocol.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hopwright_source::Span;
use hopwright_syntax::{Diagnostic, Severity};
use lsp_types::{DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, NumberOrString};

use crate::program::Program;
use crate::world::World;

/// Most diagnostics of one file.
const MAX: usize = 500;

/// Diagnostics by file.
pub(crate) type ByFile = BTreeMap<PathBuf, Vec<lsp_types::Diagnostic>>;

/// All diagnostics of the programs that open documents belong to. Every open document has a list, which may be empty.
pub(crate) fn all(world: &mut World) -> ByFile {
    let mut found: ByFile = world.documents.keys().map(|p| (p.clone(), Vec::new())).collect();
    for root in world.open_roots() {
        let program = world.program(&root);
        let fragment = !program.has_main() && world.is_fragment(&root);
        for d in program.diagnostics() {
            if !applies(&program, d, fragment) {
                continue;
            }
            let Some((path, diagnostic)) = convert(world, &program, d) else { continue };
            let list = found.entry(path).or_default();
            if list.len() < MAX && !list.contains(&diagnostic) {
                list.push(diagnostic);
            }
        }
    }
    found
}

/// Whether a diagnostic says something about the file that is checked. A file without `main` may be one that others include; if none
/// is known to, and it includes nothing itself, what it refers to is elsewhere.
fn applies(program: &Program, d: &Diagnostic, fragment: bool) -> bool {
    match d.code {
        "E0404" => program.has_main(),
        code if fragment => code.starts_with("E00") || code.starts_with("E01"),
        _ => true,
    }
}

/// A diagnostic with its file.
pub(crate) fn convert(world: &World, program: &Program, d: &Diagnostic) -> Option<(PathBuf, lsp_types::Diagnostic)> {
    let span = place(program, d.span().unwrap_or_else(Span::none));
    let path = program.path(span.file)?.to_path_buf();
    let related = d.labels.iter().filter(|l| Some(l.span) != d.span() && !l.message.is_empty());
    let related = related.filter_map(|l| {
        let location = world.location(program, l.span)?;
        Some(DiagnosticRelatedInformation { location, message: l.message.clone() })
    });
    let related: Vec<_> = related.collect();
    let diagnostic = lsp_types::Diagnostic {
        range: world.range(program, span)?,
        severity: Some(match d.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Note => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(d.code.to_string())),
        code_description: None,
        source: Some("hopwright".into()),
        message: text(d),
        related_information: Some(related).filter(|r| !r.is_empty()),
        tags: tags(d),
        data: None,
    };
    Some((path, diagnostic))
}

/// Where a diagnostic is shown: of what is in no file, where it was included or the beginning of the program.
fn place(program: &Program, span: Span) -> Span {
    if program.path(span.file).is_some() {
        return span;
    }
    let above = program.sources().include_stack(span);
    above.into_iter().find(|s| program.path(s.file).is_some()).unwrap_or_else(Span::none)
}

/// The message, what is marked, notes and help.
fn text(d: &Diagnostic) -> String {
    let mut text = d.message.clone();
    if let Some(label) = d.labels.iter().find(|l| Some(l.span) == d.span() && !l.message.is_empty()) {
        text += &format!(": {}", label.message);
    }
    d.notes.iter().for_each(|n| text += &format!("\nnote: {n}"));
    d.help.iter().for_each(|h| text += &format!("\nhelp: {h}"));
    text
}

fn tags(d: &Diagnostic) -> Option<Vec<DiagnosticTag>> {
    match d.code {
        "W0003" => Some(vec![DiagnosticTag::DEPRECATED]),
        // Code that is never run, and declarations that nobody uses.
        "W0006" | "W0023" | "W0024" | "W0025" | "W0031" => Some(vec![DiagnosticTag::UNNECESSARY]),
        _ => None,
    }
}
