//! What stands behind a dot: the type of what is before it, and its members.

use std::sync::Arc;

use hopwright_sema::index::{Form, Type};
use hopwright_source::Span;

use crate::features::context::{self, Link, Wanted};
use crate::program::Program;
use crate::symbols::{Kind, Symbols};

/// What is before a dot.
#[derive(Clone, Debug)]
pub(crate) enum Receiver {
    /// A value of this type.
    Value(Arc<Type>),
    /// A table.
    Table,
    /// What applying a table returns.
    Applied,
    /// An enum, or `error`: its declaration, if it has one.
    Members(Option<usize>),
}

/// A member.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub name: String,
    /// Its declaration, if it has one.
    pub symbol: Option<usize>,
    pub ty: Option<String>,
    pub is_method: bool,
}

/// The declaration that the name at a place refers to. Where it has not been analysed, because of errors or because the preprocessor
/// leaves it out, it is looked up by what stands around it.
pub(crate) fn declaration(program: &Program, symbols: &Symbols<'_>, name: Span) -> Option<usize> {
    if let Some(found) = program.symbol_at(symbols, name) {
        return (program.snippet(name) == &**symbols.all[found].name).then_some(found);
    }
    let text = program.text(name.file)?.text();
    match context::at(text, name.start as usize) {
        Wanted::Nothing | Wanted::Directive | Wanted::Include { .. } | Wanted::Annotation => None,
        Wanted::Member(links) => {
            let receiver = receiver(program, symbols, &links, name)?;
            let named = |m: &Member| m.name == program.snippet(name);
            members(program, symbols, &receiver).into_iter().find(named)?.symbol
        }
        _ => symbols.lookup(program.snippet(name), name),
    }
}

/// What some names before a dot stand for at a place.
pub(crate) fn receiver(program: &Program, symbols: &Symbols<'_>, links: &[Link], at: Span) -> Option<Receiver> {
    let (first, rest) = links.split_first()?;
    if first.name == "error" {
        return rest.is_empty().then_some(Receiver::Members(None));
    }
    let found = symbols.lookup(&first.name, at)?;
    let symbol = &symbols.all[found];
    if symbol.kind == Kind::Table {
        return match rest {
            [] => Some(Receiver::Table),
            [apply] if apply.name == "apply" => Some(Receiver::Applied),
            _ => None,
        };
    }
    if symbol.kind == Kind::Enum {
        return rest.is_empty().then_some(Receiver::Members(Some(found)));
    }
    let mut ty = indexed(program.type_of(symbol)?.ty.clone(), first)?;
    for link in rest {
        let next = match (&ty.form, link.name.as_str()) {
            (Form::Stack(element), "next" | "last") => element.clone(),
            _ => ty.fields.iter().find(|(name, _)| **name == *link.name)?.1.clone(),
        };
        ty = indexed(next, link)?;
    }
    Some(Receiver::Value(ty))
}

fn indexed(ty: Arc<Type>, link: &Link) -> Option<Arc<Type>> {
    match (&ty.form, link.indexed) {
        (Form::Stack(element), true) => Some(element.clone()),
        (_, true) => None,
        (_, false) => Some(ty),
    }
}

/// The members behind the dot.
pub(crate) fn members(program: &Program, symbols: &Symbols<'_>, receiver: &Receiver) -> Vec<Member> {
    match receiver {
        Receiver::Table => built_in(&["apply"], &[]),
        Receiver::Applied => built_in(&[], &["hit", "miss", "action_run"]),
        Receiver::Members(declared) => {
            let belongs = |kind, parent| match declared {
                Some(d) => parent == Some(*d),
                None => kind == Kind::Error,
            };
            let all = symbols.all.iter().enumerate().filter(|(_, s)| belongs(s.kind, s.parent));
            let all = all.filter(|(_, s)| matches!(s.kind, Kind::EnumMember | Kind::Error));
            all.map(|(i, s)| Member { name: s.name.to_string(), symbol: Some(i), ty: None, is_method: false }).collect()
        }
        Receiver::Value(ty) => of_type(program, symbols, ty),
    }
}

fn of_type(program: &Program, symbols: &Symbols<'_>, ty: &Arc<Type>) -> Vec<Member> {
    let declared = ty.declaration.and_then(|at| symbols.at(at));
    let field = |(name, of): &(Arc<str>, Arc<Type>)| Member {
        name: name.to_string(),
        symbol: declared.and_then(|d| symbols.member(d, name)),
        ty: Some(of.text.clone()),
        is_method: false,
    };
    let mut members: Vec<Member> = ty.fields.iter().map(field).collect();
    members.extend(match &ty.form {
        Form::Header => built_in(&["isValid", "setValid", "setInvalid", "minSizeInBits", "minSizeInBytes"], &[]),
        Form::Union => built_in(&["isValid"], &[]),
        Form::Stack(element) if matches!(element.form, Form::Header | Form::Union) => {
            built_in(&["push_front", "pop_front"], &["next", "last", "lastIndex", "size"])
        }
        Form::Block => built_in(&["apply"], &[]),
        _ => Vec::new(),
    });
    if let (Form::Extern, Some(declared)) = (&ty.form, declared) {
        let methods = symbols.children(declared).filter(|(_, s)| s.kind == Kind::Method);
        members.extend(methods.map(|(i, s)| Member {
            name: s.name.to_string(),
            symbol: Some(i),
            ty: Some(crate::describe::declaration(program, symbols, s)),
            is_method: true,
        }));
    }
    members
}

fn built_in(methods: &[&str], values: &[&str]) -> Vec<Member> {
    let member = |name: &&str, is_method| Member { name: name.to_string(), symbol: None, ty: None, is_method };
    methods.iter().map(|n| member(n, true)).chain(values.iter().map(|n| member(n, false))).collect()
}
