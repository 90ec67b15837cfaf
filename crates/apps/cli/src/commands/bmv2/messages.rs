//! Diagnostics as p4c prints them: `l2.p4(31): [--Wwarn=unused] warning: …`, the line, and marks below it.

use std::fmt::Write as _;

use hopwright_syntax::{Diagnostic, Diagnostics, Severity, SourceMap, Span};

/// The longest line that is shown, in bytes: generated programs have very long ones.
const LONGEST: usize = 400;

/// The text of all diagnostics, each with its code behind it, which `hopwright explain` explains.
pub(super) fn text(diagnostics: &Diagnostics, sources: &SourceMap) -> String {
    let mut text = String::new();
    for diagnostic in diagnostics {
        // Strings do not fail to be written to.
        let _ = one(&mut text, diagnostic, sources);
    }
    text
}

fn one(text: &mut String, diagnostic: &Diagnostic, sources: &SourceMap) -> std::fmt::Result {
    let Diagnostic { code, message, labels, notes, help, .. } = diagnostic;
    if let Some(span) = diagnostic.span() {
        let at = sources.location(span);
        write!(text, "{}({}): ", at.file, at.line)?;
    }
    match diagnostic.severity {
        Severity::Error => write!(text, "error: ")?,
        Severity::Warning => write!(text, "[--Wwarn={}] warning: ", name(code))?,
        Severity::Note => write!(text, "info: ")?,
    }
    writeln!(text, "{message} [{code}]")?;
    if let Some(span) = diagnostic.span() {
        fragment(text, span, sources)?;
    }
    for label in labels.iter().filter(|label| !label.primary && Some(label.span) != diagnostic.span()) {
        let at = sources.location(label.span);
        writeln!(text, "{}({}): {}", at.file, at.line, label.message)?;
        fragment(text, label.span, sources)?;
    }
    for note in notes.iter().chain(help) {
        writeln!(text, "  {note}")?;
    }
    Ok(())
}

/// p4c's name of a warning, or its code.
fn name(code: &str) -> &str {
    hopwright_lint::NAMES.iter().find(|(known, _)| *known == code).map_or(code, |(_, names)| names[0])
}

/// The line of a span, with marks below it.
fn fragment(text: &mut String, span: Span, sources: &SourceMap) -> std::fmt::Result {
    let Some(file) = sources.get(span.file) else { return Ok(()) };
    let line = file.line_range(file.line_index(span.start));
    let shown = file.text().get(line.clone()).unwrap_or_default().trim_end();
    if shown.is_empty() || shown.len() > LONGEST {
        return Ok(());
    }
    let column = sources.location(span).column as usize - 1;
    let end = (span.end as usize).min(line.start + shown.len());
    let marks = file.text().get(span.start as usize..end).map_or(1, |marked| marked.chars().count()).max(1);
    // Tabs before the marks are as wide as those above.
    let before: String = shown.chars().take(column).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    writeln!(text, "{shown}\n{before}{}", "^".repeat(marks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagnostics_look_like_those_of_p4c() {
        let source = "#include <core.p4>\ncontrol c() {\n\tapply { bit<8> x = 256; y = 1; }\n}\n";
        let options = hopwright_syntax::Options::default();
        let compiled = hopwright_driver::compile_text("a/l2.p4", source, &options, true);
        let found = text(&compiled.diagnostics, &compiled.sources);
        let error = "a/l2.p4(3): error: ";
        assert!(found.lines().any(|line| line.starts_with(error)), "{found}");
        assert!(found.contains("\n\tapply { bit<8> x = 256; y = 1; }\n\t                        ^\n"), "{found}");
    }
}
