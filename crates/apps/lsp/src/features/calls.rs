//! Call hierarchy of parser states: which go on to which.

use hopwright_source::Span;
use hopwright_syntax::ast::{Ident, StateDecl, Transition};
use lsp_types::{CallHierarchyIncomingCall, CallHierarchyItem, CallHierarchyOutgoingCall, Range, SymbolKind};

use crate::program::Program;
use crate::symbols::{Kind, Node, Symbol, Symbols};
use crate::world::{At, World};

/// The state at a place.
pub(crate) fn prepare(world: &World, at: &At) -> Option<Vec<CallHierarchyItem>> {
    let symbols = at.program.symbols();
    let found = &symbols.all[at.program.symbol_at(&symbols, at.word()?)?];
    (found.kind == Kind::State).then(|| item(world, &at.program, &symbols, found).into_iter().collect())
}

/// The states that go on to the one at a place.
pub(crate) fn incoming(world: &World, at: &At) -> Option<Vec<CallHierarchyIncomingCall>> {
    let program = &*at.program;
    let symbols = program.symbols();
    let to = program.symbol_at(&symbols, at.word()?)?;
    let parser = symbols.all[to].parent?;
    let calls = symbols.children(parser).filter_map(|(_, from)| {
        let Node::State(state) = from.node else { return None };
        let next = targets(state).filter(|n| Program::state(&symbols, parser, n.as_str()) == Some(to));
        let from_ranges = ranges(world, program, next);
        (!from_ranges.is_empty())
            .then(|| Some(CallHierarchyIncomingCall { from: item(world, program, &symbols, from)?, from_ranges }))
            .flatten()
    });
    Some(calls.collect())
}

/// The states that the one at a place goes on to.
pub(crate) fn outgoing(world: &World, at: &At) -> Option<Vec<CallHierarchyOutgoingCall>> {
    let program = &*at.program;
    let symbols = program.symbols();
    let from = program.symbol_at(&symbols, at.word()?)?;
    let (parser, Node::State(state)) = (symbols.all[from].parent?, symbols.all[from].node) else { return None };
    let calls = symbols.children(parser).filter_map(|(i, to)| {
        let next = targets(state).filter(|n| Program::state(&symbols, parser, n.as_str()) == Some(i));
        let from_ranges = ranges(world, program, next);
        (!from_ranges.is_empty())
            .then(|| Some(CallHierarchyOutgoingCall { to: item(world, program, &symbols, to)?, from_ranges }))
            .flatten()
    });
    Some(calls.collect())
}

/// Names of the states that may come next.
fn targets(state: &StateDecl) -> Box<dyn Iterator<Item = &Ident> + '_> {
    match &state.transition {
        None => Box::new(std::iter::empty()),
        Some(Transition::Direct(name)) => Box::new(std::iter::once(name)),
        Some(Transition::Select(select)) => Box::new(select.cases.iter().map(|c| &c.state)),
    }
}

fn ranges<'a>(world: &World, program: &Program, names: impl Iterator<Item = &'a Ident>) -> Vec<Range> {
    names.filter_map(|n| world.range(program, n.span)).collect()
}

fn item(world: &World, program: &Program, symbols: &Symbols<'_>, state: &Symbol<'_>) -> Option<CallHierarchyItem> {
    let whole: Span = state.span;
    Some(CallHierarchyItem {
        name: state.name.to_string(),
        kind: SymbolKind::EVENT,
        tags: None,
        detail: state.parent.map(|p| format!("parser {}", symbols.all[p].name)),
        uri: world.uri(program.path(state.at.file)?)?,
        range: world.range(program, whole)?,
        selection_range: world.range(program, state.at)?,
        data: None,
    })
}
