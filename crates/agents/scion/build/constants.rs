//! Generates Rust constants from the P4 program: enums, controller headers, numbers, and names of tables, actions and
//! extern objects. A name that the program does not have is an error when the agent is compiled.

use std::collections::BTreeSet;
use std::fmt::Write;

use hopwright_ir::{ExternKind, Pipeline};
use hopwright_sema::hir::{Enum, Struct, Type, TypedProgram};
use hopwright_syntax::Program;
use hopwright_syntax::ast::{DeclKind, ExprKind};

/// The text of a Rust module.
pub(crate) fn generate(program: &Program, typed: &TypedProgram, pipeline: &Pipeline) -> String {
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
        let short = name.rsplit('.').next().unwrap_or(name);
        let constant = screaming_case(short);
        if constant.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && seen.insert(constant.clone()) {
            let _ = writeln!(out, "    /// `{name}`\n    pub const {constant}: &str = {short:?};");
        }
    }
    out.push_str("}\n\n");
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
