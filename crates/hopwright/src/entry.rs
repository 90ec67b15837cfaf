//! Table entries by names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hopwright_ir::{ActionCall, MatchValue, Pipeline, TableEntry, TableId};
use hopwright_stf::resolve;
use hopwright_stf::script::{self, ActionSpec, Add, MatchSpec};

use crate::{ControlError, Number};

/// A value of a key or parameter: from a number, an address, or a text such as `"0x1f"`, `"10.0.0.1"`, `"2001:db8::1"` and
/// `"02:00:00:00:00:01"`. It must fit the width that the program gives the field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// A number.
    Number(Number),
    /// A number or an address as text.
    Text(String),
}

/// What a key of an entry matches: from a value, which it equals, or from a text such as `"10.0.0.0/8"`, `"0x1200&&&0xff00"`, `"1..5"`
/// and `"*"`, or made by a function.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Match {
    /// This value.
    Value(Value),
    /// Values that begin with the first bits of this one.
    Prefix(Value, u32),
    /// Values that equal the first where the second, a mask, has ones.
    Mask(Value, Value),
    /// Values from the first to the second.
    Range(Value, Value),
    /// Anything. Exact keys cannot match anything.
    Any,
}

impl Match {
    /// Values that begin with the first `bits` bits of a value: a prefix of an `lpm` key.
    pub fn prefix(value: impl Into<Value>, bits: u32) -> Match {
        Match::Prefix(value.into(), bits)
    }

    /// Values that equal `value` where `mask` has ones, of a `ternary` key.
    pub fn mask(value: impl Into<Value>, mask: impl Into<Value>) -> Match {
        Match::Mask(value.into(), mask.into())
    }

    /// Values from `low` to `high`, both included, of a `range` key.
    pub fn range(low: impl Into<Value>, high: impl Into<Value>) -> Match {
        Match::Range(low.into(), high.into())
    }
}

/// A table entry by names.
///
/// ```
/// use hopwright::{Entry, Match};
/// let entry = Entry::new("ipv4_lpm", "forward")
///     .key("hdr.ipv4.dst", "10.0.0.0/8")
///     .key("hdr.ipv4.ttl", Match::range(2u8, 255u8))
///     .priority(10)
///     .param("port", 3u16)
///     .param("next_hop", "02:00:00:00:00:01");
/// ```
///
/// Names are those of the control plane (`MyIngress.ipv4_lpm`), or an end of one that starts after a dot and that only one has
/// (`ipv4_lpm`; `dst` for `hdr.ipv4.dst`). Keys may be left out, which then match anything, unless they are exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    table: String,
    keys: Vec<(String, Match)>,
    priority: Option<i32>,
    action: String,
    params: Vec<(String, Value)>,
}

impl Entry {
    /// An entry of `table` that runs `action`, without keys and parameters yet.
    pub fn new(table: impl Into<String>, action: impl Into<String>) -> Entry {
        Entry { table: table.into(), keys: Vec::new(), priority: None, action: action.into(), params: Vec::new() }
    }

    /// Says what a key matches.
    #[must_use]
    pub fn key(mut self, name: impl Into<String>, matches: impl Into<Match>) -> Entry {
        self.keys.push((name.into(), matches.into()));
        self
    }

    /// Gives a parameter of the action its value.
    #[must_use]
    pub fn param(mut self, name: impl Into<String>, value: impl Into<Value>) -> Entry {
        self.params.push((name.into(), value.into()));
        self
    }

    /// Sets the priority, in tables with `ternary`, `range` or `optional` keys: the highest that matches wins. Without it an entry has
    /// priority 1.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Entry {
        self.priority = Some(priority);
        self
    }

    /// The table's name.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// The action's name.
    pub fn action(&self) -> &str {
        &self.action
    }

    /// Names of keys and what they match.
    pub fn keys(&self) -> &[(String, Match)] {
        &self.keys
    }

    /// Names of parameters and their values.
    pub fn params(&self) -> &[(String, Value)] {
        &self.params
    }

    /// Resolves all names.
    pub(crate) fn resolve(&self, pipeline: &Pipeline) -> Result<(TableId, TableEntry), ControlError> {
        let add = self.add()?;
        let (table, matches, priority) = place(pipeline, &add)?;
        let action = resolve::action(pipeline, table, &add.action)?;
        Ok((table, TableEntry { matches, priority, action }))
    }

    /// Resolves the names of table and keys.
    pub(crate) fn place(&self, pipeline: &Pipeline) -> Result<(TableId, Vec<MatchValue>, i32), ControlError> {
        place(pipeline, &self.add()?)
    }

    /// Resolves the action as the default action of the table. There are no keys.
    pub(crate) fn call(&self, pipeline: &Pipeline) -> Result<(TableId, ActionCall), ControlError> {
        let table = resolve::table(pipeline, &self.table)?;
        Ok((table, resolve::action(pipeline, table, &self.add()?.action)?))
    }

    fn add(&self) -> Result<Add, ControlError> {
        let mut matches = Vec::new();
        for (name, written) in &self.keys {
            if let Some(spec) = spec(written)? {
                matches.push((name.clone(), spec));
            }
        }
        let args = self.params.iter().map(|(name, value)| Ok((name.clone(), number(value)?)));
        let action = ActionSpec { name: self.action.clone(), args: args.collect::<Result<_, ControlError>>()? };
        Ok(Add { table: self.table.clone(), priority: self.priority, matches, action, target: None, name: None })
    }

    /// An entry of a table by names.
    pub(crate) fn read(pipeline: &Pipeline, table: TableId, entry: &TableEntry) -> Entry {
        let model = &pipeline[table];
        let action = &pipeline[entry.action.action];
        let params = action.params.iter().zip(&entry.action.args);
        let keys = model.keys.iter().zip(&entry.matches).filter(|(key, _)| key.kind.is_matched());
        Entry {
            table: model.name.clone(),
            keys: keys.map(|(key, value)| (key.name.clone(), Match::from(value.clone()))).collect(),
            priority: model.has_priority().then_some(entry.priority),
            action: action.name.clone(),
            params: params.map(|(param, value)| (param.name.clone(), value.clone().into())).collect(),
        }
    }
}

fn place(pipeline: &Pipeline, add: &Add) -> Result<(TableId, Vec<MatchValue>, i32), ControlError> {
    let missing = resolve::missing_keys(pipeline, add)?;
    if !missing.is_empty() {
        return Err(ControlError::MissingKeys { table: add.table.clone(), keys: missing });
    }
    Ok(resolve::place(pipeline, add)?)
}

/// What a key matches; `None` for anything.
fn spec(written: &Match) -> Result<Option<MatchSpec>, ControlError> {
    let plain = |value: &Value| Ok::<_, ControlError>(script::Number::from(number(value)?));
    Ok(Some(match written {
        Match::Value(Value::Text(text)) if matches!(text.trim(), "*" | "_") => return Ok(None),
        Match::Value(Value::Text(text)) => script::parse_match(text).map_err(unreadable(text))?,
        Match::Value(value) => MatchSpec::Number(plain(value)?),
        Match::Prefix(value, bits) => MatchSpec::Prefix(plain(value)?, *bits),
        Match::Mask(value, mask) => MatchSpec::Mask(plain(value)?, plain(mask)?),
        Match::Range(low, high) => MatchSpec::Range(plain(low)?, plain(high)?),
        Match::Any => return Ok(None),
    }))
}

pub(crate) fn number(value: &Value) -> Result<Number, ControlError> {
    match value {
        Value::Number(number) => Ok(number.clone()),
        Value::Text(text) => script::parse_value(text).map_err(unreadable(text)),
    }
}

fn unreadable(text: &str) -> impl FnOnce(String) -> ControlError {
    let text = text.to_string();
    move |reason| ControlError::Value { text, reason }
}

impl From<MatchValue> for Match {
    fn from(value: MatchValue) -> Match {
        match value {
            MatchValue::Exact(value) | MatchValue::Optional(Some(value)) => Match::Value(value.into()),
            MatchValue::Lpm { value, prefix_len } => Match::Prefix(value.into(), prefix_len),
            MatchValue::Ternary { value, mask } => Match::Mask(value.into(), mask.into()),
            MatchValue::Range { lo, hi } => Match::Range(lo.into(), hi.into()),
            MatchValue::Optional(None) => Match::Any,
        }
    }
}

impl<T: Into<Value>> From<T> for Match {
    fn from(value: T) -> Match {
        Match::Value(value.into())
    }
}

macro_rules! numbers {
    ($($from:ty),*) => {
        $(
            impl From<$from> for Value {
                fn from(number: $from) -> Value {
                    Value::Number(number.into())
                }
            }
        )*
    };
}

numbers!(u8, u16, u32, u64, u128, usize, Number);

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Number(u8::from(value).into())
    }
}

/// Numbers without a type are `i32`. Values are not below zero: such a one is refused when it is used.
impl From<i32> for Value {
    fn from(number: i32) -> Value {
        u32::try_from(number).map_or_else(|_| Value::Text(number.to_string()), Value::from)
    }
}

impl From<Ipv4Addr> for Value {
    fn from(address: Ipv4Addr) -> Value {
        Value::Number(u32::from(address).into())
    }
}

impl From<Ipv6Addr> for Value {
    fn from(address: Ipv6Addr) -> Value {
        Value::Number(u128::from(address).into())
    }
}

impl From<IpAddr> for Value {
    fn from(address: IpAddr) -> Value {
        match address {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => address.into(),
        }
    }
}

/// An Ethernet address.
impl From<[u8; 6]> for Value {
    fn from(bytes: [u8; 6]) -> Value {
        Value::Number(Number::from_bytes_be(&bytes))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}
