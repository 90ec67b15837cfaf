//! The service `Standard`: tables, action profiles, counters, meters, registers, value sets, ports and the switch itself.

use hopwright_control::entity::Action;
use hopwright_dataplane::{Count, Group};
use hopwright_ir::HashAlgorithm;
use hopwright_ir::custom_crc::CrcParameters;
use md5::{Digest, Md5};

use super::args::Args;
use super::{Answer, Service, check_context, unknown_method};
use crate::failure::{Application, HashCode, IdCode, LearnCode, PortCode, Result, SwapCode, TableCode};
use crate::json;
use crate::notifications::LearnList;
use crate::runtime::{Entry, EntryAction, MatchParam, MeterRate, Resource};
use crate::wire::{Type, Value};

impl Service {
    pub(super) fn standard(&mut self, method: &str, args: Args<'_>) -> Answer {
        match method.strip_prefix("bm_").and_then(|rest| rest.split_once('_')).map_or("", |(group, _)| group) {
            "mt" => {
                check_context(args)?;
                match method {
                    _ if method.starts_with("bm_mt_act_prof_") => self.action_profiles(method, args),
                    _ if method.starts_with("bm_mt_indirect_") => self.indirect_tables(method, args),
                    _ => self.tables(method, args),
                }
            }
            "counter" | "meter" | "register" | "parse" => {
                check_context(args)?;
                self.arrays(method, args)
            }
            _ => self.management(method, args),
        }
    }

    fn tables(&mut self, method: &str, args: Args<'_>) -> Answer {
        let (runtime, table) = (&mut self.runtime, args.text(2)?);
        match method {
            "bm_mt_get_num_entries" => return runtime.num_entries(table).map(|count| Some(Value::I64(count))),
            "bm_mt_clear_entries" => runtime.clear_entries(table, args.bool(3)?)?,
            "bm_mt_add_entry" => {
                let (matches, data) = (match_params(args, 3)?, args.list_of_bytes(5)?);
                let handle = runtime.add_entry(table, &matches, args.text(4)?, &data, priority(args, 6)?);
                return handle.map(|handle| Some(Value::I32(handle)));
            }
            "bm_mt_set_default_action" => runtime.set_default_action(table, args.text(3)?, &args.list_of_bytes(4)?)?,
            "bm_mt_reset_default_entry" => runtime.reset_default_entry(table, false)?,
            "bm_mt_delete_entry" => runtime.delete_entry(table, args.i32(3)?, false)?,
            "bm_mt_modify_entry" => {
                runtime.modify_entry(table, args.i32(3)?, args.text(4)?, &args.list_of_bytes(5)?)?;
            }
            "bm_mt_set_entry_ttl" => runtime.set_entry_timeout(table, args.i32(3)?, args.i32(4)?, false)?,
            "bm_mt_read_counter" => return runtime.read_direct_counter(table, args.i32(3)?).map(|c| Some(count(c))),
            "bm_mt_reset_counters" => runtime.reset_direct_counters(table)?,
            "bm_mt_write_counter" => runtime.write_direct_counter(table, args.i32(3)?, to_count(args.fields(4)?)?)?,
            "bm_mt_set_meter_rates" => runtime.set_direct_meter(table, args.i32(3)?, &meter_rates(args, 4)?)?,
            "bm_mt_get_meter_rates" => return runtime.direct_meter(table, args.i32(3)?).map(|r| Some(rates(r))),
            "bm_mt_get_entries" => {
                let entries = runtime.entries(table)?.into_iter().map(entry).collect();
                return Ok(Some(Value::List(Type::Struct, entries)));
            }
            "bm_mt_get_entry" => return runtime.entry(table, args.i32(3)?).map(|found| Some(entry(found))),
            "bm_mt_get_default_entry" => return runtime.default_entry(table).map(|found| Some(action(found))),
            "bm_mt_get_entry_from_key" => {
                let matches = match_params(args, 3)?;
                if matches.is_empty() {
                    let default = (4, action(runtime.default_entry(table)?));
                    return Ok(Some(Value::Struct(vec![
                        (1, Value::List(Type::Struct, Vec::new())),
                        (2, Value::Struct(Vec::new())),
                        (3, Value::I32(0)),
                        default,
                    ])));
                }
                let found = runtime.entry_from_key(table, &matches, priority(args, 4)?);
                return found.map(|found| Some(entry(found)));
            }
            _ => return Err(unknown_method(method)),
        }
        Ok(None)
    }

    fn indirect_tables(&mut self, method: &str, args: Args<'_>) -> Answer {
        let (runtime, table) = (&mut self.runtime, args.text(2)?);
        let member = |id: i16| Ok(Action::Member(args.i32(id)? as u32));
        let group = |id: i16| Ok(Action::Group(args.i32(id)? as u32));
        match method {
            "bm_mt_indirect_add_entry" | "bm_mt_indirect_ws_add_entry" => {
                let target = if method == "bm_mt_indirect_add_entry" { member(4)? } else { group(4)? };
                let handle = runtime.add_entry_to(table, &match_params(args, 3)?, target, priority(args, 5)?);
                return handle.map(|handle| Some(Value::I32(handle)));
            }
            "bm_mt_indirect_modify_entry" => runtime.modify_entry_to(table, args.i32(3)?, member(4)?)?,
            "bm_mt_indirect_ws_modify_entry" => runtime.modify_entry_to(table, args.i32(3)?, group(4)?)?,
            "bm_mt_indirect_delete_entry" => runtime.delete_entry(table, args.i32(3)?, true)?,
            "bm_mt_indirect_set_entry_ttl" => runtime.set_entry_timeout(table, args.i32(3)?, args.i32(4)?, true)?,
            "bm_mt_indirect_set_default_member" => runtime.set_default_member(table, args.i32(3)?)?,
            "bm_mt_indirect_reset_default_entry" => runtime.reset_default_entry(table, true)?,
            "bm_mt_indirect_ws_set_default_group" => runtime.set_default_group(table)?,
            _ => return Err(unknown_method(method)),
        }
        Ok(None)
    }

    fn action_profiles(&mut self, method: &str, args: Args<'_>) -> Answer {
        let (runtime, profile) = (&mut self.runtime, args.text(2)?);
        match method {
            "bm_mt_act_prof_add_member" => {
                let member = runtime.add_member(profile, args.text(3)?, &args.list_of_bytes(4)?);
                return member.map(|member| Some(Value::I32(member)));
            }
            "bm_mt_act_prof_delete_member" => runtime.delete_member(profile, args.i32(3)?)?,
            "bm_mt_act_prof_modify_member" => {
                runtime.modify_member(profile, args.i32(3)?, args.text(4)?, &args.list_of_bytes(5)?)?;
            }
            "bm_mt_act_prof_create_group" => return runtime.create_group(profile).map(|group| Some(Value::I32(group))),
            "bm_mt_act_prof_delete_group" => runtime.delete_group(profile, args.i32(3)?)?,
            "bm_mt_act_prof_add_member_to_group" => {
                runtime.add_member_to_group(profile, args.i32(3)?, args.i32(4)?)?;
            }
            "bm_mt_act_prof_remove_member_from_group" => {
                runtime.remove_member_from_group(profile, args.i32(3)?, args.i32(4)?)?;
            }
            "bm_mt_act_prof_get_members" => {
                let members = runtime.members(profile)?.into_iter().map(|(id, call)| member(id, call));
                return Ok(Some(Value::List(Type::Struct, members.collect())));
            }
            "bm_mt_act_prof_get_member" => {
                let id = args.i32(3)?;
                return runtime.member(profile, id).map(|call| Some(member(id as u32, call)));
            }
            "bm_mt_act_prof_get_groups" => {
                let groups = runtime.groups(profile)?.into_iter().map(|(id, members)| group(id, &members));
                return Ok(Some(Value::List(Type::Struct, groups.collect())));
            }
            "bm_mt_act_prof_get_group" => {
                let id = args.i32(3)?;
                return runtime.group(profile, id).map(|members| Some(group(id as u32, &members)));
            }
            _ => return Err(unknown_method(method)),
        }
        Ok(None)
    }

    fn arrays(&mut self, method: &str, args: Args<'_>) -> Answer {
        let (runtime, name) = (&self.runtime, args.text(2)?);
        match method {
            "bm_counter_read" => return runtime.read_counter(name, args.i32(3)?).map(|found| Some(count(found))),
            "bm_counter_reset_all" => runtime.reset_counters(name)?,
            "bm_counter_write" => runtime.write_counter(name, args.i32(3)?, to_count(args.fields(4)?)?)?,
            "bm_meter_array_set_rates" => runtime.set_meters(name, &meter_rates(args, 3)?)?,
            "bm_meter_set_rates" => runtime.set_meter(name, args.i32(3)?, &meter_rates(args, 4)?)?,
            "bm_meter_get_rates" => return runtime.meter_rates(name, args.i32(3)?).map(|found| Some(rates(found))),
            "bm_register_read" => {
                return runtime.read_register(name, args.i32(3)?).map(|value| Some(Value::I64(value)));
            }
            "bm_register_read_all" => {
                let values = runtime.read_registers(name)?.into_iter().map(Value::I64).collect();
                return Ok(Some(Value::List(Type::I64, values)));
            }
            "bm_register_write" => runtime.write_register(name, args.i32(3)?, args.i64(4)?)?,
            "bm_register_write_range" => {
                runtime.write_registers(name, args.i32(3)?, args.i32(4)?, args.i64(5)?)?;
            }
            "bm_register_reset" => runtime.reset_registers(name)?,
            "bm_parse_vset_add" => runtime.value_set_add(name, args.bytes(3)?)?,
            "bm_parse_vset_remove" => runtime.value_set_remove(name, args.bytes(3)?)?,
            "bm_parse_vset_get" => {
                let values = runtime.value_set_get(name)?.into_iter().map(Value::Binary).collect();
                return Ok(Some(Value::List(Type::Binary, values)));
            }
            "bm_parse_vset_clear" => runtime.value_set_clear(name)?,
            _ => return Err(unknown_method(method)),
        }
        Ok(None)
    }

    fn management(&mut self, method: &str, args: Args<'_>) -> Answer {
        match method {
            "bm_get_config" => return Ok(Some(Value::text(self.runtime.config()))),
            "bm_get_config_md5" => {
                return Ok(Some(Value::Binary(Md5::digest(self.runtime.config().as_bytes()).to_vec())));
            }
            "bm_get_id_from_name" => {
                check_context(args)?;
                return self.runtime.id_of(resource(args.i32(2)?)?, args.text(3)?).map(|id| Some(Value::I32(id)));
            }
            "bm_mgmt_get_info" => {
                let device_id = (1, Value::I64(self.host.device_id as i64));
                let mut config = vec![device_id, (2, Value::I32(self.host.port.into()))];
                let notifications = self.host.notifications.as_ref().map(|address| Value::text(address.to_string()));
                config.extend(notifications.map(|address| (3, address)));
                return Ok(Some(Value::Struct(config)));
            }
            "bm_reset_state" => self.runtime.reset()?,
            "bm_dev_mgr_show_ports" => return Ok(Some(self.show_ports())),
            "bm_dev_mgr_add_port" => self.add_port(args)?,
            "bm_dev_mgr_remove_port" => self.remove_port(args.i32(1)?)?,
            "bm_load_new_config" | "bm_swap_configs" => {
                return Err(SwapCode::Disabled.because("a program is changed by P4Runtime, not by Thrift"));
            }
            "bm_learning_ack" => {
                let sample =
                    |sample: &Value| if let Value::I32(at) = sample { usize::try_from(*at).ok() } else { None };
                let samples: Vec<usize> = args.list(4)?.iter().filter_map(sample).collect();
                let buffer = args.i64(3)? as u64;
                self.learn_list(args)?.acknowledge(buffer, Some(&samples));
            }
            "bm_learning_ack_buffer" => {
                let buffer = args.i64(3)? as u64;
                self.learn_list(args)?.acknowledge(buffer, None);
            }
            // Samples do not wait for others.
            "bm_learning_set_timeout" => _ = self.learn_list(args)?,
            "bm_learning_set_buffer_size" => {
                let most = usize::try_from(args.i32(3)?).map_err(|_| LearnCode::Error.because("a negative size"))?;
                self.learn_list(args)?.most = most;
            }
            "bm_set_crc16_custom_parameters" | "bm_set_crc32_custom_parameters" | "bm_set_toeplitz_hash_key" => {
                check_context(args)?;
                self.set_hash(method, args)?;
            }
            "bm_serialize_state" => {
                let reason = "the state is not written in BMv2's format: there is nothing that would read it";
                return Err(Application::InternalError.because(reason));
            }
            _ => return Err(unknown_method(method)),
        }
        Ok(None)
    }

    /// The list of a digest that a client names by its id.
    fn learn_list(&mut self, args: Args<'_>) -> Result<&mut LearnList> {
        check_context(args)?;
        let id = args.i32(2)?;
        let mut lists = json::digests(self.runtime.pipeline()).zip(json::FIRST_LIST..);
        if !lists.any(|(_, list)| list == id) {
            return Err(LearnCode::InvalidListId.because(format!("the program has no digest {id}")));
        }
        Ok(self.learning.entry(id).or_default())
    }

    /// Sets the parameters of a CRC.
    fn set_hash(&self, method: &str, args: Args<'_>) -> Result<()> {
        let name = args.text(2)?;
        let found = json::calculations(self.runtime.pipeline()).find(|calculation| calculation["name"] == name);
        let unknown = || HashCode::InvalidName.because(format!("the program has no calculation `{name}`"));
        let algorithm = found.ok_or_else(unknown)?["algo"].clone();
        let wrong_type = || HashCode::WrongType.because(format!("`{name}` is {algorithm}"));
        if method == "bm_set_toeplitz_hash_key" {
            return Err(wrong_type());
        }
        let config = args.fields(3)?;
        let (algorithm, [polynomial, initial, final_xor]) = match method {
            "bm_set_crc16_custom_parameters" if algorithm == "crc16_custom" => {
                let numbers = [config.i16(1)?, config.i16(2)?, config.i16(3)?];
                (HashAlgorithm::Crc16Custom, numbers.map(|number| u32::from(number as u16)))
            }
            "bm_set_crc32_custom_parameters" if algorithm == "crc32_custom" => {
                let numbers = [config.i32(1)?, config.i32(2)?, config.i32(3)?];
                (HashAlgorithm::Crc32Custom, numbers.map(|number| number as u32))
            }
            _ => return Err(wrong_type()),
        };
        let (data_reflected, remainder_reflected) = (config.bool(4)?, config.bool(5)?);
        let parameters = CrcParameters { polynomial, initial, final_xor, data_reflected, remainder_reflected };
        self.runtime.set_crc(algorithm, name, parameters)
    }

    fn show_ports(&self) -> Value {
        let port = |port: hopwright_dataplane::PortSummary| {
            Value::Struct(vec![
                (1, Value::I32(port.number as i32)),
                (2, Value::text(port.name)),
                (3, Value::Bool(port.info.up.unwrap_or(true))),
                (4, Value::Map(Type::Binary, Type::Binary, Vec::new())),
            ])
        };
        Value::List(Type::Struct, self.host.port_list().into_iter().map(port).collect())
    }

    fn add_port(&mut self, args: Args<'_>) -> Result<()> {
        let (device, number, capture) = (args.text(1)?, args.i32(2)?, args.text(3)?);
        if !capture.is_empty() {
            return Err(PortCode::Error.because("a port that is added while the switch runs has no capture"));
        }
        let number = u32::try_from(number).map_err(|_| PortCode::Error.because("a negative port number"))?;
        self.ports()?.add(number, device).map_err(|reason| PortCode::Error.because(reason))
    }

    fn remove_port(&mut self, number: i32) -> Result<()> {
        let number = u32::try_from(number).map_err(|_| PortCode::Error.because("a negative port number"))?;
        self.ports()?.remove(number).map_err(|reason| PortCode::Error.because(reason))
    }

    fn ports(&mut self) -> Result<&mut Box<dyn super::PortManager>> {
        let ports = self.host.ports.as_mut();
        ports.ok_or_else(|| PortCode::Error.because("the ports of this switch cannot be changed by Thrift"))
    }
}

fn resource(number: i32) -> Result<Resource> {
    use Resource::{ActionProfile, Counter, LearningList, Meter, Register, Table};
    let all = [Table, ActionProfile, Counter, Meter, Register, LearningList];
    let found = usize::try_from(number).ok().and_then(|at| all.get(at)).copied();
    found.ok_or_else(|| IdCode::InvalidType.because(format!("there is no type {number} of objects")))
}

/// The priority in an entry's options.
fn priority(args: Args<'_>, id: i16) -> Result<i32> {
    Ok(args.fields(id)?.optional_i32(1)?.unwrap_or(0))
}

/// Reads `BmMatchParams`.
fn match_params(args: Args<'_>, id: i16) -> Result<Vec<MatchParam>> {
    let param = |param: Args<'_>| {
        Ok(match param.i32(1)? {
            0 => MatchParam::Exact(param.fields(2)?.bytes(1)?.to_vec()),
            1 => MatchParam::Lpm(param.fields(3)?.bytes(1)?.to_vec(), param.fields(3)?.i32(2)?),
            2 => MatchParam::Ternary(param.fields(4)?.bytes(1)?.to_vec(), param.fields(4)?.bytes(2)?.to_vec()),
            3 => MatchParam::Valid(param.fields(5)?.bool(1)?),
            4 => MatchParam::Range(param.fields(6)?.bytes(1)?.to_vec(), param.fields(6)?.bytes(2)?.to_vec()),
            other => return Err(TableCode::BadMatchKey.because(format!("there is no type {other} of matches"))),
        })
    };
    args.list_of_fields(id)?.into_iter().map(param).collect()
}

fn match_param(param: MatchParam) -> Value {
    let (kind, fields) = match param {
        MatchParam::Exact(value) => (0, vec![(1, Value::Binary(value))]),
        MatchParam::Lpm(value, length) => (1, vec![(1, Value::Binary(value)), (2, Value::I32(length))]),
        MatchParam::Ternary(value, mask) => (2, vec![(1, Value::Binary(value)), (2, Value::Binary(mask))]),
        MatchParam::Valid(valid) => (3, vec![(1, Value::Bool(valid))]),
        MatchParam::Range(lo, hi) => (4, vec![(1, Value::Binary(lo)), (2, Value::Binary(hi))]),
    };
    Value::Struct(vec![(1, Value::I32(kind)), (kind as i16 + 2, Value::Struct(fields))])
}

fn entry(entry: Entry) -> Value {
    let mut fields = vec![
        (1, Value::List(Type::Struct, entry.matches.into_iter().map(match_param).collect())),
        (2, Value::Struct(vec![(1, Value::I32(entry.priority))])),
        (3, Value::I32(entry.handle)),
        (4, action(entry.action)),
    ];
    if let Some((timeout, since_hit)) = entry.life {
        fields.push((5, Value::Struct(vec![(1, Value::I32(timeout)), (2, Value::I32(since_hit))])));
    }
    Value::Struct(fields)
}

fn action_data(data: Vec<Vec<u8>>) -> Value {
    Value::List(Type::Binary, data.into_iter().map(Value::Binary).collect())
}

fn action(action: EntryAction) -> Value {
    Value::Struct(match action {
        EntryAction::None => vec![(1, Value::I32(0))],
        EntryAction::Call(name, data) => vec![(1, Value::I32(1)), (2, Value::text(name)), (3, action_data(data))],
        EntryAction::Member(member) => vec![(1, Value::I32(2)), (4, Value::I32(member as i32))],
        EntryAction::Group(group) => vec![(1, Value::I32(3)), (5, Value::I32(group as i32))],
    })
}

fn member(id: u32, call: EntryAction) -> Value {
    let (name, data) = if let EntryAction::Call(name, data) = call { (name, data) } else { Default::default() };
    Value::Struct(vec![(1, Value::I32(id as i32)), (2, Value::text(name)), (3, action_data(data))])
}

fn group(id: u32, group: &Group) -> Value {
    let members = group.members.keys().map(|member| Value::I32(*member as i32)).collect();
    Value::Struct(vec![(1, Value::I32(id as i32)), (2, Value::List(Type::I32, members))])
}

fn to_count(fields: Args<'_>) -> Result<Count> {
    Ok(Count { bytes: fields.i64(1)? as u64, packets: fields.i64(2)? as u64 })
}

fn count(count: Count) -> Value {
    Value::Struct(vec![(1, Value::I64(count.bytes as i64)), (2, Value::I64(count.packets as i64))])
}

fn meter_rates(args: Args<'_>, id: i16) -> Result<Vec<MeterRate>> {
    let rate = |rate: Args<'_>| Ok(MeterRate { per_microsecond: rate.double(1)?, burst: rate.i32(2)? });
    args.list_of_fields(id)?.into_iter().map(rate).collect()
}

fn rates(rates: Vec<MeterRate>) -> Value {
    let rate =
        |rate: MeterRate| Value::Struct(vec![(1, Value::Double(rate.per_microsecond)), (2, Value::I32(rate.burst))]);
    Value::List(Type::Struct, rates.into_iter().map(rate).collect())
}
