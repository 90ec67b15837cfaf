//! Completion: what can stand at a place, by what surrounds it.

use hopwright_sema::architecture;
use hopwright_source::Span;
use hopwright_syntax::ast::{DeclKind, TablePropertyValue};
use lsp_types::{CompletionItem, CompletionItemKind, Documentation, InsertTextFormat, MarkupContent, MarkupKind};

use super::context::{self, Block, Link, Wanted};
use super::hover;
use crate::describe;
use crate::members;
use crate::program::Program;
use crate::symbols::{Kind, Node, Symbol, Symbols};
use crate::world::{At, World};

/// Completions at a place. `snippets` says whether the client knows text with places to fill in.
pub(crate) fn complete(world: &World, at: &At, snippets: bool) -> Vec<CompletionItem> {
    let program = &*at.program;
    let symbols = program.symbols();
    let Some(text) = program.text(at.file) else { return Vec::new() };
    let list = List { program, symbols: &symbols, at: at.span(), snippets };
    match context::at(text.text(), at.offset) {
        Wanted::Nothing => Vec::new(),
        Wanted::Directive => words(&DIRECTIVES, CompletionItemKind::KEYWORD),
        Wanted::Include { begun, angled } => include_files(world, at, &begun, angled),
        Wanted::Annotation => words(&ANNOTATIONS, CompletionItemKind::PROPERTY),
        Wanted::Member(links) => list.members(&links),
        Wanted::State { select } => list.states(select),
        Wanted::MatchKind => list.all(|s| s.kind == Kind::Match),
        Wanted::Action => list.visible(|k| k == Kind::Action),
        Wanted::SwitchLabel(table) => list.actions_of(&table),
        Wanted::Begin(block) => list.begin(block),
        Wanted::Inside(block) => list.inside(block),
    }
}

struct List<'a> {
    program: &'a Program,
    symbols: &'a Symbols<'a>,
    at: Span,
    snippets: bool,
}

impl List<'_> {
    fn members(&self, links: &[Link]) -> Vec<CompletionItem> {
        let Some(receiver) = members::receiver(self.program, self.symbols, links, self.at) else { return Vec::new() };
        let found = members::members(self.program, self.symbols, &receiver);
        let item = |(i, m): (usize, members::Member)| {
            let mut item = match m.symbol {
                Some(symbol) => self.item(&self.symbols.all[symbol]),
                None => CompletionItem {
                    kind: Some(if m.is_method { CompletionItemKind::METHOD } else { CompletionItemKind::PROPERTY }),
                    documentation: hover::built_in(&m.name).map(markdown),
                    ..CompletionItem::new_simple(m.name.clone(), String::new())
                },
            };
            item.detail = m.ty.or(item.detail).filter(|d| !d.is_empty());
            if m.is_method {
                self.call(&mut item);
            }
            // In the order of the declaration.
            item.sort_text = Some(format!("{i:04}"));
            item
        };
        found.into_iter().enumerate().map(item).collect()
    }

    fn states(&self, select: bool) -> Vec<CompletionItem> {
        let mut items = words(&["accept", "reject"], CompletionItemKind::EVENT);
        if let Some(parser) = self.symbols.around(self.at, &[Kind::Parser]) {
            let states = self.symbols.children(parser).filter(|(_, s)| s.kind == Kind::State);
            items.extend(states.map(|(_, s)| self.item(s)));
        }
        if select {
            items.push(self.snippet("select", "select (${1:expression}) {\n    ${2:default}: ${3:accept};\n}"));
        }
        items
    }

    fn actions_of(&self, table: &str) -> Vec<CompletionItem> {
        let mut items = words(&["default"], CompletionItemKind::KEYWORD);
        let found = self.symbols.lookup(table, self.at).map(|t| self.symbols.all[t].node);
        let Some(Node::Decl(decl)) = found else { return items };
        let DeclKind::Table(table) = &decl.kind else { return items };
        for property in &table.properties {
            if let TablePropertyValue::Actions(actions) = &property.value {
                let found = actions.iter().filter_map(|a| self.symbols.lookup(a.action.path.name.as_str(), self.at));
                items.extend(found.map(|a| self.item(&self.symbols.all[a])));
            }
        }
        items
    }

    /// What begins a declaration, statement, field or the like.
    fn begin(&self, block: Block) -> Vec<CompletionItem> {
        let types = |k: Kind| k.is_type();
        match block {
            Block::TopLevel => {
                let mut items = words(&TOP_LEVEL, CompletionItemKind::KEYWORD);
                items.extend(self.visible(|k| types(k) || k == Kind::Package));
                items
            }
            Block::Parser => {
                let mut items = words(&["state", "const", "value_set"], CompletionItemKind::KEYWORD);
                items.push(self.snippet("state", "state ${1:name} {\n    $0\n    transition ${2:accept};\n}"));
                items.extend(self.types());
                items
            }
            Block::Control => {
                let mut items = words(&["action", "table", "const", "apply"], CompletionItemKind::KEYWORD);
                let table = "table ${1:name} {\n    key = {\n        ${2:field}: ${3:exact};\n    }\n    actions = {\n        ${4:NoAction};\n    }\n    \
                             default_action = ${4:NoAction}();\n}";
                items.push(self.snippet("table", table));
                items.push(self.snippet("action", "action ${1:name}($2) {\n    $0\n}"));
                items.extend(self.types());
                items
            }
            Block::State => {
                let mut items = words(&["transition", "const", "if"], CompletionItemKind::KEYWORD);
                items.extend(self.values_and_types());
                items
            }
            Block::Statements => {
                let mut items = words(&STATEMENTS, CompletionItemKind::KEYWORD);
                items.extend(self.values_and_types());
                items
            }
            Block::Table => words(&self.properties(), CompletionItemKind::PROPERTY),
            Block::Extern => {
                let mut items = words(&["void", "abstract"], CompletionItemKind::KEYWORD);
                items.extend(self.types());
                items
            }
            Block::Fields => self.types(),
            Block::Enum => Vec::new(),
            Block::Actions => self.visible(|k| k == Kind::Action),
            Block::Key | Block::Entries | Block::Select | Block::Switch | Block::Value => self.inside(block),
        }
    }

    /// What stands within a value or type.
    fn inside(&self, block: Block) -> Vec<CompletionItem> {
        let mut items = match block {
            Block::TopLevel | Block::Parser | Block::Control | Block::Extern => {
                words(&["in", "out", "inout"], CompletionItemKind::KEYWORD)
            }
            Block::Entries | Block::Select | Block::Switch => words(&["default", "_"], CompletionItemKind::KEYWORD),
            _ => Vec::new(),
        };
        items.extend(words(&["true", "false"], CompletionItemKind::CONSTANT));
        items.extend(self.values_and_types());
        items
    }

    fn types(&self) -> Vec<CompletionItem> {
        let mut items = words(&TYPES, CompletionItemKind::KEYWORD);
        items.extend(self.visible(|k| k.is_type()));
        items
    }

    fn values_and_types(&self) -> Vec<CompletionItem> {
        let mut items = words(&TYPES, CompletionItemKind::KEYWORD);
        items.extend(self.visible(|_| true));
        items
    }

    /// Properties of tables: those of the language, and those of the program's architecture.
    fn properties(&self) -> Vec<&'static str> {
        let declared = |name: &str| self.symbols.all.iter().any(|s| s.kind == Kind::Package && &**s.name == name);
        let architecture = architecture::ALL.iter().find(|a| declared(a.package));
        let of_architecture = architecture.map_or(&[][..], |a| a.table_properties);
        PROPERTIES.iter().chain(of_architecture).copied().collect()
    }

    /// Declarations of some kinds that a name alone can refer to here.
    fn visible(&self, wanted: impl Fn(Kind) -> bool) -> Vec<CompletionItem> {
        self.all(|s| wanted(s.kind) && self.symbols.is_visible(s, self.at))
    }

    fn all(&self, wanted: impl Fn(&Symbol<'_>) -> bool) -> Vec<CompletionItem> {
        let mut seen = std::collections::HashSet::new();
        let all = self.symbols.all.iter().filter(|s| wanted(s) && seen.insert(s.name.clone()));
        all.map(|s| self.item(s)).collect()
    }

    fn item(&self, symbol: &Symbol<'_>) -> CompletionItem {
        let mut item = CompletionItem {
            label: symbol.name.to_string(),
            kind: Some(kind(symbol.kind)),
            detail: self.program.type_of(symbol).map(|t| t.ty.text.clone()),
            documentation: describe::documentation(self.program, symbol).as_deref().map(markdown),
            // Local names first.
            sort_text: Some(format!("{}{}", if symbol.scope.is_some() { 1 } else { 2 }, symbol.name)),
            ..CompletionItem::default()
        };
        if matches!(symbol.kind, Kind::Function | Kind::ExternFunction) {
            item.detail = Some(describe::declaration(self.program, self.symbols, symbol));
            self.call(&mut item);
        }
        item
    }

    /// Inserts parentheses, too.
    fn call(&self, item: &mut CompletionItem) {
        if self.snippets {
            item.insert_text = Some(format!("{}($0)", item.label));
            item.insert_text_format = Some(InsertTextFormat::SNIPPET);
        }
    }

    fn snippet(&self, label: &str, text: &str) -> CompletionItem {
        let mut item = CompletionItem::new_simple(format!("{label} …"), "snippet".into());
        item.kind = Some(CompletionItemKind::SNIPPET);
        item.filter_text = Some(label.to_string());
        item.insert_text = Some(if self.snippets { text.to_string() } else { label.to_string() });
        item.insert_text_format = self.snippets.then_some(InsertTextFormat::SNIPPET);
        item
    }
}

/// Include files whose names begin like this: built-in ones, and those beside the file.
fn include_files(world: &World, at: &At, begun: &str, angled: bool) -> Vec<CompletionItem> {
    let mut names: Vec<String> = Vec::new();
    if angled {
        names.extend(hopwright_syntax::built_in_files().iter().map(|(name, _)| name.to_string()));
    }
    let folder = begun.rfind('/').map_or("", |n| &begun[..n]);
    for base in world.include_folders(&at.path, angled) {
        let Ok(entries) = std::fs::read_dir(base.join(folder)) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_folder = entry.file_type().is_ok_and(|t| t.is_dir()) && !name.starts_with('.');
            if is_folder || crate::includes::is_source(&entry.path()) {
                names.push(if is_folder { format!("{name}/") } else { name });
            }
        }
    }
    names.sort();
    names.dedup();
    let item =
        |label: String| CompletionItem { label, kind: Some(CompletionItemKind::FILE), ..CompletionItem::default() };
    names.into_iter().map(item).collect()
}

fn words(words: &[&str], kind: CompletionItemKind) -> Vec<CompletionItem> {
    let item = |w: &&str| CompletionItem { label: w.to_string(), kind: Some(kind), ..CompletionItem::default() };
    words.iter().map(item).collect()
}

fn markdown(text: &str) -> Documentation {
    Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value: text.to_string() })
}

fn kind(kind: Kind) -> CompletionItemKind {
    match kind {
        Kind::Const => CompletionItemKind::CONSTANT,
        Kind::Variable | Kind::Parameter | Kind::Instance | Kind::ValueSet => CompletionItemKind::VARIABLE,
        Kind::TypeParameter => CompletionItemKind::TYPE_PARAMETER,
        Kind::Error | Kind::Match | Kind::EnumMember => CompletionItemKind::ENUM_MEMBER,
        Kind::Function | Kind::ExternFunction | Kind::Action => CompletionItemKind::FUNCTION,
        Kind::Extern | Kind::Typedef => CompletionItemKind::INTERFACE,
        Kind::Constructor => CompletionItemKind::CONSTRUCTOR,
        Kind::Method => CompletionItemKind::METHOD,
        Kind::Struct | Kind::Header | Kind::Union => CompletionItemKind::STRUCT,
        Kind::Field => CompletionItemKind::FIELD,
        Kind::Enum => CompletionItemKind::ENUM,
        Kind::Parser | Kind::Control | Kind::Package => CompletionItemKind::CLASS,
        Kind::Table => CompletionItemKind::VALUE,
        Kind::State => CompletionItemKind::EVENT,
    }
}

const DIRECTIVES: [&str; 12] =
    ["include", "define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif", "error", "warning", "pragma"];
/// Annotations that the compiler or P4Info knows.
const ANNOTATIONS: [&str; 19] = [
    "name",
    "hidden",
    "optional",
    "tableonly",
    "defaultonly",
    "deprecated",
    "noWarn",
    "noSideEffects",
    "pure",
    "match",
    "controller_header",
    "p4runtime_translation",
    "id",
    "brief",
    "description",
    "field_list",
    "pkginfo",
    "priority",
    "format",
];
const TOP_LEVEL: [&str; 15] = [
    "action",
    "const",
    "control",
    "enum",
    "error",
    "extern",
    "header",
    "header_union",
    "match_kind",
    "package",
    "parser",
    "struct",
    "type",
    "typedef",
    "bit",
];
const TYPES: [&str; 8] = ["bit", "bool", "int", "varbit", "tuple", "list", "error", "string"];
const STATEMENTS: [&str; 10] = ["if", "else", "switch", "for", "return", "exit", "break", "continue", "const", "in"];
const PROPERTIES: [&str; 6] = ["key", "actions", "default_action", "entries", "size", "const"];
