//! Symbols of a document and of the workspace, and what can be folded.

use hopwright_source::FileId;
use lsp_types::{DocumentSymbol, FoldingRange, FoldingRangeKind, SymbolInformation, SymbolKind};

use crate::lexer::{self, Piece};
use crate::position::Text;
use crate::program::Program;
use crate::symbols::{Kind, Symbol, Symbols};
use crate::world::World;

/// Most symbols of one answer about the workspace.
const MAX: usize = 500;

/// The protocol's kind of a declaration.
pub(crate) fn kind(kind: Kind) -> SymbolKind {
    match kind {
        Kind::Const => SymbolKind::CONSTANT,
        Kind::Variable | Kind::Parameter => SymbolKind::VARIABLE,
        Kind::TypeParameter => SymbolKind::TYPE_PARAMETER,
        Kind::Instance | Kind::ValueSet => SymbolKind::OBJECT,
        Kind::Error | Kind::Match | Kind::EnumMember => SymbolKind::ENUM_MEMBER,
        Kind::Function | Kind::ExternFunction | Kind::Action => SymbolKind::FUNCTION,
        Kind::Extern | Kind::Typedef => SymbolKind::INTERFACE,
        Kind::Constructor => SymbolKind::CONSTRUCTOR,
        Kind::Method => SymbolKind::METHOD,
        Kind::Struct | Kind::Header | Kind::Union => SymbolKind::STRUCT,
        Kind::Field => SymbolKind::FIELD,
        Kind::Enum => SymbolKind::ENUM,
        Kind::Parser | Kind::Control => SymbolKind::CLASS,
        Kind::Package => SymbolKind::PACKAGE,
        Kind::Table => SymbolKind::ARRAY,
        Kind::State => SymbolKind::EVENT,
    }
}

/// Whether a declaration is worth a line in an outline.
fn is_listed(symbol: &Symbol<'_>) -> bool {
    !matches!(symbol.kind, Kind::Parameter | Kind::TypeParameter)
}

/// The outline of a file.
pub(crate) fn document(world: &World, program: &Program, file: FileId) -> Vec<DocumentSymbol> {
    let symbols = program.symbols();
    let here = |s: &Symbol<'_>| s.at.file == file && is_listed(s);
    // Children stand behind their parents, so that they are complete when they are taken.
    let mut made: Vec<Option<DocumentSymbol>> =
        symbols.all.iter().map(|s| here(s).then(|| entry(world, program, s)).flatten()).collect();
    let mut top = Vec::new();
    for i in (0..made.len()).rev() {
        let Some(mut symbol) = made[i].take() else { continue };
        if let Some(children) = &mut symbol.children {
            children.reverse();
        }
        match symbols.all[i].parent.and_then(|p| made[p].as_mut()) {
            Some(parent) => parent.children.get_or_insert_default().push(symbol),
            None => top.push(symbol),
        }
    }
    top.reverse();
    top
}

#[allow(deprecated)] // The field that the protocol has replaced by tags has to be there.
fn entry(world: &World, program: &Program, symbol: &Symbol<'_>) -> Option<DocumentSymbol> {
    let selection = world.range(program, symbol.at)?;
    let whole = if symbol.span.file == symbol.at.file { world.range(program, symbol.span)? } else { selection };
    let holds = whole.start <= selection.start && selection.end <= whole.end;
    Some(DocumentSymbol {
        name: symbol.name.to_string(),
        detail: program.type_of(symbol).map(|t| &t.ty.text).filter(|t| ***t != **symbol.name).cloned(),
        kind: kind(symbol.kind),
        tags: None,
        deprecated: None,
        range: if holds { whole } else { selection },
        selection_range: selection,
        children: None,
    })
}

/// Declarations in the workspace whose names contain the letters of a query in their order.
#[allow(deprecated)]
pub(crate) fn workspace(world: &mut World, query: &str) -> Vec<SymbolInformation> {
    let mut found = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for root in world.open_roots() {
        let program = world.program(&root);
        let symbols = program.symbols();
        for symbol in symbols.all.iter().filter(|s| is_listed(s) && matches(s.name, query)) {
            let editable = program.path(symbol.at.file).is_some_and(|p| world.is_editable(p));
            let Some(location) = world.location(&program, symbol.at).filter(|_| editable) else { continue };
            if found.len() < MAX && seen.insert(program.place(symbol.at)) {
                found.push(SymbolInformation {
                    name: symbol.name.to_string(),
                    kind: kind(symbol.kind),
                    tags: None,
                    deprecated: None,
                    location,
                    container_name: container(&symbols, symbol),
                });
            }
        }
    }
    found
}

fn container(symbols: &Symbols<'_>, symbol: &Symbol<'_>) -> Option<String> {
    symbol.parent.map(|p| symbols.all[p].name.to_string())
}

fn matches(name: &str, query: &str) -> bool {
    let mut letters = name.chars().map(|c| c.to_ascii_lowercase());
    query.chars().all(|q| letters.any(|c| c == q.to_ascii_lowercase()))
}

/// Braces, comments of several lines, and groups of `#include`.
pub(crate) fn folds(text: &Text) -> Vec<FoldingRange> {
    let pieces = lexer::pieces(text.text());
    let line = |offset: usize| text.position(offset, crate::position::Encoding::Utf8).line;
    let mut folds = Vec::new();
    let mut fold = |from: u32, to: u32, kind: Option<FoldingRangeKind>| {
        if to > from {
            folds.push(FoldingRange { start_line: from, end_line: to, kind, ..FoldingRange::default() });
        }
    };
    let mut open = Vec::new();
    let mut group: Option<(lexer::Kind, u32, u32)> = None;
    for piece in &pieces {
        let (from, to) = (line(piece.range.start), line(piece.range.end));
        match grouped(piece, text.text()) {
            Some(kind) => match &mut group {
                Some((of, _, last)) if *of == kind && from <= *last + 1 => *last = to,
                _ => {
                    if let Some((kind, first, last)) = group.replace((kind, from, to)) {
                        fold(first, last, Some(group_kind(kind)));
                    }
                }
            },
            None => {
                if let Some((kind, first, last)) = group.take() {
                    fold(first, last, Some(group_kind(kind)));
                }
            }
        }
        match piece.text(text.text()) {
            "{" => open.push(from),
            "}" => {
                if let Some(first) = open.pop() {
                    fold(first, from.saturating_sub(1), None);
                }
            }
            _ => {}
        }
    }
    if let Some((kind, first, last)) = group {
        fold(first, last, Some(group_kind(kind)));
    }
    folds
}

fn grouped(piece: &Piece, text: &str) -> Option<lexer::Kind> {
    let include = || crate::includes::included(piece.text(text)).is_some();
    match piece.kind {
        lexer::Kind::Comment => Some(lexer::Kind::Comment),
        lexer::Kind::Directive if include() => Some(lexer::Kind::Directive),
        _ => None,
    }
}

fn group_kind(kind: lexer::Kind) -> FoldingRangeKind {
    if kind == lexer::Kind::Comment { FoldingRangeKind::Comment } else { FoldingRangeKind::Imports }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_comments_and_includes_fold() {
        let text = Text::new(
            "#include <a>\n#include <b>\n// 1\n// 2\ncontrol c() {\n  apply {\n    x();\n  }\n}\n/* one */ y\n",
        );
        let found: Vec<_> = folds(&text).into_iter().map(|f| (f.start_line, f.end_line, f.kind)).collect();
        let expected = [
            (0, 1, Some(FoldingRangeKind::Imports)),
            (2, 3, Some(FoldingRangeKind::Comment)),
            (5, 6, None),
            (4, 7, None),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn queries_match_letters_in_order() {
        assert!(matches("ipv4_forward", "ipf") && matches("Ipv4", "ip") && matches("x", ""));
        assert!(!matches("ipv4", "v4i"));
    }
}
