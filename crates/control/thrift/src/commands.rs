//! Files of `simple_switch_CLI`'s commands, such as `table_add ipv4_lpm forward 10.0.0.0/8 => 1`.
//!
//! The commands that change a switch are executed; those that show something are skipped, because nobody would see it. Names may be
//! shortened to what follows a dot, numbers and addresses are written as for BMv2's tool.

use std::sync::Arc;

use hopwright_control::entity::Action;
use hopwright_control::{SharedModel, text};
use hopwright_dataplane::egress_queues::{DEEPEST, QUEUES as QUEUE_COUNT};
use hopwright_dataplane::{Count, QueueLimit};
use hopwright_ir::{ActionId, ExternKind, MatchForm, Pipeline, TableId};
use num_bigint::BigUint;

use crate::failure::Failure;
use crate::runtime::{MatchParam, MeterRate, Runtime};

/// A command that cannot be executed. Those before it have been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct CommandError {
    /// The file's name as it was given.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// Commands that show something.
const SHOWING: &[&str] = &[
    "act_prof_dump",
    "act_prof_dump_group",
    "act_prof_dump_member",
    "counter_read",
    "get_time_elapsed",
    "get_time_since_epoch",
    "greet",
    "help",
    "mc_dump",
    "meter_get_rates",
    "mirroring_get",
    "pvs_get",
    "register_read",
    "show_actions",
    "show_ports",
    "show_pvs",
    "show_tables",
    "switch_info",
    "table_dump",
    "table_dump_entry",
    "table_dump_entry_from_key",
    "table_dump_group",
    "table_dump_member",
    "table_info",
    "table_num_entries",
    "table_show_actions",
];

/// Commands that change something.
const CHANGING: &[&str] = &[
    "act_prof_add_member_to_group",
    "act_prof_create_group",
    "act_prof_create_member",
    "act_prof_delete_group",
    "act_prof_delete_member",
    "act_prof_modify_member",
    "act_prof_remove_member_from_group",
    "counter_reset",
    "counter_write",
    "mc_mgrp_create",
    "mc_mgrp_destroy",
    "mc_node_associate",
    "mc_node_create",
    "mc_node_destroy",
    "mc_node_dissociate",
    "mc_node_update",
    "mc_set_lag_membership",
    "meter_array_set_rates",
    "meter_set_rates",
    "mirroring_add",
    "mirroring_add_mc",
    "mirroring_delete",
    "pvs_add",
    "pvs_clear",
    "pvs_remove",
    "register_reset",
    "register_write",
    "reset_state",
    "table_add",
    "table_clear",
    "table_delete",
    "table_indirect_add",
    "table_indirect_add_with_group",
    "table_indirect_delete",
    "table_indirect_reset_default",
    "table_indirect_set_default",
    "table_modify",
    "table_reset_default",
    "table_set_default",
    "table_set_timeout",
];

/// Commands that a file cannot have, because no switch runs yet or the switch has nothing like it.
const REFUSED: &[&str] = &[
    "load_new_config_file",
    "port_add",
    "port_remove",
    "serialize_state",
    "set_crc16_parameters",
    "set_crc32_parameters",
    "set_toeplitz_hash_key",
    "shell",
    "swap_configs",
    "table_indirect_set_default_with_group",
    "write_config_to_file",
];

/// Commands that limit the queues of ports.
const QUEUES: &[&str] = &["set_queue_depth", "set_queue_rate"];

/// Commands of old versions, which name a table instead of its action profile.
const OLD: &[&str] = &[
    "table_indirect_add_member_to_group",
    "table_indirect_create_group",
    "table_indirect_create_member",
    "table_indirect_delete_group",
    "table_indirect_delete_member",
    "table_indirect_modify_member",
    "table_indirect_remove_member_from_group",
];

/// Whether a text consists of commands: the first word of every line is one.
pub fn are(text: &str) -> bool {
    let mut words = lines(text).filter_map(|(_, line)| line.split_whitespace().next()).peekable();
    words.peek().is_some()
        && words.all(|word| [SHOWING, CHANGING, REFUSED, QUEUES, OLD].iter().any(|list| list.contains(&word)))
}

/// Executes the commands of a text. Handles are of entries that the model has, and then of those that the commands add.
///
/// # Errors
/// At the first command that is wrong or refused, as are those for queues.
pub fn execute(file: &str, text: &str, model: &SharedModel) -> Result<(), CommandError> {
    execute_with_queues(file, text, model, &mut |_, _, _| Err("there are no queues of ports here".into()))
}

/// As [`execute`], on a switch with queues. `limit` limits the queue of a priority, or each, of a port, or of all ports.
///
/// # Errors
/// At the first command that is wrong or refused.
pub fn execute_with_queues(
    file: &str,
    text: &str,
    model: &SharedModel,
    limit: &mut dyn FnMut(Option<u32>, Option<u8>, QueueLimit) -> Result<(), String>,
) -> Result<(), CommandError> {
    let mut runtime = Runtime::new(model.clone());
    for (line, command) in lines(text) {
        let mut words = command.split_whitespace();
        let Some(name) = words.next() else { continue };
        let args: Vec<&str> = words.collect();
        let done = match name {
            _ if SHOWING.contains(&name) => Ok(()),
            _ if REFUSED.contains(&name) => wrong(format!("`{name}` is not possible in a file")),
            _ if QUEUES.contains(&name) => queue_limit(name, &args).and_then(|(port, priority, value)| {
                limit(port, priority, value).map_err(|e| Wrong(format!("`{name}`: {e}")))
            }),
            _ if OLD.contains(&name) => execute_old(&mut runtime, name, &args),
            _ => Command { runtime: &mut runtime, args: &args }.execute(name),
        };
        done.map_err(|Wrong(message)| CommandError { file: file.into(), line, message })?;
    }
    Ok(())
}

/// The lines with something else than comments, with their numbers. Files of BMv2's users have both kinds of comments.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let content = |(at, line): (usize, _)| (at + 1, str::trim(line));
    let is_comment = |line: &str| line.starts_with('#') || line.starts_with("//");
    text.lines().enumerate().map(content).filter(move |(_, line)| !line.is_empty() && !is_comment(line))
}

/// What is wrong with a command.
struct Wrong(String);

impl From<Failure> for Wrong {
    fn from(failure: Failure) -> Wrong {
        Wrong(failure.to_string())
    }
}

type Done<T = ()> = Result<T, Wrong>;

fn wrong<T>(reason: impl Into<String>) -> Done<T> {
    Err(Wrong(reason.into()))
}

/// The port, the priority and the limit of a command for queues: `set_queue_rate RATE [PORT [PRIORITY]]`.
fn queue_limit(name: &str, args: &[&str]) -> Done<(Option<u32>, Option<u8>, QueueLimit)> {
    let number = |at: usize| match args.get(at).map(|text| (text, text.parse::<u32>())) {
        None => Ok(None),
        Some((_, Ok(number))) => Ok(Some(number)),
        Some((text, Err(_))) => wrong(format!("`{name}`: `{text}` is no number")),
    };
    let (Some(value), port, priority) = (number(0)?, number(1)?, number(2)?) else {
        return wrong(format!("`{name}` needs a number of packets"));
    };
    let limit = match name {
        "set_queue_rate" => QueueLimit::Rate(value.into()),
        _ if value <= DEEPEST => QueueLimit::Depth(value),
        _ => return wrong(format!("a queue has 0 to {DEEPEST} packets, not {value}")),
    };
    let known = |priority: u32| u8::try_from(priority).ok().filter(|priority| usize::from(*priority) < QUEUE_COUNT);
    match priority.map(|priority| known(priority).ok_or(priority)).transpose() {
        Ok(priority) => Ok((port, priority, limit)),
        Err(priority) => wrong(format!("there is no priority {priority}, only 0 to {}", QUEUE_COUNT - 1)),
    }
}

/// Executes a command that names a table instead of its action profile.
fn execute_old(runtime: &mut Runtime, name: &str, args: &[&str]) -> Done {
    let pipeline = runtime.pipeline().clone();
    let mut args = args.to_vec();
    let Some(table) = args.first_mut() else { return wrong("the command needs a table") };
    let profile = pipeline.table_by_name(table).and_then(|at| pipeline[at].implementation);
    *table = match profile {
        Some(profile) => &pipeline[profile].name,
        None => return wrong(format!("the program has no table `{table}` with an action profile")),
    };
    let name = name.replacen("table_indirect", "act_prof", 1);
    Command { runtime, args: &args }.execute(&name)
}

struct Command<'a> {
    runtime: &'a mut Runtime,
    args: &'a [&'a str],
}

impl<'a> Command<'a> {
    fn execute(mut self, name: &str) -> Done {
        match name {
            "table_add" => self.table_add(),
            "table_set_default" => {
                let (table, action) = (self.arg(0)?, self.arg(1)?);
                let data = self.data(self.action_of_table(table, action)?, &self.args[2..])?;
                Ok(self.runtime.set_default_action(table, action, &data)?)
            }
            "table_modify" => {
                let (table, action, handle) = (self.arg(0)?, self.arg(1)?, self.number(2)?);
                let rest = self.args[3..].strip_prefix(&["=>"]).unwrap_or(&self.args[3..]);
                let data = self.data(self.action_of_table(table, action)?, rest)?;
                Ok(self.runtime.modify_entry(table, handle, action, &data)?)
            }
            "table_delete" => Ok(self.runtime.delete_entry(self.arg(0)?, self.number(1)?, false)?),
            "table_clear" => Ok(self.runtime.clear_entries(self.arg(0)?, false)?),
            "table_reset_default" => Ok(self.runtime.reset_default_entry(self.arg(0)?, false)?),
            "table_set_timeout" => {
                Ok(self.runtime.set_entry_timeout(self.arg(0)?, self.number(1)?, self.number(2)?, false)?)
            }
            "table_indirect_add" => self.table_indirect_add(Action::Member),
            "table_indirect_add_with_group" => self.table_indirect_add(Action::Group),
            "table_indirect_delete" => Ok(self.runtime.delete_entry(self.arg(0)?, self.number(1)?, true)?),
            "table_indirect_set_default" => Ok(self.runtime.set_default_member(self.arg(0)?, self.number(1)?)?),
            "table_indirect_reset_default" => Ok(self.runtime.reset_default_entry(self.arg(0)?, true)?),
            _ => self.other(name),
        }
    }

    fn other(self, name: &str) -> Done {
        match name {
            "act_prof_create_member" => {
                let (profile, action) = (self.arg(0)?, self.arg(1)?);
                let data = self.data(self.action_of_profile(profile, action)?, &self.args[2..])?;
                self.runtime.add_member(profile, action, &data)?;
            }
            "act_prof_modify_member" => {
                let (profile, action, member) = (self.arg(0)?, self.arg(1)?, self.number(2)?);
                let rest = self.args[3..].strip_prefix(&["=>"]).unwrap_or(&self.args[3..]);
                let data = self.data(self.action_of_profile(profile, action)?, rest)?;
                self.runtime.modify_member(profile, member, action, &data)?;
            }
            "act_prof_delete_member" => self.runtime.delete_member(self.arg(0)?, self.number(1)?)?,
            "act_prof_create_group" => {
                self.runtime.create_group(self.arg(0)?)?;
            }
            "act_prof_delete_group" => self.runtime.delete_group(self.arg(0)?, self.number(1)?)?,
            "act_prof_add_member_to_group" => {
                self.runtime.add_member_to_group(self.arg(0)?, self.number(1)?, self.number(2)?)?;
            }
            "act_prof_remove_member_from_group" => {
                self.runtime.remove_member_from_group(self.arg(0)?, self.number(1)?, self.number(2)?)?;
            }
            "mc_mgrp_create" => {
                self.runtime.create_multicast_group(self.number(0)?)?;
            }
            "mc_mgrp_destroy" => self.runtime.destroy_multicast_group(self.number(0)?)?,
            "mc_node_create" => {
                let (ports, lags) = self.ports_and_lags()?;
                self.runtime.create_node(self.number(0)?, &ports, &lags)?;
            }
            "mc_node_update" => {
                let (ports, lags) = self.ports_and_lags()?;
                self.runtime.update_node(self.number(0)?, &ports, &lags)?;
            }
            "mc_node_associate" => self.runtime.associate_node(self.number(0)?, self.number(1)?)?,
            "mc_node_dissociate" => self.runtime.dissociate_node(self.number(0)?, self.number(1)?)?,
            "mc_node_destroy" => self.runtime.destroy_node(self.number(0)?)?,
            "mc_set_lag_membership" => {
                let lag = self.number(0)?;
                self.runtime.set_lag(lag, &map(&self.args[1..])?)?;
            }
            "mirroring_add" => self.runtime.set_mirroring(self.number(0)?, Some(self.number(1)?), None)?,
            "mirroring_add_mc" => self.runtime.set_mirroring(self.number(0)?, None, Some(self.number(1)?))?,
            "mirroring_delete" => self.runtime.delete_mirroring(self.number(0)?)?,
            "register_write" => {
                let value = self.arg(2)?.parse().map_err(|_| Wrong("the value is no number".into()))?;
                self.runtime.write_register(self.arg(0)?, self.number(1)?, value)?;
            }
            "register_reset" => self.runtime.reset_registers(self.arg(0)?)?,
            "counter_write" => {
                let count = Count { packets: self.number(2)? as u64, bytes: self.number(3)? as u64 };
                match self.table_of(self.arg(0)?) {
                    Some(table) => self.runtime.write_direct_counter(&table, self.number(1)?, count)?,
                    None => self.runtime.write_counter(self.arg(0)?, self.number(1)?, count)?,
                }
            }
            "counter_reset" => match self.table_of(self.arg(0)?) {
                Some(table) => self.runtime.reset_direct_counters(&table)?,
                None => self.runtime.reset_counters(self.arg(0)?)?,
            },
            "meter_set_rates" => {
                let (meter, index) = (self.arg(0)?, self.number(1)?);
                let rates = rates(&self.args[2..])?;
                match self.table_of(meter) {
                    Some(table) => self.runtime.set_direct_meter(&table, index, &rates)?,
                    None => self.runtime.set_meter(meter, index, &rates)?,
                }
            }
            "meter_array_set_rates" => {
                let meter = self.arg(0)?;
                self.runtime.set_meters(meter, &rates(&self.args[1..])?)?;
            }
            "pvs_add" => self.runtime.value_set_add(self.arg(0)?, &number(self.arg(1)?)?.to_bytes_be())?,
            "pvs_remove" => self.runtime.value_set_remove(self.arg(0)?, &number(self.arg(1)?)?.to_bytes_be())?,
            "pvs_clear" => self.runtime.value_set_clear(self.arg(0)?)?,
            "reset_state" => self.runtime.reset()?,
            "add" | "setdefault" | "packet" | "expect" => {
                return wrong(format!("`{name}` is of a packet test: `hopwright run --entries` takes its entries"));
            }
            _ => return wrong(format!("unknown command `{name}`")),
        }
        Ok(())
    }

    fn arg(&self, at: usize) -> Done<&'a str> {
        match self.args.get(at) {
            Some(arg) => Ok(*arg),
            None => wrong(format!("the command needs {} arguments or more, not {}", at + 1, self.args.len())),
        }
    }

    fn number(&self, at: usize) -> Done<i32> {
        let arg = self.arg(at)?;
        arg.parse().map_err(|_| Wrong(format!("`{arg}` is no number")))
    }

    fn pipeline(&self) -> Arc<Pipeline> {
        self.runtime.pipeline().clone()
    }

    fn table(&self, name: &str) -> Done<TableId> {
        let found = self.pipeline().table_by_name(name);
        found.ok_or_else(|| Wrong(format!("the program has no table `{name}`")))
    }

    fn action_of_table(&self, table: &str, action: &str) -> Done<ActionId> {
        let (pipeline, at) = (self.pipeline(), self.table(table)?);
        let matches = |full: &str| full == action || full.strip_suffix(action).is_some_and(|rest| rest.ends_with('.'));
        let mut listed = pipeline[at].actions.iter().map(|listed| listed.action);
        let found = listed.find(|id| matches(&pipeline[*id].name));
        found.ok_or_else(|| Wrong(format!("table `{table}` has no action `{action}`")))
    }

    fn action_of_profile(&self, profile: &str, action: &str) -> Done<ActionId> {
        let pipeline = self.pipeline();
        let at = pipeline.extern_by_name(profile);
        let mut tables = pipeline.tables.iter().filter(|table| table.implementation == at && at.is_some());
        let found = tables.find_map(|table| self.action_of_table(&table.name, action).ok());
        found.ok_or_else(|| Wrong(format!("no table of the action profile `{profile}` has an action `{action}`")))
    }

    /// The table that a direct counter or meter belongs to.
    fn table_of(&self, object: &str) -> Option<String> {
        let pipeline = self.pipeline();
        match pipeline[pipeline.extern_by_name(object)?].kind {
            ExternKind::DirectCounter { table: Some(table), .. }
            | ExternKind::DirectMeter { table: Some(table), .. } => Some(pipeline[table].name.clone()),
            _ => None,
        }
    }

    /// The arguments of an action.
    fn data(&self, action: ActionId, args: &[&str]) -> Done<Vec<Vec<u8>>> {
        let pipeline = self.pipeline();
        let (name, params) = (&pipeline[action].name, &pipeline[action].params);
        if params.len() != args.len() {
            return wrong(format!("action `{name}` has {} parameters, not {}", params.len(), args.len()));
        }
        params.iter().zip(args).map(|(param, arg)| value(arg, param.ty.width())).collect()
    }

    /// The priority, which is the last of the arguments if the table has priorities.
    fn priority<'b>(&self, table: TableId, args: &'b [&'b str]) -> Done<(&'b [&'b str], i32)> {
        if !self.pipeline()[table].has_priority() {
            return Ok((args, 0));
        }
        let last = args.split_last().and_then(|(last, rest)| Some((rest, last.parse().ok()?)));
        last.ok_or_else(|| Wrong("an entry of this table ends in its priority".into()))
    }

    fn table_add(&mut self) -> Done {
        let (table, action) = (self.arg(0)?, self.arg(1)?);
        let (args, priority) = self.priority(self.table(table)?, &self.args[2..])?;
        let arrow = args.iter().position(|arg| *arg == "=>").ok_or_else(|| Wrong("`=>` is missing".into()))?;
        let matches = self.matches(table, &args[..arrow])?;
        let data = self.data(self.action_of_table(table, action)?, &args[arrow + 1..])?;
        self.runtime.add_entry(table, &matches, action, &data, priority)?;
        Ok(())
    }

    fn table_indirect_add(&mut self, target: fn(u32) -> Action) -> Done {
        let table = self.arg(0)?;
        let (args, priority) = self.priority(self.table(table)?, &self.args[1..])?;
        let arrow = args.iter().position(|arg| *arg == "=>").ok_or_else(|| Wrong("`=>` is missing".into()))?;
        let matches = self.matches(table, &args[..arrow])?;
        let [handle] = args[arrow + 1..] else { return wrong("one handle follows `=>`") };
        let handle = handle.parse().map_err(|_| Wrong(format!("`{handle}` is no handle")))?;
        self.runtime.add_entry_to(table, &matches, target(handle), priority)?;
        Ok(())
    }

    fn matches(&self, table: &str, args: &[&str]) -> Done<Vec<MatchParam>> {
        let pipeline = self.pipeline();
        let model = &pipeline[self.table(table)?];
        let keys: Vec<_> = model.match_keys().collect();
        if keys.len() != args.len() {
            return wrong(format!("table `{table}` has {} keys, not {}", keys.len(), args.len()));
        }
        let part = |arg: &str, separator: &str| match arg.split_once(separator) {
            Some((left, right)) => Ok((left.to_string(), right.to_string())),
            None => wrong(format!("`{arg}`: expected `{separator}` between two values")),
        };
        let param = |(key, arg): (&&hopwright_ir::Key, &&str)| {
            let width = key.expr.ty.width();
            Ok(match key.kind.form() {
                MatchForm::Value | MatchForm::Nothing => MatchParam::Exact(value(arg, width)?),
                MatchForm::Prefix => {
                    let (prefix, length) = part(arg, "/")?;
                    let length = length.parse().map_err(|_| Wrong(format!("`{length}` is no prefix length")))?;
                    MatchParam::Lpm(value(&prefix, width)?, length)
                }
                MatchForm::Mask | MatchForm::ValueOrAny => {
                    let (key, mask) = part(arg, "&&&")?;
                    MatchParam::Ternary(value(&key, width)?, value(&mask, width)?)
                }
                MatchForm::Range => {
                    let (lo, hi) = part(arg, "->")?;
                    MatchParam::Range(value(&lo, width)?, value(&hi, width)?)
                }
            })
        };
        keys.iter().zip(args).map(param).collect()
    }

    /// The ports of a node, and behind `|` its link aggregation groups.
    fn ports_and_lags(&self) -> Done<(String, String)> {
        let args = self.args.get(1..).unwrap_or_default();
        let bar = args.iter().position(|arg| *arg == "|").unwrap_or(args.len());
        Ok((map(&args[..bar])?, map(args.get(bar + 1..).unwrap_or_default())?))
    }
}

/// Numbers as a text of zeros and ones.
fn map(numbers: &[&str]) -> Done<String> {
    let mut digits = Vec::new();
    for number in numbers {
        let at = number.parse().ok().filter(|at: &usize| *at < 512);
        let at = at.ok_or_else(|| Wrong(format!("`{number}` is no number from 0 to 511")))?;
        digits.resize(digits.len().max(at + 1), '0');
        digits[at] = '1';
    }
    Ok(digits.into_iter().rev().collect())
}

/// `RATE:BURST`, in units a microsecond and units.
fn rates(args: &[&str]) -> Done<Vec<MeterRate>> {
    let rate = |arg: &&str| {
        let parts = arg.split_once(':').and_then(|(rate, burst)| Some((rate.parse().ok()?, burst.parse().ok()?)));
        let (per_microsecond, burst) = parts.ok_or_else(|| Wrong(format!("`{arg}`: expected RATE:BURST")))?;
        Ok(MeterRate { per_microsecond, burst })
    };
    args.iter().map(rate).collect()
}

/// The bytes of a value: a number, or an address if the width is that of one.
fn value(text: &str, width: u32) -> Done<Vec<u8>> {
    let address = match width {
        32 => text.contains('.'),
        48 | 128 => text.contains(':'),
        _ => false,
    };
    match text::value(text).filter(|value| address && value.bits() <= u64::from(width)) {
        Some(value) => Ok(value.to_bytes_be()),
        None if address => wrong(format!("`{text}` is no address of {width} bits")),
        None => Ok(number(text)?.to_bytes_be()),
    }
}

fn number(text: &str) -> Done<BigUint> {
    text::number(text).ok_or_else(|| Wrong(format!("`{text}` is no number")))
}
