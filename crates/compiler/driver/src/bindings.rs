//! Generates Rust from a P4 program, for the agent that drives it: enums, controller headers, numbers, names of objects, and a function
//! for each kind of table entry. What the program does not have is then an error when the agent is compiled.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use hopwright_ir::{Action, ExternKind, Key, MatchForm, Pipeline, Table};
use hopwright_sema::hir::{Enum, Struct, Type, TypedProgram};
use hopwright_syntax::ast::{DeclKind, ExprKind};
use hopwright_syntax::{Options, Program, SourceMap};

use crate::compile_text;

/// The text of a Rust module for a program in memory. The crate it is part of depends on `hopwright-dataplane`, `hopwright-ir` and
/// `num-bigint`.
///
/// # Panics
/// If the program has errors, or a field of a controller header is not whole bytes.
pub fn bindings(name: &str, text: &str, options: &Options) -> String {
    let compiled = compile_text(name, text, options, true);
    let report = compiled.report(false);
    let (Some(pipeline), Some(typed)) = (compiled.pipeline, compiled.typed) else { panic!("{report}") };
    // The syntax tree has the program's named constants.
    generate(&hopwright_syntax::parse_text(&mut SourceMap::new(), name, text, options).0, &typed, &pipeline)
}

/// Writes the bindings of a program for `include!(concat!(env!("OUT_DIR"), "/MODULE.rs"))`. For build scripts.
///
/// # Panics
/// As [`bindings`], or if it is called elsewhere.
pub fn write_bindings(module: &str, name: &str, text: &str, options: &Options) {
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    let file = Path::new(&out).join(module).with_extension("rs");
    fs::write(file, bindings(name, text, options)).expect("the output can be written");
}

fn generate(program: &Program, typed: &TypedProgram, pipeline: &Pipeline) -> String {
    let mut out = String::from("// Generated from the P4 program by the build script.\n\n");
    constants(&mut out, program);
    for e in &typed.enums {
        if let Some(Type::Bits(width @ 1..=8)) = e.underlying {
            enumeration(&mut out, e, width);
        }
    }
    for (header, name) in typed.controller_headers() {
        controller_header(&mut out, header, name);
    }
    names(&mut out, "table", "Tables.", pipeline.tables.iter().map(|t| &t.name));
    names(&mut out, "action", "Actions.", pipeline.actions.iter().map(|a| &a.name));
    names(&mut out, "object", "Extern objects.", pipeline.externs.iter().map(|e| &e.name));
    names(&mut out, "value_set", "Value sets.", pipeline.value_sets.iter().map(|s| &s.name));
    entries(&mut out, pipeline);
    out.push_str("/// Cells of each indirect counter.\npub const COUNTER_SIZES: &[(&str, u64)] = &[\n");
    for object in &pipeline.externs {
        if let ExternKind::Counter { size, .. } = &object.kind {
            let _ = writeln!(out, "    ({:?}, {size}),", object.name);
        }
    }
    out.push_str("];\n");
    out
}

/// The program's own constants that are written as numbers.
fn constants(out: &mut String, program: &Program) {
    out.push_str("/// Constants of the program that are plain numbers.\npub mod number {\n");
    for decl in &program.decls {
        if let DeclKind::Const(c) = &decl.kind
            && let ExprKind::Int(value) = &c.value.kind
            && let Ok(value) = u64::try_from(&value.value)
            && !c.name.name.contains(|c: char| c.is_lowercase())
        {
            let _ = writeln!(out, "    /// `{}`\n    pub const {}: u64 = {value};", c.name.name, c.name.name);
        }
    }
    out.push_str("}\n\n");
}

fn enumeration(out: &mut String, e: &Enum, width: u32) {
    let name = &e.name;
    let _ = writeln!(
        out,
        "/// `enum bit<{width}> {name}`\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]"
    );
    let _ = writeln!(out, "#[repr(u8)]\npub enum {name} {{");
    for (member, value) in &e.members {
        let _ = writeln!(out, "    /// `{member}`\n    {} = {value},", camel_case(member));
    }
    let _ = writeln!(out, "}}\n\nimpl {name} {{");
    let _ = writeln!(out, "    /// All members, in the program's order.\n    pub const ALL: &[{name}] = &[");
    for (member, _) in &e.members {
        let _ = writeln!(out, "        {name}::{},", camel_case(member));
    }
    let _ = writeln!(
        out,
        "    ];\n\n    /// The names in lower case, for labels, in the program's order.\n    pub const LABELS: &[&str] = &["
    );
    for (member, _) in &e.members {
        let _ = writeln!(out, "        {:?},", member.to_lowercase());
    }
    let _ = writeln!(
        out,
        "    ];\n\n    /// The name in the program.\n    pub fn name(self) -> &'static str {{\n        match self {{"
    );
    for (member, _) in &e.members {
        let _ = writeln!(out, "            {name}::{} => {member:?},", camel_case(member));
    }
    let _ = writeln!(
        out,
        "        }}\n    }}\n\n    /// The member with this number.\n    pub fn from_number(number: u8) -> Option<{name}> {{"
    );
    let _ = writeln!(out, "        {name}::ALL.iter().copied().find(|member| *member as u8 == number)\n    }}\n}}\n");
}

/// Byte ranges of the fields. Fields that are not whole bytes are an error: the agent cannot read them by slices.
fn controller_header(out: &mut String, header: &Struct, name: &str) {
    let _ = writeln!(
        out,
        "/// Byte ranges of the fields of `{}`.\npub mod {name} {{\n    use std::ops::Range;\n",
        header.name
    );
    let mut at = 0;
    for field in &header.fields {
        let Type::Bits(width) = field.ty else { panic!("{}.{} is not bit<W>", header.name, field.name) };
        assert!(width % 8 == 0, "{}.{} is not whole bytes", header.name, field.name);
        let end = at + width / 8;
        let _ = writeln!(out, "    /// `bit<{width}> {}`", field.name);
        let _ = writeln!(out, "    pub const {}: Range<usize> = {at}..{end};", field.name.to_uppercase());
        at = end;
    }
    let _ = writeln!(out, "    /// Bytes of the header.\n    pub const BYTES: usize = {at};\n}}\n");
}

/// One constant for each object, called like the last part of its control-plane name.
fn names<'a>(out: &mut String, module: &str, doc: &str, names: impl Iterator<Item = &'a String>) {
    let _ = writeln!(out, "/// {doc}\npub mod {module} {{");
    let mut seen = BTreeSet::new();
    for name in names {
        let short = last_part(name);
        let constant = screaming_case(short);
        if is_name(&constant) && seen.insert(constant.clone()) {
            let _ = writeln!(out, "    /// `{name}`\n    pub const {constant}: &str = {short:?};");
        }
    }
    out.push_str("}\n\n");
}

/// A module for each table, with a function for each action that its entries can have. Its parameters are the keys, then the action's.
fn entries(out: &mut String, pipeline: &Pipeline) {
    out.push_str("/// Entries of tables.\npub mod entry {\n    use hopwright_dataplane::EntrySpec;\n");
    let mut seen = BTreeSet::new();
    for table in pipeline.tables.iter().filter(|table| !table.const_entries && table.match_keys().next().is_some()) {
        let short = last_part(&table.name);
        // Entries of a table with a selector lead to its members.
        if table.implementation.is_some() || !is_name(short) || !seen.insert(short) {
            continue;
        }
        let _ =
            writeln!(out, "\n    /// `{}`\n    pub mod {} {{\n        use super::EntrySpec;", table.name, rust(short));
        for action in table.actions.iter().filter(|action| !action.default_only) {
            entry(out, table, &pipeline[action.action]);
        }
        out.push_str("    }\n");
    }
    out.push_str("}\n\n");
}

fn entry(out: &mut String, table: &Table, action: &Action) {
    let (short, mut names, mut written) = (last_part(&action.name), BTreeSet::new(), String::new());
    let mut parameters = Vec::new();
    let mut parameter = |name: &str, kind: &str| {
        let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        // A key and a parameter may have one name.
        let name = if names.insert(name.clone()) { rust(&name) } else { format!("{name}_of_action") };
        parameters.push(format!("{name}: {kind}"));
        name
    };
    for Key { name, expr, kind } in table.match_keys() {
        match kind.form() {
            MatchForm::Value => {
                let (kind, value) = number(expr.ty.width());
                let name = parameter(last_part(name), kind);
                let _ = write!(written, ".exact({})", value.replace('_', &name));
            }
            _ => {
                let name = parameter(last_part(name), "hopwright_ir::WrittenMatch");
                let _ = write!(written, ".key({name})");
            }
        }
    }
    for param in &action.params {
        let (kind, value) = number(param.ty.width());
        let name = parameter(&param.name, kind);
        let _ = write!(written, ".arg({})", value.replace('_', &name));
    }
    let _ = writeln!(
        out,
        "        /// `{}`\n        pub fn {}({}) -> EntrySpec {{\n            EntrySpec::new({:?}, {short:?}){written}\n        }}",
        action.name,
        rust(short),
        parameters.join(", "),
        last_part(&table.name),
    );
}

/// The Rust type of a value of this width, and how one becomes a number; `_` is the value.
fn number(width: u32) -> (&'static str, &'static str) {
    match width {
        1 => ("bool", "u8::from(_)"),
        ..=8 => ("u8", "_"),
        9..=16 => ("u16", "_"),
        17..=32 => ("u32", "_"),
        33..=64 => ("u64", "_"),
        65..=128 => ("u128", "_"),
        _ => ("num_bigint::BigUint", "_"),
    }
}

/// The name of a module, function or parameter.
fn rust(name: &str) -> String {
    const KEYWORDS: [&str; 48] = [
        "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
        "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
        "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "type",
        "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
    ];
    let name = screaming_case(name).to_lowercase();
    if KEYWORDS.contains(&name.as_str()) { format!("r#{name}") } else { name }
}

fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn is_name(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `PATH_EXPIRED` as `PathExpired`.
fn camel_case(name: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_uppercase() + &rest.to_lowercase()
    };
    name.split('_').map(word).collect()
}

/// `NoAction` as `NO_ACTION`, `is_at` as `IS_AT`.
fn screaming_case(name: &str) -> String {
    let mut out = String::new();
    let mut before = '_';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            out.push('_');
        }
        out.extend(c.to_uppercase());
        before = c;
    }
    out
}
