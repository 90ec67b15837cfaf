//! Declarations as text: what stands in the source, comments before it, layouts of headers.

use hopwright_sema::index::{Form, Type};
use hopwright_source::Span;
use hopwright_syntax::ast::{self, Annotation, DeclKind};

use crate::lexer;
use crate::program::Program;
use crate::symbols::{Kind, Node, Symbol, Symbols};

/// Most lines of a declaration that are shown.
const MAX_LINES: usize = 40;

/// The declaration as it is shown: its head, or all of it where that says what it is.
pub(crate) fn declaration(program: &Program, symbols: &Symbols<'_>, symbol: &Symbol<'_>) -> String {
    let text = match symbol.node {
        Node::Decl(decl) => match &decl.kind {
            DeclKind::Action(_) | DeclKind::Function(_) | DeclKind::Parser(_) | DeclKind::Control(_) => {
                head(program.snippet(decl.span))
            }
            DeclKind::Table(_) => format!("table {}", symbol.name),
            _ => outdented(program, decl.span),
        },
        Node::State(_) => format!("state {}", symbol.name),
        Node::Field(f) => program.snippet(f.span).trim_end_matches(';').to_string(),
        Node::Method(m) => program.snippet(m.span).to_string(),
        Node::Param(p) => program.snippet(p.span).to_string(),
        Node::Name => match (symbol.kind, symbol.parent) {
            (Kind::EnumMember, Some(parent)) => format!("{}.{}", symbols.all[parent].name, symbol.name),
            (Kind::Error, _) => format!("error.{}", symbol.name),
            _ => format!("{} {}", symbol.kind.word(), symbol.name),
        },
    };
    let mut lines: Vec<&str> = text.lines().collect();
    if lines.len() > MAX_LINES {
        lines.truncate(MAX_LINES);
        lines.push("…");
    }
    lines.join("\n")
}

/// What stands before the body.
fn head(text: &str) -> String {
    text[..text.find('{').unwrap_or(text.len())].trim_end().to_string()
}

/// The text of a span, without the indentation of its first line in the others.
fn outdented(program: &Program, span: Span) -> String {
    let text = program.snippet(span);
    let Some(source) = program.sources().get(span.file) else { return text.to_string() };
    let line = &source.text()[source.line_range(source.line_index(span.start))];
    let indentation = &line[..line.len() - line.trim_start().len()];
    text.lines().map(|l| l.strip_prefix(indentation).unwrap_or(l)).collect::<Vec<_>>().join("\n")
}

/// The comment that belongs to a declaration: the lines before it, or behind it in its line.
pub(crate) fn documentation(program: &Program, symbol: &Symbol<'_>) -> Option<String> {
    let source = program.sources().get(symbol.span.file)?;
    let text = &**source.text();
    let start = annotations(symbol.node).iter().map(|a| a.span).filter(|s| s.file == symbol.span.file);
    let start = start.map(|s| s.start).chain([symbol.span.start]).min()? as usize;
    before(text, start).or_else(|| {
        let one_line =
            matches!(symbol.kind, Kind::Field | Kind::EnumMember | Kind::Const | Kind::Error | Kind::Variable);
        one_line.then(|| behind(text, symbol.span.end as usize)).flatten()
    })
}

/// Annotations of a declaration.
pub(crate) fn annotations(node: Node<'_>) -> &[Annotation] {
    match node {
        Node::Decl(d) => &d.annotations,
        Node::State(s) => &s.annotations,
        Node::Field(f) => &f.annotations,
        Node::Method(m) => &m.annotations,
        Node::Param(p) => &p.annotations,
        Node::Name => &[],
    }
}

/// The comment that ends in the line before `start`.
fn before(text: &str, start: usize) -> Option<String> {
    let line = text[..start].rfind('\n').map_or(0, |n| n + 1);
    if !text[line..start].trim().is_empty() {
        return None;
    }
    let above = text[..line].trim_end_matches([' ', '\t', '\r', '\n']);
    // An empty line separates a comment from what follows it.
    if text[above.len()..line].matches('\n').count() > 1 {
        return None;
    }
    if above.ends_with("*/") {
        return block_comment(&above[above.rfind("/*")?..]);
    }
    let mut lines = Vec::new();
    for line in above.lines().rev() {
        match line.trim().strip_prefix("//") {
            Some(comment) => lines.push(comment.trim_start_matches(['/', '!']).trim()),
            None => break,
        }
    }
    lines.reverse();
    Some(lines.join("\n")).filter(|l| !l.trim().is_empty())
}

fn block_comment(comment: &str) -> Option<String> {
    let inner = comment.trim_start_matches('/').trim_end_matches('/').trim_matches('*');
    let line = |l: &str| l.trim().trim_start_matches('*').trim().to_string();
    let lines: Vec<String> = inner.lines().map(line).collect();
    Some(lines.join("\n").trim().to_string()).filter(|l| !l.is_empty())
}

/// The comment behind a declaration in its line.
fn behind(text: &str, end: usize) -> Option<String> {
    let line = text[end..].lines().next()?;
    let rest = line.trim_start_matches([',', ';', ' ', '\t']);
    if let Some(comment) = rest.strip_prefix("//") {
        return Some(comment.trim_start_matches(['/', '!', '<']).trim().to_string()).filter(|c| !c.is_empty());
    }
    rest.starts_with("/*").then(|| block_comment(&rest[..rest.find("*/")? + 2])).flatten()
}

/// Where a field lies in its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldPlace {
    /// Bits before it.
    pub offset: u64,
    /// Its own.
    pub bits: u64,
    /// Whether it has just this width, not at most.
    pub fixed: bool,
}

impl FieldPlace {
    /// `bits 96–111`.
    pub(crate) fn text(self) -> String {
        match (self.fixed, self.bits) {
            (_, 0) => format!("at bit {}", self.offset),
            (true, 1) => format!("bit {}", self.offset),
            (true, bits) => format!("bits {}–{}", self.offset, self.offset + bits - 1),
            (false, bits) => format!("from bit {}, at most {bits} bits", self.offset),
        }
    }
}

/// The places of a header's fields, in order, up to what follows a field of variable width.
pub(crate) fn layout(header: &Type) -> Vec<FieldPlace> {
    let mut places = Vec::new();
    if !matches!(header.form, Form::Header) {
        return places;
    }
    let mut offset = 0;
    for (_, ty) in &header.fields {
        let (Some(bits), Some(max)) = (ty.bits, ty.max_bits) else { break };
        places.push(FieldPlace { offset, bits: max, fixed: bits == max });
        if bits != max {
            break;
        }
        offset += bits;
    }
    places
}

/// The place of a field in the header that declares it.
pub(crate) fn field_place(program: &Program, symbols: &Symbols<'_>, field: &Symbol<'_>) -> Option<FieldPlace> {
    let header = &program.type_of(&symbols.all[field.parent?])?.ty;
    let number = header.fields.iter().position(|(name, _)| name == field.name)?;
    layout(header).get(number).copied()
}

/// `N bits`, with bytes.
pub(crate) fn size(ty: &Type) -> Option<String> {
    let bytes =
        |bits: u64| if bits.is_multiple_of(8) && bits > 8 { format!(" ({} bytes)", bits / 8) } else { String::new() };
    let bits = |n: u64| format!("{n} bit{}{}", if n == 1 { "" } else { "s" }, bytes(n));
    match (ty.bits?, ty.max_bits?) {
        (least, most) if least == most => Some(bits(least)),
        (least, most) => Some(format!("{least} to {}", bits(most))),
    }
}

/// The parameters of what can be called.
pub(crate) fn callable(node: Node<'_>) -> Option<&[ast::Param]> {
    let params = match node {
        Node::Decl(d) => match &d.kind {
            DeclKind::Function(f) => &f.sig.params,
            DeclKind::ExternFunction(sig) => &sig.params,
            DeclKind::Action(a) => &a.params,
            DeclKind::Parser(p) => &p.sig.params,
            DeclKind::Control(c) => &c.sig.params,
            DeclKind::ParserType(sig) | DeclKind::ControlType(sig) | DeclKind::Package(sig) => &sig.params,
            _ => return None,
        },
        Node::Method(m) => &m.sig.params,
        _ => return None,
    };
    Some(params)
}

/// What `#define` makes of a macro: the directive, and its place, in any file of a program.
pub(crate) fn macro_definition(program: &Program, name: &str) -> Option<(Span, String)> {
    program.sources().files().find_map(|(file, source)| {
        let text = &**source.text();
        let mut directives = lexer::pieces(text).into_iter().filter(|p| p.kind == lexer::Kind::Directive);
        directives.find_map(|p| {
            let directive = p.text(text);
            let rest = directive.strip_prefix('#')?.trim_start().strip_prefix("define")?;
            let found = rest.trim_start();
            let end = found.bytes().position(|b| !lexer::is_word(b)).unwrap_or(found.len());
            let start = p.range.start + directive.len() - found.len();
            let span = Span::new(file, start as u32, (start + end) as u32);
            (rest.len() > found.len() && &found[..end] == name).then(|| (span, directive.to_string()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_before_and_behind_declarations() {
        let text = "// One.\n/// Two.\nconst bit<8> A = 1; // behind\n\n// apart\n\nx /** Block\n * line\n */\n  y; /* here */";
        let at = |needle: &str| text.find(needle).unwrap();
        assert_eq!(before(text, at("const")).unwrap(), "One.\nTwo.");
        assert_eq!(behind(text, at("; //")).unwrap(), "behind");
        assert_eq!(before(text, at("x /**")), None);
        assert_eq!(before(text, at("y;")).unwrap(), "Block\nline");
        assert_eq!(behind(text, at("; /*")).unwrap(), "here");
    }
}
