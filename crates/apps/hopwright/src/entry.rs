//! Table entries by names.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hopwright_ir::{ActionCall, MatchValue, Pipeline, TableEntry, TableId};
use hopwright_stf::resolve;
use hopwright_stf::script::{self, ActionSpec, Add, MatchSpec, TextError};

use crate::{ControlError, FieldValue, Number};

/// A value of a key or parameter: from a number, an address, or a text such as `"0x1f"`, `"10.0.0.1"`, `"2001:db8::1"` and
/// `"02:00:00:00:00:01"`. It must fit the width that the program gives the field. A text equals its number.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Value {
    /// A number.
    Number(Number),
    /// A number or an address as text.
    Text(String),
}

/// What a key of an entry matches: from a value, which it equals, or from a text such as `"0x800"`, `"10.0.0.0/8"`, `"0x1200&&&0xff00"`,
/// `"0x12**"`, `"1..5"` and `"*"`, or made by a function. A text without a mask is a value, too: `"0x800"` is `0x800` in every bit of the
/// key, unlike in [`Control::configure`](crate::Control::configure), where a `ternary` key is compared with a hexadecimal number only where
/// that has digits. A text equals what it stands for.
#[derive(Clone, Debug)]
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
/// (`ipv4_lpm`; `dst` for `hdr.ipv4.dst`). Keys may be left out, which then match anything, unless they are exact: an `lpm` key that is
/// left out is the prefix of length 0. Bits that a prefix or mask excludes must be zeros.
///
/// Entries are equal if they have the same names, and values that are the same as numbers: one that was read from a table has whole names
/// and numbers.
///
/// As text an entry is what follows `add` in a line of [`Control::configure`](crate::Control::configure), without keys that match
/// anything: `MyIngress.ipv4_lpm hdr.ipv4.dst:10.0.0.0/8 MyIngress.forward(port:3)`. Addresses are shown as they were given. Entries that were
/// read from a table have addresses where keys and parameters have 32, 48 or 128 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    table: String,
    keys: Vec<(String, Match)>,
    priority: Option<i32>,
    action: String,
    params: Vec<(String, Value)>,
    widths: Widths,
}

/// The widths in bits of keys and parameters, for entries that were read. They are no part of what an entry is.
#[derive(Clone, Debug, Default)]
struct Widths {
    keys: Vec<u32>,
    params: Vec<u32>,
}

impl PartialEq for Widths {
    fn eq(&self, _: &Widths) -> bool {
        true
    }
}

impl Eq for Widths {}

impl Entry {
    /// An entry of `table` that runs `action`, without keys and parameters yet.
    pub fn new(table: impl Into<String>, action: impl Into<String>) -> Entry {
        let (table, action) = (table.into(), action.into());
        Entry { table, keys: Vec::new(), priority: None, action, params: Vec::new(), widths: Widths::default() }
    }

    /// Sets what a key matches. It replaces an earlier match of the same name. Entries that were read have whole names.
    #[must_use]
    pub fn key(mut self, name: impl Into<String>, matches: impl Into<Match>) -> Entry {
        set(&mut self.keys, name.into(), matches.into());
        self
    }

    /// Gives a parameter of the action its value, in place of one that it had. Each has one.
    #[must_use]
    pub fn param(mut self, name: impl Into<String>, value: impl Into<Value>) -> Entry {
        set(&mut self.params, name.into(), value.into());
        self
    }

    /// Sets the priority, in tables with `ternary`, `range` or `optional` keys: the highest that matches wins. Without it an entry has
    /// priority 1. Entries of other tables have none: one with a priority is refused.
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

    /// The priority, if there is one.
    pub fn get_priority(&self) -> Option<i32> {
        self.priority
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

    /// Resolves the action as the default action of the table.
    pub(crate) fn call(&self, pipeline: &Pipeline) -> Result<(TableId, ActionCall), ControlError> {
        if !self.keys.is_empty() || self.priority.is_some() {
            return Err(ControlError::DefaultEntry { table: self.table.clone() });
        }
        let table = resolve::table(pipeline, &self.table)?;
        Ok((table, resolve::action(pipeline, table, &self.add()?.action)?))
    }

    fn add(&self) -> Result<Add, ControlError> {
        let mut matches = Vec::new();
        for (name, written) in &self.keys {
            if let Some(spec) = spec(written).map_err(of("key", name))? {
                matches.push((name.clone(), spec));
            }
        }
        let args = self
            .params
            .iter()
            .map(|(name, value)| Ok((name.clone(), number(value).map_err(of("parameter", name))?.into())));
        let action = ActionSpec { name: self.action.clone(), args: args.collect::<Result<_, ControlError>>()? };
        Ok(Add { table: self.table.clone(), priority: self.priority, matches, action, target: None, name: None })
    }

    /// An entry of a table by names.
    pub(crate) fn read(pipeline: &Pipeline, table: TableId, entry: &TableEntry) -> Entry {
        let model = &pipeline[table];
        let action = &pipeline[entry.action.action];
        let params = action.params.iter().zip(&entry.action.args);
        let keys = || model.keys.iter().zip(&entry.matches).filter(|(key, _)| key.kind.is_matched());
        let widths = Widths {
            keys: keys().map(|(key, _)| key.expr.ty.width()).collect(),
            params: action.params.iter().map(|param| param.ty.width()).collect(),
        };
        Entry {
            table: model.name.clone(),
            keys: keys().map(|(key, value)| (key.name.clone(), Match::from(value.clone()))).collect(),
            priority: model.has_priority().then_some(entry.priority),
            action: action.name.clone(),
            params: params.map(|(param, value)| (param.name.clone(), value.clone().into())).collect(),
            widths,
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quoted(&self.table))?;
        if let Some(priority) = self.priority {
            write!(f, " {priority}")?;
        }
        for (at, (name, matches)) in self.keys.iter().enumerate() {
            if let Some(text) = matches.text(self.widths.keys.get(at)) {
                write!(f, " {}:{text}", quoted(name))?;
            }
        }
        let param = |(at, (name, value)): (usize, &(String, Value))| {
            format!("{}:{}", quoted(name), value.text(self.widths.params.get(at), false))
        };
        let params: Vec<_> = self.params.iter().enumerate().map(param).collect();
        write!(f, " {}({})", quoted(&self.action), params.join(", "))
    }
}

/// Sets what a list has for a name.
fn set<T>(list: &mut Vec<(String, T)>, name: String, value: T) {
    match list.iter_mut().find(|(known, _)| *known == name) {
        Some((_, known)) => *known = value,
        None => list.push((name, value)),
    }
}

/// A name as scripts have it: in quotes if it has other characters than names usually have.
fn quoted(name: &str) -> String {
    match name.chars().all(|c| c.is_alphanumeric() || "_$.[]:".contains(c)) {
        true => name.into(),
        false => format!("\"{name}\""),
    }
}

/// Texts without meaning are compared as they are.
impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (number(self), number(other)) {
            (Ok(this), Ok(that)) => this == that,
            (Err(_), Err(_)) => self.to_string() == other.to_string(),
            _ => false,
        }
    }
}

impl Eq for Value {}

impl PartialEq for Match {
    fn eq(&self, other: &Match) -> bool {
        // Without the forms in which numbers were written, but for digits that are left open.
        let numbers = |spec| match spec {
            MatchSpec::Number(value) => (0, value.value, value.mask),
            MatchSpec::Prefix(value, bits) => (1, value.value, Some(bits.into())),
            MatchSpec::Mask(value, mask) => (2, value.value, Some(mask.value)),
            MatchSpec::Range(low, high) => (3, low.value, Some(high.value)),
        };
        match (spec(self), spec(other)) {
            (Ok(this), Ok(that)) => this.map(numbers) == that.map(numbers),
            (Err(_), Err(_)) => self.text(None) == other.text(None),
            _ => false,
        }
    }
}

impl Eq for Match {}

impl Match {
    /// As scripts have it; `None` for anything.
    fn text(&self, width: Option<&u32>) -> Option<String> {
        Some(match self {
            Match::Value(Value::Text(text)) if is_any(text) => return None,
            Match::Any => return None,
            Match::Value(value) => value.text(width, false),
            Match::Prefix(value, bits) => format!("{}/{bits}", value.text(width, true)),
            Match::Mask(value, mask) => format!("{}&&&{}", value.text(width, true), mask.text(width, true)),
            Match::Range(low, high) => format!("{}..{}", low.text(width, false), high.text(width, false)),
        })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(None, false))
    }
}

impl Value {
    /// The number that it is, or that its text stands for: an address is one, too. None if the text is neither.
    ///
    /// ```
    /// use hopwright::Value;
    /// assert_eq!(Value::from("10.0.0.1").to_number(), Some(0x0a00_0001u32.into()));
    /// ```
    pub fn to_number(&self) -> Option<Number> {
        number(self).ok()
    }

    /// As scripts have it: text as it is, a number as an address or as digits. Only masks and prefixes have hexadecimal digits: a
    /// hexadecimal number alone would be compared with a `ternary` key only where it has digits.
    fn text(&self, width: Option<&u32>, hexadecimal: bool) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::Number(number) => match width.and_then(|width| script::address(number, *width)) {
                Some(address) => address,
                None if hexadecimal => format!("{number:#x}"),
                None => number.to_string(),
            },
        }
    }
}

fn place(pipeline: &Pipeline, add: &Add) -> Result<(TableId, Vec<MatchValue>, i32), ControlError> {
    let missing = resolve::missing_keys(pipeline, add)?;
    if !missing.is_empty() {
        return Err(ControlError::MissingKeys { table: add.table.clone(), keys: missing });
    }
    let placed = resolve::place(pipeline, add)?;
    if add.priority.is_some() && !pipeline[placed.0].has_priority() {
        return Err(ControlError::Priority { table: add.table.clone() });
    }
    resolve::no_excluded_bits(pipeline, placed.0, add)?;
    Ok(placed)
}

/// What a key matches; `None` for anything.
fn spec(written: &Match) -> Result<Option<MatchSpec>, ControlError> {
    let plain = |value: &Value| Ok::<_, ControlError>(script::Number::from(number(value)?));
    Ok(Some(match written {
        Match::Value(Value::Text(text)) if is_any(text) => return Ok(None),
        Match::Value(Value::Text(text)) => {
            not_negative(text)?;
            match script::parse_match(text).map_err(unreadable(text))? {
                // Packet tests compare a hexadecimal number only where it has digits. Here a value is one, however it is written.
                MatchSpec::Number(value) if !text.contains('*') => {
                    MatchSpec::Number(script::Number { mask: None, ..value })
                }
                spec => spec,
            }
        }
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
        Value::Text(text) => {
            not_negative(text)?;
            script::parse_value(text).map_err(unreadable(text))
        }
    }
}

/// Whether a text stands for anything.
fn is_any(text: &str) -> bool {
    matches!(text.trim(), "*" | "_")
}

fn not_negative(text: &str) -> Result<(), ControlError> {
    match text.trim_start().starts_with('-') {
        true => Err(unreadable(text)(TextError { reason: "values are not below zero".into() })),
        false => Ok(()),
    }
}

/// Says of a value's error which key or parameter has the value.
fn of(what: &str, name: &str) -> impl FnOnce(ControlError) -> ControlError {
    move |error| match error {
        ControlError::Value { text, reason } => {
            ControlError::Value { text, reason: format!("{reason} ({what} `{name}`)") }
        }
        other => other,
    }
}

fn unreadable(text: &str) -> impl FnOnce(TextError) -> ControlError {
    let text = text.to_string();
    move |TextError { reason }| ControlError::Value { text, reason }
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

macro_rules! addresses {
    ($($from:ty),*) => {
        $(
            /// The address as text, so that entries show it as one.
            impl From<$from> for Value {
                fn from(address: $from) -> Value {
                    Value::Text(address.to_string())
                }
            }
        )*
    };
}

addresses!(Ipv4Addr, Ipv6Addr, IpAddr);

/// A field of a digest.
impl From<FieldValue> for Value {
    fn from(value: FieldValue) -> Value {
        Value::Number(value.bits)
    }
}

impl From<&FieldValue> for Value {
    fn from(value: &FieldValue) -> Value {
        Value::Number(value.bits.clone())
    }
}

/// An Ethernet address, as text like the others.
impl From<[u8; 6]> for Value {
    fn from(bytes: [u8; 6]) -> Value {
        Value::Text(bytes.map(|byte| format!("{byte:02x}")).join(":"))
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
