//! Whether a brace opens a block, and of which kind.

use super::{Current, Splitter};
use crate::token::{Kind, Token};

/// The most tokens of a block that are looked at to find out what it is.
const MOST_INSIDE: usize = 2_000;

/// Kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// The file itself.
    File,
    /// Declarations, statements, states, properties.
    Plain,
    /// Fields of a struct or header.
    Fields,
    /// Names with commas behind them.
    Enum,
    /// A table.
    Table,
    Keys,
    Actions,
    Entries,
    /// The cases of a `select`.
    Select,
    /// The cases of a `switch`.
    Switch,
    /// Statements of an `if` or `else`.
    Branch,
    /// The one statement of an `if`, `else` or loop without braces.
    Body {
        is_if: bool,
    },
    /// Methods that an object is declared with.
    Initialiser,
}

/// An open block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub kind: BlockKind,
    /// The level of lines in it.
    pub level: usize,
    /// The line that opened it.
    pub opener: usize,
}

/// Reserved words that a macro's name cannot be.
const KEYWORDS: [&str; 39] = [
    "abstract",
    "action",
    "actions",
    "apply",
    "bool",
    "bit",
    "break",
    "const",
    "continue",
    "control",
    "default",
    "else",
    "entries",
    "enum",
    "error",
    "exit",
    "extern",
    "for",
    "header",
    "header_union",
    "if",
    "in",
    "inout",
    "int",
    "key",
    "match_kind",
    "out",
    "package",
    "parser",
    "return",
    "state",
    "struct",
    "switch",
    "table",
    "transition",
    "tuple",
    "type",
    "typedef",
    "varbit",
];

pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word) || matches!(word, "void" | "value_set" | "string" | "list" | "this")
}

/// The kind of block behind a keyword.
fn kind_of(keyword: &str) -> Option<BlockKind> {
    Some(match keyword {
        "control" | "parser" | "package" | "extern" | "action" | "apply" | "state" | "for" => BlockKind::Plain,
        "struct" | "header" | "header_union" => BlockKind::Fields,
        "enum" | "error" | "match_kind" => BlockKind::Enum,
        "table" => BlockKind::Table,
        "select" => BlockKind::Select,
        "switch" => BlockKind::Switch,
        "if" | "else" => BlockKind::Branch,
        _ => return None,
    })
}

impl Splitter<'_, '_> {
    /// The kind of the block that a brace outside of brackets opens; `None` if it opens a list.
    pub(super) fn block_kind(&self, i: usize, current: &Current) -> Option<BlockKind> {
        let around = self.block().kind;
        let previous = self.previous(i).filter(|&p| p >= current.start);
        let Some(previous) = previous else {
            let lists = matches!(around, BlockKind::Keys | BlockKind::Entries | BlockKind::Select | BlockKind::Enum);
            return (!lists).then_some(BlockKind::Plain);
        };
        if current.assigned {
            return if self.tokens[previous].is("=") { self.value(i, previous, around) } else { None };
        }
        if let Some(kind) = self.keyword(current.start, i).and_then(kind_of) {
            return Some(kind);
        }
        let before = self.tokens[previous];
        match before.text {
            ":" => (around == BlockKind::Switch).then_some(BlockKind::Plain),
            "return" | "transition" => None,
            ")" | ">" => self.generic(i),
            _ if before.kind == Kind::Word => self.generic(i),
            _ => None,
        }
    }

    /// The first word outside of brackets and annotations that says what a line declares.
    fn keyword(&self, start: usize, end: usize) -> Option<&str> {
        let mut at = start;
        while at < end {
            let token = &self.tokens[at];
            if token.is("@") {
                at += 2;
                continue;
            }
            if token.is("(") || token.is("[") || token.is("{") {
                at = self.behind_brackets(at);
                continue;
            }
            if token.kind == Kind::Word && kind_of(token.text).is_some() {
                return Some(token.text);
            }
            at += 1;
        }
        None
    }

    /// The block behind `=`.
    fn value(&self, i: usize, equals: usize, around: BlockKind) -> Option<BlockKind> {
        let name = self.previous(equals).map(|p| self.tokens[p].text);
        match (around, name) {
            (BlockKind::Table, Some("key")) => Some(BlockKind::Keys),
            (BlockKind::Table, Some("actions")) => Some(BlockKind::Actions),
            (BlockKind::Table, Some("entries")) => Some(BlockKind::Entries),
            _ => self.has(i, ";").then_some(BlockKind::Initialiser),
        }
    }

    /// The block of a function, or of what a macro declares.
    fn generic(&self, i: usize) -> Option<BlockKind> {
        let list = self.has(i, ",") && !self.has(i, ";") && !self.has_blocks(i);
        (!list).then_some(BlockKind::Plain)
    }

    fn has(&self, open: usize, text: &str) -> bool {
        self.inside(open).iter().any(|t| t.is(text))
    }

    fn has_blocks(&self, open: usize) -> bool {
        self.inside(open).iter().any(|t| t.is("{"))
    }

    /// The first tokens between brackets.
    fn inside(&self, open: usize) -> &[Token<'_>] {
        let end = self.behind_brackets(open).min(open + MOST_INSIDE);
        &self.tokens[(open + 1).min(end)..end]
    }
}
