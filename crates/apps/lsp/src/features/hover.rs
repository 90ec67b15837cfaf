//! Hover: what a name is, with its type, width, place in a header, value and comments.

use hopwright_sema::index::Typed;
use hopwright_syntax::ast::{DeclKind, TableDecl, TablePropertyValue};
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};

use crate::describe;
use crate::members;
use crate::program::Program;
use crate::symbols::{Kind, Node, Symbol, Symbols};
use crate::world::{At, World};

/// What is shown for a place.
pub(crate) fn hover(world: &World, at: &At) -> Option<Hover> {
    let word = at.word()?;
    let program = &*at.program;
    let symbols = program.symbols();
    let name = program.snippet(word);
    let text = match members::declaration(program, &symbols, word) {
        Some(found) => symbol(program, &symbols, &symbols.all[found]),
        None => match describe::macro_definition(program, name) {
            Some((_, directive)) => code(&directive),
            None => built_in(name)?.to_string(),
        },
    };
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value: text });
    Some(Hover { contents, range: world.range(program, word) })
}

/// The text for a declaration, in Markdown.
pub(crate) fn symbol(program: &Program, symbols: &Symbols<'_>, symbol: &Symbol<'_>) -> String {
    let mut parts = vec![code(&describe::declaration(program, symbols, symbol))];
    let facts = facts(program, symbols, symbol);
    if !facts.is_empty() {
        parts.push(facts.join("  \n"));
    }
    parts.extend(describe::documentation(program, symbol));
    parts.join("\n\n")
}

fn code(text: &str) -> String {
    format!("```p4\n{text}\n```")
}

/// Lines about a declaration.
fn facts(program: &Program, symbols: &Symbols<'_>, symbol: &Symbol<'_>) -> Vec<String> {
    let mut facts = Vec::new();
    let parent = symbol.parent.map(|p| &symbols.all[p]);
    let within = parent.map_or(String::new(), |p| format!(" of {} `{}`", p.kind.word(), p.name));
    facts.push(format!("{}{within}", symbol.kind.word()));
    let typed = program.type_of(symbol);
    if let Some(typed) = typed {
        facts.extend(of_type(symbol, typed));
    }
    if symbol.kind == Kind::Field
        && let Some(place) = describe::field_place(program, symbols, symbol)
    {
        facts.push(format!("{} of the header, byte {}", place.text(), place.offset / 8));
    }
    if let Node::Decl(decl) = symbol.node {
        match &decl.kind {
            DeclKind::Table(table) => facts.extend(of_table(program, table)),
            DeclKind::Struct(_) => facts.extend(typed.map(|t| layout(&t.ty)).unwrap_or_default()),
            _ => {}
        }
    }
    let name = hopwright_syntax::ast::find_annotation(describe::annotations(symbol.node), "name");
    if let Some(name) = name.and_then(|a| a.single_string()) {
        facts.push(format!("control plane name `{name}`"));
    }
    facts
}

fn of_type(symbol: &Symbol<'_>, typed: &Typed) -> Vec<String> {
    let mut facts = Vec::new();
    if typed.ty.text != **symbol.name {
        facts.push(format!("type `{}`", typed.ty.text));
    }
    facts.extend(describe::size(&typed.ty));
    facts.extend(typed.value.as_ref().map(|v| format!("value `{v}`")));
    facts
}

/// A row for each field of a header.
fn layout(header: &hopwright_sema::index::Type) -> Vec<String> {
    let places = describe::layout(header);
    let rows = header.fields.iter().zip(places);
    rows.map(|((name, ty), place)| format!("`{name}`: {} (`{}`)", place.text(), ty.text)).collect()
}

fn of_table(program: &Program, table: &TableDecl) -> Vec<String> {
    let mut facts = Vec::new();
    for property in &table.properties {
        let name = property.name.as_str();
        match &property.value {
            TablePropertyValue::Key(keys) => {
                let key = |k: &hopwright_syntax::ast::KeyElement| {
                    let width = program.index().types.get(&k.expr.span).map(|t| format!(" (`{}`)", t.ty.text));
                    let text = program.snippet(k.expr.span);
                    format!("`{text}`: {}{}", k.match_kind, width.unwrap_or_default())
                };
                facts.push(format!("key {}", keys.iter().map(key).collect::<Vec<_>>().join(", ")));
            }
            TablePropertyValue::Actions(actions) => {
                let names: Vec<_> = actions.iter().map(|a| format!("`{}`", a.action.path.name)).collect();
                facts.push(format!("actions {}", names.join(", ")));
            }
            TablePropertyValue::Entries(entries) => facts.push(format!("{} entries in the program", entries.len())),
            TablePropertyValue::Expr(e) => {
                let text = program.snippet(e.span);
                let value = program.index().types.get(&e.span).and_then(|t| t.value.as_ref());
                let value = value.filter(|v| *v != text).map_or(String::new(), |v| format!(" = {v}"));
                facts.push(format!("{name} `{text}`{value}"));
            }
        }
    }
    facts
}

/// What belongs to the language and is declared nowhere.
pub(crate) fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Methods and members of the language, by name (P4-16 sections 8.17, 8.18, 13.8 and 14.2).
const BUILT_IN: [(&str, &str); 20] = [
    ("isValid", "```p4\nbool isValid()\n```\nWhether the header is valid; of a union, whether one of its headers is."),
    (
        "setValid",
        "```p4\nvoid setValid()\n```\nMakes the header valid. The values of its fields are unspecified if it was not.",
    ),
    ("setInvalid", "```p4\nvoid setInvalid()\n```\nMakes the header invalid."),
    (
        "push_front",
        "```p4\nvoid push_front(int count)\n```\nShifts the stack right; the first `count` elements become invalid.",
    ),
    (
        "pop_front",
        "```p4\nvoid pop_front(int count)\n```\nShifts the stack left; the last `count` elements become invalid.",
    ),
    ("next", "The next element of the stack that `extract` fills. In parsers only."),
    ("last", "The element of the stack that was extracted last. In parsers only."),
    ("lastIndex", "The index of `last` as `bit<32>`. In parsers only."),
    ("size", "The number of elements of the stack as `bit<32>`; of a table, the number of entries wanted."),
    ("apply", "Runs a table, parser or control; the body of a control."),
    ("hit", "Whether the table found an entry."),
    ("miss", "Whether the table found no entry."),
    ("action_run", "The action that the table ran: the subject of a `switch`."),
    ("minSizeInBits", "The size in bits, of what has a variable size the smallest. Known at compile time."),
    ("minSizeInBytes", "The size in bytes, of what has a variable size the smallest. Known at compile time."),
    ("maxSizeInBits", "The size in bits, of what has a variable size the largest. Known at compile time."),
    ("maxSizeInBytes", "The size in bytes, of what has a variable size the largest. Known at compile time."),
    ("accept", "The parser ends, and processing goes on."),
    ("reject", "The parser ends with an error; the architecture says what happens to the packet."),
    ("start", "The first state of a parser."),
];
