//! Names: scopes, lookup, and suggestions for unknown names.

use std::rc::Rc;
use std::sync::Arc;

use hopwright_source::{Span, nearest};
use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;

use crate::analyser::Analyser;
use crate::architecture::{self, Architecture};
use crate::context::Body;
use crate::entity::{Entity, Scope, Symbol};
use crate::types::Ty;
use crate::value::Value;

impl<'a> Analyser<'a> {
    /// Runs `f` in a scope of its own.
    pub(crate) fn scoped<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        self.scopes.push(Scope::default());
        let result = f(self);
        self.scopes.pop();
        result
    }

    /// Declares a name in the innermost scope; reports duplicates and warns about shadowing.
    pub(crate) fn declare(&mut self, name: &ast::Ident, entity: Entity<'a>) {
        self.declare_at(&name.name, name.span, entity);
    }

    pub(crate) fn declare_at(&mut self, name: &Arc<str>, span: Span, entity: Entity<'a>) {
        self.index_entity(span, &entity);
        let order = if self.scopes.is_empty() { self.order } else { 0 };
        if let Some(scope) = self.scopes.last() {
            if let Some(first) = scope.symbols.get(name) {
                let first = first.span;
                self.duplicate(name, span, first);
                return;
            }
            let mut shadowed = None;
            for outer in self.scopes.iter().rev().skip(1) {
                if let Some(s) = outer.symbols.get(name) {
                    shadowed = Some(s.span);
                    break;
                }
            }
            if let Some(outer) = shadowed {
                self.report(
                    Diagnostic::warning("W0001", format!("`{name}` hides another declaration"))
                        .at(span, "this declaration")
                        .related(outer, "hides this one"),
                );
            }
        } else if let Some(first) = self.globals.symbols.get(name) {
            let first = first.span;
            self.duplicate(name, span, first);
            return;
        }
        let symbol = Symbol { entity, span, order };
        let scope = match self.scopes.last_mut() {
            Some(s) => s,
            None => &mut self.globals,
        };
        scope.symbols.insert(name.clone(), symbol);
    }

    pub(crate) fn duplicate(&mut self, name: &str, span: Span, first: Span) {
        let twice = Diagnostic::error("E0201", format!("`{name}` is declared twice"))
            .at(span, "second declaration")
            .related(first, "first declared here");
        self.report(match span.file == first.file {
            true => twice,
            false => twice.help("the declarations are in two files: choose another name in the one that is yours"),
        });
    }

    /// The visible symbol of this name.
    pub(crate) fn lookup(&self, name: &str, global_only: bool) -> Option<&Symbol<'a>> {
        if !global_only {
            for scope in self.scopes.iter().rev() {
                if let Some(s) = scope.symbols.get(name) {
                    return Some(s);
                }
            }
        }
        self.globals.symbols.get(name).filter(|s| s.order < self.order || matches!(s.entity, Entity::Functions(_)))
    }

    /// The meaning of a path; reports an error and returns `None` if it has none.
    pub(crate) fn resolve(&mut self, path: &ast::Path) -> Option<Entity<'a>> {
        if let Some(s) = self.lookup(path.name.as_str(), path.leading_dot) {
            let (entity, order, declaration) = (s.entity.clone(), s.order, s.span);
            self.index_use(path.name.span, declaration);
            if order > 0
                && let Some(why) = self.deprecated_names.get(&path.name.name).cloned()
            {
                self.warn_deprecated(path.name.as_str(), &why, path.span);
            }
            match entity {
                Entity::Broken => return None,
                Entity::Functions(all) => {
                    let order = self.order;
                    let visible: Vec<_> = all.iter().filter(|f| f.order < order).cloned().collect();
                    if !visible.is_empty() {
                        return Some(Entity::Functions(Rc::new(visible)));
                    }
                }
                entity => return Some(entity),
            }
        }
        // Match kinds are compile-time values.
        let match_kind = self.match_kinds.iter().find(|(n, _)| *n == path.name.name).map(|(_, at)| *at);
        if let Some(declaration) = match_kind {
            self.index_use(path.name.span, declaration);
            return Some(Entity::Const(Value::Str(path.name.name.clone()), Ty::MatchKind));
        }
        if self.include_missing(path.name.as_str(), path.span, "is not declared", "E0200") {
            return None;
        }
        let d = self.unresolved(path);
        self.report(d);
        None
    }

    /// Whether a built-in include file declares the name. If so, reports the missing file, once for each.
    pub(crate) fn include_missing(&mut self, name: &str, span: Span, what: &str, code: &'static str) -> bool {
        let declared = self.globals.symbols.contains_key(name) || self.later.contains_key(name);
        let Some(file) = hopwright_syntax::include_of(name).filter(|_| !declared) else { return false };
        if self.missing_includes.contains(file) {
            self.consequence();
            return true;
        }
        // Whoever lacks `core.p4` lacks the architecture too.
        let core = file == "core.p4";
        let lacking = core && self.architecture().is_none() && self.later.contains_key("main");
        let files = if lacking { vec![file, architecture::ALL[0].include] } else { vec![file] };
        let lines: Vec<String> = files.iter().map(|f| format!("`#include <{f}>`")).collect();
        let directives: String = files.iter().map(|f| format!("#include <{f}>\n")).collect();
        self.missing_includes.extend(files);
        self.report(
            Diagnostic::error(code, format!("`{name}` {what}"))
                .at(span, format!("`{file}` declares it"))
                .help(format!("write {} at the beginning of the program", lines.join(" and ")))
                .suggest(Span { start: 0, end: 0, ..span }, "", directives),
        );
        true
    }

    /// The architecture whose package the program declares or includes.
    pub(crate) fn architecture(&self) -> Option<&'static Architecture> {
        let declared = |name: &str| self.globals.symbols.contains_key(name) || self.later.contains_key(name);
        let package = architecture::ALL.iter().find(|a| declared(a.package))?.package;
        let named = self.defs.packages.iter().find(|p| *p.name == *package).and_then(|p| p.architecture.as_deref());
        Architecture::of_package(package, named)
    }

    fn unresolved(&mut self, path: &ast::Path) -> Diagnostic {
        let name = path.name.as_str();
        if self.declaring.iter().any(|n| **n == *name) {
            return Diagnostic::error("E0310", format!("`{name}` cannot use itself"))
                .at(path.span, format!("this is within `{name}`"))
                .note("P4 has no recursion: what a packet costs is known beforehand");
        }
        let local = self.local_decls.iter().find(|d| d.kind.name().is_some_and(|n| n.as_str() == name));
        if let Some(local) = local {
            let at = local.kind.name().map_or(local.span, |n| n.span);
            if matches!(local.kind, ast::DeclKind::Table(_)) && self.context.body == Body::Action {
                return Diagnostic::error("E0310", format!("the table `{name}` cannot be applied here"))
                    .at(path.span, "only the `apply` block of a control applies tables")
                    .related(at, "the table")
                    .help(format!("apply it in the `apply` block, for instance behind the table that runs this action: `{name}.apply();`"));
            }
        }
        let d =
            Diagnostic::error("E0200", format!("`{name}` is not declared")).at(path.span, "not found in this scope");
        let later = self.globals.symbols.get(name).map(|s| s.span).or_else(|| self.later.get(name).copied());
        let later = local.and_then(|l| l.kind.name()).map(|n| n.span).or(later);
        if let Some(later) = later {
            return d
                .related(later, "declared here, too late")
                .help("declarations are visible only after themselves: move it up");
        }
        let Some(left) = self.proposals.checked_sub(1) else { return d };
        self.proposals = left;
        let names = self
            .scopes
            .iter()
            .rev()
            .flat_map(|s| s.symbols.keys())
            .chain(self.globals.symbols.iter().filter(|(_, s)| s.order < self.order).map(|(n, _)| n));
        let near = || nearest(name, names.map(|n| &**n)).map(Help::meant);
        let hint = || {
            let hints = self.architecture().unwrap_or(architecture::ALL[0]).hints;
            let lower = name.to_ascii_lowercase();
            hints.iter().find(|(of, _)| *of == lower).map(|(_, help)| Help { text: help.to_string(), instead: None })
        };
        match self.belonging(name).or_else(near).or_else(hint).or_else(|| of_other_languages(name)) {
            Some(Help { text, instead: None }) => d.help(text),
            Some(Help { text, instead: Some(instead) }) => d.help(text).suggest(path.name.span, name, instead),
            None => d,
        }
    }

    /// Suggests the parameter or variable that has a field of this name, or whose type the name resembles.
    fn belonging(&self, name: &str) -> Option<Help> {
        let structs = self.scopes.iter().rev().flat_map(|s| &s.symbols).filter_map(|(n, s)| match &s.entity {
            Entity::Var(_, Ty::Struct(d, _), _) => Some((n, &self.defs.structs[*d])),
            _ => None,
        });
        let mut found: Vec<(String, Help)> = structs
            .filter_map(|(var, def)| {
                if def.fields.iter().any(|f| &*f.name == name) {
                    let help = Help::meant(&format!("{var}.{name}"));
                    return Some((help.text.clone(), help));
                }
                let stem = def.name.strip_suffix("_t").unwrap_or(&def.name);
                let text = format!("the parameter of type `{}` is called `{var}` here", def.name);
                (stem == name).then(|| (text.clone(), Help { text, instead: Some(var.to_string()) }))
            })
            .collect();
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        found.into_iter().next().map(|(_, help)| help)
    }
}

/// What to do about an unknown name.
struct Help {
    text: String,
    /// What to write instead of the name.
    instead: Option<String>,
}

impl Help {
    /// Another name was meant.
    fn meant(name: &str) -> Help {
        Help { text: format!("did you mean `{name}`?"), instead: Some(name.to_string()) }
    }

    fn write(instead: String) -> Help {
        Help { text: format!("write `{instead}`"), instead: Some(instead) }
    }
}

/// The P4 equivalent of a construct of other languages.
fn of_other_languages(name: &str) -> Option<Help> {
    let lower = name.to_ascii_lowercase();
    let digits: String = lower.chars().filter(char::is_ascii_digit).collect();
    Some(match lower.as_str() {
        "true" | "false" => Help::write(lower),
        "hit" | "miss" => {
            Help { text: format!("`table.apply().{name}` says whether the table found an entry"), instead: None }
        }
        "byte" | "char" | "uchar" => Help::write("bit<8>".into()),
        "short" | "ushort" => Help::write("bit<16>".into()),
        "uint" | "unsigned" | "long" => {
            Help { text: "write `bit<32>` or another width".into(), instead: Some("bit<32>".into()) }
        }
        "boolean" => Help::write("bool".into()),
        _ => {
            let stem = lower.strip_suffix("_t").unwrap_or(&lower).trim_end_matches(|c: char| c.is_ascii_digit());
            match stem {
                "uint" | "u" if !digits.is_empty() => Help::write(format!("bit<{digits}>")),
                "int" | "i" | "s" if !digits.is_empty() => Help::write(format!("int<{digits}>")),
                _ => return None,
            }
        }
    })
}
