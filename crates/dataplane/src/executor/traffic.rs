//! The traffic manager of compiled programs: clones, multicast copies, resubmitted and recirculated packets.
//!
//! Generated code pauses where a packet makes a request and leaves a [`Record`] of its state
//! ([`hopwright_jit::Suspension`]). This module then decides as `simple_switch` does, in the reference interpreter's order:
//! copies wait in two queues, and egress precedes new ingress work. Records and queues are preallocated and frames come from
//! the pool; copies that find no room are lost and counted.

use std::collections::VecDeque;

use hopwright_abi::{ORIGINAL_BYTES, PauseLayout};
use hopwright_abi::{Packet as RawPacket, Pause, RunBatch, Runtime, Verdict, decode_list};
use hopwright_ir::interp::{CloneSession, InstanceType, MAX_PASSES, MAX_STEPS, Replica, TrafficManager};
use hopwright_ir::{DROP_PORT, FieldList, Pipeline, SlotId, StandardMetadata};
use hopwright_jit::Suspension;

use crate::packet::{Packet, Pool};

/// Copies that may wait at a time, one for each group or session.
const WAITING: usize = 256;

/// Packets beyond the first that may come of a packet's batch before somebody takes them.
pub(crate) const MAX_COPIES: usize = 4096;

/// Clone sessions and multicast groups in the form that workers read.
#[derive(Debug, Default)]
pub(crate) struct Destinations {
    /// By number.
    sessions: Vec<(u32, CloneSession)>,
    /// By number.
    groups: Vec<(u16, Vec<Replica>)>,
}

impl Destinations {
    pub(crate) fn of(manager: &TrafficManager) -> Destinations {
        Destinations {
            sessions: manager.sessions.iter().map(|(n, s)| (*n, *s)).collect(),
            groups: manager.groups.iter().map(|(n, r)| (*n, r.clone())).collect(),
        }
    }

    fn session(&self, number: u32) -> Option<CloneSession> {
        self.sessions.binary_search_by_key(&number, |s| s.0).ok().map(|at| self.sessions[at].1)
    }

    /// Where a group is.
    fn group(&self, number: u16) -> Option<usize> {
        self.groups.binary_search_by_key(&number, |g| g.0).ok()
    }
}

/// What one call needs of the worker.
pub(crate) struct Around<'a> {
    pub runtime: &'a mut Runtime,
    pub run: RunBatch,
    pub destinations: &'a Destinations,
    pub pool: Option<&'a mut Pool>,
}

/// Packets that were made or lost.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// Ready to be sent, in order.
    pub ready: Vec<Packet>,
    /// For want of a frame or of room in a queue.
    pub no_frame: u64,
}

/// Number of a record in the memory for records.
type At = usize;

struct ToIngress {
    packet: Packet,
    record: At,
}

/// A packet and where it is to go: to a group's replicas from the next on, then to a port.
struct ToEgress {
    packet: Packet,
    record: At,
    group: Option<(usize, usize)>,
    port: Option<u16>,
}

/// One worker's traffic manager for one program.
pub(crate) struct Traffic {
    shape: Shape,
    records: Box<[u64]>,
    free: Vec<At>,
    ingress: VecDeque<ToIngress>,
    egress: VecDeque<ToEgress>,
    original: Box<[u8]>,
    /// Of the packet at hand.
    first: Option<Packet>,
    fault: bool,
    no_headroom: bool,
    /// A frame that there is no pool for.
    spare: Option<Packet>,
    pub copies: Copies,
}

/// What is to be known of the program.
struct Shape {
    again: Option<RunBatch>,
    parse: Option<RunBatch>,
    egress: RunBatch,
    clone_ingress: Option<SlotId>,
    clone_egress: Option<SlotId>,
    resubmit: Option<SlotId>,
    recirculate: Option<SlotId>,
    truncate: Option<SlotId>,
    whole_original: bool,
    record: PauseLayout,
    standard: StandardMetadata,
    lists: Vec<FieldList>,
}

impl Traffic {
    pub(crate) fn new(requests: &Suspension, pipeline: &Pipeline) -> Traffic {
        let words = requests.record.words();
        // One more for what is at hand, one that it becomes, one that a copy begins with.
        let count = WAITING + 4;
        Traffic {
            shape: Shape {
                again: requests.reentry(),
                parse: requests.parse(),
                egress: requests.egress(),
                clone_ingress: requests.clone_ingress,
                clone_egress: requests.clone_egress,
                resubmit: requests.resubmit,
                recirculate: requests.recirculate,
                truncate: requests.truncate,
                whole_original: requests.whole_original,
                record: requests.record.clone(),
                standard: pipeline.standard,
                lists: requests.lists.clone(),
            },
            records: vec![0; words * count].into(),
            free: (0..count).rev().collect(),
            ingress: VecDeque::with_capacity(WAITING),
            egress: VecDeque::with_capacity(WAITING),
            original: vec![0; ORIGINAL_BYTES].into(),
            first: None,
            fault: false,
            no_headroom: false,
            spare: None,
            copies: Copies { ready: Vec::with_capacity(MAX_COPIES), ..Copies::default() },
        }
    }

    /// Where the next call of generated code is to write a record and a packet's beginning.
    pub(crate) fn prepare(&mut self, runtime: &mut Runtime) {
        // One is always free: queues are shorter than there are records.
        let out = self.free.last().copied().unwrap_or_default();
        runtime.record = self.record(out).as_mut_ptr();
        runtime.original = self.original.as_mut_ptr();
    }

    /// Goes on with a packet that paused, and all that comes of it. Afterwards the packet is the first that is to be sent,
    /// and the others are among the copies; or it is dropped.
    ///
    /// # Safety
    /// As for [`crate::executor::machine::Machine::run`]; the runtime was prepared before the call that paused.
    pub(crate) unsafe fn finish(&mut self, packet: &mut Packet, pause: Pause, around: &mut Around<'_>) {
        let (parser_error, port) = (packet.parser_error(), packet.ingress_port());
        let record = self.free.pop().unwrap_or_default();
        let taken = std::mem::replace(packet, Packet::nothing());
        (self.fault, self.no_headroom) = (false, false);
        // SAFETY: the caller's promise, for all of these.
        unsafe { self.after(taken, pause as u32, record, around) };
        let mut passes = 1;
        while !(self.egress.is_empty() && self.ingress.is_empty()) {
            passes += 1;
            if passes > MAX_PASSES {
                self.give_up(around);
                break;
            }
            // SAFETY: the caller's promise.
            unsafe {
                if !self.egress.is_empty() {
                    self.next_egress(around);
                } else if let Some(next) = self.ingress.pop_front() {
                    self.next_ingress(next, around);
                }
            }
        }
        let verdict = match (&self.first, self.fault, self.no_headroom) {
            (Some(_), ..) => Verdict::Forward,
            (None, true, _) => Verdict::Fault,
            (None, false, true) => Verdict::NoHeadroom,
            (None, false, false) => Verdict::Drop,
        };
        let found = self.first.take().or_else(|| self.spare.take());
        *packet = found.unwrap_or_else(Packet::nothing);
        let to = packet.egress_port();
        packet.decide(verdict, to, parser_error);
        packet.set_ingress_port(port);
    }

    /// Drops everything that waits.
    fn give_up(&mut self, around: &mut Around<'_>) {
        self.fault = true;
        while let Some(next) = self.egress.pop_front() {
            self.free.push(next.record);
            self.give(next.packet, around);
        }
        while let Some(next) = self.ingress.pop_front() {
            self.free.push(next.record);
            self.give(next.packet, around);
        }
    }

    fn record(&mut self, at: At) -> &mut [u64] {
        let words = self.shape.record.words();
        &mut self.records[at * words..(at + 1) * words]
    }

    fn copy_record(&mut self, from: At, to: At) {
        let words = self.shape.record.words();
        self.records.copy_within(from * words..(from + 1) * words, to * words);
    }

    /// The first word of a slot; zero if it is not kept.
    fn word(&self, record: At, slot: SlotId) -> u64 {
        let words = self.shape.record.words();
        self.shape.record.slot(slot).map_or(0, |(first, _)| self.records[record * words + first])
    }

    /// A request; zero if the program never makes it.
    fn asked(&self, record: At, slot: Option<SlotId>) -> u64 {
        slot.map_or(0, |slot| self.word(record, slot))
    }

    fn set(&mut self, record: At, slot: SlotId, value: u64) {
        if let Some((first, _)) = self.shape.record.slot(slot) {
            self.record(record)[first] = value;
        }
    }

    /// Makes all metadata of a record zero, requests too.
    fn clear_metadata(&mut self, record: At) {
        let words = self.shape.record.words();
        for &slot in self.shape.record.metadata() {
            if let Some((first, count)) = self.shape.record.slot(slot) {
                let at = record * words + first;
                self.records[at..at + count].fill(0);
            }
        }
    }

    /// Copies the slots of a field list.
    fn keep(&mut self, from: At, to: At, list: Option<u8>) {
        let words = self.shape.record.words();
        let Some(list) = self.shape.lists.iter().find(|l| Some(l.index) == list) else { return };
        for &slot in &list.slots {
            if let Some((first, count)) = self.shape.record.slot(slot) {
                let source = from * words + first;
                self.records.copy_within(source..source + count, to * words + first);
            }
        }
    }

    /// A record for a packet that comes as if new.
    fn fresh(
        &mut self,
        packet: &Packet,
        from: At,
        instance: InstanceType,
        list: Option<u8>,
        now_us: u64,
    ) -> Option<At> {
        let record = self.free.pop()?;
        let standard = self.shape.standard;
        self.clear_metadata(record);
        self.set(record, standard.ingress_port, self.word(from, standard.ingress_port));
        self.set(record, standard.packet_length, packet.len() as u64);
        self.set(record, standard.ingress_global_timestamp, now_us & ((1 << 48) - 1));
        self.keep(from, record, list);
        self.set(record, standard.instance_type, instance as u64);
        Some(record)
    }

    fn give(&mut self, packet: Packet, around: &mut Around<'_>) {
        match &mut around.pool {
            Some(pool) => pool.give(packet),
            None => self.spare = Some(packet),
        }
    }

    fn lose(&mut self) {
        self.copies.no_frame += 1;
    }

    /// A packet with another's bytes from an offset of the buffer on, at the same place.
    fn copy_packet(&mut self, packet: &Packet, from: u32, around: &mut Around<'_>) -> Option<Packet> {
        let end = packet.raw().end;
        let mut copy = around.pool.as_mut()?.take()?;
        copy.set_ingress_port(packet.ingress_port());
        let bytes = from.checked_sub(packet.raw().start).and_then(|at| packet.bytes().get(at as usize..));
        if let Some(bytes) = bytes
            && copy.set_bounds(from, end)
        {
            copy.bytes_mut().copy_from_slice(bytes);
            return Some(copy);
        }
        self.give(copy, around);
        None
    }

    /// Runs one packet by one function, which begins with a record and may leave another in the one that was prepared.
    ///
    /// # Safety
    /// As for [`Traffic::finish`].
    unsafe fn call(&mut self, run: RunBatch, packet: &mut Packet, record: At, around: &mut Around<'_>) -> u32 {
        self.prepare(around.runtime);
        around.runtime.context = self.record(record).as_mut_ptr().cast();
        let one: *mut RawPacket = Packet::as_raw_batch(std::slice::from_mut(packet));
        // SAFETY: the caller's promise; the records are as long as the program says.
        unsafe { run(around.runtime, one, 1) };
        Packet::check_bounds(std::slice::from_mut(packet));
        packet.raw().verdict
    }

    /// The record that a call wrote, if it paused, taken from the free ones; the one it began with is free.
    fn wrote(&mut self, verdict: u32, began: At) -> At {
        let wrote = Pause::of(verdict).and_then(|_| self.free.pop());
        self.free.push(began);
        wrote.unwrap_or(At::MAX)
    }

    /// Goes on behind a call that began with the packet or with egress. The record is the one it wrote, taken from
    /// the free ones.
    ///
    /// # Safety
    /// As for [`Traffic::finish`].
    unsafe fn after(&mut self, mut packet: Packet, verdict: u32, record: At, around: &mut Around<'_>) {
        let mut record = record;
        let mut verdict = verdict;
        loop {
            match Pause::of(verdict) {
                Some(Pause::Ingress) => {
                    // SAFETY: the caller's promise.
                    unsafe { self.after_ingress(packet, record, around) };
                    return;
                }
                Some(Pause::Egress) => {
                    self.clone_egress(&packet, record, around);
                    self.record(record)[PauseLayout::MODE] = 1;
                    let payload = self.record(record)[PauseLayout::PAYLOAD] as u32;
                    let end = packet.raw().end;
                    packet.set_bounds(payload.min(end), end);
                    // SAFETY: the caller's promise.
                    verdict = unsafe { self.call(self.shape.egress, &mut packet, record, around) };
                    record = self.wrote(verdict, record);
                }
                Some(Pause::Sent) => {
                    self.after_egress(packet, record, around);
                    return;
                }
                Some(Pause::Parsed) | None => {
                    if record != At::MAX {
                        self.free.push(record);
                    }
                    match packet.verdict() {
                        Verdict::Forward => self.sent(packet, around),
                        other => {
                            self.fault |= other == Verdict::Fault;
                            self.no_headroom |= other == Verdict::NoHeadroom;
                            self.give(packet, around);
                        }
                    }
                    return;
                }
            }
        }
    }

    /// # Safety
    /// As for [`Traffic::finish`].
    unsafe fn after_ingress(&mut self, mut packet: Packet, record: At, around: &mut Around<'_>) {
        let standard = self.shape.standard;
        let now_us = around.runtime.now_us;
        let clone = self.asked(record, self.shape.clone_ingress);
        if clone != 0
            && let Some(session) = around.destinations.session(clone as u32)
        {
            // SAFETY: the caller's promise.
            unsafe { self.clone_ingress(&packet, record, decode_list((clone >> 32) as u32), session, around) };
        }
        let resubmit = self.asked(record, self.shape.resubmit);
        if resubmit != 0 {
            self.restore_original(&mut packet, record);
            let list = decode_list(resubmit as u32);
            let again = self.fresh(&packet, record, InstanceType::Resubmitted, list, now_us);
            self.free.push(record);
            self.queue_ingress(packet, again, around);
            return;
        }
        let group = self.word(record, standard.mcast_grp) as u16;
        if group != 0 {
            self.set(record, standard.instance_type, InstanceType::Replication as u64);
            self.queue_egress(packet, record, around.destinations.group(group), None, around);
            return;
        }
        let port = self.word(record, standard.egress_spec);
        let port = (port != u64::from(DROP_PORT)).then_some(port as u16);
        self.queue_egress(packet, record, None, port, around);
    }

    /// Puts a packet in a queue; one without a place to go is dropped.
    fn queue_egress(
        &mut self,
        packet: Packet,
        record: At,
        group: Option<usize>,
        port: Option<u16>,
        around: &mut Around<'_>,
    ) {
        let group = group.filter(|g| !around.destinations.groups[*g].1.is_empty());
        let somewhere = group.is_some() || port.is_some();
        if somewhere && self.egress.len() < WAITING / 2 {
            self.record(record)[PauseLayout::MODE] = 0;
            self.egress.push_back(ToEgress { packet, record, group: group.map(|g| (g, 0)), port });
            return;
        }
        if somewhere {
            self.lose();
        }
        self.free.push(record);
        self.give(packet, around);
    }

    fn queue_ingress(&mut self, mut packet: Packet, record: Option<At>, around: &mut Around<'_>) {
        match record {
            Some(record) if self.ingress.len() < WAITING / 2 => {
                // Room for headers again, however often it comes.
                if let Some(pool) = &around.pool {
                    packet.start_at(pool.frame_size().headroom);
                }
                self.ingress.push_back(ToIngress { packet, record });
            }
            record => {
                self.free.extend(record);
                self.lose();
                self.give(packet, around);
            }
        }
    }

    /// Where the packet's bytes have been changed, makes them again what was received.
    fn restore_original(&mut self, packet: &mut Packet, record: At) {
        let start = packet.raw().start as usize;
        let payload = self.record(record)[PauseLayout::PAYLOAD] as usize;
        let changed = if self.shape.whole_original { packet.len() } else { payload.saturating_sub(start) };
        let changed = changed.min(packet.len()).min(self.original.len());
        packet.bytes_mut()[..changed].copy_from_slice(&self.original[..changed]);
    }

    /// The packet as it was received, parsed once more.
    ///
    /// # Safety
    /// As for [`Traffic::finish`].
    unsafe fn clone_ingress(
        &mut self,
        packet: &Packet,
        record: At,
        list: Option<u8>,
        session: CloneSession,
        around: &mut Around<'_>,
    ) {
        let Some(parse) = self.shape.parse else { return };
        let Some(mut copy) = self.copy_packet(packet, packet.raw().start, around) else { return self.lose() };
        self.restore_original(&mut copy, record);
        let now_us = around.runtime.now_us;
        let Some(begin) = self.fresh(&copy, record, InstanceType::IngressClone, None, now_us) else {
            self.give(copy, around);
            return self.lose();
        };
        // The parser knows nothing of fields that are kept.
        // SAFETY: the caller's promise.
        let verdict = unsafe { self.call(parse, &mut copy, begin, around) };
        let parsed = self.free.pop();
        self.free.push(begin);
        match parsed {
            Some(parsed) if Pause::of(verdict) == Some(Pause::Parsed) => {
                self.keep(record, parsed, list);
                self.set(parsed, self.shape.standard.instance_type, InstanceType::IngressClone as u64);
                self.mirror(copy, parsed, session, around);
            }
            parsed => {
                self.free.extend(parsed);
                self.fault = true;
                self.give(copy, around);
            }
        }
    }

    /// Sends a copy where its session says.
    fn mirror(&mut self, mut copy: Packet, record: At, session: CloneSession, around: &mut Around<'_>) {
        if let Some(slot) = self.shape.truncate {
            self.set(record, slot, session.truncate.map_or(0, |most| 1 << 32 | u64::from(most)));
        }
        let payload = self.record(record)[PauseLayout::PAYLOAD] as u32;
        let end = copy.raw().end;
        copy.set_bounds(payload.min(end), end);
        let group = session.group.and_then(|g| around.destinations.group(g));
        self.queue_egress(copy, record, group, session.port, around);
    }

    /// A copy of the packet as egress left it, without its metadata.
    fn clone_egress(&mut self, packet: &Packet, record: At, around: &mut Around<'_>) {
        let clone = self.asked(record, self.shape.clone_egress);
        let Some(session) = around.destinations.session(clone as u32) else { return };
        let payload = self.record(record)[PauseLayout::PAYLOAD] as u32;
        let Some(copy) = self.copy_packet(packet, payload, around) else { return self.lose() };
        let Some(to) = self.free.pop() else {
            self.give(copy, around);
            return self.lose();
        };
        let standard = self.shape.standard;
        self.copy_record(record, to);
        self.clear_metadata(to);
        for slot in [standard.ingress_port, standard.packet_length] {
            self.set(to, slot, self.word(record, slot));
        }
        self.keep(record, to, decode_list((clone >> 32) as u32));
        self.set(to, standard.instance_type, InstanceType::EgressClone as u64);
        self.record(to)[PauseLayout::STEPS] = u64::from(MAX_STEPS);
        self.mirror(copy, to, session, around);
    }

    /// A packet that is ready to be sent, but for being cut or coming again.
    fn after_egress(&mut self, mut packet: Packet, record: At, around: &mut Around<'_>) {
        let truncate = self.asked(record, self.shape.truncate);
        if truncate >> 32 != 0 {
            let (start, end) = (packet.raw().start, packet.raw().end);
            packet.set_bounds(start, end.min(start.saturating_add(truncate as u32)));
        }
        let recirculate = self.asked(record, self.shape.recirculate);
        if recirculate == 0 {
            self.free.push(record);
            return self.sent(packet, around);
        }
        let list = decode_list(recirculate as u32);
        let again = self.fresh(&packet, record, InstanceType::Recirculated, list, around.runtime.now_us);
        self.free.push(record);
        self.queue_ingress(packet, again, around);
    }

    fn sent(&mut self, mut packet: Packet, around: &mut Around<'_>) {
        let port = packet.egress_port();
        let error = packet.parser_error();
        packet.decide(Verdict::Forward, port, error);
        if self.first.is_none() {
            self.first = Some(packet);
        } else if self.copies.ready.len() < self.copies.ready.capacity() {
            self.copies.ready.push(packet);
        } else {
            self.lose();
            self.give(packet, around);
        }
    }

    /// # Safety
    /// As for [`Traffic::finish`].
    unsafe fn next_ingress(&mut self, next: ToIngress, around: &mut Around<'_>) {
        let ToIngress { mut packet, record } = next;
        let run = self.shape.again.unwrap_or(around.run);
        // SAFETY: the caller's promise.
        unsafe {
            let verdict = self.call(run, &mut packet, record, around);
            self.go_on(packet, verdict, record, around);
        }
    }

    /// Behind a call that began with a record.
    ///
    /// # Safety
    /// As for [`Traffic::finish`].
    unsafe fn go_on(&mut self, packet: Packet, verdict: u32, began: At, around: &mut Around<'_>) {
        let wrote = self.wrote(verdict, began);
        // SAFETY: the caller's promise.
        unsafe { self.after(packet, verdict, wrote, around) }
    }

    /// The next copy for egress.
    ///
    /// # Safety
    /// As for [`Traffic::finish`].
    unsafe fn next_egress(&mut self, around: &mut Around<'_>) {
        let Some(front) = self.egress.front_mut() else { return };
        let mut rid = None;
        let port = match front.group {
            Some((group, next)) => {
                let replicas = &around.destinations.groups[group].1;
                let Replica { rid: number, port } = replicas[next];
                rid = Some(number);
                front.group = (next + 1 < replicas.len()).then_some((group, next + 1));
                port
            }
            None => front.port.take().unwrap_or_default(),
        };
        let more = front.group.is_some() || front.port.is_some();
        let (mut packet, record);
        if more {
            let from = front.record;
            let end = front.packet.raw().end;
            let start = self.records[from * self.shape.record.words() + PauseLayout::PAYLOAD] as u32;
            // Taken out for a moment, because copying needs all of the traffic manager.
            let whole = std::mem::replace(&mut front.packet, Packet::nothing());
            let copy = self.copy_packet(&whole, start.min(end), around);
            if let Some(front) = self.egress.front_mut() {
                front.packet = whole;
            }
            let Some(copy) = copy else { return self.lose() };
            let Some(to) = self.free.pop() else {
                self.give(copy, around);
                return self.lose();
            };
            self.copy_record(from, to);
            (packet, record) = (copy, to);
        } else {
            let Some(last) = self.egress.pop_front() else { return };
            (packet, record) = (last.packet, last.record);
            let payload = self.record(record)[PauseLayout::PAYLOAD] as u32;
            let end = packet.raw().end;
            packet.set_bounds(payload.min(end), end);
        }
        if let Some(rid) = rid {
            self.set(record, self.shape.standard.egress_rid, u64::from(rid));
        }
        self.record(record)[PauseLayout::PORT] = u64::from(port);
        // SAFETY: the caller's promise.
        unsafe {
            let verdict = self.call(self.shape.egress, &mut packet, record, around);
            self.go_on(packet, verdict, record, around);
        }
    }
}
