//! Where in a program an offset is, from the text before it alone, so that incomplete text does not matter.

use crate::lexer::{self, Kind, Piece};

/// What surrounds an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    TopLevel,
    Parser,
    Control,
    State,
    /// Of an action, a function, `apply` and the like.
    Statements,
    Table,
    Key,
    Actions,
    Entries,
    Select,
    Switch,
    Fields,
    Enum,
    Extern,
    /// A list or struct as a value.
    Value,
}

/// One name of `a.b[1].c(...)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub name: String,
    pub indexed: bool,
    pub called: bool,
}

/// What can stand at an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Nothing: within a comment or string.
    Nothing,
    /// The name of a directive.
    Directive,
    /// The name of an include file, of which this much is there.
    Include {
        begun: String,
        angled: bool,
    },
    /// The name of an annotation.
    Annotation,
    /// A member of this.
    Member(Vec<Link>),
    /// A state; with `select` or without.
    State {
        select: bool,
    },
    MatchKind,
    /// An action of the table around.
    Action,
    /// A label of a `switch` over the actions of this table.
    SwitchLabel(String),
    /// The beginning of a declaration, statement, field or the like.
    Begin(Block),
    /// A value or type within one.
    Inside(Block),
}

/// What surrounds an offset of a text, and what can stand there.
pub(crate) fn at(text: &str, offset: usize) -> Wanted {
    let pieces = lexer::pieces(text);
    if let Some(wanted) = in_piece(text, &pieces, offset) {
        return wanted;
    }
    let start = lexer::word_at(text, offset).map_or(offset, |w| w.start.min(offset));
    let before: Vec<&Piece> = pieces.iter().filter(|p| p.range.end <= start && is_code(p)).collect();
    let word = |n: usize| before.len().checked_sub(n).and_then(|i| before.get(i)).map_or("", |p| p.text(text));
    match word(1) {
        "@" => return Wanted::Annotation,
        "." if word(2) != "." => return Wanted::Member(chain(text, &before[..before.len() - 1])),
        _ => {}
    }
    let (block, head) = surroundings(text, &before);
    let head: Vec<&str> = head.iter().map(|p| p.text(text)).collect();
    let colon = head.contains(&":");
    match block {
        _ if head.first() == Some(&"transition") && head.len() == 1 => Wanted::State { select: true },
        Block::Select if colon => Wanted::State { select: false },
        Block::Key if colon => Wanted::MatchKind,
        Block::Actions if head.is_empty() => Wanted::Action,
        Block::Entries if colon => Wanted::Action,
        Block::Table if word(2) == "default_action" && word(1) == "=" => Wanted::Action,
        Block::Switch if !colon => match switched_table(text, &before) {
            Some(table) => Wanted::SwitchLabel(table),
            None => Wanted::Inside(block),
        },
        _ if head.is_empty() => Wanted::Begin(block),
        _ => Wanted::Inside(block),
    }
}

fn is_code(piece: &Piece) -> bool {
    !matches!(piece.kind, Kind::Comment | Kind::Directive)
}

/// What is wanted within a comment, string or directive.
fn in_piece(text: &str, pieces: &[Piece], offset: usize) -> Option<Wanted> {
    let piece = pieces.iter().find(|p| p.range.start < offset && offset <= p.range.end)?;
    let begun = &text[piece.range.start..offset];
    match piece.kind {
        Kind::Comment if begun.ends_with("*/") => None,
        Kind::Comment => Some(Wanted::Nothing),
        Kind::String if piece.range.end == offset && begun.len() > 1 && begun.ends_with('"') => None,
        Kind::String | Kind::Number => Some(Wanted::Nothing),
        Kind::Directive => {
            let rest = begun[1..].trim_start();
            if rest.bytes().all(lexer::is_word) {
                return Some(Wanted::Directive);
            }
            let name = rest.strip_prefix("include").map(str::trim_start).unwrap_or_default();
            let angled = name.starts_with('<');
            let begun = name.strip_prefix(['<', '"']).filter(|n| !n.contains(['>', '"']));
            Some(begun.map_or(Wanted::Nothing, |b| Wanted::Include { begun: b.to_string(), angled }))
        }
        _ => None,
    }
}

/// The innermost braces around the end of some pieces, and what stands in them since the last statement or the like ended.
fn surroundings<'p>(text: &str, before: &[&'p Piece]) -> (Block, Vec<&'p Piece>) {
    let mut blocks = vec![Block::TopLevel];
    let mut heads: Vec<Vec<&Piece>> = vec![Vec::new()];
    let mut brackets = 0usize;
    for &piece in before {
        let head = heads.last_mut().map(std::mem::take).unwrap_or_default();
        let outer = blocks.last().copied().unwrap_or(Block::TopLevel);
        match piece.text(text) {
            "{" => {
                let words: Vec<&str> = head.iter().map(|p| p.text(text)).collect();
                blocks.push(opened(&words, outer));
                if let Some(last) = heads.last_mut() {
                    *last = head;
                }
                heads.push(Vec::new());
                brackets = 0;
                continue;
            }
            "}" => {
                if blocks.len() > 1 {
                    blocks.pop();
                    heads.pop();
                }
                brackets = 0;
                // A value goes on behind its braces.
                let value = matches!(outer, Block::Value);
                if let Some(last) = heads.last_mut().filter(|_| !value) {
                    last.clear();
                }
                continue;
            }
            ";" if brackets == 0 => continue,
            "," if matches!(outer, Block::Enum) => continue,
            "(" | "[" => brackets += 1,
            ")" | "]" => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        if let Some(last) = heads.last_mut() {
            *last = head;
            last.push(piece);
        }
    }
    (blocks.last().copied().unwrap_or(Block::TopLevel), heads.pop().unwrap_or_default())
}

/// What braces after these words contain.
fn opened(head: &[&str], outer: Block) -> Block {
    let last = head.iter().rposition(|w| *w != "=").map_or("", |i| head[i]);
    if head.last() == Some(&"=") {
        match (outer, last) {
            (Block::Table, "key") => return Block::Key,
            (Block::Table, "actions") => return Block::Actions,
            (Block::Table, "entries") => return Block::Entries,
            _ => return Block::Value,
        }
    }
    let known = head.iter().find_map(|w| {
        Some(match *w {
            "parser" => Block::Parser,
            "control" => Block::Control,
            "state" => Block::State,
            "table" => Block::Table,
            "action" | "apply" | "if" | "else" | "for" => Block::Statements,
            "struct" | "header" | "header_union" => Block::Fields,
            "enum" | "error" | "match_kind" => Block::Enum,
            "extern" => Block::Extern,
            "select" => Block::Select,
            "switch" => Block::Switch,
            "return" | "(" if outer != Block::TopLevel => Block::Value,
            _ => return None,
        })
    });
    match (known, outer) {
        (Some(block), _) => block,
        (None, Block::State) => Block::State,
        (None, _) => Block::Statements,
    }
}

/// The table that the innermost `switch` applies.
fn switched_table(text: &str, before: &[&Piece]) -> Option<String> {
    let switch = before.iter().rposition(|p| p.text(text) == "switch")?;
    let mut words = before[switch + 1..].iter().map(|p| p.text(text));
    let (open, table, dot, apply) = (words.next()?, words.next()?, words.next()?, words.next()?);
    (open == "(" && dot == "." && apply == "apply").then(|| table.to_string())
}

/// The names before the last dot: `a.b[1].c(...)`, outermost first; empty if something else stands there.
fn chain(text: &str, before: &[&Piece]) -> Vec<Link> {
    let mut links = Vec::new();
    let mut at = before.len();
    loop {
        let mut link = Link { name: String::new(), indexed: false, called: false };
        let name = loop {
            let Some(i) = at.checked_sub(1) else { return Vec::new() };
            match before[i].text(text) {
                close @ ("]" | ")" | ">") => {
                    let Some(open) = opening(text, &before[..i], close) else { return Vec::new() };
                    link.indexed |= close == "]";
                    link.called |= close == ")";
                    at = open;
                }
                name => break name,
            }
        };
        if !lexer::is_name(name) {
            return Vec::new();
        }
        at -= 1;
        link.name = name.to_string();
        links.push(link);
        match at.checked_sub(1) {
            Some(dot) if before[dot].text(text) == "." => at = dot,
            _ => break,
        }
    }
    links.reverse();
    links
}

/// The position of the bracket that some bracket behind these pieces closes.
fn opening(text: &str, before: &[&Piece], close: &str) -> Option<usize> {
    let open = match close {
        "]" => "[",
        ")" => "(",
        _ => "<",
    };
    let mut depth = 1;
    before.iter().rposition(|p| {
        let piece = p.text(text);
        depth += i32::from(piece == close) - i32::from(piece == open);
        depth == 0
    })
}

/// A call that an offset is in the parentheses of.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// What is called.
    pub callee: Vec<Link>,
    /// Number of the argument.
    pub argument: usize,
    /// Where the callee's name begins.
    pub at: usize,
}

/// The innermost call around an offset.
pub(crate) fn call(text: &str, offset: usize) -> Option<Call> {
    let pieces = lexer::pieces(text);
    let before: Vec<&Piece> = pieces.iter().filter(|p| p.range.end <= offset && is_code(p)).collect();
    let (mut depth, mut argument) = (0i32, 0);
    for (i, piece) in before.iter().enumerate().rev() {
        match piece.text(text) {
            ")" | "]" | "}" => depth += 1,
            "[" | "{" if depth == 0 => return None,
            ";" => return None,
            "(" if depth == 0 => {
                let callee = chain(text, &before[..i]);
                let at = before[..i].iter().rev().find(|p| callee.last().is_some_and(|l| l.name == p.text(text)))?;
                return Some(Call { callee, argument, at: at.range.start });
            }
            "(" | "[" | "{" => depth -= 1,
            "," if depth == 0 => argument += 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(text: &str) -> Wanted {
        let offset = text.find('|').unwrap();
        at(&text.replace('|', ""), offset)
    }

    fn link(name: &str) -> Link {
        Link { name: name.into(), indexed: false, called: false }
    }

    #[test]
    fn places_in_incomplete_programs() {
        assert_eq!(wanted("|"), Wanted::Begin(Block::TopLevel));
        assert_eq!(wanted("// a|"), Wanted::Nothing);
        assert_eq!(wanted("#inc|"), Wanted::Directive);
        assert_eq!(wanted("#include <co|"), Wanted::Include { begun: "co".into(), angled: true });
        assert_eq!(wanted("@na|me(\"x\")"), Wanted::Annotation);
        let control = "control c(inout h hdr) { action a() { } table t { ";
        assert_eq!(wanted(&format!("{control}|")), Wanted::Begin(Block::Table));
        assert_eq!(wanted(&format!("{control} key = {{ |")), Wanted::Begin(Block::Key));
        assert_eq!(wanted(&format!("{control} key = {{ hdr.x: ex|")), Wanted::MatchKind);
        assert_eq!(wanted(&format!("{control} key = {{ hdr.x: exact; }} actions = {{ a; |")), Wanted::Action);
        assert_eq!(wanted(&format!("{control} default_action = |")), Wanted::Action);
        assert_eq!(wanted(&format!("{control} size = 5; }} |")), Wanted::Begin(Block::Control));
        assert_eq!(wanted(&format!("{control} }} apply {{ if (x) {{ |")), Wanted::Begin(Block::Statements));
        assert_eq!(wanted(&format!("{control} }} apply {{ x = |")), Wanted::Inside(Block::Statements));
        let switch = format!("{control} }} apply {{ switch (t.apply().action_run) {{ |");
        assert_eq!(wanted(&switch), Wanted::SwitchLabel("t".into()));
        assert_eq!(wanted("struct s { bit<8> x; |"), Wanted::Begin(Block::Fields));
    }

    #[test]
    fn places_in_parsers() {
        let state = "parser p(packet_in b) { state start { b.extract(h); ";
        assert_eq!(wanted(&format!("{state} |")), Wanted::Begin(Block::State));
        assert_eq!(wanted(&format!("{state} transition |")), Wanted::State { select: true });
        let select = format!("{state} transition select(h.x) {{ ");
        assert_eq!(wanted(&format!("{select} |")), Wanted::Begin(Block::Select));
        assert_eq!(wanted(&format!("{select} 1: a; 2: |")), Wanted::State { select: false });
        assert_eq!(wanted(&format!("{select} 1: a; }} }} |")), Wanted::Begin(Block::Parser));
    }

    #[test]
    fn members_are_of_chains() {
        assert_eq!(wanted("a.b.|"), Wanted::Member(vec![link("a"), link("b")]));
        assert_eq!(wanted("x = f(a.b.c|, 1)"), Wanted::Member(vec![link("a"), link("b")]));
        let indexed = Link { indexed: true, ..link("s") };
        assert_eq!(wanted("h.s[x.y + 1].|"), Wanted::Member(vec![link("h"), indexed]));
        let called = Link { called: true, ..link("apply") };
        assert_eq!(wanted("if (t.apply().|"), Wanted::Member(vec![link("t"), called]));
        assert_eq!(wanted("(a + b).|"), Wanted::Member(Vec::new()));
    }

    #[test]
    fn calls_know_their_argument() {
        let found = |text: &str| call(&text.replace('|', ""), text.find('|').unwrap());
        let call = found("x = f(a, g(b), |").unwrap();
        assert_eq!((call.callee, call.argument, call.at), (vec![link("f")], 2, 4));
        let call = found("b.extract<t>(h|").unwrap();
        assert_eq!((call.callee.len(), call.argument), (2, 0));
        assert_eq!(found("f(a); |"), None);
    }
}
