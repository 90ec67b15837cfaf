//! Code actions: the edits that the compiler suggests.

use std::collections::HashMap;

use hopwright_source::Span;
use hopwright_syntax::{Diagnostic, Suggestion};
use lsp_types::{CodeAction, CodeActionKind, Range, TextEdit, WorkspaceEdit};

use super::diagnostics;
use crate::program::Program;
use crate::world::World;

/// The longest text that the title of an action quotes, in bytes.
const LONGEST: usize = 80;

/// Quick fixes of the diagnostics that touch a range of bytes of a file.
pub(crate) fn quick_fixes(
    world: &World,
    program: &Program,
    file: hopwright_source::FileId,
    range: std::ops::Range<usize>,
) -> Vec<CodeAction> {
    let touches =
        |span: Span| span.file == file && span.start as usize <= range.end && range.start <= span.end as usize;
    let mut fixes = Vec::new();
    // Several targets may lack the same thing.
    let mut offered: Vec<&Suggestion> = Vec::new();
    for d in program.diagnostics().iter() {
        let Some(suggestion) = d.suggestion().filter(|s| program.snippet(s.span) == s.old) else { continue };
        if (touches(suggestion.span) || d.span().is_some_and(touches)) && !offered.contains(&suggestion) {
            offered.push(suggestion);
            fixes.extend(fix(world, program, d, suggestion));
        }
    }
    fixes
}

fn fix(world: &World, program: &Program, d: &Diagnostic, suggestion: &Suggestion) -> Option<CodeAction> {
    let (_, diagnostic) = diagnostics::convert(world, program, d)?;
    let range: Range = world.range(program, suggestion.span)?;
    let uri = world.uri(program.path(suggestion.span.file)?)?;
    let edit = TextEdit { range, new_text: suggestion.new.clone() };
    #[allow(clippy::mutable_key_type)] // Keys of the protocol's type: their text does not change.
    let changes = HashMap::from([(uri, vec![edit])]);
    Some(CodeAction {
        title: title(d, suggestion),
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![diagnostic]),
        edit: Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }),
        is_preferred: Some(true),
        ..CodeAction::default()
    })
}

/// What an edit does: the texts, or, where these are long, the help that it follows.
fn title(d: &Diagnostic, suggestion: &Suggestion) -> String {
    let new = suggestion.new.trim().replace('\n', " ");
    if let Some(help) = d.help.as_deref().filter(|_| suggestion.old.len().max(new.len()) > LONGEST) {
        let mut letters = help.chars();
        return letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default();
    }
    match (suggestion.old.as_str(), new.as_str()) {
        ("", new) => format!("Insert `{new}`"),
        (old, "") => format!("Remove `{old}`"),
        (old, new) => format!("Replace `{old}` by `{new}`"),
    }
}
