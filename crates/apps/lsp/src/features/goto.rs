//! Go to definition and to the definition of the type.

use hopwright_source::Span;
use lsp_types::Location;

use crate::describe;
use crate::includes;
use crate::lexer;
use crate::members;
use crate::world::{At, World};

/// Where the name at a place is declared; of an `#include`, the file.
pub(crate) fn definition(world: &World, at: &At) -> Option<Location> {
    if let Some(file) = included_file(world, at) {
        return Some(file);
    }
    let word = at.word()?;
    let program = &*at.program;
    let symbols = program.symbols();
    let name = program.snippet(word);
    match members::declaration(program, &symbols, word) {
        Some(found) => world.location(program, symbols.all[found].at),
        None => world.location(program, describe::macro_definition(program, name)?.0),
    }
}

/// Where the type of the name at a place is declared.
pub(crate) fn type_definition(world: &World, at: &At) -> Option<Location> {
    let word = at.word()?;
    let program = &*at.program;
    let symbols = program.symbols();
    let found = &symbols.all[members::declaration(program, &symbols, word)?];
    world.location(program, program.type_of(found)?.ty.declaration?)
}

fn included_file(world: &World, at: &At) -> Option<Location> {
    let text = at.program.text(at.file)?.text();
    let pieces = lexer::pieces(text);
    let here = pieces.iter().find(|p| p.range.start <= at.offset && at.offset <= p.range.end)?;
    let (name, angled) = includes::included(here.text(text))?;
    let path = world.included(&at.path, name, angled)?;
    Some(Location { uri: world.uri(&path)?, range: lsp_types::Range::default() })
}

/// The spans of all names in a program that refer to what the place's name refers to, its declaration first.
pub(crate) fn uses(program: &crate::program::Program, declaration: Span) -> Vec<Span> {
    let symbols = program.symbols();
    let Some(symbol) = symbols.at(declaration) else { return Vec::new() };
    let refers = |target| program.resolve(&symbols, target) == Some(symbol);
    let mut found: Vec<Span> = program.index().uses.iter().filter(|(_, t)| refers(t)).map(|(at, _)| *at).collect();
    found.retain(|at| *at != declaration);
    found.sort();
    found.insert(0, declaration);
    found
}
