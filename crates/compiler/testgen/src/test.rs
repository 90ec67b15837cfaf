//! A test: what the control plane sets, a packet, and what must come of it.

use std::fmt::Write as _;

use hopwright_interp::{ControlError, Digest, Interp, Output};
use hopwright_ir::meter::Rates;
use hopwright_ir::{
    ActionCall, EntryTarget, ExternId, MatchForm, MatchValue, Pipeline, TableEntry, TableId, ValueSetId,
};
use num_bigint::BigUint;

use crate::inputs::{self, DIRECT};

/// A packet test.
#[derive(Clone, Debug, Default)]
pub struct Test {
    /// Entries, in the order in which they are inserted.
    pub entries: Vec<(TableId, TableEntry)>,
    /// Default actions.
    pub defaults: Vec<(TableId, ActionCall)>,
    /// The only member of each value set that has one.
    pub members: Vec<(ValueSetId, Vec<MatchValue>)>,
    /// Cells of registers.
    pub registers: Vec<(ExternId, u64, BigUint)>,
    /// Rates of meters' cells.
    pub meters: Vec<(ExternId, u64, Rates)>,
    /// Rates of the direct meters of entries, by their number in `entries`.
    pub entry_meters: Vec<(usize, Rates)>,
    /// Clone sessions.
    pub sessions: Vec<u32>,
    /// Multicast groups.
    pub groups: Vec<u16>,
    /// The port at which the packet arrives.
    pub port: u16,
    /// The packet.
    pub packet: Vec<u8>,
    /// What must leave, in order.
    pub expected: Vec<Expected>,
    /// Digests that must be sent, in order; not compared if one of their values is left to chance.
    pub digests: Vec<Digest>,
    /// The points that no test before it reaches, by their number.
    pub reaches: Vec<usize>,
    /// It only passes where the packet arrives at time zero, as with the runner of packet tests.
    pub at_zero: bool,
}

/// A packet that must leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// By which port.
    pub port: u16,
    /// The packet.
    pub bytes: Vec<u8>,
    /// The digits, two for each byte, that time or chance decides.
    pub open: Vec<bool>,
}

/// The rates with which a meter has a colour at once: every packet is beyond a rate of nothing.
pub(crate) fn rates(color: u8) -> Option<Rates> {
    match color {
        1 => Some(Rates { cir: 0, cburst: 0, pir: 1_000_000, pburst: 1_000_000 }),
        2 => Some(Rates { cir: 0, cburst: 0, pir: 0, pburst: 0 }),
        _ => None,
    }
}

impl Test {
    /// Takes the meters of a run over.
    pub(crate) fn set_color(&mut self, meter: u32, index: u64, color: u8) {
        let Some(rates) = rates(color) else { return };
        if index == DIRECT {
            let numbers = (0..self.entries.len()).filter(|at| self.entries[*at].0.0 == meter);
            self.entry_meters.extend(numbers.map(|at| (at, rates)));
        } else {
            self.meters.push((ExternId(meter), index, rates));
        }
    }

    /// Sets a switch up as the test wants it.
    ///
    /// # Errors
    /// The program refuses a part of it.
    pub fn set_up(&self, interp: &mut Interp) -> Result<(), ControlError> {
        let pipeline = interp.pipeline().clone();
        for (member, (table, entry)) in (1..).zip(&self.entries) {
            match pipeline[*table].implementation {
                Some(profile) => {
                    interp.store.insert_member(profile, member, entry.action.clone())?;
                    let target = EntryTarget::Member(member);
                    interp.store.insert_target(*table, entry.matches.clone(), entry.priority, target)?;
                }
                None => interp.store.insert(*table, entry.clone())?,
            }
        }
        for (table, action) in &self.defaults {
            interp.store.set_default(*table, Some(action.clone()))?;
        }
        for (set, member) in &self.members {
            interp.store.set_value_set(*set, vec![member.clone()])?;
        }
        for (register, index, value) in &self.registers {
            interp.store.set_register(*register, *index, value.clone())?;
        }
        for (meter, index, rates) in &self.meters {
            interp.store.set_meter(*meter, *index, Some(*rates))?;
        }
        for (at, rates) in &self.entry_meters {
            let (table, entry) = &self.entries[*at];
            interp.store.set_direct_meter(*table, &entry.matches, entry.priority, Some(*rates))?;
        }
        for session in &self.sessions {
            interp.store.traffic.sessions.insert(*session, inputs::session(*session));
        }
        for group in &self.groups {
            interp.store.traffic.groups.insert(*group, inputs::replicas(*group).to_vec());
        }
        Ok(())
    }

    /// Expects what the interpreter sent. What another run at another time, with other random numbers, sent differently is left open.
    /// Returns false if the runs differ in more than digits.
    pub(crate) fn expect(&mut self, output: &Output, again: &Output) -> bool {
        let same = |a: &Output, b: &Output| {
            a.sent.len() == b.sent.len()
                && a.sent.iter().zip(&b.sent).all(|(a, b)| a.port == b.port && a.bytes.len() == b.bytes.len())
                && a.digests.len() == b.digests.len()
        };
        if !same(output, again) {
            return false;
        }
        let open = |a: &[u8], b: &[u8]| {
            let halves = |x: u8, y: u8| [x >> 4 != y >> 4, x & 15 != y & 15];
            a.iter().zip(b).flat_map(|(x, y)| halves(*x, *y)).collect()
        };
        self.expected = (output.sent.iter().zip(&again.sent))
            .map(|(sent, other)| Expected {
                port: sent.port,
                bytes: sent.bytes.clone(),
                open: open(&sent.bytes, &other.bytes),
            })
            .collect();
        self.digests = if output.digests == again.digests { output.digests.clone() } else { Vec::new() };
        true
    }

    /// The test as an STF file (`docs/stf.md`). `comment` and `first` come first: lines of comments, and lines of set-up.
    pub fn to_stf(&self, pipeline: &Pipeline, comment: &str, first: &str) -> String {
        let mut text = String::new();
        for line in comment.lines() {
            let _ = writeln!(text, "# {line}");
        }
        text.push_str(first);
        for (at, (id, entry)) in self.entries.iter().enumerate() {
            let table = &pipeline[*id];
            let mut keys = String::new();
            for (key, value) in table.keys.iter().zip(&entry.matches).filter(|(key, _)| key.kind.is_matched()) {
                if key.kind.any(key.expr.ty.width()).as_ref() != Some(value) {
                    let _ = write!(keys, " {}:{}", name(&key.name), match_text(value, key.kind.form()));
                }
            }
            let priority = if table.has_priority() { format!(" {}", entry.priority) } else { String::new() };
            let member = at + 1;
            let action = match table.implementation {
                Some(profile) => {
                    let profile = name(&pipeline[profile].name);
                    let _ = writeln!(text, "member_add {profile} {member} {}", call(pipeline, &entry.action));
                    format!("-> member {member}")
                }
                None => call(pipeline, &entry.action),
            };
            let _ = writeln!(text, "add {}{priority}{keys} {action} = e{member}", name(&table.name));
        }
        for (table, action) in &self.defaults {
            let _ = writeln!(text, "setdefault {} {}", name(&pipeline[*table].name), call(pipeline, action));
        }
        for (set, member) in &self.members {
            let values: Vec<String> = member.iter().map(|value| match_text(value, MatchForm::Value)).collect();
            let _ = writeln!(text, "value_set_write {} {}", name(&pipeline[*set].name), values.join(","));
        }
        for (register, index, value) in &self.registers {
            let _ = writeln!(text, "register_write {} {index} {value:#x}", name(&pipeline[*register].name));
        }
        let rate = |rates: &Rates| {
            let whole = |rate: u64| rate / 1_000_000;
            format!("{}:{} {}:{}", whole(rates.cir), rates.cburst, whole(rates.pir), rates.pburst)
        };
        for (meter, index, rates) in &self.meters {
            let _ = writeln!(text, "meter_set_rates {} {index} {}", name(&pipeline[*meter].name), rate(rates));
        }
        for (at, rates) in &self.entry_meters {
            if let Some(meter) = pipeline[self.entries[*at].0].direct_meter {
                let _ = writeln!(text, "meter_set_rates {} $e{} {}", name(&pipeline[meter].name), at + 1, rate(rates));
            }
        }
        for session in &self.sessions {
            let _ = writeln!(text, "mirroring_add {session} {}", inputs::session_port(*session));
        }
        let mut node = 0;
        for group in &self.groups {
            let _ = writeln!(text, "mc_mgrp_create {group}");
            for replica in inputs::replicas(*group) {
                let _ = writeln!(text, "mc_node_create {} {}", replica.rid, replica.port);
                let _ = writeln!(text, "mc_node_associate {group} {node}");
                node += 1;
            }
        }
        let _ = writeln!(text, "packet {} {}", self.port, hex(&self.packet, &[]));
        for expected in &self.expected {
            let _ = writeln!(text, "expect {} {} $", expected.port, hex(&expected.bytes, &expected.open));
        }
        if self.expected.is_empty() {
            text.push_str("no_packet\n");
        }
        for digest in &self.digests {
            let values: Vec<String> = digest.data.iter().map(|value| format!(" {:#x}", value.bits)).collect();
            let _ = writeln!(text, "expect_digest {}{}", digest.name, values.concat());
        }
        text
    }
}

/// A name in an STF file: in quotes if it has characters that end names.
pub(crate) fn name(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_$.[]".contains(c);
    if name.chars().all(plain) { name.to_string() } else { format!("\"{name}\"") }
}

fn call(pipeline: &Pipeline, call: &ActionCall) -> String {
    let action = &pipeline[call.action];
    let arguments = action.params.iter().zip(&call.args).map(|(p, value)| format!("{}:{value:#x}", name(&p.name)));
    format!("{}({})", name(&action.name), arguments.collect::<Vec<_>>().join(", "))
}

fn match_text(value: &MatchValue, form: MatchForm) -> String {
    match value {
        MatchValue::Lpm { value, prefix_len } => format!("{value:#x}/{prefix_len}"),
        MatchValue::Ternary { value, mask } => format!("{value:#x}&&&{mask:#x}"),
        MatchValue::Range { lo, hi } => format!("{lo:#x}..{hi:#x}"),
        MatchValue::Exact(value) | MatchValue::Optional(Some(value)) if form == MatchForm::Mask => format!("{value}"),
        MatchValue::Exact(value) | MatchValue::Optional(Some(value)) => format!("{value:#x}"),
        MatchValue::Optional(None) => "0".into(),
    }
}

fn hex(bytes: &[u8], open: &[bool]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).enumerate();
    digits
        .map(
            |(at, digit)| {
                if open.get(at) == Some(&true) { '*' } else { char::from_digit(digit.into(), 16).unwrap_or('*') }
            },
        )
        .collect()
}
