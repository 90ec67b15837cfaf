//! Table entries as text, in both directions:
//!
//! ```text
//! hdr.ipv4.src=10.0.0.0/8 hdr.ipv4.ttl=1..30 priority=10 => forward(dst=02:00:00:00:00:11, port=1)
//! ```
//!
//! Names may be shortened to the part after a dot. `=>` and the parentheses may be omitted, as a shell would want them quoted: the
//! first word without `=` is the action. In a table with an action profile, `member(3)`, `group(2)` and weighted actions,
//! `forward(port=1)*2 | forward(port=2)`, are understood.

use std::fmt;

use hopwright_ir::{MatchKind, Precedence};
use num_bigint::BigUint;
use serde::{Serialize, Serializer};

use super::names::{Names, alias};
use super::value::{Format, field_format, match_text, number_text, param_format, parse_match, parse_number, width};
use super::{ClientError, Result};
use crate::bytes;
use crate::p4info::match_kind;
use crate::proto::config as p4;
use crate::proto::v1;
use v1::table_action::Type as Acts;

/// Name of an entry's priority among its matches.
const PRIORITY: &str = "priority";
/// Names of an action profile's members and groups, in the place of actions.
const MEMBER: &str = "member";
const GROUP: &str = "group";

/// Names with their values, in order.
pub(super) type Pairs = Vec<(String, String)>;

/// The text of an entry, split into names and values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    matches: Pairs,
    priority: Option<String>,
    actions: Vec<WrittenAction>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct WrittenAction {
    name: String,
    args: Vec<(Option<String>, String)>,
    weight: Option<i32>,
}

impl Written {
    /// Parses the words of a command line.
    ///
    /// # Errors
    /// If the words are not keys and actions.
    pub fn parse(words: &[String]) -> Result<Written> {
        let text = words.join(" ");
        let (keys, actions) = match text.split_once("=>") {
            Some((keys, actions)) => (tight(keys), actions.trim().to_string()),
            None => {
                let text = tight(&text);
                let at = first_action(&text).unwrap_or(text.len());
                (text[..at].to_string(), text[at..].to_string())
            }
        };
        let mut written = Written::default();
        for word in keys.split([' ', ',']).filter(|w| !w.is_empty()) {
            let (name, value) =
                word.split_once('=').ok_or_else(|| ClientError::Text(format!("`{word}`: expected KEY=VALUE")))?;
            match name {
                PRIORITY => written.priority = Some(value.into()),
                _ => written.matches.push((name.into(), value.into())),
            }
        }
        for action in actions.split('|').filter(|a| !a.trim().is_empty()) {
            written.actions.push(WrittenAction::parse(action)?);
        }
        Ok(written)
    }
}

/// Removes blanks around `&&&` and `..`.
fn tight(text: &str) -> String {
    let mut text = text.trim().to_string();
    for sign in ["&&&", ".."] {
        text = text.split(sign).map(str::trim).collect::<Vec<_>>().join(sign);
    }
    text
}

/// The position of the first word that is not `KEY=VALUE`.
fn first_action(text: &str) -> Option<usize> {
    let is_pair = |word: &str| word.split('(').next().is_some_and(|w| w.contains('='));
    let mut at = 0;
    for word in text.split([' ', ',']) {
        if !word.is_empty() && !is_pair(word) {
            return Some(at);
        }
        at += word.len() + 1;
    }
    None
}

impl WrittenAction {
    fn parse(text: &str) -> Result<WrittenAction> {
        let wrong = || {
            // As packet tests have it.
            let stf = if text.contains(':') && !text.contains('=') { "; of a packet test's `:` make `=`" } else { "" };
            ClientError::Text(format!("`{}`: expected ACTION(PARAMETER=VALUE, …){stf}", text.trim()))
        };
        let mut text = text.trim();
        let mut weight = None;
        if let Some((action, behind)) = text.rsplit_once('*') {
            weight = Some(behind.trim().parse().map_err(|_| wrong())?);
            text = action.trim();
        }
        let (name, args) = match text.split_once('(') {
            Some((name, args)) => (name.trim(), args.strip_suffix(')').ok_or_else(wrong)?),
            None => text.split_once(' ').unwrap_or((text, "")),
        };
        if name.is_empty() || name.contains([' ', '=', ')']) || args.contains(['(', ')']) {
            return Err(wrong());
        }
        let args = args.split([' ', ',']).filter(|a| !a.is_empty()).map(|arg| match arg.split_once('=') {
            Some((name, value)) => (Some(name.to_string()), value.to_string()),
            None => (None, arg.to_string()),
        });
        Ok(WrittenAction { name: name.into(), args: args.collect(), weight })
    }
}

impl Names {
    /// Whether a table's entries have priorities.
    pub fn has_priority(&self, table: &p4::Table) -> bool {
        let ordered = |kind: MatchKind| kind.info().precedence == Precedence::Priority;
        table.match_fields.iter().any(|f| kind(f).is_some_and(ordered))
    }

    /// The keys of an entry; with an action if it has one.
    ///
    /// # Errors
    /// If the table does not have a name, or a value does not fit.
    pub fn entry(&self, table: &p4::Table, written: &Written) -> Result<v1::TableEntry> {
        let mut entry = v1::TableEntry { table_id: id(&table.preamble), ..Default::default() };
        for (name, value) in &written.matches {
            let field = self.field(table, name)?;
            let wrong = |reason: &dyn fmt::Display| ClientError::Text(format!("`{}`: {reason}", field.name));
            if entry.r#match.iter().any(|m| m.field_id == field.id) {
                return Err(wrong(&"there twice"));
            }
            if let Some(matched) = parse_match(field, value).map_err(|error| wrong(&error))? {
                entry.r#match.push(v1::FieldMatch { field_id: field.id, field_match_type: Some(matched) });
            }
        }
        let needed = |f: &&p4::MatchField| kind(f).is_some_and(|kind| kind.any(1).is_none());
        let missing = |f: &&p4::MatchField| entry.r#match.iter().all(|m| m.field_id != f.id);
        if let Some(field) = table.match_fields.iter().filter(needed).find(missing) {
            return Err(ClientError::Text(format!("`{}` is missing", field.name)));
        }
        if let Some(text) = &written.priority {
            let priority = text.parse().ok().filter(|p| *p > 0);
            entry.priority = priority
                .ok_or_else(|| ClientError::Text(format!("priority `{text}`: expected a number above zero")))?;
        }
        match (self.has_priority(table), entry.priority) {
            (true, 0) => {
                return Err(ClientError::Text(
                    "the table's entries need priority=NUMBER, such as priority=10; the highest wins".into(),
                ));
            }
            (false, 1..) => return Err(ClientError::Text("the table's entries have no priority".into())),
            _ => {}
        }
        entry.action = self.table_action(table, written)?;
        Ok(entry)
    }

    /// The action of an entry, if it has one.
    ///
    /// # Errors
    /// Names the table does not have, values that do not fit, missing arguments.
    pub fn table_action(&self, table: &p4::Table, written: &Written) -> Result<Option<v1::TableAction>> {
        let profile = table.implementation_id != 0;
        let kind = match written.actions.as_slice() {
            [] => return Ok(None),
            [one] if profile && [MEMBER, GROUP].contains(&one.name.as_str()) => {
                let number = match one.args.as_slice() {
                    [(None, number)] => number.parse().ok(),
                    _ => None,
                };
                let number = number.ok_or_else(|| ClientError::Text(format!("expected {}(NUMBER)", one.name)))?;
                if one.name == MEMBER {
                    Acts::ActionProfileMemberId(number)
                } else {
                    Acts::ActionProfileGroupId(number)
                }
            }
            [one] if !profile && one.weight.is_none() => Acts::Action(self.action_of(table, one)?),
            _ if !profile => return Err(ClientError::Text("the table has one action for each entry".into())),
            all => {
                let one = |a: &WrittenAction| {
                    let (action, weight) = (Some(self.action_of(table, a)?), a.weight.unwrap_or(1));
                    Ok(v1::ActionProfileAction { action, weight, ..Default::default() })
                };
                let actions = all.iter().map(one).collect::<Result<Vec<_>>>()?;
                let set = v1::ActionProfileActionSet { action_profile_actions: actions, ..Default::default() };
                Acts::ActionProfileActionSet(set)
            }
        };
        Ok(Some(v1::TableAction { r#type: Some(kind) }))
    }

    fn action_of(&self, table: &p4::Table, written: &WrittenAction) -> Result<v1::Action> {
        let action = self.action(table, &written.name)?;
        let mut params: Vec<v1::action::Param> = Vec::new();
        for (at, (name, value)) in written.args.iter().enumerate() {
            let param = match name {
                Some(name) => self.param(action, name)?,
                None => action.params.get(at).ok_or_else(|| {
                    let name = alias(&action.preamble);
                    ClientError::Text(format!("`{name}` has {} parameters", action.params.len()))
                })?,
            };
            let wrong = |reason: &dyn fmt::Display| ClientError::Text(format!("`{}`: {reason}", param.name));
            if params.iter().any(|p| p.param_id == param.id) {
                return Err(wrong(&"there twice"));
            }
            let value = match param_format(param) {
                Format::Text => value.clone().into_bytes().into(),
                _ => bytes::of(&parse_number(value, width(param.bitwidth)).map_err(|error| wrong(&error))?),
            };
            params.push(v1::action::Param { param_id: param.id, value });
        }
        if let Some(missing) = action.params.iter().find(|p| params.iter().all(|request| request.param_id != p.id)) {
            let name = alias(&action.preamble);
            return Err(ClientError::Text(format!("`{name}`: parameter `{}` is missing", missing.name)));
        }
        Ok(v1::Action { action_id: id(&action.preamble), params })
    }

    /// An entry as text.
    pub fn entry_text(&self, entry: &v1::TableEntry) -> EntryText {
        let table = self.table_with_id(entry.table_id);
        let fields = table.map(|t| t.match_fields.as_slice()).unwrap_or_default();
        let matches = fields
            .iter()
            .filter_map(|f| {
                let request = entry.r#match.iter().find(|m| m.field_id == f.id)?;
                let text = match_text(field_format(f), width(f.bitwidth), request.field_match_type.as_ref()?);
                Some((f.name.clone(), text))
            })
            .collect();
        let one = |a: &v1::Action, weight| {
            let Some(action) = self.action_with_id(a.action_id) else {
                return ActionText { name: format!("{:#x}", a.action_id), args: Vec::new(), weight };
            };
            let args = action.params.iter().filter_map(|p| {
                let request = a.params.iter().find(|request| request.param_id == p.id)?;
                Some((p.name.clone(), number_text(param_format(p), &request.value)))
            });
            ActionText { name: alias(&action.preamble).into(), args: args.collect(), weight }
        };
        let numbered = |name: &str, id: &u32| ActionText {
            name: name.into(),
            args: vec![("id".into(), id.to_string())],
            weight: None,
        };
        let actions = match entry.action.as_ref().and_then(|a| a.r#type.as_ref()) {
            Some(Acts::Action(a)) => vec![one(a, None)],
            Some(Acts::ActionProfileMemberId(id)) => vec![numbered(MEMBER, id)],
            Some(Acts::ActionProfileGroupId(id)) => vec![numbered(GROUP, id)],
            Some(Acts::ActionProfileActionSet(set)) => {
                let actions = set.action_profile_actions.iter();
                actions.filter_map(|a| Some(one(a.action.as_ref()?, Some(a.weight)))).collect()
            }
            None => Vec::new(),
        };
        EntryText {
            matches,
            priority: entry.priority,
            actions,
            counter: entry.counter_data.as_ref().map(CountText::of),
            default: entry.is_default_action,
        }
    }
}

fn id(preamble: &Option<p4::Preamble>) -> u32 {
    preamble.as_ref().map_or(0, |p| p.id)
}

fn kind(field: &p4::MatchField) -> Option<MatchKind> {
    field.r#match.as_ref().and_then(match_kind)
}

/// A counter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct CountText {
    pub packets: i64,
    pub bytes: i64,
}

impl CountText {
    /// In P4Runtime's form.
    pub fn of(data: &v1::CounterData) -> CountText {
        CountText { packets: data.packet_count, bytes: data.byte_count }
    }
}

impl fmt::Display for CountText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packets, {} bytes", self.packets, self.bytes)
    }
}

/// An action with arguments, or a member or group of an action profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct ActionText {
    pub name: String,
    #[serde(serialize_with = "as_map")]
    pub args: Pairs,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<i32>,
}

impl fmt::Display for ActionText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arg = |(name, value): &(String, String)| match self.name.as_str() {
            MEMBER | GROUP => value.clone(),
            _ => format!("{name}={value}"),
        };
        let args: Vec<String> = self.args.iter().map(arg).collect();
        write!(f, "{}({})", self.name, args.join(", "))?;
        self.weight.map_or(Ok(()), |weight| write!(f, "*{weight}"))
    }
}

/// A table entry. Its text, without the counter, is what [`Written::parse`] reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EntryText {
    /// Match fields, without those that match anything.
    #[serde(rename = "match", serialize_with = "as_map")]
    pub matches: Pairs,
    /// The priority; zero if there is none.
    #[serde(skip_serializing_if = "is_zero")]
    pub priority: i32,
    /// One action; with an action profile possibly several.
    pub actions: Vec<ActionText>,
    /// Its direct counter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<CountText>,
    /// Whether it is the table's default entry.
    #[serde(skip)]
    pub default: bool,
}

fn is_zero(n: &i32) -> bool {
    *n == 0
}

fn as_map<S: Serializer>(pairs: &Pairs, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

impl EntryText {
    /// The keys alone.
    pub fn keys(&self) -> String {
        let mut words: Vec<String> = self.matches.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if self.priority != 0 {
            words.push(format!("{PRIORITY}={}", self.priority));
        }
        words.join(" ")
    }

    /// The action alone.
    pub fn action(&self) -> String {
        self.actions.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ")
    }
}

impl fmt::Display for EntryText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.keys();
        let gap = if keys.is_empty() { "" } else { " " };
        write!(f, "{keys}{gap}=> {}", self.action())
    }
}

/// A register's value.
pub fn data_text(data: &v1::P4Data) -> String {
    use v1::p4_data::Data;
    match &data.data {
        Some(Data::Bitstring(b) | Data::EnumValue(b)) => BigUint::from_bytes_be(b).to_string(),
        Some(Data::Bool(b)) => b.to_string(),
        Some(other) => format!("{other:?}"),
        None => "?".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Program;
    use hopwright_driver::compile_text;

    fn names() -> Names {
        const SOURCE: &str = include_str!("../../../../../tests/p4runtime/basic.p4");
        let compiled = compile_text("basic.p4", SOURCE, &Default::default(), true);
        let program = Program::from_compiled(&compiled, SOURCE.as_bytes().into()).unwrap();
        Names::new(program.config.p4info.unwrap())
    }

    fn through(table: &str, words: &[&str]) -> Result<String> {
        let names = names();
        let words: Vec<String> = words.iter().map(|w| w.to_string()).collect();
        let entry = names.entry(names.table(table)?, &Written::parse(&words)?)?;
        Ok(names.entry_text(&entry).to_string())
    }

    #[test]
    fn entries_have_several_forms() {
        let full = "hdr.ipv4.dst=10.0.0.0/8 => forward(dst=02:00:00:00:00:11, port=1)";
        for words in [
            &[full][..],
            &["dst=10.0.0.0/8", "=>", "forward(dst=02:00:00:00:00:11,", "port=1)"],
            &["ipv4.dst=10.0.0.0/8", "forward", "port=1", "dst=02:00:00:00:00:11"],
            &["dst=10.0.0.0/8", "MyIngress.forward(0x020000000011, 1)"],
            &["dst=0xa000000/8 forward(0x020000000011,1)"],
        ] {
            assert_eq!(through("ipv4_lpm", words).unwrap(), full, "{words:?}");
        }
        let acl = "hdr.ipv4.src=10.0.0.0/8 hdr.ipv4.ttl=1..30 priority=10 => punt(reason=3)";
        let spaced = ["priority=10", "src=10.0.0.0 &&& 255.0.0.0", "ttl=1 .. 30", "protocol=*", "punt", "reason=3"];
        assert_eq!(through("acl", &[acl]).unwrap(), acl);
        assert_eq!(through("MyIngress.acl", &spaced).unwrap(), acl);
    }

    #[test]
    fn mistakes_are_reported() {
        for (table, words, message) in [
            ("ipv4_lmp", "dst=10.0.0.0/8 drop", "there is no table `ipv4_lmp`: did you mean `ipv4_lpm`?"),
            ("ipv4_lpm", "dts=10.0.0.0/8 drop", "no match field of `ipv4_lpm` `dts`: did you mean `dst`?"),
            ("ipv4_lpm", "dst=10.0.0.0/8 permit", "no action of `ipv4_lpm` `permit`; there are forward, punt"),
            ("ipv4_lpm", "dst=10.0.0.0/8 forward(port=1)", "`forward`: parameter `dst` is missing"),
            ("ipv4_lpm", "dst=10.0.0.0/8 forward(port=512, dst=1)", "`port`: `512` does not fit 9 bits"),
            ("ipv4_lpm", "dst=10.0.0.0/8 forward(1, 2, 3)", "`forward` has 2 parameters"),
            ("ipv4_lpm", "dst=10.0.0.0/8 forward(port=1", "expected ACTION(PARAMETER=VALUE, …)"),
            ("ipv4_lpm", "dst=10.0.0.0/8 priority=3 drop", "have no priority"),
            ("ipv4_lpm", "dst=10.0.0.0/8 dst=10.0.0.0/8 drop", "`hdr.ipv4.dst`: there twice"),
            ("ipv4_lpm", "dst=10.0.0.0/8 => drop | drop", "one action for each entry"),
            ("l2", "dst=1 drop", "`standard.ingress_port` is missing"),
            ("acl", "src=10.0.0.1 drop", "need priority=NUMBER"),
            ("acl", "src=10.0.0.1 priority=x drop", "priority `x`: expected a number above zero"),
        ] {
            let failure = through(table, &[words]).unwrap_err().to_string();
            assert!(failure.contains(message), "{words}: {failure}");
        }
    }
}
