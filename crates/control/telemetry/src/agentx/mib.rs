//! The objects: `ifNumber`, `ifTable`, `ifXTable` and `ifTableLastChange` of IF-MIB (RFC 2863).

use std::collections::BTreeMap;
use std::ops::Bound;

use hopwright_host::netlink::{Medium, OperState};

use super::pdu::{Oid, Range, Request, Value};
use crate::Interface;

const IF_NUMBER: [u32; 8] = [1, 3, 6, 1, 2, 1, 2, 1];
const IF_TABLE: [u32; 8] = [1, 3, 6, 1, 2, 1, 2, 2];
const IF_X_TABLE: [u32; 9] = [1, 3, 6, 1, 2, 1, 31, 1, 1];
const IF_TABLE_LAST_CHANGE: [u32; 9] = [1, 3, 6, 1, 2, 1, 31, 1, 5];

/// Where the objects are.
pub(super) const SUBTREES: [&[u32]; 4] = [&IF_NUMBER, &IF_TABLE, &IF_X_TABLE, &IF_TABLE_LAST_CHANGE];

/// The most repetitions of a request, of which net-snmp's tools ask for ten.
const MOST_REPETITIONS: u16 = 256;

/// All objects, as they are at a moment.
#[derive(Debug, Default)]
pub(super) struct Objects(BTreeMap<Oid, Value>);

/// The time of the master agent: what its `sysUpTime` was when.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// Hundredths of a second.
    pub uptime: u32,
    /// Nanoseconds since 1970 UTC.
    pub at_ns: u64,
}

impl Clock {
    /// `sysUpTime` at a time; 0 for times before the agent started.
    fn ticks(self, ns: u64) -> u32 {
        let ticks = (i128::from(ns) - i128::from(self.at_ns)) / 10_000_000 + i128::from(self.uptime);
        u32::try_from(ticks.max(0)).unwrap_or(u32::MAX)
    }
}

impl Objects {
    pub(super) fn new(interfaces: &[Interface], clock: Clock) -> Objects {
        let mut objects = BTreeMap::new();
        objects.insert([&IF_NUMBER[..], &[0]].concat(), Value::Integer(interfaces.len() as i32));
        let last = interfaces.iter().map(|interface| clock.ticks(interface.changed_ns)).max().unwrap_or(0);
        objects.insert([&IF_TABLE_LAST_CHANGE[..], &[0]].concat(), Value::TimeTicks(last));
        for interface in interfaces {
            let mut put = |table: &[u32], values: Vec<Value>| {
                for (column, value) in (1..).zip(values) {
                    objects.insert([table, &[1, column, interface.index]].concat(), value);
                }
            };
            put(&IF_TABLE, if_table(interface, clock));
            put(&IF_X_TABLE, if_x_table(interface));
        }
        Objects(objects)
    }

    /// What a request gets.
    pub(super) fn answer(&self, request: &Request) -> Vec<(Oid, Value)> {
        match request {
            Request::Get(names) => names.iter().map(|name| (name.clone(), self.get(name))).collect(),
            Request::GetNext(ranges) => ranges.iter().map(|range| self.next(range)).collect(),
            Request::GetBulk { non_repeaters, repetitions, ranges } => {
                let (once, repeated) = ranges.split_at(usize::from(*non_repeaters).min(ranges.len()));
                let mut answers: Vec<_> = once.iter().map(|range| self.next(range)).collect();
                let mut repeated = repeated.to_vec();
                for _ in 0..(*repetitions).min(MOST_REPETITIONS) {
                    let mut ended = true;
                    for range in &mut repeated {
                        let (name, value) = self.next(range);
                        ended &= value == Value::EndOfMibView;
                        *range = Range { start: name.clone(), include: false, end: std::mem::take(&mut range.end) };
                        answers.push((name, value));
                    }
                    if ended {
                        break;
                    }
                }
                answers
            }
        }
    }

    fn get(&self, name: &Oid) -> Value {
        // An object without its instance: a column, or a scalar.
        let known = |object: &[u32]| self.0.keys().any(|key| key.starts_with(object));
        match self.0.get(name) {
            Some(value) => value.clone(),
            None if name.split_last().is_some_and(|(_, object)| known(object)) => Value::NoSuchInstance,
            None => Value::NoSuchObject,
        }
    }

    fn next(&self, range: &Range) -> (Oid, Value) {
        let from = if range.include { Bound::Included(&range.start) } else { Bound::Excluded(&range.start) };
        let next = self.0.range::<Oid, _>((from, Bound::Unbounded)).next();
        match next.filter(|(name, _)| range.end.is_empty() || **name < range.end) {
            Some((name, value)) => (name.clone(), value.clone()),
            None => (range.start.clone(), Value::EndOfMibView),
        }
    }
}

/// The columns from 1 on.
fn if_table(interface: &Interface, clock: Clock) -> Vec<Value> {
    let c = &interface.counters;
    let kind = match interface.medium {
        Medium::Ethernet => 6,
        Medium::Loopback => 24,
        Medium::Other => 1,
    };
    let [admin, oper] = states(interface);
    // Counters of 32 bits have the lower half.
    let count = |count: u64| Value::Counter32(count as u32);
    vec![
        Value::Integer(interface.index as i32),
        Value::Text(interface.name.clone().into_bytes()),
        Value::Integer(kind),
        Value::Integer(i32::try_from(interface.mtu).unwrap_or(i32::MAX)),
        // ifSpeed: the kernel of a namespace does not say.
        Value::Gauge32(0),
        Value::Text(interface.mac.map_or_else(Vec::new, Vec::from)),
        admin,
        oper,
        Value::TimeTicks(clock.ticks(interface.changed_ns)),
        count(c.in_octets),
        count(c.in_unicast),
        count(c.in_multicast + c.in_broadcast),
        count(c.in_discards),
        count(c.in_errors),
        // ifInUnknownProtos
        count(0),
        count(c.out_octets),
        count(c.out_unicast),
        count(c.out_multicast + c.out_broadcast),
        count(c.out_discards),
        count(c.out_errors),
        // ifOutQLen
        Value::Gauge32(0),
        // ifSpecific
        Value::Oid(vec![0, 0]),
    ]
}

fn if_x_table(interface: &Interface) -> Vec<Value> {
    let c = &interface.counters;
    let truth = |value: bool| Value::Integer(if value { 1 } else { 2 });
    vec![
        Value::Text(interface.name.clone().into_bytes()),
        Value::Counter32(c.in_multicast as u32),
        Value::Counter32(c.in_broadcast as u32),
        Value::Counter32(c.out_multicast as u32),
        Value::Counter32(c.out_broadcast as u32),
        Value::Counter64(c.in_octets),
        Value::Counter64(c.in_unicast),
        Value::Counter64(c.in_multicast),
        Value::Counter64(c.in_broadcast),
        Value::Counter64(c.out_octets),
        Value::Counter64(c.out_unicast),
        Value::Counter64(c.out_multicast),
        Value::Counter64(c.out_broadcast),
        // ifLinkUpDownTrapEnable
        truth(true),
        // ifHighSpeed
        Value::Gauge32(0),
        // ifPromiscuousMode, ifConnectorPresent
        truth(false),
        truth(interface.medium == Medium::Ethernet),
        Value::Text(interface.description.clone().into_bytes()),
        // ifCounterDiscontinuityTime
        Value::TimeTicks(0),
    ]
}

/// `ifAdminStatus` and `ifOperStatus`.
fn states(interface: &Interface) -> [Value; 2] {
    let oper = match interface.state {
        OperState::Up => 1,
        OperState::Down => 2,
        OperState::Testing => 3,
        OperState::Unknown => 4,
        OperState::Dormant => 5,
        OperState::NotPresent => 6,
        OperState::LowerLayerDown => 7,
    };
    [Value::Integer(if interface.enabled { 1 } else { 2 }), Value::Integer(oper)]
}

/// The variables of a notification that an interface has come up or gone down (RFC 2863).
pub(super) fn notification(interface: &Interface) -> Vec<(Oid, Value)> {
    const SNMP_TRAP_OID: [u32; 11] = [1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0];
    const TRAPS: [u32; 9] = [1, 3, 6, 1, 6, 3, 1, 1, 5];
    let trap = if interface.state == OperState::Up { 4 } else { 3 };
    let column = |column: u32| [&IF_TABLE[..], &[1, column, interface.index]].concat();
    let [admin, oper] = states(interface);
    vec![
        (SNMP_TRAP_OID.to_vec(), Value::Oid([&TRAPS[..], &[trap]].concat())),
        (column(1), Value::Integer(interface.index as i32)),
        (column(7), admin),
        (column(8), oper),
    ]
}
