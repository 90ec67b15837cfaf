//! Reads the words of one line.

use hopwright_ir::meter::Rates;
use num_bigint::BigUint;

use super::value::{length, parse_value};
use super::{
    ActionSpec, Add, Change, Command, Comparison, CounterIndex, MatchSpec, Number, Parsed, Pattern, TargetSpec,
};

/// The rest of a line that is being read.
pub(super) struct Line<'a> {
    pub(super) rest: &'a str,
}

impl<'a> Line<'a> {
    /// Skips white space; gives what follows.
    pub(super) fn skip(&mut self) -> &'a str {
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
    pub(super) fn words(&mut self) -> String {
        let words = self.skip().trim_end().to_string();
        self.rest = "";
        words
    }

    /// Everything up to white space.
    pub(super) fn word(&mut self) -> &'a str {
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
    pub(super) fn name(&mut self) -> Parsed<String> {
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

    pub(super) fn value(&mut self) -> Parsed<BigUint> {
        Ok(self.plain()?.value)
    }

    /// A number all of whose digits count, or an address.
    fn plain(&mut self) -> Parsed<Number> {
        let number = self.number()?;
        match number.is_plain() {
            true => Ok(Number { mask: None, ..number }),
            false => Err("`*` digits are not possible here".into()),
        }
    }

    pub(super) fn small<T: TryFrom<BigUint>>(&mut self, what: &str) -> Parsed<T> {
        let value = self.value().map_err(|e| format!("{what}: {e}"))?;
        let text = value.to_string();
        T::try_from(value).map_err(|_| format!("{what} {text} is too great"))
    }

    /// A number or an address.
    fn number(&mut self) -> Parsed<Number> {
        let rest = self.skip();
        let (text, after) = rest.split_at(length(rest));
        if text.is_empty() {
            return Err(format!("expected a number{}", self.found()));
        }
        self.rest = after;
        parse_value(text)
    }

    pub(super) fn ports(&mut self) -> Parsed<Vec<u16>> {
        let mut ports = Vec::new();
        while !self.skip().is_empty() {
            ports.push(self.small("port")?);
        }
        Ok(ports)
    }

    /// A length at the end of a line, if there is one.
    pub(super) fn length(&mut self) -> Parsed<Option<u32>> {
        let absent = self.skip().is_empty();
        if absent { Ok(None) } else { self.small("length").map(Some) }
    }

    pub(super) fn add(&mut self) -> Parsed<Add> {
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
        let name = if self.eat("=") { Some(self.handle()?) } else { None };
        Ok(Add { table, priority, matches, action, target, name })
    }

    /// The name of an entry; other runners write a `$` before it.
    fn handle(&mut self) -> Parsed<String> {
        self.eat("$");
        self.name()
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

    pub(super) fn member(&mut self, change: Change) -> Parsed<Command> {
        let (profile, member) = (self.name()?, self.small("member")?);
        let action = if change == Change::Delete { None } else { Some(self.action()?) };
        Ok(Command::Member(change, profile, member, action))
    }

    pub(super) fn group(&mut self, change: Change) -> Parsed<Command> {
        let (profile, group) = (self.name()?, self.small("group")?);
        let mut members = Vec::new();
        while change != Change::Delete && !self.skip().is_empty() {
            let member = self.take_while(|c| c.is_ascii_digit());
            let member = member.parse().map_err(|_| format!("`{member}` is no member"))?;
            members.push((member, self.weight()?));
        }
        Ok(Command::Group(change, profile, group, members))
    }

    pub(super) fn value_set(&mut self) -> Parsed<Command> {
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

    /// A number that a colon may follow, which is part of an address elsewhere.
    fn digits<T: TryFrom<BigUint>>(&mut self, what: &str) -> Parsed<T> {
        let text = self.take_while(char::is_alphanumeric);
        let value = parse_value(text).map_err(|e| format!("{what}: {e}"))?.value;
        T::try_from(value).map_err(|_| format!("{what} {text} is too great"))
    }

    pub(super) fn ghost(&mut self) -> Parsed<Command> {
        self.expect("run")?;
        let mut queues = Vec::new();
        while !self.skip().is_empty() {
            let queue = self.digits("queue")?;
            self.expect(":")?;
            queues.push((queue, self.small("length")?));
        }
        Ok(Command::Ghost(queues))
    }

    pub(super) fn expect_digest(&mut self) -> Parsed<Command> {
        let name = self.name()?;
        let mut values = Vec::new();
        while !self.skip().is_empty() {
            values.push(self.plain()?);
        }
        Ok(Command::ExpectDigest(name, values))
    }

    /// A number, or the name of an entry.
    pub(super) fn cell(&mut self) -> Parsed<CounterIndex> {
        if self.skip().starts_with(|c: char| c.is_ascii_digit()) {
            Ok(CounterIndex::Index(self.small("index")?))
        } else {
            Ok(CounterIndex::Entry(self.handle()?))
        }
    }

    /// Committed and peak rate in packets or bytes per microsecond, each with its burst.
    pub(super) fn rates(&mut self) -> Parsed<Option<Rates>> {
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

    pub(super) fn match_spec(&mut self) -> Parsed<MatchSpec> {
        let value = self.number()?;
        if self.eat("/") {
            Ok(MatchSpec::Prefix(value, self.small("prefix length")?))
        } else if self.eat("..") {
            Ok(MatchSpec::Range(value, self.number()?))
        } else if self.eat("&&&") {
            Ok(MatchSpec::Mask(value, self.number()?))
        } else {
            Ok(MatchSpec::Number(value))
        }
    }

    pub(super) fn action(&mut self) -> Parsed<ActionSpec> {
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
            // Blanks separate arguments, too.
            if !args.is_empty() && !self.skip().starts_with(|c: char| c.is_alphabetic() || "_$\"".contains(c)) {
                self.expect(",")?;
            }
            let param = self.name()?;
            self.expect(":")?;
            args.push((param, self.plain()?));
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

    pub(super) fn bytes(&mut self) -> Parsed<Vec<u8>> {
        let nibbles = self.hex()?.into_iter().collect::<Option<Vec<u8>>>();
        let nibbles = nibbles.ok_or("`*` is only for expected packets")?;
        if nibbles.len() % 2 != 0 {
            return Err("an odd number of hexadecimal digits".into());
        }
        Ok(nibbles.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
    }

    pub(super) fn pattern(&mut self) -> Parsed<Option<Pattern>> {
        if self.skip().is_empty() {
            return Ok(None);
        }
        let nibbles = self.hex()?;
        let exact = self.eat("$");
        Ok(Some(Pattern { nibbles, exact }))
    }

    pub(super) fn check_counter(&mut self) -> Parsed<Command> {
        let counter = self.name()?;
        self.expect("(")?;
        let index = self.cell()?;
        self.expect(")")?;
        let bytes = self.eat("bytes");
        if !bytes {
            self.eat("packets");
        }
        let check = match self.comparison() {
            Some(comparison) => Some((comparison, self.small("count")?)),
            None => None,
        };
        Ok(Command::CheckCounter { counter, index, bytes, check })
    }

    pub(super) fn check_register(&mut self) -> Parsed<Command> {
        let register = self.name()?;
        self.expect("(")?;
        let index = self.small("index")?;
        self.expect(")")?;
        // p4c's tests for Tofino name the half of a cell; cells with one number have the low one.
        self.eat("lo");
        let bits = if self.eat("[") {
            let hi = self.digits("bit")?;
            self.expect(":")?;
            let lo = self.digits("bit")?;
            self.expect("]")?;
            Some((hi, lo)).filter(|(hi, lo)| hi >= lo).ok_or("the higher bit comes first")?;
            Some((hi, lo))
        } else {
            None
        };
        let Some(comparison) = self.comparison() else {
            return Err(format!("expected `==`, `!=`, `<=`, `<`, `>=` or `>`{}", self.found()));
        };
        Ok(Command::CheckRegister(register, index, bits, comparison, self.plain()?))
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let comparisons = [
            ("==", Comparison::Equal),
            ("=", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::AtMost),
            ("<", Comparison::Below),
            (">=", Comparison::AtLeast),
            (">", Comparison::Above),
        ];
        comparisons.into_iter().find(|(token, _)| self.eat(token)).map(|(_, comparison)| comparison)
    }
}
