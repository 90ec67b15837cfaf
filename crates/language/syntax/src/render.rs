//! Rendering of diagnostics as text, JSON and SARIF.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use serde::Serialize;

use crate::diagnostic::{Diagnostic, Diagnostics, Label, Severity};
use hopwright_source::{FileId, SourceFile, SourceMap, Span};

/// All diagnostics as text, in rustc's style, each followed by an empty line; `color` adds terminal escapes.
pub fn render(diagnostics: &Diagnostics, sources: &SourceMap, color: bool) -> String {
    let mut text = String::new();
    for diagnostic in diagnostics {
        text.push_str(&render_one(diagnostic, sources, color));
        text.push_str("\n\n");
    }
    text
}

/// Maximum length of a shown message, label, note or help, in bytes: names in programs can be as long as their files.
const MAX_MESSAGE: usize = 1_000;

/// The diagnostic with long texts truncated.
fn shortened(diagnostic: &Diagnostic) -> Diagnostic {
    let cut = |text: &mut String| {
        if text.len() > MAX_MESSAGE {
            text.truncate(text.floor_char_boundary(MAX_MESSAGE));
            text.push('…');
        }
    };
    let mut short = diagnostic.clone();
    let Diagnostic { message, labels, notes, help, .. } = &mut short;
    cut(message);
    labels.iter_mut().for_each(|l| cut(&mut l.message));
    notes.iter_mut().chain(help).for_each(cut);
    short
}

/// One diagnostic as text, without a line end.
pub fn render_one(diagnostic: &Diagnostic, sources: &SourceMap, color: bool) -> String {
    let diagnostic = &shortened(diagnostic);
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut group = Group::with_title(level.primary_title(diagnostic.message.as_str()).id(diagnostic.code));
    let include_stack: Vec<String> = diagnostic
        .span()
        .map(|span| sources.include_stack(span))
        .unwrap_or_default()
        .into_iter()
        .map(|from| {
            let at = sources.location(from);
            format!("included from {}:{}", at.file, at.line)
        })
        .collect();
    for (file, labels) in by_file(&diagnostic.labels) {
        let Some(source) = sources.get(file) else {
            continue;
        };
        let lines = lines_of(source, &labels);
        if lines.bytes.len() <= MAX_EXCERPT {
            group = group.element(excerpt(source, &labels, lines));
        } else if let Some(label) = labels.first() {
            let at = sources.location(label.span);
            group =
                group.element(Origin::path(at.file.to_string()).line(at.line as usize).char_column(at.column as usize));
        }
    }
    for note in include_stack.iter().chain(&diagnostic.notes) {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}

/// Labels of one file together, the file of the first primary label first.
fn by_file(labels: &[Label]) -> Vec<(FileId, Vec<&Label>)> {
    let mut files: Vec<(FileId, Vec<&Label>)> = Vec::new();
    let (primary, others): (Vec<&Label>, Vec<&Label>) = labels.iter().partition(|l| l.primary);
    for label in primary.into_iter().chain(others) {
        match files.iter_mut().find(|(file, _)| *file == label.span.file) {
            Some((_, list)) => list.push(label),
            None => files.push((label.span.file, vec![label])),
        }
    }
    files
}

/// Maximum length of a source excerpt, in bytes; generated programs have very long lines.
const MAX_EXCERPT: usize = 16_384;

/// Lines of a file.
struct Lines {
    /// Index of the first line, from 0.
    first: usize,
    bytes: Range<usize>,
}

/// The lines of the labels, and no others, so that the size of the file does not matter.
fn lines_of(source: &SourceFile, labels: &[&Label]) -> Lines {
    let len = source.text().len() as u32;
    let start = labels.iter().map(|l| l.span.start).min().unwrap_or(0);
    let end = labels.iter().map(|l| l.span.end).max().unwrap_or(0);
    let first = source.line_index(start.min(len));
    let last = source.line_index(end.min(len));
    Lines { first, bytes: source.line_range(first).start..source.line_range(last).end }
}

fn excerpt<'a>(
    source: &'a SourceFile,
    labels: &[&'a Label],
    lines: Lines,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let Range { start, end } = lines.bytes;
    let (name, line) = source.presumed(lines.first as u32 + 1);
    let mut snippet =
        Snippet::source(&source.text()[start..end]).line_start(line as usize).path(name.as_ref()).fold(true);
    for label in labels {
        let kind = if label.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        let range = relative(label.span, source, start, end);
        let message = (!label.message.is_empty()).then_some(label.message.as_str());
        snippet = snippet.annotation(kind.span(range).label(message));
    }
    snippet
}

/// The span's bytes within the excerpt `start..end`, on character boundaries.
fn relative(span: Span, source: &SourceFile, start: usize, end: usize) -> Range<usize> {
    let floor = |offset: u32| {
        let mut at = (offset as usize).clamp(start, end);
        while !source.text().is_char_boundary(at) {
            at -= 1;
        }
        at - start
    };
    let from = floor(span.start);
    from..floor(span.end).max(from)
}

#[derive(Serialize)]
struct JsonDiagnostic<'a> {
    severity: &'static str,
    code: &'static str,
    message: &'a str,
    labels: Vec<JsonLabel<'a>>,
    included_from: Vec<JsonPlace>,
    notes: &'a [String],
    help: Option<&'a str>,
}

#[derive(Serialize)]
struct JsonLabel<'a> {
    #[serde(flatten)]
    place: JsonPlace,
    end_line: u32,
    end_column: u32,
    primary: bool,
    message: &'a str,
}

#[derive(Serialize)]
struct JsonPlace {
    file: String,
    line: u32,
    column: u32,
}

fn place(span: Span, sources: &SourceMap) -> JsonPlace {
    let at = sources.location(span);
    JsonPlace { file: at.file.to_string(), line: at.line, column: at.column }
}

/// All diagnostics as a SARIF 2.1.0 log with one run; notes and help are part of the message, places that explain are
/// `relatedLocations`. Columns count characters from 1; ends are exclusive.
pub fn to_sarif(diagnostics: &Diagnostics, sources: &SourceMap) -> serde_json::Value {
    let location = |label: &Label| {
        let (start, end) = (sources.location(label.span), sources.location(label.span.after()));
        let mut location = serde_json::json!({
            "physicalLocation": {
                "artifactLocation": { "uri": start.file.to_string().replace('\\', "/") },
                "region": {
                    "startLine": start.line,
                    "startColumn": start.column,
                    "endLine": end.line,
                    "endColumn": end.column,
                },
            },
        });
        if !label.message.is_empty() {
            location["message"] = serde_json::json!({ "text": label.message });
        }
        location
    };
    let results: Vec<serde_json::Value> = diagnostics
        .iter()
        .map(shortened)
        .map(|d| {
            let mut text = d.message.clone();
            for more in d.notes.iter().chain(&d.help) {
                text.push('\n');
                text.push_str(more);
            }
            let place = d.labels.iter().find(|l| l.primary).or(d.labels.first());
            let related: Vec<_> = d.labels.iter().filter(|l| !l.primary).map(location).collect();
            serde_json::json!({
                "ruleId": d.code,
                "level": match d.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                    Severity::Note => "note",
                },
                "message": { "text": text },
                "locations": place.map(location).into_iter().collect::<Vec<_>>(),
                "relatedLocations": related,
            })
        })
        .collect();
    let mut rules: Vec<&str> = diagnostics.iter().map(|d| d.code).collect();
    rules.sort_unstable();
    rules.dedup();
    let rules: Vec<_> = rules.iter().map(|code| serde_json::json!({ "id": code })).collect();
    serde_json::json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": { "name": "hopwright", "version": env!("CARGO_PKG_VERSION"), "rules": rules },
            },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// All diagnostics as a JSON array.
///
/// Each has `severity` (`error`, `warning`, `note`), `code`, `message`, `labels` (with `file`, `line`,
/// `column`, `end_line`, `end_column`, `primary`, `message`; the end is exclusive), `included_from`
/// (innermost first), `notes` and `help`.
pub fn to_json(diagnostics: &Diagnostics, sources: &SourceMap) -> serde_json::Value {
    let short: Vec<Diagnostic> = diagnostics.iter().map(shortened).collect();
    let list: Vec<JsonDiagnostic<'_>> = short
        .iter()
        .map(|d| JsonDiagnostic {
            severity: match d.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            },
            code: d.code,
            message: &d.message,
            labels: d
                .labels
                .iter()
                .map(|l| {
                    let end = sources.location(l.span.after());
                    JsonLabel {
                        place: place(l.span, sources),
                        end_line: end.line,
                        end_column: end.column,
                        primary: l.primary,
                        message: &l.message,
                    }
                })
                .collect(),
            included_from: d
                .span()
                .map(|s| sources.include_stack(s))
                .unwrap_or_default()
                .into_iter()
                .map(|s| place(s, sources))
                .collect(),
            notes: &d.notes,
            help: d.help.as_deref(),
        })
        .collect();
    serde_json::json!(list)
}
