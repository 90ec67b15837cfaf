//! Names and values of a test file against a pipeline: entries, actions, objects.

use std::net::Ipv6Addr;

use hopwright_ir::bits;
use hopwright_ir::{
    ActionCall, ActionId, BinaryOp, EntryTarget, Expr, ExprKind, ExternId, ExternKind, Key, MatchForm, MatchKind,
    MatchValue, Pipeline, TableEntry, TableId, Type, ValueSetId, WeightedAction, WrittenMatch,
};
use hopwright_source::nearest;
use num_bigint::BigUint;

use crate::script::{self, ActionSpec, Add, MatchSpec, Number, TargetSpec};

/// A name or value that does not fit the program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// No table has the name.
    #[error("no table `{name}`{}", hint(.name, .known))]
    UnknownTable {
        /// The name.
        name: String,
        /// The names of all tables.
        known: Vec<String>,
    },
    /// No extern object has the name.
    #[error("no {what} `{name}`{}", hint(.name, .known))]
    UnknownObject {
        /// The kind of object that is wanted, such as `counter`.
        what: String,
        /// The name.
        name: String,
        /// The names of all objects of this kind.
        known: Vec<String>,
    },
    /// The extern object is of another kind.
    #[error("`{name}` is {is}, no {what}")]
    WrongObject {
        /// The kind of object that is wanted, such as `counter`.
        what: String,
        /// The object's name.
        name: String,
        /// What it is: `a direct counter`.
        is: String,
    },
    /// No value set has the name.
    #[error("no value set `{name}`{}", hint(.name, .known))]
    UnknownValueSet {
        /// The name.
        name: String,
        /// The names of all value sets.
        known: Vec<String>,
    },
    /// A member of a value set has too few values, or too many.
    #[error("the value set has {expected} keys, a member {found}")]
    MemberKeys {
        /// Keys of the value set.
        expected: usize,
        /// Values of the member.
        found: usize,
    },
    /// No key of the table has the name.
    #[error("no key `{name}`{}", hint(.name, .known))]
    UnknownKey {
        /// The name.
        name: String,
        /// The names of the table's keys.
        known: Vec<String>,
    },
    /// An entry has two values for a key.
    #[error("key `{0}` is named twice")]
    KeyTwice(String),
    /// A value does not fit a key: its width, or how the key matches.
    #[error("key `{name}`: {reason}")]
    Key {
        /// The key as the entry names it.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A value does not fit a key of a value set.
    #[error("{0}")]
    Member(String),
    /// The table has no action of this name.
    #[error("table `{table}` has no action `{name}`{}", hint(.name, .known))]
    UnknownAction {
        /// The table.
        table: String,
        /// The name.
        name: String,
        /// The names of the table's actions.
        known: Vec<String>,
    },
    /// The names of several end in the same way.
    #[error("several {what} have the name `{name}`: {}", .known.join(", "))]
    Ambiguous {
        /// Of what there are several, such as `tables`.
        what: &'static str,
        /// The name.
        name: String,
        /// The whole names of those that are called so.
        known: Vec<String>,
    },
    /// The action has no parameter of this name that the control plane sets.
    #[error("action `{action}` has no parameter `{name}`{}", hint(.name, .known))]
    UnknownParameter {
        /// The action.
        action: String,
        /// The name.
        name: String,
        /// The names of the action's parameters.
        known: Vec<String>,
    },
    /// A parameter has two arguments.
    #[error("parameter `{0}` is named twice")]
    ParameterTwice(String),
    /// An argument has more bits than its parameter.
    #[error("argument `{name}`: {} does not fit {width} bits", shown(.value))]
    ArgumentWidth {
        /// The parameter.
        name: String,
        /// The argument.
        value: Number,
        /// The parameter's width in bits.
        width: u32,
    },
    /// A parameter has no argument.
    #[error("action `{action}` needs an argument `{name}`")]
    MissingArgument {
        /// The action.
        action: String,
        /// The parameter.
        name: String,
    },
    /// No table uses the action profile, so that it can have no members.
    #[error("no table uses `{0}`")]
    UnusedProfile(String),
}

impl ResolveError {
    /// The names that there are instead of an unknown one, or whose end an ambiguous one is; nothing for other errors.
    pub fn known(&self) -> &[String] {
        match self {
            ResolveError::UnknownTable { known, .. }
            | ResolveError::UnknownObject { known, .. }
            | ResolveError::UnknownValueSet { known, .. }
            | ResolveError::UnknownKey { known, .. }
            | ResolveError::UnknownAction { known, .. }
            | ResolveError::Ambiguous { known, .. }
            | ResolveError::UnknownParameter { known, .. } => known,
            _ => &[],
        }
    }
}

/// The most names that an error lists.
const FEW: usize = 12;

/// What helps with an unknown name: the one that was probably meant, or those there are.
fn hint(name: &str, known: &[String]) -> String {
    let forms = known.iter().flat_map(|name| [name.as_str(), name.rsplit('.').next().unwrap_or(name)]);
    // Names of one or two characters are near each other.
    let near = nearest(name, forms).filter(|_| name.len() > 2);
    match (near, known) {
        (Some(near), _) => format!("; did you mean `{near}`?"),
        (None, []) => "; there are none".into(),
        (None, [only]) => format!("; there is {only}"),
        (None, few) if few.len() <= FEW => format!("; there are {}", few.join(", ")),
        (None, many) => format!("; there are {}, and {} more", many[..FEW].join(", "), many.len() - FEW),
    }
}

impl From<ResolveError> for String {
    fn from(error: ResolveError) -> String {
        error.to_string()
    }
}

/// The table with this name, or the only one whose name ends in it.
///
/// # Errors
/// If there is none or several.
pub fn table(pipeline: &Pipeline, name: &str) -> Result<TableId, ResolveError> {
    let names = pipeline.tables.iter().map(|t| t.name.as_str());
    let at = only(names, "tables", name, |name, known| ResolveError::UnknownTable { name, known })?;
    Ok(TableId(at as u32))
}

/// The extern object with this name, or the only one whose name ends in it, if it is of the right kind.
///
/// # Errors
/// If there is none, several, or it is of another kind.
pub fn object(
    pipeline: &Pipeline,
    name: &str,
    what: &str,
    right: impl Fn(&ExternKind) -> bool,
) -> Result<ExternId, ResolveError> {
    let names = pipeline.externs.iter().map(|object| object.name.as_str());
    let at = only(names, "objects", name, |name, _| {
        let known = pipeline.externs.iter().filter(|object| right(&object.kind)).map(|object| object.name.clone());
        ResolveError::UnknownObject { what: what.into(), name, known: known.collect() }
    })?;
    let object = &pipeline.externs[at];
    match right(&object.kind) {
        true => Ok(ExternId(at as u32)),
        false => Err(ResolveError::WrongObject { what: what.into(), name: name.into(), is: object.kind.description() }),
    }
}

/// The value set with this name, or the only one whose name ends in it, and the members that a line says.
///
/// # Errors
/// The first name or value that is wrong.
pub fn value_set(
    pipeline: &Pipeline,
    name: &str,
    members: &[Vec<MatchSpec>],
) -> Result<(ValueSetId, Vec<Vec<MatchValue>>), ResolveError> {
    let names = pipeline.value_sets.iter().map(|set| set.name.as_str());
    let at = only(names, "value sets", name, |name, known| ResolveError::UnknownValueSet { name, known })?;
    let id = ValueSetId(at as u32);
    let types = &pipeline.value_sets[at].types;
    let members = members.iter().map(|member| {
        if member.len() != types.len() {
            return Err(ResolveError::MemberKeys { expected: types.len(), found: member.len() });
        }
        let value = |(spec, ty): (&MatchSpec, &Type)| match_as(kind_of(spec), ty.width(), spec);
        member.iter().zip(types).map(value).collect::<Result<_, _>>().map_err(ResolveError::Member)
    });
    Ok((id, members.collect::<Result<_, _>>()?))
}

/// How a member of a value set matches, from how it is written.
fn kind_of(spec: &MatchSpec) -> MatchKind {
    match spec {
        MatchSpec::Mask(..) => MatchKind::Ternary,
        MatchSpec::Number(number) if number.mask.as_ref().is_some_and(|mask| !is_ones(mask)) => MatchKind::Ternary,
        MatchSpec::Number(_) => MatchKind::Exact,
        MatchSpec::Prefix(..) => MatchKind::Lpm,
        MatchSpec::Range(..) => MatchKind::Range,
    }
}

/// The entry that an `add` line means. Keys that it does not name match everything (exact ones zero).
///
/// # Errors
/// The first name or value that is wrong.
pub fn entry(pipeline: &Pipeline, add: &Add) -> Result<(TableId, TableEntry), ResolveError> {
    let (id, matches, priority) = place(pipeline, add)?;
    let action = action(pipeline, id, &add.action)?;
    Ok((id, TableEntry { matches, priority, action }))
}

/// Where the entry of an `add` line goes: table, matches, priority.
///
/// # Errors
/// The first name or value that is wrong.
pub fn place(pipeline: &Pipeline, add: &Add) -> Result<(TableId, Vec<MatchValue>, i32), ResolveError> {
    let id = table(pipeline, &add.table)?;
    let keys = &pipeline[id].keys;
    let mut matches: Vec<MatchValue> = keys.iter().map(MatchValue::any).collect();
    let mut named = vec![false; keys.len()];
    for (name, spec) in &add.matches {
        let refused = |reason| ResolveError::Key { name: name.clone(), reason };
        let index = match key_index(keys, name) {
            Ok(index) => index,
            Err(unknown) => {
                let slices = slices_of(keys, name);
                if slices.is_empty() {
                    return Err(unknown);
                }
                let MatchSpec::Number(number) = spec else {
                    return Err(refused("it is in parts: a number is wanted".into()));
                };
                for (index, lo) in slices {
                    let key = &keys[index];
                    let part = |value: &BigUint| (value >> lo) & bits::mask(key.expr.ty.width());
                    let mask = number.mask.as_ref().map(part).filter(|_| key.kind.form() == MatchForm::Mask);
                    let part = Number { value: part(&number.value), mask, ..BigUint::ZERO.into() };
                    matches[index] = match_value(key, &MatchSpec::Number(part)).map_err(refused)?;
                    named[index] = true;
                }
                continue;
            }
        };
        if std::mem::replace(&mut named[index], true) {
            return Err(ResolveError::KeyTwice(name.clone()));
        }
        matches[index] = match_value(&keys[index], spec).map_err(refused)?;
    }
    // Without a priority all are equal and the first added wins.
    let priority = if pipeline[id].has_priority() { add.priority.unwrap_or(1) } else { 0 };
    Ok((id, matches, priority))
}

/// The keys that an entry must have a value for and does not name: those that can not match everything.
///
/// # Errors
/// The first name that is wrong.
pub fn missing_keys(pipeline: &Pipeline, add: &Add) -> Result<Vec<String>, ResolveError> {
    let keys = &pipeline[table(pipeline, &add.table)?].keys;
    let named: Vec<usize> = add.matches.iter().map(|(name, _)| key_index(keys, name)).collect::<Result<_, _>>()?;
    let missing = |(at, key): &(usize, &Key)| key.kind.any(key.expr.ty.width()).is_none() && !named.contains(at);
    Ok(keys.iter().enumerate().filter(missing).map(|(_, key)| key.name.clone()).collect())
}

/// Refuses matches that have ones in bits which their prefix or mask excludes, as P4Runtime does ("Match Format" of its specification);
/// packet tests may have such. The names have been resolved.
///
/// # Errors
/// The first such match. The error has the one that is the same and has zeros there.
pub fn no_excluded_bits(pipeline: &Pipeline, table: TableId, add: &Add) -> Result<(), ResolveError> {
    let keys = &pipeline[table].keys;
    for (name, spec) in &add.matches {
        let width = match key_index(keys, name) {
            Ok(at) => keys[at].expr.ty.width(),
            // Numbers only stand for a field of which keys are parts.
            Err(_) => continue,
        };
        let shown = |value: &BigUint| script::address(value, width).unwrap_or_else(|| format!("{value:#x}"));
        let (value, mask, behind, what) = match spec {
            MatchSpec::Prefix(value, bits) => {
                let rest = width.saturating_sub(*bits);
                (&value.value, (bits::mask(width) >> rest) << rest, format!("/{bits}"), "prefix")
            }
            MatchSpec::Mask(value, mask) => {
                (&value.value, mask.value.clone(), format!("&&&{}", shown(&mask.value)), "mask")
            }
            MatchSpec::Number(_) | MatchSpec::Range(..) => continue,
        };
        let right = value & mask;
        if right != *value {
            let (value, right) = (shown(value), shown(&right));
            let reason = format!("{value}{behind} has bits outside its {what}: write {right}{behind}");
            return Err(ResolveError::Key { name: name.clone(), reason });
        }
    }
    Ok(())
}

/// What an entry is to lead to.
///
/// # Errors
/// The first name or value that is wrong.
pub fn target(pipeline: &Pipeline, table: TableId, spec: &TargetSpec) -> Result<EntryTarget, ResolveError> {
    Ok(match spec {
        TargetSpec::Member(member) => EntryTarget::Member(*member),
        TargetSpec::Group(group) => EntryTarget::Group(*group),
        TargetSpec::Set(set) => {
            let weighted = |(spec, weight): &(ActionSpec, u32)| {
                Ok(WeightedAction { action: action(pipeline, table, spec)?, weight: *weight })
            };
            EntryTarget::Set(set.iter().map(weighted).collect::<Result<_, ResolveError>>()?)
        }
    })
}

/// A member's action, which is one of a table that uses the profile.
///
/// # Errors
/// The first name or value that is wrong, or that no table uses the profile.
pub fn member(pipeline: &Pipeline, profile: ExternId, spec: &ActionSpec) -> Result<ActionCall, ResolveError> {
    let mut refused = ResolveError::UnusedProfile(pipeline[profile].name.clone());
    for (id, table) in pipeline.tables.iter().enumerate() {
        if table.implementation != Some(profile) {
            continue;
        }
        match action(pipeline, TableId(id as u32), spec) {
            Ok(call) => return Ok(call),
            Err(reason) => refused = reason,
        }
    }
    Err(refused)
}

/// The action call that a table's entry or default means.
///
/// # Errors
/// The first name or value that is wrong.
pub fn action(pipeline: &Pipeline, table: TableId, spec: &ActionSpec) -> Result<ActionCall, ResolveError> {
    let id = action_id(pipeline, table, &spec.name)?;
    let params = &pipeline[id].params;
    let mut args: Vec<Option<BigUint>> = vec![None; params.len()];
    for (name, value) in &spec.args {
        let index = params.iter().position(|p| p.name == *name);
        let index = index.ok_or_else(|| ResolveError::UnknownParameter {
            action: spec.name.clone(),
            name: name.clone(),
            known: params.iter().map(|p| p.name.clone()).collect(),
        })?;
        let width = params[index].ty.width();
        if !bits::fits(&value.value, width) {
            return Err(ResolveError::ArgumentWidth { name: name.clone(), value: value.clone(), width });
        }
        if args[index].replace(value.value.clone()).is_some() {
            return Err(ResolveError::ParameterTwice(name.clone()));
        }
    }
    let args = args.into_iter().zip(params).map(|(arg, param)| {
        arg.ok_or_else(|| ResolveError::MissingArgument { action: spec.name.clone(), name: param.name.clone() })
    });
    Ok(ActionCall { action: id, args: args.collect::<Result<_, _>>()? })
}

/// As [`by_name`]; the error says whether there is none, or several. `unknown` has the name and all those there are.
fn only<'a>(
    names: impl Iterator<Item = &'a str> + Clone,
    what: &'static str,
    name: &str,
    unknown: impl FnOnce(String, Vec<String>) -> ResolveError,
) -> Result<usize, ResolveError> {
    if let Some(at) = by_name(names.clone(), name) {
        return Ok(at);
    }
    let end = format!(".{name}");
    let several: Vec<String> = names.clone().filter(|n| n.ends_with(&end)).map(Into::into).collect();
    Err(match several.is_empty() {
        true => unknown(name.into(), names.map(Into::into).collect()),
        false => ResolveError::Ambiguous { what, name: name.into(), known: several },
    })
}

/// The position of the only name that is `name`, or ends in `.name`.
fn by_name<'a>(names: impl Iterator<Item = &'a str> + Clone, name: &str) -> Option<usize> {
    if let Some(index) = names.clone().position(|n| n == name) {
        return Some(index);
    }
    end_of_one(names, &format!(".{name}"))
}

/// The position of the only name that ends in this text.
fn end_of_one<'a>(names: impl Iterator<Item = &'a str>, end: &str) -> Option<usize> {
    let mut found = names.enumerate().filter(|(_, n)| n.ends_with(end)).map(|(i, _)| i);
    match (found.next(), found.next()) {
        (Some(index), None) => Some(index),
        _ => None,
    }
}

fn action_id(pipeline: &Pipeline, table: TableId, name: &str) -> Result<ActionId, ResolveError> {
    let actions = &pipeline[table].actions;
    let names = actions.iter().map(|a| pipeline[a.action].name.as_str());
    let table = pipeline[table].name.clone();
    let at = only(names, "actions", name, |name, known| ResolveError::UnknownAction { table, name, known })?;
    Ok(actions[at].action)
}

/// One spelling for indices (`x$0` is `x[0]`) and validity bits.
fn canonical(name: &str) -> String {
    let mut out = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('$') {
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        out.push_str(before);
        if digits > 0 {
            out.push_str(&format!("[{}]", &after[..digits]));
        } else {
            out.push('$');
        }
        rest = &after[digits..];
    }
    out.push_str(rest);
    for spelling in [".isValid()", ".$valid$", ".$valid", ".valid"] {
        if let Some(header) = out.strip_suffix(spelling) {
            return format!("{header}.$valid$");
        }
    }
    out
}

/// The key with this name; a header's name stands for its validity, as in tests of P4-14 programs, if no key has the name.
fn key_index(keys: &[Key], name: &str) -> Result<usize, ResolveError> {
    let written = keys.iter().map(|k| k.name.as_str());
    let spelt: Vec<String> = keys.iter().map(|k| canonical(&k.name)).collect();
    let spelt = spelt.iter().map(String::as_str);
    let found = by_name(written.clone(), name)
        .or_else(|| by_name(spelt.clone(), &canonical(name)))
        .or_else(|| by_name(spelt, &format!("{name}.$valid$")));
    match found {
        Some(at) => Ok(at),
        None => only(written, "keys", name, |name, known| ResolveError::UnknownKey { name, known }),
    }
}

/// The keys that are parts of a field with this name: `name[hi:lo]`, each with its lowest bit.
fn slices_of(keys: &[Key], name: &str) -> Vec<(usize, u32)> {
    let part = |(index, key): (usize, &Key)| {
        let (field, bits) = key.name.strip_suffix(']')?.rsplit_once('[')?;
        let (_, lo) = bits.split_once(':')?;
        let is = field == name || field.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
        is.then_some((index, lo.parse().ok()?))
    };
    keys.iter().enumerate().filter_map(part).collect()
}

/// The mask of `field & mask`.
fn mask_of(key: &Expr) -> Option<&BigUint> {
    match &key.kind {
        ExprKind::Binary(BinaryOp::And, a, b) => a.as_const().or(b.as_const()),
        _ => None,
    }
}

/// A line as runners of tests for a Tofino understand it: names may be any ends of names, and values are
/// cut off at the widths and masks of their keys.
#[must_use]
pub fn for_tofino(pipeline: &Pipeline, add: &Add) -> Add {
    let mut add = add.clone();
    let tables = pipeline.tables.iter().map(|t| t.name.as_str());
    if let (Err(_), Some(at)) = (table(pipeline, &add.table), end_of_one(tables, &add.table)) {
        add.table.clone_from(&pipeline.tables[at].name);
    }
    let Ok(id) = table(pipeline, &add.table) else { return add };
    let actions = pipeline[id].actions.iter().map(|a| pipeline[a.action].name.as_str());
    if let (None, Some(at)) = (by_name(actions.clone(), &add.action.name), end_of_one(actions, &add.action.name)) {
        add.action.name.clone_from(&pipeline[pipeline[id].actions[at].action].name);
    }
    for (name, spec) in &mut add.matches {
        if let (Ok(at), MatchSpec::Number(number)) = (key_index(&pipeline[id].keys, name), spec) {
            let key = &pipeline[id].keys[at];
            number.value &= bits::mask(key.expr.ty.width());
            // A key that is a field and a mask has zeros where the mask does.
            if let (MatchForm::Value, Some(mask)) = (key.kind.form(), mask_of(&key.expr)) {
                number.value &= mask;
            }
        }
    }
    add
}

fn match_value(key: &Key, spec: &MatchSpec) -> Result<MatchValue, String> {
    match_as(key.kind, key.expr.ty.width(), spec)
}

fn match_as(kind: MatchKind, width: u32, spec: &MatchSpec) -> Result<MatchValue, String> {
    let fit = |number: &Number| match bits::fits(&number.value, width) {
        true => Ok(number.value.clone()),
        false => Err(format!("{} does not fit {width} bits", shown(number))),
    };
    let whole = |number: &Number| {
        let stars = number.mask.as_ref().is_some_and(|mask| !is_ones(mask));
        if stars { Err("`*` digits are only for masks and prefixes".to_string()) } else { fit(number) }
    };
    let written = match (spec, kind.form()) {
        (MatchSpec::Number(number), MatchForm::Mask) => {
            // Digits that are not written are not compared, as in other runners; a decimal number is compared whole.
            let all = bits::mask(width);
            let mask = number.mask.as_ref().map_or(all.clone(), |mask| mask & all);
            WrittenMatch::Mask(fit(number)?, mask)
        }
        (MatchSpec::Number(number), MatchForm::Prefix) => {
            let written = number.mask.clone().unwrap_or_default() >> number.trailing_stars;
            if !is_ones(&written) {
                return Err(format!("`*` digits of an {kind} key must be the last"));
            }
            WrittenMatch::Prefix(fit(number)?, width - number.trailing_stars.min(width))
        }
        (MatchSpec::Number(number), _) => WrittenMatch::Value(whole(number)?),
        (MatchSpec::Prefix(number, length), _) => WrittenMatch::Prefix(whole(number)?, *length),
        (MatchSpec::Mask(value, mask), _) => WrittenMatch::Mask(whole(value)?, whole(mask)?),
        (MatchSpec::Range(lo, hi), _) => WrittenMatch::Range(whole(lo)?, whole(hi)?),
    };
    kind.value(written, width).map_err(|e| e.to_string())
}

/// A number as it was written: an address, or hexadecimal. One as long as an IPv6 address may have been one for programs.
fn shown(number: &Number) -> String {
    let text = number.text_of(&number.value);
    match u128::try_from(&number.value) {
        Ok(value) if number.address.is_none() && value >> 64 != 0 => format!("{text} ({})", Ipv6Addr::from(value)),
        _ => text,
    }
}

/// True for 0, 1, 11, 111, … in binary.
fn is_ones(mask: &BigUint) -> bool {
    (mask + 1u32).count_ones() == 1
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn names_have_one_spelling() {
        assert_eq!(canonical("extra$0.h"), "extra[0].h");
        assert_eq!(canonical("hdr.stack$12.x$3"), "hdr.stack[12].x[3]");
        for valid in ["h.isValid()", "h.$valid$", "h.valid", "h.$valid"] {
            assert_eq!(canonical(valid), "h.$valid$");
        }
        assert_eq!(canonical("tmp$"), "tmp$");
    }
}
