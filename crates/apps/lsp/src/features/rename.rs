//! Rename: refused where files outside the workspace would change, and where the program would mean something else.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use hopwright_syntax::{Severity, is_reserved};
use lsp_types::{Range, TextEdit, WorkspaceEdit};

use super::references::{self, Found};
use crate::lexer;
use crate::program::Program;
use crate::world::{At, Refused, World};

/// The range of the name at a place, if it can be renamed.
pub(crate) fn prepare(world: &mut World, at: &At) -> Result<Range, Refused> {
    let found = find(world, at)?;
    refuse(world, &found)?;
    let word = at.word().and_then(|w| world.range(&at.program, w));
    word.ok_or_else(|| Refused::Failed("there is no name here".into()))
}

/// The edits that give the name at a place another name.
pub(crate) fn rename(world: &mut World, at: &At, new: &str) -> Result<WorkspaceEdit, Refused> {
    if !lexer::is_name(new) || new == "_" {
        return Err(Refused::Invalid(format!(
            "`{new}` is not a name: letters, digits and `_`, not beginning with a digit"
        )));
    }
    if is_reserved(new) {
        return Err(Refused::Invalid(format!("`{new}` is a reserved word of P4")));
    }
    let found = find(world, at)?;
    refuse(world, &found)?;
    let mut by_file: BTreeMap<Arc<PathBuf>, Vec<(usize, usize)>> = BTreeMap::new();
    for place in &found.places {
        by_file.entry(place.path.clone()).or_default().push((place.start as usize, place.end as usize));
    }
    still_the_same(world, &found, &by_file, new)?;
    #[allow(clippy::mutable_key_type)] // Keys of the protocol's type: their text does not change.
    let mut changes = HashMap::new();
    for place in &found.places {
        let location = references::locate(world, place);
        let location = location.ok_or_else(|| Refused::Failed("a file with this name has changed".into()))?;
        let edits: &mut Vec<TextEdit> = changes.entry(location.uri).or_default();
        edits.push(TextEdit { range: location.range, new_text: new.to_string() });
    }
    Ok(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() })
}

fn find(world: &mut World, at: &At) -> Result<Found, Refused> {
    references::find(world, at).ok_or_else(|| Refused::Failed("there is no name that the program declares here".into()))
}

fn refuse(world: &World, found: &Found) -> Result<(), Refused> {
    let name = &found.name;
    if found.places.iter().any(|p| !world.is_editable(&p.path)) {
        let outside = found.places.iter().find(|p| !world.is_editable(&p.path)).map(|p| p.path.display().to_string());
        let outside = outside.unwrap_or_default();
        return Err(Refused::Failed(format!("`{name}` is a name of `{outside}`, which is outside the workspace")));
    }
    if let Some(place) = found.in_macros.first() {
        let path = place.path.display();
        return Err(Refused::Failed(format!(
            "a macro that is used in `{path}` expands to `{name}`: rename it by hand"
        )));
    }
    if matches!(name.as_str(), "main" | "start") {
        return Err(Refused::Failed(format!("`{name}` has its name from the language")));
    }
    Ok(())
}

/// Checks the programs with the new name: they must have no errors and warnings about names that they did not have before.
fn still_the_same(
    world: &mut World,
    found: &Found,
    by_file: &BTreeMap<Arc<PathBuf>, Vec<(usize, usize)>>,
    new: &str,
) -> Result<(), Refused> {
    for program in world.programs_with(&found.declaration.path) {
        let mut texts = Vec::new();
        for (path, ranges) in by_file {
            let Some(text) = program.file(path).and_then(|f| program.text(f)) else { continue };
            texts.push((path.to_path_buf(), replaced(text.text(), ranges, new)));
        }
        let renamed = world.check_with(&program.root, &texts);
        let before = complaints(&program);
        let conflict =
            renamed.diagnostics().iter().find(|d| counts(d) && !before.contains(&message(d, &found.name, new)));
        if let Some(conflict) = conflict {
            return Err(Refused::Failed(format!("with this name: {}", conflict.message)));
        }
        if renamed.index().uses.len() != program.index().uses.len() {
            return Err(Refused::Failed(format!(
                "with this name, names refer to other declarations: `{new}` exists already"
            )));
        }
    }
    Ok(())
}

fn counts(d: &hopwright_syntax::Diagnostic) -> bool {
    d.severity == Severity::Error || d.code == "W0001"
}

fn complaints(program: &Program) -> BTreeSet<String> {
    program.diagnostics().iter().filter(|d| counts(d)).map(|d| d.message.clone()).collect()
}

/// A message as it was with the old name.
fn message(d: &hopwright_syntax::Diagnostic, old: &str, new: &str) -> String {
    d.message.replace(&format!("`{new}`"), &format!("`{old}`"))
}

fn replaced(text: &str, ranges: &[(usize, usize)], new: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end) in ranges {
        out.push_str(&text[at..*start]);
        out.push_str(new);
        at = *end;
    }
    out.push_str(&text[at..]);
    out
}
