//! References to a name, in all programs that its declaration is part of, and highlights in one file.

use std::collections::BTreeSet;

use hopwright_source::Span;
use lsp_types::{DocumentHighlight, DocumentHighlightKind, Location};

use super::goto;
use crate::program::{FileRange, Program};
use crate::world::{At, World};

/// A name and everything that refers to it.
pub(crate) struct Found {
    pub name: String,
    /// Where it is declared.
    pub declaration: FileRange,
    /// All places of the name, the declaration among them.
    pub places: BTreeSet<FileRange>,
    /// Places with another text, where a macro expands to the name.
    pub in_macros: BTreeSet<FileRange>,
}

/// The declaration that the name at a place refers to.
pub(crate) fn declaration(at: &At) -> Option<(String, Span)> {
    let word = at.word()?;
    let program = &*at.program;
    let symbols = program.symbols();
    let symbol = &symbols.all[program.symbol_at(&symbols, word)?];
    (program.snippet(word) == &**symbol.name).then(|| (symbol.name.to_string(), symbol.at))
}

/// All references to the name at a place.
pub(crate) fn find(world: &mut World, at: &At) -> Option<Found> {
    let (name, declared) = declaration(at)?;
    let declaration = at.program.place(declared)?;
    let mut found =
        Found { name, declaration: declaration.clone(), places: BTreeSet::new(), in_macros: BTreeSet::new() };
    for program in world.programs_with(&declaration.path) {
        let Some(file) = program.file(&declaration.path) else { continue };
        for span in goto::uses(&program, Span::new(file, declaration.start, declaration.end)) {
            let Some(place) = program.place(span) else { continue };
            let same = program.snippet(span) == found.name;
            let places = if same { &mut found.places } else { &mut found.in_macros };
            places.insert(place);
        }
    }
    Some(found)
}

/// The locations of references.
pub(crate) fn references(world: &mut World, at: &At, with_declaration: bool) -> Option<Vec<Location>> {
    let found = find(world, at)?;
    let all = found.places.iter().chain(&found.in_macros);
    let wanted: Vec<FileRange> = all.filter(|p| with_declaration || **p != found.declaration).cloned().collect();
    Some(wanted.iter().filter_map(|p| locate(world, p)).collect())
}

/// The location of a place in whatever program has its file.
pub(crate) fn locate(world: &mut World, place: &FileRange) -> Option<Location> {
    let (program, _) = world.program_with(&place.path);
    world.location_of(&program, place)
}

/// Where the name at a place occurs in its file.
pub(crate) fn highlights(world: &World, at: &At) -> Option<Vec<DocumentHighlight>> {
    let (_, declared) = declaration(at)?;
    let program: &Program = &at.program;
    let here = goto::uses(program, declared).into_iter().filter(|s| s.file == at.file);
    let kind = |span: Span| {
        let written = span == declared || is_assigned(program, span);
        Some(if written { DocumentHighlightKind::WRITE } else { DocumentHighlightKind::READ })
    };
    let highlight = |span| Some(DocumentHighlight { range: world.range(program, span)?, kind: kind(span) });
    Some(here.filter_map(highlight).collect())
}

/// Whether an assignment follows a name.
fn is_assigned(program: &Program, span: Span) -> bool {
    let Some(source) = program.sources().get(span.file) else { return false };
    let rest = source.text()[span.end as usize..].trim_start();
    rest.starts_with('=') && !rest.starts_with("==")
}
