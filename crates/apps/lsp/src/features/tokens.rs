//! Semantic tokens: what names are, which a grammar of regular expressions cannot tell.

use hopwright_source::{FileId, Span};
use lsp_types::{SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokensLegend};

use crate::lexer;
use crate::program::Program;
use crate::symbols::{Kind, Symbols};
use crate::world::World;

/// Types of tokens; their numbers are what [`number`] returns.
const TYPES: [SemanticTokenType; 14] = [
    SemanticTokenType::TYPE,
    SemanticTokenType::STRUCT,
    SemanticTokenType::ENUM,
    SemanticTokenType::ENUM_MEMBER,
    SemanticTokenType::TYPE_PARAMETER,
    SemanticTokenType::PARAMETER,
    SemanticTokenType::VARIABLE,
    SemanticTokenType::PROPERTY,
    SemanticTokenType::FUNCTION,
    SemanticTokenType::METHOD,
    SemanticTokenType::CLASS,
    SemanticTokenType::MACRO,
    SemanticTokenType::new("table"),
    SemanticTokenType::new("state"),
];

const DECLARATION: u32 = 1;
const READONLY: u32 = 2;
const DEFAULT_LIBRARY: u32 = 4;

/// What the numbers of tokens mean.
pub(crate) fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: TYPES.to_vec(),
        token_modifiers: vec![
            SemanticTokenModifier::DECLARATION,
            SemanticTokenModifier::READONLY,
            SemanticTokenModifier::DEFAULT_LIBRARY,
        ],
    }
}

fn number(kind: Kind) -> u32 {
    match kind {
        Kind::Typedef => 0,
        Kind::Struct | Kind::Header | Kind::Union => 1,
        Kind::Enum => 2,
        Kind::EnumMember | Kind::Error | Kind::Match => 3,
        Kind::TypeParameter => 4,
        Kind::Parameter => 5,
        Kind::Const | Kind::Variable | Kind::Instance | Kind::ValueSet => 6,
        Kind::Field => 7,
        Kind::Function | Kind::ExternFunction | Kind::Action => 8,
        Kind::Method | Kind::Constructor => 9,
        Kind::Extern | Kind::Parser | Kind::Control | Kind::Package => 10,
        Kind::Table => 12,
        Kind::State => 13,
    }
}

const MACRO: u32 = 11;

/// The tokens of a range of bytes of a file.
pub(crate) fn tokens(
    world: &World,
    program: &Program,
    file: FileId,
    range: std::ops::Range<usize>,
) -> Vec<SemanticToken> {
    let symbols = program.symbols();
    let mut found = names(program, &symbols, file);
    found.extend(macros(program, file));
    found.retain(|(span, _, _)| range.start < span.end as usize && (span.start as usize) < range.end);
    found.sort();
    found.dedup_by_key(|(span, _, _)| *span);
    encode(world, program, &found)
}

type Token = (Span, u32, u32);

fn names(program: &Program, symbols: &Symbols<'_>, file: FileId) -> Vec<Token> {
    let describe = |at: Span, symbol: usize, declares: bool| {
        let symbol = &symbols.all[symbol];
        let read_only = matches!(symbol.kind, Kind::Const | Kind::EnumMember | Kind::Error | Kind::Match);
        let library = program.sources().get(symbol.at.file).is_some_and(|f| f.name().starts_with('<'));
        let modifiers = if declares { DECLARATION } else { 0 }
            | if read_only { READONLY } else { 0 }
            | if library { DEFAULT_LIBRARY } else { 0 };
        (program.snippet(at) == &**symbol.name).then(|| (at, number(symbol.kind), modifiers))
    };
    let uses = program.index().uses.iter().filter(|(at, _)| at.file == file);
    let uses = uses.filter_map(|(at, target)| describe(*at, program.resolve(symbols, target)?, false));
    let declared = symbols.all.iter().enumerate().filter(|(_, s)| s.at.file == file);
    uses.chain(declared.filter_map(|(i, s)| describe(s.at, i, true))).collect()
}

/// Macros where they are defined and used.
fn macros(program: &Program, file: FileId) -> Vec<Token> {
    let mut names = std::collections::HashSet::new();
    for (_, source) in program.sources().files() {
        for piece in lexer::pieces(source.text()).into_iter().filter(|p| p.kind == lexer::Kind::Directive) {
            let words = piece.text(source.text()).trim_start_matches('#').trim_start();
            let name = words.strip_prefix("define").map(str::trim_start).unwrap_or_default();
            let end = name.bytes().position(|b| !lexer::is_word(b)).unwrap_or(name.len());
            // What stands for nothing guards against including twice.
            if end > 0 && !name[end..].trim().is_empty() {
                names.insert(name[..end].to_string());
            }
        }
    }
    let Some(text) = program.text(file).map(|t| t.text().clone()) else { return Vec::new() };
    let words = lexer::pieces(&text).into_iter().filter(|p| p.kind == lexer::Kind::Word);
    let used = words.filter(|p| names.contains(p.text(&text)));
    used.map(|p| (Span::new(file, p.range.start as u32, p.range.end as u32), MACRO, READONLY)).collect()
}

fn encode(world: &World, program: &Program, found: &[Token]) -> Vec<SemanticToken> {
    let (mut line, mut start) = (0, 0);
    let mut tokens = Vec::with_capacity(found.len());
    for (span, token_type, modifiers) in found {
        let Some(range) = world.range(program, *span) else { continue };
        let delta_line = range.start.line - line;
        let delta_start = range.start.character - if delta_line == 0 { start } else { 0 };
        (line, start) = (range.start.line, range.start.character);
        tokens.push(SemanticToken {
            delta_line,
            delta_start,
            length: range.end.character - range.start.character,
            token_type: *token_type,
            token_modifiers_bitset: *modifiers,
        });
    }
    tokens
}
