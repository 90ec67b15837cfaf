//! Runs a test: commands and packets in file order, comparison of what left at the end.

mod cells;
mod copies;
mod meters;

use std::collections::{BTreeMap, BTreeSet};

use hopwright_interp::{CloneSession, Digest, Value};
use hopwright_ir::{ExternId, ExternKind, Group, TableEntry, TableId};

use crate::engine::Engine;
use crate::error::LineError;
use crate::resolve;
use crate::script::{Add, Command, Number, Pattern, Script, TargetSpec};
use crate::{Processed, StfError};

/// Microseconds between packets.
const PACKET_INTERVAL_US: u64 = 1000;
/// The port at which the traffic manager of a Tofino 2 reports (`docs/tofino.md`).
const GHOST_PORT: u16 = 511;
/// The cell of a port in the register `loopback` that makes it lead out.
const LEADS_OUT: u32 = 1 << 14;

/// The outcome of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a test that failed is no error: see `Report::passed`"]
pub struct Report {
    /// Packets put in.
    pub packets: usize,
    /// Packets that left and were expected.
    pub matched: usize,
    /// What was not as expected, in the order of the file's lines; empty if the test passed.
    pub failures: Vec<StfError>,
    /// Values that lines print, and faults of packets.
    pub notes: Vec<String>,
}

impl Report {
    /// True if everything was as expected.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }
}

/// Runs a test.
///
/// # Errors
/// The first line that could not be carried out: unknown names, values that do not fit, what the engine refuses. Packets
/// and counters that are not as expected are no error but in the report.
pub fn run(script: &Script, engine: &mut dyn Engine) -> Result<Report, StfError> {
    let mut runner = Runner::new(script, engine);
    for (line, command) in &script.commands {
        runner.line = *line;
        runner.command(command)?;
    }
    runner.compare();
    let mut report = runner.report;
    report.failures.sort_by_key(|failure| failure.line);
    Ok(report)
}

/// Carries out the lines that set things up, and skips packets and what is expected.
///
/// # Errors
/// As [`run`].
pub fn configure(script: &Script, engine: &mut dyn Engine) -> Result<(), StfError> {
    let mut runner = Runner::new(script, engine);
    for (line, command) in &script.commands {
        runner.line = *line;
        match command {
            Command::Packet { .. } | Command::Expect { .. } | Command::NoPacket | Command::TofinoModel => {}
            Command::NoPacketAt(_) => {}
            Command::CheckCounter { .. } | Command::CheckRegister(..) | Command::ExpectDigest(..) => {}
            _ => runner.command(command)?,
        }
    }
    Ok(())
}

/// Carries out all lines; returns what became of each packet, with its line.
///
/// # Errors
/// As [`run`].
pub fn outputs(script: &Script, engine: &mut dyn Engine) -> Result<Vec<(u32, Processed)>, StfError> {
    let mut runner = Runner::new(script, engine);
    let mut outputs = Vec::new();
    for (line, command) in &script.commands {
        runner.line = *line;
        runner.command(command)?;
        if matches!(command, Command::Packet { .. }) {
            outputs.extend(runner.last.clone().map(|processed| (*line, processed)));
        }
    }
    Ok(outputs)
}

struct Expected<'a> {
    line: u32,
    pattern: Option<&'a Pattern>,
}

struct Runner<'a> {
    script: &'a Script,
    engine: &'a mut dyn Engine,
    line: u32,
    report: Report,
    /// Packets that left, by port.
    sent: BTreeMap<u16, Vec<Vec<u8>>>,
    expected: BTreeMap<u16, Vec<Expected<'a>>>,
    inputs: BTreeSet<u16>,
    last: Option<Processed>,
    /// The test is one for the model of a Tofino (`docs/stf.md`).
    tofino_model: bool,
    entries: BTreeMap<&'a str, (TableId, TableEntry)>,
    sessions: BTreeMap<u32, CloneSession>,
    nodes: Vec<(u16, Vec<u16>)>,
    groups: BTreeMap<u16, Vec<usize>>,
    /// Digests that were sent.
    digests: Vec<Digest>,
    expected_digests: Vec<(u32, &'a str, &'a [Number])>,
}

impl<'a> Runner<'a> {
    fn new(script: &'a Script, engine: &'a mut dyn Engine) -> Runner<'a> {
        Runner {
            script,
            engine,
            line: 0,
            report: Report::default(),
            sent: BTreeMap::new(),
            expected: BTreeMap::new(),
            inputs: BTreeSet::new(),
            last: None,
            tofino_model: false,
            entries: BTreeMap::new(),
            sessions: BTreeMap::new(),
            nodes: Vec::new(),
            groups: BTreeMap::new(),
            digests: Vec::new(),
            expected_digests: Vec::new(),
        }
    }

    fn at(&self, line: u32, message: impl Into<String>) -> StfError {
        StfError { file: self.script.file.clone(), line, message: message.into() }
    }

    fn fail(&mut self, line: u32, message: impl Into<String>) {
        let failure = self.at(line, message);
        self.report.failures.push(failure);
    }

    fn note(&mut self, text: impl std::fmt::Display) {
        self.report.notes.push(format!("{}:{}: {text}", self.script.file, self.line));
    }

    fn command(&mut self, command: &'a Command) -> Result<(), StfError> {
        self.carry_out(command).map_err(|error| self.at(self.line, error.to_string()))
    }

    fn carry_out(&mut self, command: &'a Command) -> Result<(), LineError> {
        match command {
            Command::Add(add) => self.add(add)?,
            Command::SetDefault { table, action } => {
                let pipeline = self.engine.pipeline();
                let table = resolve::table(pipeline, table)?;
                let action = resolve::action(pipeline, table, action)?;
                self.engine.set_default(table, action)?;
            }
            Command::Packet { port, bytes } => self.packet(*port, bytes)?,
            Command::Expect { port, pattern } => {
                let expected = Expected { line: self.line, pattern: pattern.as_ref() };
                self.expected.entry(*port).or_default().push(expected);
            }
            Command::NoPacket => {
                let sent = self.last.as_ref().map_or(0, |last| last.sent.len());
                if sent > 0 {
                    self.fail(self.line, format!("the packet before this brought forth {sent}"));
                }
            }
            Command::NoPacketAt(port) => {
                self.expected.entry(*port).or_default();
            }
            Command::Wait => {}
            Command::Ghost(queues) => {
                for (queue, length) in queues {
                    self.report_queue(*queue, *length)?;
                }
            }
            Command::TofinoModel => {
                self.tofino_model = true;
                self.lead_out()?;
            }
            Command::RemoveAll => {
                let pipeline = self.engine.pipeline();
                let tables = pipeline.tables.iter().enumerate().filter(|(_, t)| !t.const_entries);
                let tables: Vec<TableId> = tables.map(|(i, _)| TableId(i as u32)).collect();
                for table in tables {
                    self.engine.clear(table)?;
                }
                self.entries.clear();
            }
            Command::Member(change, profile, member, action) => {
                let profile = self.profile(profile)?;
                let pipeline = self.engine.pipeline();
                let action = action.as_ref().map(|a| resolve::member(pipeline, profile, a)).transpose()?;
                self.engine.change_member(*change, profile, *member, action)?;
            }
            Command::Group(change, selector, group, members) => {
                let selector = self.profile(selector)?;
                let to = Group { members: members.iter().copied().collect(), ..Group::default() };
                self.engine.change_group(*change, selector, *group, to)?;
            }
            Command::ValueSet(name, members) => {
                let (set, members) = resolve::value_set(self.engine.pipeline(), name, members)?;
                self.engine.set_value_set(set, members)?;
            }
            Command::KeySet(name, slot, value) => {
                let object = self.object(name, "object with keys", |k| matches!(k, ExternKind::Named { .. }))?;
                let bytes = value.to_bytes_be();
                let mut key = [0; 16];
                let start = key.len().checked_sub(bytes.len()).ok_or(LineError::LongKey)?;
                key[start..].copy_from_slice(&bytes);
                self.engine.set_key(object, *slot, &key)?;
            }
            Command::ExpectDigest(name, values) => self.expected_digests.push((self.line, name, values)),
            Command::MirrorPort(..)
            | Command::MirrorGroup(..)
            | Command::MirrorDelete(..)
            | Command::MirrorGet(..)
            | Command::GroupCreate(..)
            | Command::NodeCreate(..)
            | Command::NodeUpdate(..)
            | Command::NodeAssociate(..) => self.copies(command)?,
            Command::CheckCounter { .. }
            | Command::CheckRegister(..)
            | Command::CounterRead(..)
            | Command::CounterWrite(..)
            | Command::RegisterRead(..)
            | Command::RegisterWrite(..)
            | Command::RegisterReset(..) => self.cells(command)?,
            Command::MeterGet(..) | Command::MeterSet(..) | Command::MeterArraySet(..) | Command::FilterSet(..) => {
                self.meters(command)?
            }
        }
        Ok(())
    }

    /// Adds an entry. One for the model of a Tofino replaces the one with its matches, where entries have no priority.
    fn add(&mut self, add: &'a Add) -> Result<(), LineError> {
        if let Some(target) = &add.target {
            return self.add_target(add, target);
        }
        let pipeline = self.engine.pipeline();
        let (table, entry) = match self.tofino_model {
            true => resolve::entry(pipeline, &resolve::for_tofino(pipeline, add))?,
            false => resolve::entry(pipeline, add)?,
        };
        if let Some(name) = &add.name {
            self.entries.insert(name, (table, entry.clone()));
        }
        let replaces = self.tofino_model && !self.engine.pipeline()[table].has_priority();
        if replaces {
            let refused = self.engine.insert(table, entry.clone());
            refused.or_else(|refused| self.engine.modify(table, entry).map_err(|_| refused))?;
        } else {
            self.engine.insert(table, entry)?;
        }
        Ok(())
    }

    /// Adds an entry that leads to members of an action profile.
    fn add_target(&mut self, add: &'a Add, target: &TargetSpec) -> Result<(), LineError> {
        let pipeline = self.engine.pipeline();
        let (table, matches, priority) = resolve::place(pipeline, add)?;
        let target = resolve::target(pipeline, table, target)?;
        if let Some(name) = &add.name {
            // Later lines look only for its matches and priority.
            let action = pipeline[table].default_action.clone();
            self.entries.insert(name, (table, TableEntry { matches: matches.clone(), priority, action }));
        }
        Ok(self.engine.insert_target(table, matches, priority, target)?)
    }

    fn profile(&self, name: &str) -> Result<ExternId, LineError> {
        let is = |k: &ExternKind| matches!(k, ExternKind::ActionProfile { .. } | ExternKind::ActionSelector { .. });
        self.object(name, "action profile or selector", is)
    }

    fn packet(&mut self, port: u16, bytes: &[u8]) -> Result<(), LineError> {
        self.inputs.insert(port);
        let now_us = self.report.packets as u64 * PACKET_INTERVAL_US;
        self.report.packets += 1;
        let processed = match self.tofino_model {
            false => self.engine.process(port, bytes, now_us)?,
            true => {
                // Its least significant byte comes first (IEEE 802.3, 3.2.9).
                let sequence = hopwright_ir::hash::crc32(bytes).to_le_bytes();
                let mut processed = self.engine.process(port, &[bytes, &sequence].concat(), now_us)?;
                for (_, sent) in &mut processed.sent {
                    sent.truncate(sent.strip_suffix(&sequence).map_or(sent.len(), <[u8]>::len));
                }
                processed
            }
        };
        for (port, bytes) in &processed.sent {
            self.sent.entry(*port).or_default().push(bytes.clone());
        }
        self.digests.extend(processed.digests.iter().cloned());
        if let Some(fault) = &processed.fault {
            self.note(format_args!("packet dropped: {fault}"));
        }
        self.last = Some(processed);
        Ok(())
    }

    /// Lets the recirculation ports of a Tofino at which something is expected lead out.
    fn lead_out(&mut self) -> Result<(), LineError> {
        let Some(register) = self.engine.pipeline().extern_by_name("loopback") else { return Ok(()) };
        let ports = self.script.commands.iter().filter_map(|(_, command)| match command {
            Command::Expect { port, .. } => Some(*port),
            _ => None,
        });
        Ok(ports.map(u64::from).try_for_each(|port| self.engine.set_register(register, port, LEADS_OUT.into()))?)
    }

    /// What the traffic manager of a Tofino 2 says about a queue: `ghost_intrinsic_metadata_t`, in both halves of its time.
    fn report_queue(&mut self, queue: u16, length: u32) -> Result<(), LineError> {
        if queue >> 11 != 0 || length >> 18 != 0 {
            return Err(LineError::Queue);
        }
        let now_us = self.report.packets as u64 * PACKET_INTERVAL_US;
        for ping_pong in [0, 1] {
            let report: u32 = ping_pong << 31 | length << 13 | u32::from(queue) << 2;
            let processed = self.engine.process(GHOST_PORT, &report.to_be_bytes(), now_us)?;
            if let Some(fault) = &processed.fault {
                self.note(format_args!("report dropped: {fault}"));
            }
        }
        Ok(())
    }

    fn object(&self, name: &str, what: &str, right: impl Fn(&ExternKind) -> bool) -> Result<ExternId, LineError> {
        Ok(resolve::object(self.engine.pipeline(), name, what, right)?)
    }

    /// If digests are expected they must be those that were sent.
    fn compare_digests(&mut self) {
        let (sent, expected) = (std::mem::take(&mut self.digests), std::mem::take(&mut self.expected_digests));
        if expected.is_empty() {
            return;
        }
        // Values have the forms that they have in the line.
        let text = |digest: &Digest, forms: &[Number]| {
            let value = |(at, value): (usize, &Value)| {
                forms
                    .get(at)
                    .map_or_else(|| format!(" {:#x}", value.bits), |form| format!(" {}", form.text_of(&value.bits)))
            };
            digest.name.clone() + &digest.data.iter().enumerate().map(value).collect::<String>()
        };
        for (index, (line, name, values)) in expected.iter().enumerate() {
            match sent.get(index) {
                None => self.fail(*line, "no such digest"),
                Some(found)
                    if found.name != **name
                        || !found.data.iter().map(|v| &v.bits).eq(values.iter().map(|v| &v.value)) =>
                {
                    self.fail(*line, format!("the digest sent is {}", text(found, values)));
                }
                Some(_) => {}
            }
        }
        for surplus in sent.iter().skip(expected.len()) {
            self.fail(self.line, format!("digest not expected: {}", text(surplus, &[])));
        }
    }

    /// Per port the number of packets and their order must be as expected; a port that only takes packets must send
    /// none; what goes to a port that the file does not name is lost.
    fn compare(&mut self) {
        self.compare_digests();
        let ports: BTreeSet<u16> = self.inputs.iter().chain(self.expected.keys()).copied().collect();
        for port in ports {
            let expected = self.expected.remove(&port).unwrap_or_default();
            let sent = self.sent.remove(&port).unwrap_or_default();
            for (index, wanted) in expected.iter().enumerate() {
                match (sent.get(index), wanted.pattern) {
                    (None, _) => self.fail(wanted.line, format!("no such packet left port {port}")),
                    (Some(found), Some(pattern)) if !pattern.matches(found) => {
                        let found = hex(found);
                        let message = format!("port {port}: expected {pattern}\n    found    {found}");
                        self.fail(wanted.line, message);
                    }
                    (Some(_), _) => self.report.matched += 1,
                }
            }
            let anything = self.tofino_model && expected.iter().any(|wanted| wanted.pattern.is_none());
            for surplus in sent.iter().skip(expected.len()).filter(|_| !anything) {
                self.fail(self.line, format!("port {port}: not expected: {}", hex(surplus)));
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
