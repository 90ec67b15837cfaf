//! The syntax of test files (`docs/stf.md`): lines to commands.
//!
//! Keywords are case-insensitive and only recognised as a line's first word; `#` starts a comment.

mod line;
mod value;

use std::fmt;

use hopwright_ir::meter::Rates;
use num_bigint::BigUint;

use crate::StfError;
use line::Line;
pub use value::address;

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
    /// `no_packet PORT`: nothing leaves this port but what is expected there.
    NoPacketAt(u16),
    /// `wait`: nothing to wait for here.
    Wait,
    /// `tofino_model`: from here on, as tests for the model of a Tofino expect.
    TofinoModel,
    /// `ghost run QUEUE:LENGTH…`: what the traffic manager of a Tofino 2 reports.
    Ghost(Vec<(u16, u32)>),
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
    /// `check_register NAME(INDEX)[[HI:LO]] OP NUMBER`: register, index, bits of the cell, and what must hold.
    CheckRegister(String, u64, Option<(u32, u32)>, Comparison, Number),
    /// `mirroring_add SESSION PORT [LENGTH]`.
    MirrorPort(u32, u16, Option<u32>),
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
    ExpectDigest(String, Vec<Number>),
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
    /// `VALUE&&&MASK`.
    Mask(Number, Number),
}

/// A number whose hexadecimal or binary digits may be `*`, or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// `*` digits count as zero.
    pub value: BigUint,
    /// Ones where digits were written that are not `*`; `None` for decimal numbers and addresses.
    pub mask: Option<BigUint>,
    /// How many of the lowest bits are `*` digits without a gap.
    pub trailing_stars: u32,
    /// The width in bits of the address that was written; `None` for numbers.
    pub address: Option<u32>,
}

/// An action with named arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionSpec {
    /// Action name.
    pub name: String,
    /// Parameter names and values.
    pub args: Vec<(String, Number)>,
}

/// Which cell of a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CounterIndex {
    /// A number.
    Index(u64),
    /// The entry that an `add` named.
    Entry(String),
}

/// How a counter or register is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==` or `=`
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

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::AtMost => "<=",
            Comparison::Below => "<",
            Comparison::AtLeast => ">=",
            Comparison::Above => ">",
        })
    }
}

impl Comparison {
    /// Whether `found` compares so with `wanted`.
    pub fn holds<T: PartialOrd>(self, found: &T, wanted: &T) -> bool {
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
    for (number, line) in lines(text) {
        match parse_line(&line) {
            Ok(Some(command)) => commands.push((number, command)),
            Ok(None) => {}
            Err(message) => errors.push(StfError { file: file.to_string(), line: number, message }),
        }
    }
    if errors.is_empty() { Ok(Script { file: file.to_string(), commands }) } else { Err(errors) }
}

/// The lines of a file with their numbers (from 1). A backslash continues a line in the next one; both have the number of the first.
pub(crate) fn lines(text: &str) -> Vec<(u32, String)> {
    let (mut lines, mut before, mut first) = (Vec::new(), String::new(), None);
    let last = text.lines().count();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(part) = line.trim_end().strip_suffix('\\').filter(|_| number < last) {
            before.push_str(part);
            first.get_or_insert(number);
            continue;
        }
        lines.push((first.take().unwrap_or(number) as u32, std::mem::take(&mut before) + line));
    }
    lines
}

type Parsed<T> = Result<T, String>;

/// A text that is no match, number or packet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct TextError {
    /// What is wrong.
    pub reason: String,
}

/// Parses what a key must match, as in a line `add`: `7`, `0x8**`, `10.0.0.1`, `10.0.0.0/8`, `1..5`, `0x1200&&&0xff00`.
///
/// # Errors
/// What is wrong.
pub fn parse_match(text: &str) -> Result<MatchSpec, TextError> {
    whole(text, Line::match_spec)
}

/// Parses a number (decimal, `0x`, `0b`), an IPv4 or IPv6 address, or a MAC address.
///
/// # Errors
/// What is wrong.
pub fn parse_value(text: &str) -> Result<BigUint, TextError> {
    whole(text, Line::value)
}

/// Parses the bytes of a packet: hexadecimal digits with blanks anywhere.
///
/// # Errors
/// What is wrong.
pub fn parse_bytes(text: &str) -> Result<Vec<u8>, TextError> {
    whole(text, Line::bytes)
}

/// Reads all of a text.
fn whole<'a, T>(text: &'a str, read: impl FnOnce(&mut Line<'a>) -> Parsed<T>) -> Result<T, TextError> {
    let mut line = Line { rest: text };
    let value = read(&mut line).map_err(|reason| TextError { reason })?;
    match line.skip() {
        "" => Ok(value),
        rest => Err(TextError { reason: format!("`{rest}` is left over") }),
    }
}

/// Says of an unknown command which other notation of entries it belongs to, if it is one.
fn unknown(keyword: &str, rest: &str) -> String {
    let other = if keyword.starts_with("table_") || keyword.starts_with("act_prof_") {
        ": files of `simple_switch_CLI` are for `--entries` of `hopwright run`"
    } else if keyword.contains('=') && rest.contains("=>") {
        ": lines of `hopwright table show` are for `hopwright table load`"
    } else {
        ""
    };
    format!("unknown command `{keyword}`{other}")
}

fn parse_line(line: &str) -> Parsed<Option<Command>> {
    let line = line.split('#').next().unwrap_or("").trim();
    let line = line.strip_suffix(';').unwrap_or(line);
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
        "no_packet" => match line.skip() {
            "" => Command::NoPacket,
            _ => Command::NoPacketAt(line.small("port")?),
        },
        "wait" => {
            // Other runners take a time; there is nothing to wait for.
            line.rest = "";
            Command::Wait
        }
        "ghost" => line.ghost()?,
        "tofino_model" => Command::TofinoModel,
        "remove" => match line.word().to_ascii_lowercase().as_str() {
            "all" => Command::RemoveAll,
            other => return Err(format!("expected `all`, found `{other}`")),
        },
        "check_counter" => line.check_counter()?,
        "check_register" => line.check_register()?,
        "mirroring_add" => Command::MirrorPort(line.small("session")?, line.small("port")?, line.length()?),
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
        _ => return Err(unknown(&keyword, line.rest)),
    };
    match line.skip() {
        "" => Ok(Some(command)),
        rest => Err(format!("unexpected `{rest}`")),
    }
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
        let ten = Number { address: Some(32), ..BigUint::from(0x0a00_0001u32).into() };
        let args = [("val".into(), BigUint::from(0x25u32).into()), ("p".into(), ten)];
        assert_eq!(add.action, ActionSpec { name: "c.act1".into(), args: args.into() });
    }

    #[test]
    fn arguments_may_be_addresses() {
        let arg = |text: &str| value::parse_value(text).unwrap().value;
        assert_eq!(arg("02:00:00:00:00:0a"), 0x0200_0000_000au64.into());
        assert_eq!(arg("fd00::1"), BigUint::from(0xfd00u32) << 112 | BigUint::from(1u32));
        assert_eq!(arg("0b101"), 5u32.into());
        assert_eq!(error("register_write r 0 0x1*"), "t:1: `*` digits are not possible here");
    }

    #[test]
    fn values_are_numbers_or_addresses_in_every_place() {
        let matches = |line: &str| match one(line) {
            Command::Add(add) => add.matches.into_iter().map(|(_, spec)| spec).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        let number = |text| value::parse_value(text).unwrap();
        let address = |text, width| Number { address: Some(width), ..number(text).value.into() };
        let line = "add t a:10.0.0.0/8 b:10.0.0.1..10.0.0.9 c:0x1200&&&0xff00 d:02:00:00:0:0:1 e:fd00::1/64 \
                    f: 10.1.0.0 &&& 255.255.0.0 g:2:0:0:0:0:0&&&ff:ff:0:0:0:0 x()";
        assert_eq!(
            matches(line),
            [
                MatchSpec::Prefix(address("0x0a000000", 32), 8),
                MatchSpec::Range(address("0x0a000001", 32), address("0x0a000009", 32)),
                MatchSpec::Mask(number("0x1200"), number("0xff00")),
                MatchSpec::Number(address("0x020000000001", 48)),
                MatchSpec::Prefix(address("0xfd000000000000000000000000000001", 128), 64),
                MatchSpec::Mask(address("0x0a010000", 32), address("0xffff0000", 32)),
                MatchSpec::Mask(address("0x020000000000", 48), address("0xffff00000000", 48)),
            ]
        );
        assert_eq!(one("register_write r 0 10.0.0.1"), Command::RegisterWrite("r".into(), 0, 0x0a00_0001u32.into()));
        assert_eq!(one("expect_digest d 2:0:0:0:0:1"), {
            Command::ExpectDigest("d".into(), vec![address("0x020000000001", 48)])
        });
        assert_eq!(error("add t a:10.0.0 x()"), "t:1: `10.0.0` is no address");
        assert_eq!(error("add t a:1:2:3 x()"), "t:1: `1:2:3` is no address");
        assert_eq!(error("add t a:10.0.*.1 x()"), "t:1: `10.0.*.1` is no address");
        assert_eq!(error("add t a:1&&&0x1* x(v:1*)"), "t:1: `1*` is no number");
    }

    #[test]
    fn entries_have_names_with_or_without_a_dollar() {
        for line in ["add t k:1 a() = e", "add t k:1 a() = $e", "add t k:1 a()=$e"] {
            let Command::Add(add) = one(line) else { panic!("no entry") };
            assert_eq!(add.name.as_deref(), Some("e"), "{line}");
        }
        let index = CounterIndex::Entry("e".into());
        let (counter, check) = ("c".to_string(), Some((Comparison::Equal, 2)));
        assert_eq!(
            one("check_counter c($e) packets == 2"),
            Command::CheckCounter { counter, index, bytes: false, check }
        );
    }

    #[test]
    fn registers_are_compared() {
        let wanted = Number::from(BigUint::from(1u32) << 100);
        assert_eq!(one("check_register i.r(7) >= 0x10000000000000000000000000"), {
            Command::CheckRegister("i.r".into(), 7, None, Comparison::AtLeast, wanted)
        });
        assert_eq!(error("check_register r(7)"), {
            "t:1: expected `==`, `!=`, `<=`, `<`, `>=` or `>` at the end of the line"
        });
        assert_eq!(error("check_register r 7 == 1"), "t:1: expected `(` before `7 == 1`");
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
        assert_eq!((one("no_packet"), one("no_packet 4")), (Command::NoPacket, Command::NoPacketAt(4)));
        assert_eq!(one("expect 4 $"), {
            Command::Expect { port: 4, pattern: Some(Pattern { nibbles: vec![], exact: true }) }
        });
    }

    #[test]
    fn value_sets_and_digests() {
        let number = |text| MatchSpec::Number(value::parse_value(text).unwrap());
        let range = MatchSpec::Range(value::parse_value("1").unwrap(), value::parse_value("4").unwrap());
        let members = vec![
            vec![number("0x8*"), range],
            vec![number("3"), MatchSpec::Prefix(value::parse_value("0").unwrap(), 2)],
        ];
        assert_eq!(one("value_set_write p.set 0x8*,1..4 3, 0/2"), Command::ValueSet("p.set".into(), members));
        assert_eq!(one("value_set_write p.set"), Command::ValueSet("p.set".into(), Vec::new()));
        let values = [1u32, 0xff].map(|value| Number::from(BigUint::from(value))).to_vec();
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
    fn what_tests_for_tofino_write_otherwise() {
        let Command::Add(add) = one("add t k:1 a(x:1 y:2, z:3);") else { panic!("no entry") };
        let args: Vec<_> = add.action.args.iter().map(|(name, value)| (name.as_str(), value.value.clone())).collect();
        assert_eq!(args, [("x", 1u32.into()), ("y", 2u32.into()), ("z", 3u32.into())]);
        assert_eq!(
            one("check_register r(7) lo = 0xff"),
            Command::CheckRegister("r".into(), 7, None, Comparison::Equal, BigUint::from(255u32).into())
        );
        assert_eq!(
            one("check_register r(7) lo[127:64] = 0xff"),
            Command::CheckRegister("r".into(), 7, Some((127, 64)), Comparison::Equal, BigUint::from(255u32).into())
        );
        assert_eq!(error("check_register r(7)[3:4] = 1"), "t:1: the higher bit comes first");
        assert_eq!(one("ghost run 0x333:11000 1:3"), Command::Ghost(vec![(0x333, 11_000), (1, 3)]));
        assert_eq!(error("ghost run 1 3"), "t:1: expected `:` before `3`");
        let expected = "t:1: expected `==`, `!=`, `<=`, `<`, `>=` or `>`";
        assert_eq!(error("check_register r(7)"), format!("{expected} at the end of the line"));
        assert_eq!(error("check_register r(7) hi = 1"), format!("{expected} before `hi = 1`"));
        let script = parse("t", "wait\npacket 1 \\\n01 02 \\\n03\nwait").unwrap();
        let packet = Command::Packet { port: 1, bytes: vec![1, 2, 3] };
        assert_eq!(script.commands, [(1, Command::Wait), (2, packet), (5, Command::Wait)]);
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
        assert!(
            error("table_add t f 1 => 2")
                .ends_with("files of `simple_switch_CLI` are for `--entries` of `hopwright run`")
        );
        assert!(error("a=1 => f(x=2)").ends_with("are for `hopwright table load`"));
        assert_eq!(error("packet 1 0*"), "t:1: `*` is only for expected packets");
        assert_eq!(error("packet 70000 00"), "t:1: port 70000 is too great");
        assert_eq!(error("add t k:1 a(x:)"), "t:1: expected a number before `)`");
        assert_eq!(error("add t k:1 a(x:1"), "t:1: expected `,` at the end of the line");
        assert_eq!(error("remove some"), "t:1: expected `all`, found `some`");
        assert_eq!(error("mc_mgrp_create 1 2"), "t:1: unexpected `2`");
    }
}
