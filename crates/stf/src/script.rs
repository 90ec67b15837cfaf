//! The syntax of test files: lines to commands.
//!
//! Keywords are case-insensitive and only recognised as a line's first word; `#` starts a comment.

use hopwright_ir::meter::Rates;
use num_bigint::BigUint;

use crate::StfError;

/// A test file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its name as it was given.
    pub file: String,
    /// Its commands in order, with their lines (from 1).
    pub commands: Vec<(u32, Command)>,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `add TABLE [PRIORITY] KEY:VALUE… ACTION(…) [= NAME]`.
    Add(Add),
    /// `setdefault TABLE ACTION(…)`.
    SetDefault {
        /// Table name.
        table: String,
        /// Action and arguments.
        action: ActionSpec,
    },
    /// `packet PORT HEX…`.
    Packet {
        /// Where it arrives.
        port: u16,
        /// The packet.
        bytes: Vec<u8>,
    },
    /// `expect PORT [HEX-OR-*… [$]]`.
    Expect {
        /// Where it must leave.
        port: u16,
        /// What must leave; any one packet if `None`.
        pattern: Option<Pattern>,
    },
    /// `no_packet`: the packet before this line brings forth nothing.
    NoPacket,
    /// `wait`: nothing to wait for here.
    Wait,
    /// `remove all`: no table has entries.
    RemoveAll,
    /// `check_counter NAME(INDEX) [packets|bytes] [OP NUMBER]`.
    CheckCounter {
        /// Counter name.
        counter: String,
        /// Which.
        index: CounterIndex,
        /// Compares bytes, not packets.
        bytes: bool,
        /// What must hold; anything if `None`.
        check: Option<(Comparison, u64)>,
    },
    /// `mirroring_add SESSION PORT`.
    MirrorPort(u32, u16),
    /// `mirroring_add_mc SESSION GROUP`.
    MirrorGroup(u32, u16),
    /// `mirroring_delete SESSION`.
    MirrorDelete(u32),
    /// `mirroring_get SESSION`: output only.
    MirrorGet(u32),
    /// `mc_mgrp_create GROUP`.
    GroupCreate(u16),
    /// `mc_node_create RID PORT…`: nodes are numbered from 0.
    NodeCreate(u16, Vec<u16>),
    /// `mc_node_update NODE PORT…`.
    NodeUpdate(usize, Vec<u16>),
    /// `mc_node_associate GROUP NODE`.
    NodeAssociate(u16, usize),
    /// `counter_read NAME INDEX`: output only.
    CounterRead(String, u64),
    /// `counter_write NAME INDEX PACKETS BYTES`.
    CounterWrite(String, u64, u64, u64),
    /// `register_read NAME INDEX`: output only.
    RegisterRead(String, u64),
    /// `register_write NAME INDEX VALUE`.
    RegisterWrite(String, u64, BigUint),
    /// `register_reset NAME`.
    RegisterReset(String),
    /// `meter_get_rates NAME INDEX`: output only.
    MeterGet(String, u64),
    /// `meter_set_rates NAME INDEX [CIR:CBURST PIR:PBURST]`; without rates it says green.
    MeterSet(String, CounterIndex, Option<Rates>),
    /// `meter_array_set_rates NAME [CIR:CBURST PIR:PBURST]`: all of them.
    MeterArraySet(String, Option<Rates>),
    /// `filter_set NAME INDEX-or-ENTRY SETTINGS…`: settings of a filter of smoothed values.
    FilterSet(String, CounterIndex, String),
    /// `member_add`, `member_modify PROFILE MEMBER ACTION(…)`, `member_delete PROFILE MEMBER`.
    Member(Change, String, u32, Option<ActionSpec>),
    /// `group_add`, `group_modify PROFILE GROUP MEMBER[*WEIGHT]…`, `group_delete PROFILE GROUP`.
    Group(Change, String, u32, Vec<(u32, u32)>),
    /// `value_set_write SET MEMBER…`: its only members from now on, each a value for every key with commas between.
    ValueSet(String, Vec<Vec<MatchSpec>>),
    /// `key_set OBJECT SLOT KEY`: a 128-bit key of an `AesCmac` or `Aes128`.
    KeySet(String, u64, BigUint),
    /// `expect_digest TYPE VALUE…`: with such lines all digests must be named, in order.
    ExpectDigest(String, Vec<BigUint>),
}

/// What is done to a member or group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new one.
    Add,
    /// Another one in its place.
    Modify,
    /// No more packets are expected.
    Delete,
}

/// Where an entry leads, in tables with an action profile or selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetSpec {
    /// `-> member N`.
    Member(u32),
    /// `-> group N`.
    Group(u32),
    /// `-> set ACTION(…)[*WEIGHT]…`.
    Set(Vec<(ActionSpec, u32)>),
}

/// A table entry by names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Add {
    /// Table name.
    pub table: String,
    /// The higher wins.
    pub priority: Option<i32>,
    /// Key names and what they match.
    pub matches: Vec<(String, MatchSpec)>,
    /// Action and arguments; without a name if there is a target.
    pub action: ActionSpec,
    /// Where it leads instead.
    pub target: Option<TargetSpec>,
    /// Name for later lines.
    pub name: Option<String>,
}

/// What a key must match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchSpec {
    /// Digits as written.
    Number(Number),
    /// `VALUE/LENGTH`.
    Prefix(Number, u32),
    /// `LO..HI`.
    Range(Number, Number),
}

/// A number whose hexadecimal or binary digits may be `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// `*` digits count as zero.
    pub value: BigUint,
    /// Ones where digits were written that are not `*`; `None` for decimal numbers.
    pub mask: Option<BigUint>,
    /// How many of the lowest bits are `*` digits without a gap.
    pub trailing_stars: u32,
}

/// An action with named arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionSpec {
    /// Action name.
    pub name: String,
    /// Parameter names and values.
    pub args: Vec<(String, BigUint)>,
}

/// Which cell of a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CounterIndex {
    /// A number.
    Index(u64),
    /// The entry that an `add` named.
    Entry(String),
}

/// How a counter is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<=`
    AtMost,
    /// `<`
    Below,
    /// `>=`
    AtLeast,
    /// `>`
    Above,
}

impl Comparison {
    /// Whether `found` compares so with `wanted`.
    pub fn holds(self, found: u64, wanted: u64) -> bool {
        match self {
            Comparison::Equal => found == wanted,
            Comparison::NotEqual => found != wanted,
            Comparison::AtMost => found <= wanted,
            Comparison::Below => found < wanted,
            Comparison::AtLeast => found >= wanted,
            Comparison::Above => found > wanted,
        }
    }
}

/// An expected packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// One per nibble; `None` is any.
    pub nibbles: Vec<Option<u8>>,
    /// Nothing may follow.
    pub exact: bool,
}

/// Parses a test file; `file` is only for messages.
///
/// # Errors
/// One for each line that is wrong.
pub fn parse(file: &str, text: &str) -> Result<Script, Vec<StfError>> {
    let mut commands = Vec::new();
    let mut errors = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        match parse_line(line) {
            Ok(Some(command)) => commands.push((number, command)),
            Ok(None) => {}
            Err(message) => errors.push(StfError { file: file.to_string(), line: number, message }),
        }
    }
    if errors.is_empty() { Ok(Script { file: file.to_string(), commands }) } else { Err(errors) }
}

type Parsed<T> = Result<T, String>;

fn parse_line(line: &str) -> Parsed<Option<Command>> {
    let line = line.split('#').next().unwrap_or("").trim();
    if line.is_empty() {
        return Ok(None);
    }
    let mut line = Line { rest: line };
    let keyword = line.word().to_ascii_lowercase();
    let command = match keyword.as_str() {
        "add" => Command::Add(line.add()?),
        "setdefault" => {
            let table = line.name()?;
            Command::SetDefault { table, action: line.action()? }
        }
        "packet" => Command::Packet { port: line.small("port")?, bytes: line.bytes()? },
        "expect" => Command::Expect { port: line.small("port")?, pattern: line.pattern()? },
        "no_packet" => Command::NoPacket,
        "wait" => {
            // Other runners take a time; there is nothing to wait for.
            line.rest = "";
            Command::Wait
        }
        "remove" => match line.word().to_ascii_lowercase().as_str() {
            "all" => Command::RemoveAll,
            other => return Err(format!("expected `all`, found `{other}`")),
        },
        "check_counter" => line.check_counter()?,
        "mirroring_add" => Command::MirrorPort(line.small("session")?, line.small("port")?),
        "mirroring_add_mc" => Command::MirrorGroup(line.small("session")?, line.small("group")?),
        "mirroring_delete" => Command::MirrorDelete(line.small("session")?),
        "mirroring_get" => Command::MirrorGet(line.small("session")?),
        "mc_mgrp_create" => Command::GroupCreate(line.small("group")?),
        "mc_node_create" => Command::NodeCreate(line.small("replication id")?, line.ports()?),
        "mc_node_update" => Command::NodeUpdate(line.small("node")?, line.ports()?),
        "mc_node_associate" => Command::NodeAssociate(line.small("group")?, line.small("node")?),
        "counter_read" => Command::CounterRead(line.name()?, line.small("index")?),
        "counter_write" => Command::CounterWrite(
            line.name()?,
            line.small("index")?,
            line.small("number of packets")?,
            line.small("number of bytes")?,
        ),
        "register_read" => Command::RegisterRead(line.name()?, line.small("index")?),
        "register_write" => Command::RegisterWrite(line.name()?, line.small("index")?, line.value()?),
        "register_reset" => Command::RegisterReset(line.name()?),
        "meter_get_rates" => Command::MeterGet(line.name()?, line.small("index")?),
        "meter_set_rates" => Command::MeterSet(line.name()?, line.cell()?, line.rates()?),
        "meter_array_set_rates" => Command::MeterArraySet(line.name()?, line.rates()?),
        "filter_set" => Command::FilterSet(line.name()?, line.cell()?, line.words()),
        "member_add" => line.member(Change::Add)?,
        "member_modify" => line.member(Change::Modify)?,
        "member_delete" => line.member(Change::Delete)?,
        "group_add" => line.group(Change::Add)?,
        "group_modify" => line.group(Change::Modify)?,
        "group_delete" => line.group(Change::Delete)?,
        "value_set_write" => line.value_set()?,
        "key_set" => Command::KeySet(line.name()?, line.small("slot")?, line.value()?),
        "expect_digest" => line.expect_digest()?,
        _ => return Err(format!("unknown command `{keyword}`")),
    };
    match line.skip() {
        "" => Ok(Some(command)),
        rest => Err(format!("unexpected `{rest}`")),
    }
}

/// The rest of a line that is being read.
struct Line<'a> {
    rest: &'a str,
}

impl<'a> Line<'a> {
    /// Skips white space; gives what follows.
    fn skip(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        self.rest
    }

    fn take_while(&mut self, f: impl Fn(char) -> bool) -> &'a str {
        let rest = self.skip();
        let end = rest.find(|c| !f(c)).unwrap_or(rest.len());
        self.rest = &rest[end..];
        &rest[..end]
    }

    /// Everything that is left.
    fn words(&mut self) -> String {
        let words = self.skip().trim_end().to_string();
        self.rest = "";
        words
    }

    /// Everything up to white space.
    fn word(&mut self) -> &'a str {
        self.take_while(|c| !c.is_whitespace())
    }

    fn eat(&mut self, token: &str) -> bool {
        match self.skip().strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Parsed<()> {
        if self.eat(token) { Ok(()) } else { Err(format!("expected `{token}`{}", self.found())) }
    }

    fn found(&mut self) -> String {
        match self.skip() {
            "" => " at the end of the line".into(),
            rest => format!(" before `{rest}`"),
        }
    }

    /// A dotted name, parts of it quoted or with an index; `()` may follow for `isValid()`.
    fn name(&mut self) -> Parsed<String> {
        let mut name = String::new();
        loop {
            let rest = self.skip();
            if let Some(quoted) = rest.strip_prefix('"') {
                let (inside, after) = quoted.split_once('"').ok_or("a quote without its end")?;
                name.push_str(inside);
                self.rest = after;
            } else {
                let part = self.take_while(|c| c.is_alphanumeric() || c == '_' || c == '$');
                if part.is_empty() {
                    return Err(format!("expected a name{}", self.found()));
                }
                name.push_str(part);
            }
            if self.rest.starts_with('[') {
                let (index, after) = self.rest.split_once(']').ok_or("`[` without `]`")?;
                name.push_str(index);
                name.push(']');
                self.rest = after;
            }
            match self.rest.strip_prefix('.') {
                Some(rest) => {
                    name.push('.');
                    self.rest = rest;
                }
                None => return Ok(name),
            }
        }
    }

    fn value(&mut self) -> Parsed<BigUint> {
        let number = self.number()?;
        match number.is_plain() {
            true => Ok(number.value),
            false => Err("`*` digits are not possible here".into()),
        }
    }

    fn small<T: TryFrom<BigUint>>(&mut self, what: &str) -> Parsed<T> {
        let value = self.value().map_err(|e| format!("{what}: {e}"))?;
        let text = value.to_string();
        T::try_from(value).map_err(|_| format!("{what} {text} is too great"))
    }

    fn number(&mut self) -> Parsed<Number> {
        let text = self.take_while(|c| c.is_alphanumeric() || c == '*' || c == '_');
        if text.is_empty() {
            return Err(format!("expected a number{}", self.found()));
        }
        parse_number(text)
    }

    fn ports(&mut self) -> Parsed<Vec<u16>> {
        let mut ports = Vec::new();
        while !self.skip().is_empty() {
            ports.push(self.small("port")?);
        }
        Ok(ports)
    }

    fn add(&mut self) -> Parsed<Add> {
        let table = self.name()?;
        let priority =
            if self.skip().starts_with(|c: char| c.is_ascii_digit()) { Some(self.small("priority")?) } else { None };
        let mut matches = Vec::new();
        // A name with a colon is a key, one with a parenthesis the action.
        let mut target = None;
        let action = loop {
            if self.eat("->") {
                target = Some(self.target()?);
                break ActionSpec { name: String::new(), args: Vec::new() };
            }
            let name = self.name()?;
            let valid_call = name.ends_with("isValid") && self.eat("()");
            if self.eat(":") {
                let name = if valid_call { format!("{name}()") } else { name };
                matches.push((name, self.match_spec()?));
            } else {
                break self.arguments(name)?;
            }
        };
        let name = if self.eat("=") { Some(self.name()?) } else { None };
        Ok(Add { table, priority, matches, action, target, name })
    }

    /// What follows `->`.
    fn target(&mut self) -> Parsed<TargetSpec> {
        match self.take_while(char::is_alphanumeric) {
            "member" => Ok(TargetSpec::Member(self.small("member")?)),
            "group" => Ok(TargetSpec::Group(self.small("group")?)),
            "set" => {
                let mut set = Vec::new();
                while !self.skip().is_empty() && !self.rest.starts_with('=') {
                    let action = self.action()?;
                    set.push((action, self.weight()?));
                }
                Ok(TargetSpec::Set(set))
            }
            other => Err(format!("expected `member`, `group` or `set`, found `{other}`")),
        }
    }

    /// `*WEIGHT`, or 1.
    fn weight(&mut self) -> Parsed<u32> {
        if self.eat("*") { self.small("weight") } else { Ok(1) }
    }

    fn member(&mut self, change: Change) -> Parsed<Command> {
        let (profile, member) = (self.name()?, self.small("member")?);
        let action = if change == Change::Delete { None } else { Some(self.action()?) };
        Ok(Command::Member(change, profile, member, action))
    }

    fn group(&mut self, change: Change) -> Parsed<Command> {
        let (profile, group) = (self.name()?, self.small("group")?);
        let mut members = Vec::new();
        while change != Change::Delete && !self.skip().is_empty() {
            let member = self.take_while(|c| c.is_ascii_digit());
            let member = member.parse().map_err(|_| format!("`{member}` is no member"))?;
            members.push((member, self.weight()?));
        }
        Ok(Command::Group(change, profile, group, members))
    }

    fn value_set(&mut self) -> Parsed<Command> {
        let name = self.name()?;
        let mut members = Vec::new();
        while !self.skip().is_empty() {
            let mut member = vec![self.match_spec()?];
            while self.eat(",") {
                member.push(self.match_spec()?);
            }
            members.push(member);
        }
        Ok(Command::ValueSet(name, members))
    }

    fn expect_digest(&mut self) -> Parsed<Command> {
        let name = self.name()?;
        let mut values = Vec::new();
        while !self.skip().is_empty() {
            values.push(self.value()?);
        }
        Ok(Command::ExpectDigest(name, values))
    }

    /// A number, or the name of an entry.
    fn cell(&mut self) -> Parsed<CounterIndex> {
        if self.skip().starts_with(|c: char| c.is_ascii_digit()) {
            Ok(CounterIndex::Index(self.small("index")?))
        } else {
            Ok(CounterIndex::Entry(self.name()?))
        }
    }

    /// Committed and peak rate in packets or bytes per microsecond, each with its burst.
    fn rates(&mut self) -> Parsed<Option<Rates>> {
        if self.skip().is_empty() {
            return Ok(None);
        }
        let (cir, cburst) = self.rate()?;
        let (pir, pburst) = self.rate()?;
        Ok(Some(Rates { cir, cburst, pir, pburst }))
    }

    /// `RATE:BURST`, the rate as it is per second.
    fn rate(&mut self) -> Parsed<(u64, u64)> {
        let text = self.take_while(|c| c.is_ascii_digit() || c == '.');
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        // Six digits behind the point: a millionth in a microsecond is one in a second.
        let per_second = format!("{whole}{fraction:0<6}");
        if whole.is_empty() || fraction.len() > 6 {
            return Err(format!("`{text}` is no rate: a number with at most six digits behind the point"));
        }
        let rate = per_second.parse().map_err(|_| format!("rate {text} is no number, or too great"))?;
        self.expect(":")?;
        Ok((rate, self.small("burst")?))
    }

    fn match_spec(&mut self) -> Parsed<MatchSpec> {
        let value = self.number()?;
        if self.eat("/") {
            Ok(MatchSpec::Prefix(value, self.small("prefix length")?))
        } else if self.eat("..") {
            Ok(MatchSpec::Range(value, self.number()?))
        } else {
            Ok(MatchSpec::Number(value))
        }
    }

    fn action(&mut self) -> Parsed<ActionSpec> {
        let name = self.name()?;
        self.arguments(name)
    }

    fn arguments(&mut self, name: String) -> Parsed<ActionSpec> {
        let mut args = Vec::new();
        if self.skip().is_empty() {
            return Ok(ActionSpec { name, args });
        }
        self.expect("(")?;
        while !self.eat(")") {
            if !args.is_empty() {
                self.expect(",")?;
            }
            let param = self.name()?;
            self.expect(":")?;
            let text = self.take_while(|c| c != ',' && c != ')');
            args.push((param, parse_argument(text.trim())?));
        }
        Ok(ActionSpec { name, args })
    }

    fn hex(&mut self) -> Parsed<Vec<Option<u8>>> {
        let digits = self.take_while(|c| c != '$');
        digits
            .chars()
            .filter(|c| !c.is_whitespace())
            .map(|c| match c {
                '*' => Ok(None),
                c => match c.to_digit(16) {
                    Some(digit) => Ok(Some(digit as u8)),
                    None => Err(format!("`{c}` is no hexadecimal digit")),
                },
            })
            .collect()
    }

    fn bytes(&mut self) -> Parsed<Vec<u8>> {
        let nibbles = self.hex()?.into_iter().collect::<Option<Vec<u8>>>();
        let nibbles = nibbles.ok_or("`*` is only for expected packets")?;
        if nibbles.len() % 2 != 0 {
            return Err("an odd number of hexadecimal digits".into());
        }
        Ok(nibbles.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
    }

    fn pattern(&mut self) -> Parsed<Option<Pattern>> {
        if self.skip().is_empty() {
            return Ok(None);
        }
        let nibbles = self.hex()?;
        let exact = self.eat("$");
        Ok(Some(Pattern { nibbles, exact }))
    }

    fn check_counter(&mut self) -> Parsed<Command> {
        let counter = self.name()?;
        self.expect("(")?;
        let index = self.cell()?;
        self.expect(")")?;
        let bytes = self.eat("bytes");
        if !bytes {
            self.eat("packets");
        }
        let comparisons = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::AtMost),
            ("<", Comparison::Below),
            (">=", Comparison::AtLeast),
            (">", Comparison::Above),
        ];
        let check = match comparisons.into_iter().find(|(token, _)| self.eat(token)) {
            Some((_, comparison)) => Some((comparison, self.small("count")?)),
            None => None,
        };
        Ok(Command::CheckCounter { counter, index, bytes, check })
    }
}

impl Number {
    fn is_plain(&self) -> bool {
        self.mask.as_ref().is_none_or(|mask| (mask + 1u32).count_ones() == 1)
    }
}

fn parse_number(text: &str) -> Parsed<Number> {
    let bad = || format!("`{text}` is no number");
    let (digits, bits, radix) = match text.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (&text[2..], 4, 16),
        Some("0b") => (&text[2..], 1, 2),
        _ => {
            let value = BigUint::parse_bytes(text.as_bytes(), 10).ok_or_else(bad)?;
            return Ok(Number { value, mask: None, trailing_stars: 0 });
        }
    };
    let (mut value, mut mask, mut trailing_stars) = (BigUint::ZERO, BigUint::ZERO, 0);
    let mut any = false;
    for c in digits.chars().filter(|&c| c != '_') {
        any = true;
        value <<= bits;
        mask <<= bits;
        if c == '*' {
            trailing_stars += bits;
        } else {
            value += c.to_digit(radix).ok_or_else(bad)?;
            mask += (1u32 << bits) - 1;
            trailing_stars = 0;
        }
    }
    if any { Ok(Number { value, mask: Some(mask), trailing_stars }) } else { Err(bad()) }
}

/// An integer, an IPv4 or IPv6 address, or six bytes with colons.
fn parse_argument(text: &str) -> Parsed<BigUint> {
    if let Ok(address) = text.parse::<std::net::Ipv4Addr>() {
        return Ok(u32::from(address).into());
    }
    let bytes: Vec<&str> = text.split(':').collect();
    if bytes.len() == 6 && bytes.iter().all(|b| b.len() == 2) {
        return BigUint::parse_bytes(bytes.concat().as_bytes(), 16).ok_or_else(|| format!("`{text}` is no address"));
    }
    if let Ok(address) = text.parse::<std::net::Ipv6Addr>() {
        return Ok(u128::from(address).into());
    }
    let number = parse_number(text)?;
    if number.is_plain() { Ok(number.value) } else { Err("`*` digits are not possible here".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Command {
        parse("t", line).unwrap().commands.remove(0).1
    }

    fn error(line: &str) -> String {
        parse("t", line).unwrap_err()[0].to_string()
    }

    #[test]
    fn entries_with_keys_priority_arguments_and_name() {
        let Command::Add(add) =
            one("ADD ex1 100 extra$0.h:0x25** hdr.h.isValid():1 c.act1(val:0x25, p : 10.0.0.1) = e1")
        else {
            panic!("not an entry");
        };
        assert_eq!((add.table.as_str(), add.priority, add.name.as_deref()), ("ex1", Some(100), Some("e1")));
        assert_eq!(add.matches[0].0, "extra$0.h");
        let MatchSpec::Number(number) = &add.matches[0].1 else { panic!("not a number") };
        assert_eq!(number.mask, Some(0xff00u32.into()));
        assert_eq!((number.value.clone(), number.trailing_stars), (0x2500u32.into(), 8));
        assert_eq!(add.matches[1].0, "hdr.h.isValid()");
        let args = [("val".into(), 0x25u32.into()), ("p".into(), 0x0a00_0001u32.into())];
        assert_eq!(add.action, ActionSpec { name: "c.act1".into(), args: args.into() });
    }

    #[test]
    fn arguments_may_be_addresses() {
        let arg = |text: &str| parse_argument(text).unwrap();
        assert_eq!(arg("02:00:00:00:00:0a"), 0x0200_0000_000au64.into());
        assert_eq!(arg("fd00::1"), BigUint::from(0xfd00u32) << 112 | BigUint::from(1u32));
        assert_eq!(arg("0b101"), 5u32.into());
        assert!(parse_argument("0x1*").is_err());
    }

    #[test]
    fn packets_and_expectations() {
        let packet = one("packet 3 0A 1b2C");
        assert_eq!(packet, Command::Packet { port: 3, bytes: vec![0x0a, 0x1b, 0x2c] });
        let Command::Expect { port: 4, pattern: Some(pattern) } = one("expect 4 0* **1 $") else {
            panic!("not an expectation");
        };
        assert_eq!(pattern.nibbles, [Some(0), None, None, None, Some(1)]);
        assert!(pattern.exact);
        assert_eq!(one("expect 4"), Command::Expect { port: 4, pattern: None });
        assert_eq!(one("expect 4 $"), {
            Command::Expect { port: 4, pattern: Some(Pattern { nibbles: vec![], exact: true }) }
        });
    }

    #[test]
    fn value_sets_and_digests() {
        let number = |text| MatchSpec::Number(parse_number(text).unwrap());
        let range = MatchSpec::Range(parse_number("1").unwrap(), parse_number("4").unwrap());
        let members =
            vec![vec![number("0x8*"), range], vec![number("3"), MatchSpec::Prefix(parse_number("0").unwrap(), 2)]];
        assert_eq!(one("value_set_write p.set 0x8*,1..4 3, 0/2"), Command::ValueSet("p.set".into(), members));
        assert_eq!(one("value_set_write p.set"), Command::ValueSet("p.set".into(), Vec::new()));
        let values = vec![1u32.into(), 0xffu32.into()];
        assert_eq!(one("expect_digest seen_t 1 0xff"), Command::ExpectDigest("seen_t".into(), values));
    }

    #[test]
    fn counters_are_compared() {
        let check =
            |op| Command::CheckCounter { counter: "c".into(), index: CounterIndex::Index(3), bytes: true, check: op };
        assert_eq!(one("check_counter c(3) bytes >= 10"), check(Some((Comparison::AtLeast, 10))));
        assert_eq!(one("check_counter c(3) bytes"), check(None));
    }

    #[test]
    fn members_groups_and_rates() {
        let rates = |cir, cburst, pir, pburst| Some(Rates { cir, cburst, pir, pburst });
        assert_eq!(
            one("meter_set_rates a.m 3 0.000001:2 12.5:7"),
            Command::MeterSet("a.m".into(), CounterIndex::Index(3), rates(1, 2, 12_500_000, 7))
        );
        assert_eq!(
            one("meter_set_rates m entry"),
            Command::MeterSet("m".into(), CounterIndex::Entry("entry".into()), None)
        );
        assert_eq!(one("meter_array_set_rates m 1:1 2:2"), {
            Command::MeterArraySet("m".into(), rates(1_000_000, 1, 2_000_000, 2))
        });
        assert_eq!(error("meter_set_rates m 3 0.0000001:2 1:1"), {
            "t:1: `0.0000001` is no rate: a number with at most six digits behind the point"
        });
        assert_eq!(error("meter_set_rates m 3 1:2"), {
            "t:1: `` is no rate: a number with at most six digits behind the point"
        });
        assert_eq!(one("group_add s 4 7 8*3"), Command::Group(Change::Add, "s".into(), 4, vec![(7, 1), (8, 3)]));
        assert_eq!(one("group_delete s 4"), Command::Group(Change::Delete, "s".into(), 4, vec![]));
        assert_eq!(one("member_delete s 4"), Command::Member(Change::Delete, "s".into(), 4, None));
        let Command::Add(add) = one("add t k:1 -> set a(x:1)*2 b() = name") else { panic!("no entry") };
        let Some(TargetSpec::Set(set)) = add.target else { panic!("no set") };
        let set: Vec<_> = set.iter().map(|(action, weight)| (action.name.as_str(), *weight)).collect();
        assert_eq!((set, add.name.as_deref()), (vec![("a", 2), ("b", 1)], Some("name")));
        let Command::Add(add) = one("add t k:1 -> group 7") else { panic!("no entry") };
        assert_eq!(add.target, Some(TargetSpec::Group(7)));
        assert_eq!(error("add t k:1 -> port 7"), "t:1: expected `member`, `group` or `set`, found `port`");
    }

    #[test]
    fn every_bad_line_is_reported_with_its_place() {
        let errors = parse("x.stf", "# fine\npacket 1 0\nfly 7\nexpect 1 zz\n\nwait\n").unwrap_err();
        let text: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            text,
            [
                "x.stf:2: an odd number of hexadecimal digits",
                "x.stf:3: unknown command `fly`",
                "x.stf:4: `z` is no hexadecimal digit",
            ]
        );
        assert_eq!(error("packet 1 0*"), "t:1: `*` is only for expected packets");
        assert_eq!(error("packet 70000 00"), "t:1: port 70000 is too great");
        assert_eq!(error("add t k:1 a(x:)"), "t:1: `` is no number");
        assert_eq!(error("add t k:1 a(x:1"), "t:1: expected `,` at the end of the line");
        assert_eq!(error("remove some"), "t:1: expected `all`, found `some`");
        assert_eq!(error("mc_mgrp_create 1 2"), "t:1: unexpected `2`");
    }
}
