//! Applying a table (P4-16 14.2): keys, the entry that wins, and running the action.

use hopwright_sema::hir::{ActionRef, Direction, FunctionId, TableId};
use num_bigint::BigUint;

use crate::bits::Bits;
use crate::call::Argument;
use crate::entries::{ActionCall, Target, action_at, position};
use crate::machine::{Machine, Result};
use crate::meter::Color;
use crate::objects::{Cells, object_of, property};
use crate::place;
use crate::tofino_hash::{make_symmetric, written};
use crate::value::{self, Value};

/// `apply_result` (14.2.2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Applied {
    pub(crate) hit: bool,
    /// The action that ran.
    pub(crate) action: FunctionId,
}

impl<'a> Machine<'a> {
    /// `m.apply()` as the pseudocode of 14.2.3 says.
    pub(crate) fn apply_table(&mut self, id: TableId) -> Result<Applied> {
        let table = &self.program[id];
        let mut keys = Vec::new();
        for key in &table.keys {
            let value = self.eval(&key.expr)?;
            let ty = &key.expr.ty;
            keys.push((value::scalar_bits(self.program, ty, &value), self.width(ty)));
        }
        let entry = self.state.tables[id.0 as usize].lookup(table, &keys);
        let color = entry.map_or(Color::Green, |entry| self.touch(id, entry));
        // An entry whose group is empty has been hit, and is a miss.
        let chosen = entry.and_then(|entry| self.chosen(id, entry, &keys));
        let hit = chosen.is_some();
        let call = chosen.unwrap_or_else(|| self.state.tables[id.0 as usize].default.clone());
        let action = action_at(table, call.action);
        let running = entry.map(|entry| (id, entry));
        let outer = (std::mem::replace(&mut self.hit, running), std::mem::replace(&mut self.color, color));
        let done = self.run_action(action, &call.data);
        (self.hit, self.color) = outer;
        done.map(|()| Applied { hit, action: action.function })
    }

    /// Direct counters count each hit, and direct meters measure it, whatever the action does.
    fn touch(&mut self, id: TableId, at: usize) -> Color {
        let bytes = self.packet.length();
        let by_bytes = self.state.direct_meter_counts_bytes(self.program, id);
        let entry = &mut self.state.tables[id.0 as usize].entries[at];
        entry.count.add(bytes);
        match (&mut entry.meter, by_bytes) {
            (Some(meter), Some(by_bytes)) => meter.measure(self.now_us, if by_bytes { bytes } else { 1 }),
            _ => Color::Green,
        }
    }

    /// The action that an entry leads to; `None` for a group without members.
    fn chosen(&self, id: TableId, entry: usize, keys: &[(BigUint, u32)]) -> Option<ActionCall> {
        let target = &self.state.tables[id.0 as usize].entries[entry].target;
        let profile = self.state.profile_of(self.program, id);
        let table = &self.program[id];
        let of_member = |(function, data): &(FunctionId, Vec<BigUint>)| ActionCall {
            action: position(table, *function),
            data: data.clone(),
        };
        let shares: Vec<(ActionCall, u32)> = match (target, profile) {
            (Target::Action(call), _) => return Some(call.clone()),
            (Target::Set(set), _) => set.clone(),
            (Target::Member(member), Some(Cells::Profile { members, .. })) => {
                return members.get(member).map(of_member);
            }
            (Target::Group(group), Some(Cells::Profile { members, groups, .. })) => {
                let group = groups.get(group)?.iter();
                group.filter_map(|(member, weight)| Some((of_member(members.get(member)?), *weight))).collect()
            }
            _ => return None,
        };
        let hash = match profile {
            Some(Cells::Profile { algorithm: Some(algorithm), .. }) => algorithm.of(&self.selector_data(id, keys)),
            _ => BigUint::ZERO,
        };
        let sum: u64 = shares.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let mut rest = u64::try_from(hash % BigUint::from(sum.max(1))).unwrap_or(0);
        for (call, weight) in shares {
            match rest.checked_sub(weight.into()) {
                Some(left) => rest = left,
                None => return Some(call),
            }
        }
        None
    }

    /// The keys of match kind `selector` in order.
    fn selector_data(&self, id: TableId, keys: &[(BigUint, u32)]) -> Vec<u8> {
        let declared = self.program[id].keys.iter().zip(keys).filter(|(key, _)| key.match_kind == "selector");
        let (names, mut fields): (Vec<String>, Vec<(BigUint, u32)>) =
            declared.map(|(key, value)| (written(self.program, &key.expr), value.clone())).unzip();
        let selector = property(self.program, id, &["implementation"]).map(|id| &self.program[id]);
        if let Some(hash) = selector.and_then(|selector| object_of(selector.args.get(1)?)) {
            make_symmetric(&self.program[hash], &names, &mut fields);
        }
        let mut data = Bits::default();
        fields.iter().for_each(|(bits, width)| data.push(bits, *width as usize));
        data.bytes().to_vec()
    }

    /// Runs an action: arguments of directional parameters are evaluated when it runs (14.1, 14.2.3).
    fn run_action(&mut self, action: &'a ActionRef, data: &[BigUint]) -> Result<()> {
        let function = &self.program[action.function];
        let mut data = data.iter();
        let mut args: Vec<Argument<'a>> = Vec::new();
        for (param, bound) in function.params.iter().zip(&action.args) {
            args.push(match (param.direction, bound) {
                (Direction::None, _) => {
                    let ty = &self.program[param.var].ty;
                    let value =
                        data.next().map_or(Value::Nothing, |bits| value::from_bits(self.program, ty, bits.clone()));
                    Argument { direction: Direction::None, expr: None, place: None, value }
                }
                (direction, Some(e)) => self.argument(direction, e)?,
                (direction, None) => Argument { direction, expr: None, place: None, value: Value::Nothing },
            });
        }
        let result = self.function(action.function, &mut args);
        if matches!(result, Ok(_) | Err(crate::machine::Stop::Exit)) {
            for arg in args {
                if let Some(place) = arg.place {
                    place::write(&mut self.vars, &place, arg.value);
                }
            }
        }
        result.map(|_| ())
    }
}
