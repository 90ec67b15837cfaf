//! Runs designs on packets, one operation after the other.
//!
//! The evaluator defines what a design means, as [`hopwright_interp`] does for pipelines. State that outlives a packet is
//! in a [`Store`]. The traffic manager is the same as that of the interpreter, for what designs can ask of it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use hopwright_interp::{
    CloneSession, ControlError, Digest, Entry, ExternModel, ExternRegistry, Externs, Fault, LinearStore, MAX_PASSES,
    Output, QueueDepths, Replica, Sent, Store, Value as Argument, Verdict,
};
use hopwright_ir::bits::{self, BitString};
use hopwright_ir::hash;
use hopwright_ir::meter::Color;
use hopwright_ir::profile;
use hopwright_ir::{
    ActionCall, DROP_PORT, EntryTarget, ExternId, ExternKind, MatchValue, Pipeline, TableId, Type, Unit,
};
use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};

use crate::digest;
use crate::hir::{Design, Emit, Input, LookupLayout, Op, Piece, SUM_BITS, Value, evaluate_binary};

/// A switch that runs a design.
pub struct Evaluator<S = LinearStore> {
    pipeline: Arc<Pipeline>,
    design: Arc<Design>,
    /// The state that outlives a packet.
    pub store: S,
    /// The values of `enq_qdepth` and `deq_qdepth`.
    pub depths: QueueDepths,
    externs: Externs,
}

/// A copy of a packet before egress.
struct Copy {
    port: u16,
    rid: u16,
    replica: bool,
    /// The session that made it.
    session: Option<CloneSession>,
}

/// The packet and what was computed so far.
struct State<'a> {
    packet: &'a [u8],
    port: u16,
    now_us: u64,
    values: Vec<BigUint>,
    /// Of lookups: the colour of a hit.
    colors: BTreeMap<Value, Color>,
    /// Of lookups in tables with action profiles: the members of a hit, with their shares.
    members: BTreeMap<Value, Vec<(ActionCall, u32)>>,
    copy: Option<&'a Copy>,
    /// What the pass before has kept.
    again: BigUint,
    /// Digests so far.
    digests: Vec<Digest>,
}

/// A packet before its parser.
struct Pass {
    packet: Vec<u8>,
    again: BigUint,
}

/// What becomes of a copy.
enum Became {
    Nothing,
    Sent(Sent),
    Again(Pass),
}

impl State<'_> {
    fn get(&self, value: Value) -> &BigUint {
        &self.values[value.index()]
    }

    fn is_true(&self, value: Value) -> bool {
        !self.get(value).is_zero()
    }

    /// Saturated to 64 bits.
    fn number(&self, value: Value) -> u64 {
        self.get(value).to_u64().unwrap_or(u64::MAX)
    }
}

impl Evaluator {
    /// Creates a switch in the program's initial state, without named externs.
    ///
    /// # Errors
    /// The program uses a named extern.
    pub fn new(pipeline: Arc<Pipeline>, design: Arc<Design>) -> Result<Evaluator, ControlError> {
        let store = LinearStore::new(&pipeline)?;
        Evaluator::with_store(pipeline, design, &ExternRegistry::new(), store)
    }
}

impl<S: Store> Evaluator<S> {
    /// Creates a switch whose state is in this store. The design is that of the pipeline.
    ///
    /// # Errors
    /// The program uses an extern that is not in the registry, or an object cannot be created.
    pub fn with_store(
        pipeline: Arc<Pipeline>,
        design: Arc<Design>,
        registry: &ExternRegistry,
        store: S,
    ) -> Result<Evaluator<S>, ControlError> {
        let externs = Externs::new(&pipeline, registry)?;
        Ok(Evaluator { pipeline, design, store, depths: QueueDepths::default(), externs })
    }

    /// The pipeline.
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    /// The model of a named extern object, for settings by the control plane; `None` for other objects.
    pub fn named_extern(&mut self, object: ExternId) -> Option<&mut dyn ExternModel> {
        self.externs.object(object)
    }

    /// Processes a packet received on a port (only the lowest nine bits count) at a time in microseconds.
    pub fn process(&mut self, packet: &[u8], ingress_port: u16, now_us: u64) -> Output {
        self.store.begin();
        let design = self.design.clone();
        let mut output = Output::default();
        let mut waiting = VecDeque::from([Pass { packet: packet.to_vec(), again: BigUint::zero() }]);
        // Clones that were made at the end of egress. Their copies come before other repetitions.
        let mut mirrored: VecDeque<Pass> = VecDeque::new();
        let (mut first, mut passes) = (true, 0);
        loop {
            let pass = mirrored.pop_front();
            passes += usize::from(pass.is_none());
            let Some(Pass { packet, again }) = pass.or_else(|| waiting.pop_front()) else { break };
            let (values, colors, members) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
            let (packet, digests) = (&packet, Vec::new());
            let mut state =
                State { packet, port: ingress_port, now_us, values, colors, members, copy: None, again, digests };
            self.run(&design, 0..design.split, &mut state);
            let results = &design.ingress;
            if std::mem::take(&mut first) {
                output.parser_error = state.number(results.parser_error) as u32;
            }
            if state.is_true(results.fault) {
                self.fail(&mut output, "an assertion failed".into());
            }
            let copies = self.copies(&design, &state);
            passes += copies.len();
            if passes > MAX_PASSES as usize {
                let message = format!("more than {MAX_PASSES} passes of copies and repetitions of a packet");
                self.fail(&mut output, message);
                output.verdict = Verdict::Fault;
                return output;
            }
            if let Some(again) = results.resubmit.filter(|again| state.is_true(again.enable)) {
                waiting.push_back(Pass { packet: packet.clone(), again: state.get(again.kept).clone() });
            }
            for copy in &copies {
                state.values.truncate(design.split);
                state.copy = Some(copy);
                self.run(&design, design.split..design.nodes.len(), &mut state);
                if state.is_true(design.egress.fault) {
                    self.fail(&mut output, "an assertion failed".into());
                }
                if let Some(again) = design.egress.mirror.filter(|again| state.is_true(again.enable)) {
                    mirrored.push_back(Pass { packet: packet.clone(), again: state.get(again.kept).clone() });
                }
                match became(&design, &state, copy) {
                    Became::Nothing => {}
                    Became::Sent(sent) => output.sent.push(sent),
                    Became::Again(pass) => waiting.push_back(pass),
                }
            }
            output.digests.append(&mut state.digests);
        }
        output.verdict = match (output.fault.is_some(), output.sent.is_empty()) {
            (true, _) => Verdict::Fault,
            (false, true) => Verdict::Drop,
            (false, false) => Verdict::Forward,
        };
        output
    }

    /// Notes that a packet was dropped with a fault. Hardware does not know where.
    fn fail(&self, output: &mut Output, message: String) {
        output.fault.get_or_insert(Fault { message, span: self.pipeline.ingress.span });
        output.faults += 1;
    }

    /// What the traffic manager makes of the packet, in the order in which the interpreter sends copies.
    fn copies(&self, design: &Design, state: &State<'_>) -> Vec<Copy> {
        let results = &design.ingress;
        let group = |group: u16, session: Option<CloneSession>| {
            let replicas = self.store.multicast_group(group).into_iter();
            replicas.map(move |Replica { rid, port }| Copy { port, rid, replica: true, session })
        };
        let one = |port: u16, session: Option<CloneSession>| Copy { port, rid: 0, replica: false, session };
        let mut copies = Vec::new();
        if state.is_true(results.clone)
            && let Some(session) = self.store.clone_session(state.number(results.session) as u32)
        {
            copies.extend(session.group.into_iter().flat_map(|number| group(number, Some(session))));
            copies.extend(session.port.map(|port| one(port, Some(session))));
        }
        if results.resubmit.is_some_and(|again| state.is_true(again.enable)) {
            return copies;
        }
        let number = state.number(results.multicast_group) as u16;
        let port = state.number(results.egress_spec) as u16;
        if number != 0 {
            copies.extend(group(number, None));
        } else if u32::from(port) != DROP_PORT {
            copies.push(one(port, None));
        }
        copies
    }

    fn run(&mut self, design: &Design, nodes: std::ops::Range<usize>, state: &mut State<'_>) {
        for at in nodes {
            let value = self.node(design, Value(at as u32), state);
            debug_assert!(bits::fits(&value, design.nodes[at].width), "v{at} is too wide");
            state.values.push(value);
        }
    }

    fn node(&mut self, design: &Design, at: Value, state: &mut State<'_>) -> BigUint {
        let node = &design[at];
        let width = |v: Value| design[v].width;
        match &node.op {
            Op::Const(bits) => bits.clone(),
            Op::Input(input) => self.input(*input, state),
            Op::Not(a) => bits::mask(node.width) - state.get(*a),
            Op::Binary(op, a, b) => evaluate_binary(*op, state.get(*a), state.get(*b), width(*a), width(*b)),
            Op::Mux { cond, then, otherwise } => {
                state.get(if state.is_true(*cond) { *then } else { *otherwise }).clone()
            }
            Op::OneHot(cases) => {
                let mut taken = cases.iter().filter(|(cond, _)| state.is_true(*cond));
                let value = taken.next().map(|(_, value)| state.get(*value).clone()).unwrap_or_default();
                debug_assert!(taken.next().is_none(), "{at}: two conditions of a one-hot choice are true");
                value
            }
            Op::Slice { arg, lo } => bits::slice(state.get(*arg), lo + node.width - 1, *lo),
            Op::Concat(parts) => parts.iter().fold(BigUint::zero(), |all, p| (all << width(*p)) + state.get(*p)),
            Op::SignExtend(a) => bits::cast(state.get(*a), Type::Int(width(*a)), Type::Int(node.width)),
            Op::Ones(a) => state.get(*a).count_ones().into(),
            Op::Window { offset, bit } => {
                let first = state.number(*offset) as usize * 8 + *bit as usize;
                bits::read(state.packet, first, node.width)
            }
            Op::Fetch { offset } => bits::read(state.packet, 8 * state.number(*offset) as usize, node.width),
            Op::Destinations { .. } => unreachable!("only cores have it"),
            Op::Lookup { table, enable, keys } => self.lookup(*table, at, *enable, keys, state),
            Op::Color { lookup } => (state.colors.get(lookup).copied().unwrap_or(Color::Green) as u8).into(),
            Op::Member { lookup, hit, place } => self.member(design, *lookup, state.is_true(*hit), *place, state),
            Op::InSet { set, keys } => {
                let mut found = false;
                self.store.visit_members(*set, &mut |member| {
                    found |= member.iter().zip(keys).all(|(part, key)| part.matches(state.get(*key), width(*key)));
                });
                u32::from(found).into()
            }
            Op::Count { counter, enable, index } => {
                if state.is_true(*enable) {
                    self.store.count(*counter, state.number(*index), state.packet.len() as u64);
                }
                BigUint::zero()
            }
            Op::Measure { meter, enable, index } => {
                let ExternKind::Meter { unit, .. } = self.pipeline[*meter].kind else { return BigUint::zero() };
                let color = state
                    .is_true(*enable)
                    .then(|| self.store.measure(*meter, state.number(*index), state.now_us, cost(unit, state.packet)));
                (color.flatten().unwrap_or(Color::Green) as u8).into()
            }
            Op::RegisterRead { register, index } => {
                self.store.read_register(*register, state.number(*index)).unwrap_or_default()
            }
            Op::RegisterWrite { register, enable, index, value } => {
                if state.is_true(*enable) {
                    self.store.write_register(*register, state.number(*index), state.get(*value).clone());
                }
                BigUint::zero()
            }
            Op::Random { enable } => match state.is_true(*enable) {
                true => self.externs.random.next_u64().into(),
                false => BigUint::zero(),
            },
            Op::Digest { enable, word, calls } => {
                if state.is_true(*enable) {
                    state.digests.extend(digest::decode(calls, state.get(*word)));
                }
                BigUint::zero()
            }
            Op::Hash(algorithm, data) => {
                let mut string = BitString::new();
                string.push(state.get(*data), width(*data));
                hash::hash(*algorithm, string.as_bytes()).into()
            }
            Op::Extern { enable, .. } if !state.is_true(*enable) => BigUint::zero(),
            Op::Extern { instance, method, args, results, .. } => {
                let args = args.iter().map(|a| Argument::new(state.get(*a).clone(), width(*a))).collect();
                self.call(*instance, method, args, results)
            }
        }
    }

    /// Calls a method or a function; returns its results, the first one highest.
    fn call(
        &mut self,
        instance: Option<ExternId>,
        method: &str,
        mut args: Vec<Argument>,
        results: &[usize],
    ) -> BigUint {
        let widths: Vec<u32> = results.iter().map(|r| args[*r].width).collect();
        let done = self.externs.call(instance, method, &mut args);
        debug_assert_eq!(done, Ok(()), "{method}");
        results
            .iter()
            .zip(widths)
            .fold(BigUint::zero(), |all, (r, width)| (all << width) + bits::truncate(args[*r].bits.clone(), width))
    }

    fn input(&self, input: Input, state: &State<'_>) -> BigUint {
        let copy = state.copy;
        let value: u64 = match input {
            Input::Length => state.packet.len() as u64,
            Input::IngressPort => state.port.into(),
            Input::Timestamp => state.now_us,
            Input::Sums => sums(state.packet),
            Input::EgressPort => copy.map_or(0, |c| c.port.into()),
            Input::EgressRid => copy.map_or(0, |c| c.rid.into()),
            Input::Cloned => copy.is_some_and(|c| c.session.is_some()).into(),
            Input::Replicated => copy.is_some_and(|c| c.replica).into(),
            Input::QueueDepth => copy.map_or(0, |c| self.depths.get(c.port, 0).into()),
            Input::Again(_) => return state.again.clone(),
            Input::NoCopy | Input::LastCopy | Input::Shadow => unreachable!("only cores have {input}"),
        };
        bits::truncate(value.into(), input.width())
    }

    fn lookup(&mut self, id: TableId, at: Value, enable: Value, keys: &[Value], state: &mut State<'_>) -> BigUint {
        let layout = LookupLayout::of(&self.pipeline, id);
        if !state.is_true(enable) {
            return BigUint::zero();
        }
        let table = &self.pipeline[id];
        let has_priority = table.has_priority();
        let keys: Vec<(&BigUint, u32)> =
            keys.iter().zip(table.match_keys()).map(|(k, key)| (state.get(*k), key.expr.ty.width())).collect();
        type Found = (Vec<MatchValue>, i32, ActionCall, Option<EntryTarget>);
        let mut best: Option<((i64, std::cmp::Reverse<u64>), Found)> = None;
        if !keys.is_empty() {
            self.store.visit_entries(id, &mut |entry| {
                let Entry { matches, priority, sequence, action, target, .. } = entry;
                let matches_of_keys = matches.iter().zip(&table.keys).filter(|(_, key)| key.kind.is_matched());
                let hit = matches_of_keys.zip(&keys).all(|((m, _), (key, width))| m.matches(key, *width));
                let rank = (MatchValue::rank(matches, priority, has_priority), std::cmp::Reverse(sequence));
                if hit && best.as_ref().is_none_or(|(best, _)| rank > *best) {
                    best = Some((rank, (matches.to_vec(), priority, action.clone(), target.cloned())));
                }
            });
        }
        let mut hit = None;
        if let Some((_, (matches, priority, action, target))) = best {
            self.store.count_hit(id, &matches, priority, state.packet.len() as u64);
            if let Some(ExternKind::DirectMeter { unit, .. }) = table.direct_meter.map(|m| &self.pipeline[m].kind) {
                let cost = cost(*unit, state.packet);
                let color = self.store.measure_hit(id, &matches, priority, state.now_us, cost);
                state.colors.insert(at, color);
            }
            if layout.list_bits > 0 {
                let mut members = vec![(action, 1)];
                if let (Some(profile), Some(target)) = (table.implementation, &target) {
                    self.store.visit_profile(profile, &mut |profile| {
                        members = profile.actions(target).into_iter().map(|(a, weight)| (a.clone(), weight)).collect();
                    });
                }
                // Places are those of this entry's members.
                let count = members.iter().map(|(_, weight)| BigUint::from(*weight)).sum::<BigUint>();
                let count = count.min(bits::mask(layout.list_bits));
                state.members.insert(at, members);
                return (BigUint::from(1u32) << (2 * layout.list_bits)) + count;
            }
            hit = Some(action);
        }
        if layout.list_bits > 0 {
            return BigUint::zero();
        }
        self.result(id, &layout, hit)
    }

    /// The member at a place of a lookup's members, or the default action.
    fn member(&self, design: &Design, lookup: Value, hit: bool, place: Value, state: &State<'_>) -> BigUint {
        let Op::Lookup { table, .. } = design[lookup].op else { unreachable!("members are those of a lookup") };
        let members = state.members.get(&lookup).filter(|_| hit);
        let chosen = members.and_then(|members| {
            let at = profile::choose(members.iter().map(|(_, weight)| *weight), state.number(place))?;
            Some(members[at].0.clone())
        });
        self.result(table, &LookupLayout::of(&self.pipeline, table), chosen)
    }

    /// A hit with an action and its data; without one, the default action of a table.
    fn result(&self, table: TableId, layout: &LookupLayout, hit: Option<ActionCall>) -> BigUint {
        let is_hit = hit.is_some();
        let call = hit.unwrap_or_else(|| self.store.default_action(table));
        let number = layout.actions.iter().position(|a| *a == call.action).unwrap_or(0);
        let (mut data, mut used) = (BigUint::zero(), 0);
        for (param, arg) in self.pipeline[call.action].params.iter().zip(call.args) {
            let width = param.ty.width();
            data = (data << width) + bits::truncate(arg, width);
            used += width;
        }
        let head = (BigUint::from(u32::from(is_hit)) << layout.action_bits) + number;
        (head << layout.data_bits) + (data << (layout.data_bits - used))
    }
}

/// The sums of bytes at even places and at odd ones.
fn sums(packet: &[u8]) -> u64 {
    let sum = |first: usize| packet.iter().skip(first).step_by(2).map(|byte| u64::from(*byte)).sum::<u64>();
    (sum(0) << SUM_BITS) + sum(1)
}

fn cost(unit: Unit, packet: &[u8]) -> u64 {
    if unit == Unit::Packets { 1 } else { packet.len() as u64 }
}

/// The packet that a copy becomes, unless it is dropped.
fn became(design: &Design, state: &State<'_>, copy: &Copy) -> Became {
    let results = &design.egress;
    if state.is_true(results.drop) {
        return Became::Nothing;
    }
    let mut out = BitString::new();
    for Emit { enable, pieces, .. } in &results.emits {
        if !state.is_true(*enable) {
            continue;
        }
        for piece in pieces {
            match piece {
                Piece::Bits(value) => out.push(state.get(*value), design[*value].width),
                Piece::Region(value) => {
                    let region = state.number(*value) as usize;
                    let (first, length) = (region >> 16, region & 0xffff);
                    out.push_bytes(state.packet.get(first..first + length).unwrap_or_default());
                }
            }
        }
    }
    let skip = state.number(results.skip) as usize;
    let mut kept = state.packet.get(skip..).unwrap_or_default().to_vec();
    for edit in results.edits.iter().filter(|edit| state.is_true(edit.enable)) {
        let (first, bytes) = (state.number(edit.offset) as usize - skip, (design[edit.bits].width / 8) as usize);
        let mut new = BitString::new();
        new.push(state.get(edit.bits), 8 * bytes as u32);
        kept[first..first + bytes].copy_from_slice(new.as_bytes());
    }
    out.push_bytes(&kept);
    let mut bytes = out.into_bytes();
    let own = state.is_true(results.truncate).then(|| state.number(results.truncate_length));
    if let Some(most) = own.or(copy.session.and_then(|s| s.truncate).map(u64::from)) {
        bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    }
    match results.recirculate.filter(|again| state.is_true(again.enable)) {
        Some(again) => Became::Again(Pass { packet: bytes, again: state.get(again.kept).clone() }),
        None => {
            Became::Sent(Sent { port: copy.port, bytes, instance_type: state.number(results.instance_type) as u32 })
        }
    }
}
