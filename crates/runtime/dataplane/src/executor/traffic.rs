//! The traffic manager for compiled programs: clones, multicast copies, resubmitted and recirculated packets.
//!
//! Generated code *pauses* at a packet that requests any of these, and saves the packet's state in a *record*
//! ([`PauseLayout`], [`Suspension`]). This module then does what `simple_switch` does, in the same order
//! as the reference interpreter: packets wait in an ingress and an egress queue, and the egress queue is served first.
//! Records and queues are preallocated, and frames come from the pool. Copies that find no room are lost and counted.

use std::collections::VecDeque;

use hopwright_abi::{ORIGINAL_BYTES, PauseLayout};
use hopwright_abi::{Packet as RawPacket, Pause, RunBatch, Runtime, Verdict, decode_list};
use hopwright_interp::{CloneSession, MAX_PASSES, MAX_STEPS, Replica};
use hopwright_ir::InstanceType;
use hopwright_ir::{DROP_PORT, FieldList, Pipeline, SlotId, StandardMetadata};

use crate::control::destinations::Destinations;
use crate::executor::room::Growth;
use crate::jit::Suspension;
use crate::packet::{Packet, Pool};

/// The maximum number of waiting packets. All copies of a multicast group count as one.
const WAITING: usize = 256;
/// Records of packets that wait, and of the current packet, the one it is replaced by, and the one a copy starts with.
const RECORDS: usize = WAITING + 4;

/// The maximum number of copies that wait to be taken by the caller.
pub(crate) const MAX_COPIES: usize = 4096;

/// Copies that a program made and that came to nothing, by reason. What the program itself drops is not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostCopies {
    /// There was no free frame, or a queue was full.
    pub no_frame: u64,
    /// They grew beyond their headroom.
    pub no_headroom: u64,
    /// They ran into a fault.
    pub faults: u64,
}

impl LostCopies {
    /// All together.
    pub fn total(&self) -> u64 {
        self.no_frame + self.no_headroom + self.faults
    }

    /// Adds the packets that failed among one and its copies, but not the one that the verdict is about.
    pub(crate) fn add_failed(&mut self, verdict: Verdict, faults: u64, no_headroom: u64) {
        self.faults += faults.saturating_sub(u64::from(verdict == Verdict::Fault));
        self.no_headroom += no_headroom.saturating_sub(u64::from(verdict == Verdict::NoHeadroom));
    }
}

/// The parts of the worker that a call needs.
pub(crate) struct WorkerContext<'a> {
    pub runtime: &'a mut Runtime,
    pub run: RunBatch,
    pub destinations: &'a Destinations,
    pub pool: Option<&'a mut Pool>,
}

/// Finished copies, and the number of lost ones.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// Copies to be sent, in order.
    pub ready: Vec<Packet>,
    pub lost: LostCopies,
}

/// The index of a record.
type RecordIndex = usize;

struct ToIngress {
    packet: Packet,
    record: RecordIndex,
}

/// A packet on its way to egress: to the replicas of a group from the given one on, to those of a second group, then to a port.
struct ToEgress {
    packet: Packet,
    record: RecordIndex,
    group: Option<(usize, usize)>,
    second: Option<usize>,
    port: Option<u16>,
}

/// One worker's traffic manager for one program.
pub(crate) struct Traffic {
    shape: Shape,
    records: Box<[u64]>,
    free: Vec<RecordIndex>,
    ingress: VecDeque<ToIngress>,
    egress: VecDeque<ToEgress>,
    original: Box<[u8]>,
    /// The first packet to be sent of those made from the current packet.
    first: Option<Packet>,
    /// How many of the current packet and its copies ran into a fault, and how many grew too far.
    faults: u64,
    no_headroom: u64,
    /// A dropped packet's frame, kept because there is no pool to return it to.
    spare: Option<Packet>,
    pub copies: Copies,
    /// Ingress and egress passes that one received packet may cause.
    pub max_passes: u32,
    /// Passes of all packets completed here, until the caller resets it.
    pub passes: u32,
}

/// Properties of the program.
struct Shape {
    again: Option<RunBatch>,
    parse: Option<RunBatch>,
    egress: RunBatch,
    clone_ingress: Option<SlotId>,
    clone_egress: Option<SlotId>,
    resubmit: Option<SlotId>,
    recirculate: Option<SlotId>,
    truncate: Option<SlotId>,
    replicate: Option<SlotId>,
    whole_original: bool,
    growth: Growth,
    record: PauseLayout,
    standard: StandardMetadata,
    lists: Vec<FieldList>,
}

impl Traffic {
    /// The bytes of all records. Each has all headers and the metadata of a packet.
    pub(crate) fn record_bytes(requests: &Suspension) -> u64 {
        (requests.record.words() as u64).saturating_mul(8 * RECORDS as u64)
    }

    pub(crate) fn new(requests: &Suspension, pipeline: &Pipeline) -> Traffic {
        let (words, count) = (requests.record.words(), RECORDS);
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
                replicate: requests.replicate,
                whole_original: requests.whole_original,
                growth: Growth::of(pipeline),
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
            faults: 0,
            no_headroom: 0,
            spare: None,
            copies: Copies { ready: Vec::with_capacity(MAX_COPIES), ..Copies::default() },
            max_passes: MAX_PASSES,
            passes: 0,
        }
    }

    /// Tells generated code where to save the next record and the packet's original first bytes.
    pub(crate) fn prepare(&mut self, runtime: &mut Runtime) {
        // A record is always free: the queues are shorter than the number of records.
        let out = self.free.last().copied().unwrap_or_default();
        runtime.record = self.record(out).as_mut_ptr();
        runtime.original = self.original.as_mut_ptr();
    }

    /// Completes a packet that paused, and all copies made from it. Afterwards `packet` is the first packet to be sent
    /// and the others are in `copies`, or `packet` is dropped.
    ///
    /// # Safety
    /// As for [`crate::executor::machine::Machine::run`]; [`Traffic::prepare`] was called before the call that paused.
    pub(crate) unsafe fn finish(&mut self, packet: &mut Packet, pause: Pause, worker: &mut WorkerContext<'_>) {
        let (parser_error, port) = (packet.parser_error(), packet.ingress_port());
        let record = self.free.pop().unwrap_or_default();
        let taken = std::mem::replace(packet, Packet::nothing());
        (self.faults, self.no_headroom) = (0, 0);
        // SAFETY: guaranteed by the caller.
        unsafe { self.after(taken, pause as u32, record, worker) };
        let mut passes = 1;
        while !(self.egress.is_empty() && self.ingress.is_empty()) {
            passes += 1;
            if passes > self.max_passes {
                self.give_up(worker);
                break;
            }
            // SAFETY: guaranteed by the caller.
            unsafe {
                if !self.egress.is_empty() {
                    self.next_egress(worker);
                } else if let Some(next) = self.ingress.pop_front() {
                    self.next_ingress(next, worker);
                }
            }
        }
        self.passes = self.passes.saturating_add(passes);
        let verdict = match (&self.first, self.faults, self.no_headroom) {
            (Some(_), ..) => Verdict::Forward,
            (None, 1.., _) => Verdict::Fault,
            (None, 0, 1..) => Verdict::NoHeadroom,
            (None, 0, 0) => Verdict::Drop,
        };
        self.copies.lost.add_failed(verdict, self.faults, self.no_headroom);
        let found = self.first.take().or_else(|| self.spare.take());
        *packet = found.unwrap_or_else(Packet::nothing);
        let to = packet.egress_port();
        packet.decide(verdict, to, parser_error);
        packet.set_ingress_port(port);
    }

    /// Drops all waiting packets.
    fn give_up(&mut self, worker: &mut WorkerContext<'_>) {
        self.faults += 1;
        while let Some(next) = self.egress.pop_front() {
            self.free.push(next.record);
            self.give(next.packet, worker);
        }
        while let Some(next) = self.ingress.pop_front() {
            self.free.push(next.record);
            self.give(next.packet, worker);
        }
    }

    fn record(&mut self, at: RecordIndex) -> &mut [u64] {
        let words = self.shape.record.words();
        &mut self.records[at * words..(at + 1) * words]
    }

    fn copy_record(&mut self, from: RecordIndex, to: RecordIndex) {
        let words = self.shape.record.words();
        self.records.copy_within(from * words..(from + 1) * words, to * words);
    }

    /// Returns the first word of a slot; zero if records do not contain it.
    fn word(&self, record: RecordIndex, slot: SlotId) -> u64 {
        let words = self.shape.record.words();
        self.shape.record.slot(slot).map_or(0, |(first, _)| self.records[record * words + first])
    }

    /// Returns the value of a request slot; zero if the program never makes the request.
    fn request(&self, record: RecordIndex, slot: Option<SlotId>) -> u64 {
        slot.map_or(0, |slot| self.word(record, slot))
    }

    fn set(&mut self, record: RecordIndex, slot: SlotId, value: u64) {
        if let Some((first, _)) = self.shape.record.slot(slot) {
            self.record(record)[first] = value;
        }
    }

    /// Zeroes all metadata of a record, including the requests.
    fn clear_metadata(&mut self, record: RecordIndex) {
        let words = self.shape.record.words();
        for &slot in self.shape.record.metadata() {
            if let Some((first, count)) = self.shape.record.slot(slot) {
                let at = record * words + first;
                self.records[at..at + count].fill(0);
            }
        }
    }

    /// Copies the slots of a field list from one record to another.
    fn copy_field_list(&mut self, from: RecordIndex, to: RecordIndex, list: Option<u8>) {
        let words = self.shape.record.words();
        let Some(list) = self.shape.lists.iter().find(|l| Some(l.index) == list) else { return };
        for &slot in &list.slots {
            if let Some((first, count)) = self.shape.record.slot(slot) {
                let source = from * words + first;
                self.records.copy_within(source..source + count, to * words + first);
            }
        }
    }

    /// Creates a record for a packet that starts over at ingress.
    fn restart_record(
        &mut self,
        packet: &Packet,
        from: RecordIndex,
        instance: InstanceType,
        list: Option<u8>,
        now_us: u64,
    ) -> Option<RecordIndex> {
        let record = self.free.pop()?;
        let standard = self.shape.standard;
        self.clear_metadata(record);
        self.set(record, standard.ingress_port, self.word(from, standard.ingress_port));
        self.set(record, standard.packet_length, packet.len() as u64);
        self.set(record, standard.ingress_global_timestamp, now_us & ((1 << 48) - 1));
        self.copy_field_list(from, record, list);
        self.set(record, standard.instance_type, instance as u64);
        Some(record)
    }

    fn give(&mut self, packet: Packet, worker: &mut WorkerContext<'_>) {
        match &mut worker.pool {
            Some(pool) => pool.give(packet),
            None => self.spare = Some(packet),
        }
    }

    fn lose(&mut self) {
        self.copies.lost.no_frame += 1;
    }

    /// Copies a packet's bytes from buffer offset `from` on into a new frame, at the same offset.
    fn copy_packet(&mut self, packet: &Packet, from: u32, worker: &mut WorkerContext<'_>) -> Option<Packet> {
        let end = packet.raw().end;
        let mut copy = worker.pool.as_mut()?.take_for_copy()?;
        copy.set_ingress_port(packet.ingress_port());
        let bytes = from.checked_sub(packet.raw().start).and_then(|at| packet.bytes().get(at as usize..));
        if let Some(bytes) = bytes
            && copy.set_bounds(from, end)
        {
            copy.bytes_mut().copy_from_slice(bytes);
            return Some(copy);
        }
        self.give(copy, worker);
        None
    }

    /// Runs `run` on one packet, starting from `record`. If it pauses, it writes the record set by
    /// [`Traffic::prepare`].
    ///
    /// # Safety
    /// As for [`Traffic::finish`].
    unsafe fn call(
        &mut self,
        run: RunBatch,
        packet: &mut Packet,
        record: RecordIndex,
        worker: &mut WorkerContext<'_>,
    ) -> u32 {
        self.prepare(worker.runtime);
        worker.runtime.context = self.record(record).as_mut_ptr().cast();
        let one: *mut RawPacket = Packet::as_raw_batch(std::slice::from_mut(packet));
        // SAFETY: guaranteed by the caller; records have the length that the program expects.
        unsafe { run(worker.runtime, one, 1) };
        Packet::check_bounds(std::slice::from_mut(packet));
        packet.raw().verdict
    }

    /// Frees the record that a call started from. Returns the record it wrote, now in use, if it paused.
    fn take_written(&mut self, verdict: u32, began: RecordIndex) -> RecordIndex {
        let wrote = Pause::of(verdict).and_then(|_| self.free.pop());
        self.free.push(began);
        wrote.unwrap_or(RecordIndex::MAX)
    }

    /// Continues after a call that has written `record`, which is in use, and returned `verdict`.
    ///
    /// # Safety
    /// As for [`Traffic::finish`].
    unsafe fn after(&mut self, mut packet: Packet, verdict: u32, record: RecordIndex, worker: &mut WorkerContext<'_>) {
        let mut record = record;
        let mut verdict = verdict;
        loop {
            match Pause::of(verdict) {
                Some(Pause::Ingress) => {
                    // SAFETY: guaranteed by the caller.
                    unsafe { self.after_ingress(packet, record, worker) };
                    return;
                }
                Some(Pause::Egress) => {
                    self.clone_egress(&packet, record, worker);
                    self.record(record)[PauseLayout::MODE] = 1;
                    let payload = self.record(record)[PauseLayout::PAYLOAD] as u32;
                    let end = packet.raw().end;
                    packet.set_bounds(payload.min(end), end);
                    // SAFETY: guaranteed by the caller.
                    verdict = unsafe { self.call(self.shape.egress, &mut packet, record, worker) };
                    record = self.take_written(verdict, record);
                }
                Some(Pause::Sent) => {
                    self.after_egress(packet, record, worker);
                    return;
                }
                Some(Pause::Parsed) | None => {
                    if record != RecordIndex::MAX {
                        self.free.push(record);
                    }
                    match packet.verdict() {
                        Verdict::Forward => self.sent(packet, worker),
                        other => {
                            self.faults += u64::from(other == Verdict::Fault);
                            self.no_headroom += u64::from(other == Verdict::NoHeadroom);
                            self.give(packet, worker);
                        }
                    }
                    return;
                }
            }
        }
    }

    /// # Safety
    /// As for [`Traffic::finish`].
    unsafe fn after_ingress(&mut self, mut packet: Packet, record: RecordIndex, worker: &mut WorkerContext<'_>) {
        let standard = self.shape.standard;
        let now_us = worker.runtime.now_us;
        let clone = self.request(record, self.shape.clone_ingress);
        if clone != 0
            && let Some(session) = worker.destinations.session(clone as u32)
        {
            // SAFETY: guaranteed by the caller.
            unsafe { self.clone_ingress(&packet, record, decode_list((clone >> 32) as u32), session, worker) };
        }
        let resubmit = self.request(record, self.shape.resubmit);
        if resubmit != 0 {
            self.restore_original(&mut packet, record);
            let list = decode_list(resubmit as u32);
            let again = self.restart_record(&packet, record, InstanceType::Resubmitted, list, now_us);
            self.free.push(record);
            self.queue_ingress(packet, again, worker);
            return;
        }
        let group = self.word(record, standard.mcast_grp) as u16;
        if group != 0 {
            self.set(record, standard.instance_type, InstanceType::Replication as u64);
            let further = self.request(record, self.shape.replicate) as u32;
            let groups = [group, further as u16].map(|group| worker.destinations.group(group));
            let port = (further >> 16 != 0).then(|| self.word(record, standard.egress_spec) as u16);
            self.queue_egress(packet, record, groups, port, worker);
            return;
        }
        let port = self.word(record, standard.egress_spec);
        let port = (port != u64::from(DROP_PORT)).then_some(port as u16);
        self.queue_egress(packet, record, [None, None], port, worker);
    }

    /// Queues a packet for egress; drops it if it has no destination.
    fn queue_egress(
        &mut self,
        packet: Packet,
        record: RecordIndex,
        groups: [Option<usize>; 2],
        port: Option<u16>,
        worker: &mut WorkerContext<'_>,
    ) {
        let [first, second] = groups.map(|group| group.filter(|g| !worker.destinations.replicas(*g).is_empty()));
        let (group, second) = if first.is_some() { (first, second) } else { (second, None) };
        let somewhere = group.is_some() || port.is_some();
        if somewhere && self.egress.len() < WAITING / 2 {
            self.record(record)[PauseLayout::MODE] = 0;
            self.egress.push_back(ToEgress { packet, record, group: group.map(|g| (g, 0)), second, port });
            return;
        }
        if somewhere {
            self.lose();
        }
        self.free.push(record);
        self.give(packet, worker);
    }

    fn queue_ingress(&mut self, mut packet: Packet, record: Option<RecordIndex>, worker: &mut WorkerContext<'_>) {
        let has_room = self.shape.growth.restore(&mut packet, worker.pool.as_deref());
        match record {
            Some(record) if has_room && self.ingress.len() < WAITING / 2 => {
                self.ingress.push_back(ToIngress { packet, record });
            }
            record => {
                self.free.extend(record);
                if has_room {
                    self.lose();
                } else {
                    self.no_headroom += 1;
                }
                self.give(packet, worker);
            }
        }
    }

    /// Restores the bytes that the packet had when it was received.
    fn restore_original(&mut self, packet: &mut Packet, record: RecordIndex) {
        let start = packet.raw().start as usize;
        let payload = self.record(record)[PauseLayout::PAYLOAD] as usize;
        let changed = if self.shape.whole_original { packet.len() } else { payload.saturating_sub(start) };
        let changed = changed.min(packet.len()).min(self.original.len());
        packet.bytes_mut()[..changed].copy_from_slice(&self.original[..changed]);
    }

    /// Clones the packet as it was received: parses the copy again and queues it for egress.
    ///
    /// # Safety
    /// As for [`Traffic::finish`].
    unsafe fn clone_ingress(
        &mut self,
        packet: &Packet,
        record: RecordIndex,
        list: Option<u8>,
        session: CloneSession,
        worker: &mut WorkerContext<'_>,
    ) {
        let Some(parse) = self.shape.parse else { return };
        let Some(mut copy) = self.copy_packet(packet, packet.raw().start, worker) else { return self.lose() };
        self.restore_original(&mut copy, record);
        let now_us = worker.runtime.now_us;
        let Some(begin) = self.restart_record(&copy, record, InstanceType::IngressClone, None, now_us) else {
            self.give(copy, worker);
            return self.lose();
        };
        // The parser does not set the preserved fields; they are copied afterwards.
        // SAFETY: guaranteed by the caller.
        let verdict = unsafe { self.call(parse, &mut copy, begin, worker) };
        let parsed = self.free.pop();
        self.free.push(begin);
        match parsed {
            Some(parsed) if Pause::of(verdict) == Some(Pause::Parsed) => {
                self.copy_field_list(record, parsed, list);
                self.set(parsed, self.shape.standard.instance_type, InstanceType::IngressClone as u64);
                self.mirror(copy, parsed, session, worker);
            }
            parsed => {
                self.free.extend(parsed);
                self.faults += 1;
                self.give(copy, worker);
            }
        }
    }

    /// Queues a clone for the destinations of its session.
    fn mirror(&mut self, mut copy: Packet, record: RecordIndex, session: CloneSession, worker: &mut WorkerContext<'_>) {
        if let Some(slot) = self.shape.truncate {
            self.set(record, slot, session.truncate.map_or(0, |most| 1 << 32 | u64::from(most)));
        }
        let payload = self.record(record)[PauseLayout::PAYLOAD] as u32;
        let end = copy.raw().end;
        copy.set_bounds(payload.min(end), end);
        let group = session.group.and_then(|g| worker.destinations.group(g));
        self.queue_egress(copy, record, [group, None], session.port, worker);
    }

    /// Clones the packet as it leaves egress, without its metadata.
    fn clone_egress(&mut self, packet: &Packet, record: RecordIndex, worker: &mut WorkerContext<'_>) {
        let clone = self.request(record, self.shape.clone_egress);
        let Some(session) = worker.destinations.session(clone as u32) else { return };
        let payload = self.record(record)[PauseLayout::PAYLOAD] as u32;
        let Some(copy) = self.copy_packet(packet, payload, worker) else { return self.lose() };
        let Some(to) = self.free.pop() else {
            self.give(copy, worker);
            return self.lose();
        };
        let standard = self.shape.standard;
        self.copy_record(record, to);
        self.clear_metadata(to);
        for slot in [standard.ingress_port, standard.packet_length] {
            self.set(to, slot, self.word(record, slot));
        }
        self.copy_field_list(record, to, decode_list((clone >> 32) as u32));
        self.set(to, standard.instance_type, InstanceType::EgressClone as u64);
        self.record(to)[PauseLayout::STEPS] = u64::from(MAX_STEPS);
        self.mirror(copy, to, session, worker);
    }

    /// Truncates and sends a packet after egress, or recirculates it.
    fn after_egress(&mut self, mut packet: Packet, record: RecordIndex, worker: &mut WorkerContext<'_>) {
        let truncate = self.request(record, self.shape.truncate);
        if truncate >> 32 != 0 {
            let (start, end) = (packet.raw().start, packet.raw().end);
            packet.set_bounds(start, end.min(start.saturating_add(truncate as u32)));
        }
        let recirculate = self.request(record, self.shape.recirculate);
        if recirculate == 0 {
            self.free.push(record);
            return self.sent(packet, worker);
        }
        let list = decode_list(recirculate as u32);
        let again = self.restart_record(&packet, record, InstanceType::Recirculated, list, worker.runtime.now_us);
        self.free.push(record);
        self.queue_ingress(packet, again, worker);
    }

    fn sent(&mut self, mut packet: Packet, worker: &mut WorkerContext<'_>) {
        let port = packet.egress_port();
        let error = packet.parser_error();
        packet.decide(Verdict::Forward, port, error);
        if self.first.is_none() {
            self.first = Some(packet);
        } else if self.copies.ready.len() < self.copies.ready.capacity() {
            self.copies.ready.push(packet);
        } else {
            self.lose();
            self.give(packet, worker);
        }
    }

    /// # Safety
    /// As for [`Traffic::finish`].
    unsafe fn next_ingress(&mut self, next: ToIngress, worker: &mut WorkerContext<'_>) {
        let ToIngress { mut packet, record } = next;
        let run = self.shape.again.unwrap_or(worker.run);
        // SAFETY: guaranteed by the caller.
        unsafe {
            let verdict = self.call(run, &mut packet, record, worker);
            self.resume(packet, verdict, record, worker);
        }
    }

    /// Continues after a call that started from the record `began`.
    ///
    /// # Safety
    /// As for [`Traffic::finish`].
    unsafe fn resume(&mut self, packet: Packet, verdict: u32, began: RecordIndex, worker: &mut WorkerContext<'_>) {
        let wrote = self.take_written(verdict, began);
        // SAFETY: guaranteed by the caller.
        unsafe { self.after(packet, verdict, wrote, worker) }
    }

    /// Runs egress for the next packet of the egress queue.
    ///
    /// # Safety
    /// As for [`Traffic::finish`].
    unsafe fn next_egress(&mut self, worker: &mut WorkerContext<'_>) {
        let Some(front) = self.egress.front_mut() else { return };
        let mut rid = None;
        let port = match front.group {
            Some((group, next)) => {
                let replicas = worker.destinations.replicas(group);
                let Replica { rid: number, port } = replicas[next];
                rid = Some(number);
                let rest = (next + 1 < replicas.len()).then_some((group, next + 1));
                front.group = rest.or_else(|| Some((front.second.take()?, 0)));
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
            // Taken out temporarily, because copying borrows all of `self`.
            let whole = std::mem::replace(&mut front.packet, Packet::nothing());
            let copy = self.copy_packet(&whole, start.min(end), worker);
            if let Some(front) = self.egress.front_mut() {
                front.packet = whole;
            }
            let Some(copy) = copy else { return self.lose() };
            let Some(to) = self.free.pop() else {
                self.give(copy, worker);
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
        let standard = self.shape.standard;
        match rid {
            Some(rid) => self.set(record, standard.egress_rid, u64::from(rid)),
            None if self.word(record, standard.instance_type) == InstanceType::Replication as u64 => {
                self.set(record, standard.instance_type, InstanceType::Normal as u64);
            }
            None => {}
        }
        self.record(record)[PauseLayout::PORT] = u64::from(port);
        // SAFETY: guaranteed by the caller.
        unsafe {
            let verdict = self.call(self.shape.egress, &mut packet, record, worker);
            self.resume(packet, verdict, record, worker);
        }
    }
}
