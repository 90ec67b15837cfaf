//! The hardware IR: what happens to one packet, as operations in static single assignment without control flow.
//!
//! A [`Design`] is a list of [`Node`]s. A node's operands come before it. Operations with an effect have an operand that
//! enables them; all others are computed for every packet, whether or not their result matters. Values are bit vectors;
//! signs are a matter of operations.
//!
//! The nodes before [`Design::split`] are the parser and ingress, and run once for a packet. The others are egress and the
//! deparser, and run once for each copy that the traffic manager makes. They may use values of the first part.

mod build;
mod dead;
mod text;
mod verify;

pub use build::Builder;
pub(crate) use build::{evaluate as evaluate_binary, rewrite};
pub use dead::eliminate;
pub use verify::{VerifyError, Violation, verify};

use hopwright_ir::{ActionId, ExternId, ExternKind, HashAlgorithm, HeaderId, Pipeline, SlotId, TableId, ValueSetId};
use hopwright_source::Span;
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use crate::digest::DigestCall;

/// Bits of a sum of bytes of a packet.
pub(crate) const SUM_BITS: u32 = 24;

/// The number of a node, and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

impl Value {
    /// The index into [`Design::nodes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An operation, its result's width, and the P4 text it came from.
#[derive(Clone, Debug)]
pub struct Node {
    /// What is done.
    pub op: Op,
    /// The width of the result in bits; zero if there is none.
    pub width: u32,
    /// The P4 text.
    pub span: Span,
    /// The first slot that holds the result, if one does.
    pub slot: Option<SlotId>,
}

/// What comes from outside of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// The length of the packet in bytes as received, 16 bits.
    Length,
    /// The ingress port, 9 bits.
    IngressPort,
    /// The time in microseconds, 48 bits.
    Timestamp,
    /// The sum of the packet's bytes at even places, counted from 0, and of those at odd ones, [`SUM_BITS`] each.
    Sums,
    /// Egress only: the egress port, 9 bits.
    EgressPort,
    /// Egress only: the number of the copy in its multicast group, 16 bits.
    EgressRid,
    /// Egress only: whether this copy was made by a clone session, 1 bit.
    Cloned,
    /// Egress only: whether this copy is one of a multicast group's, 1 bit.
    Replicated,
    /// Egress only: packets in the queue of the egress port, 19 bits.
    QueueDepth,
    /// What the pass before has kept of a packet that passes again, this many bits; zero in the first pass.
    Again(u32),
    /// Egress only: this is no copy but a packet of which none is made, 1 bit.
    NoCopy,
    /// Egress only: this is the last copy of its packet, 1 bit.
    LastCopy,
    /// Egress only: this is no copy, but stands for the clone that the copy in front of it may have asked for at the end of egress, 1 bit.
    Shadow,
}

impl Input {
    /// The width in bits.
    pub fn width(self) -> u32 {
        match self {
            Input::Length | Input::EgressRid => 16,
            Input::IngressPort | Input::EgressPort => 9,
            Input::Timestamp => 48,
            Input::Sums => 2 * SUM_BITS,
            Input::Cloned | Input::Replicated | Input::NoCopy | Input::LastCopy | Input::Shadow => 1,
            Input::QueueDepth => 19,
            Input::Again(bits) => bits,
        }
    }

    /// Whether only egress has it.
    pub fn is_egress(self) -> bool {
        use Input::{Again, IngressPort, Length, Sums, Timestamp};
        !matches!(self, Length | IngressPort | Timestamp | Sums | Again(_))
    }
}

/// Operations on two values. Both have the same width, except for shifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// Wrapping.
    Add,
    /// Wrapping.
    Sub,
    /// Wrapping.
    Mul,
    /// Bit by bit.
    And,
    /// Bit by bit.
    Or,
    /// Bit by bit.
    Xor,
    /// The second operand is the distance, of any width.
    Shl,
    /// Shifts in zeros; the distance has any width.
    Shr,
    /// Shifts in the sign; the distance has any width.
    ShrSigned,
    /// One bit.
    Eq,
    /// Unsigned; one bit.
    Less,
    /// Signed; one bit.
    LessSigned,
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A constant.
    Const(BigUint),
    /// From outside.
    Input(Input),
    /// Complement.
    Not(Value),
    /// See [`Binary`].
    Binary(Binary, Value, Value),
    /// `cond ? then : otherwise`.
    Mux {
        /// One bit.
        cond: Value,
        /// If it is one.
        then: Value,
        /// If it is zero.
        otherwise: Value,
    },
    /// The value whose condition is one, or zero if none is. At most one condition is one.
    OneHot(Vec<(Value, Value)>),
    /// As many bits as the result has, from bit `lo` on.
    Slice {
        /// The value.
        arg: Value,
        /// The lowest bit.
        lo: u32,
    },
    /// The first operand is the most significant.
    Concat(Vec<Value>),
    /// Extends by the highest bit.
    SignExtend(Value),
    /// The number of ones.
    Ones(Value),
    /// Bits of the packet as received. Bits behind the end are zero.
    Window {
        /// Where, in bytes, 16 bits.
        offset: Value,
        /// The first bit after that.
        bit: u32,
    },
    /// Bytes of the packet as received, from an offset in bytes of 16 bits on. Those behind the end are zero.
    Fetch {
        /// Where.
        offset: Value,
    },
    /// Where copies of a packet go. The result has the layout of [`Destinations`]; it is zero if there is no group or session of this
    /// number.
    Destinations {
        /// What has the number.
        of: Destinations,
        /// The number: 16 bits of a group, 32 of a session.
        number: Value,
    },
    /// Looks up a table. The result has the layout of [`LookupLayout`]. On a miss, action and data are those of the default
    /// action. A hit counts in the table's direct counter.
    Lookup {
        /// The table.
        table: TableId,
        /// Whether the program applies the table.
        enable: Value,
        /// One for each key.
        keys: Vec<Value>,
    },
    /// The colour that a table's direct meter gives to a hit, two bits; green on a miss.
    Color {
        /// The lookup.
        lookup: Value,
    },
    /// The member that a lookup in a table with an action profile has chosen, as the result of an ordinary lookup:
    /// [`LookupLayout::chosen_width`] bits. Without a hit, action and data are those of the default action.
    Member {
        /// The lookup.
        lookup: Value,
        /// Whether there is a member.
        hit: Value,
        /// Its place in the table's list of members, [`LookupLayout::list_bits`] bits.
        place: Value,
    },
    /// Whether a value set has a member; one bit.
    InSet {
        /// The set.
        set: ValueSetId,
        /// One for each part of its members.
        keys: Vec<Value>,
    },
    /// Counts the packet.
    Count {
        /// The counter.
        counter: ExternId,
        /// Whether to count.
        enable: Value,
        /// The cell. Nothing is counted if there is none.
        index: Value,
    },
    /// The colour that a meter gives to the packet, two bits.
    Measure {
        /// The meter.
        meter: ExternId,
        /// Whether to measure.
        enable: Value,
        /// The cell. The result is zero if there is none.
        index: Value,
    },
    /// The value of a register; zero if there is none of this index.
    RegisterRead {
        /// The registers.
        register: ExternId,
        /// Which.
        index: Value,
    },
    /// Sets a register, if there is one of this index.
    RegisterWrite {
        /// The registers.
        register: ExternId,
        /// Whether to write.
        enable: Value,
        /// Which.
        index: Value,
        /// The new value.
        value: Value,
    },
    /// A draw of the random number generator, 64 bits.
    Random {
        /// Whether to draw.
        enable: Value,
    },
    /// Puts a word into the queue of digests with these calls.
    Digest {
        /// Whether to do so.
        enable: Value,
        /// The word, as [`crate::digest`] has it.
        word: Value,
        /// The places of the program that send digests.
        calls: Vec<DigestCall>,
    },
    /// A hash of a whole number of bytes; the result has the algorithm's width.
    Hash(HashAlgorithm, Value),
    /// A method of an extern object or a function.
    Extern {
        /// The object, for methods.
        instance: Option<ExternId>,
        /// The name of the method or function.
        method: String,
        /// Whether to call it.
        enable: Value,
        /// All arguments in order; of results, what the variables hold.
        args: Vec<Value>,
        /// The arguments that are results. The node's result is their concatenation, the first one highest.
        results: Vec<usize>,
    },
}

/// What copies a packet, and how it is found: the number of copies in a list of ports and where that begins, both with this many bits. Of a
/// session follow whether it has a port of its own, one bit; the port, 9 bits; whether it truncates, one bit; to how many bytes, 16
/// bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destinations {
    /// A multicast group.
    Group {
        /// Bits of a place in the memory of lists.
        bits: u32,
    },
    /// A clone session.
    Session {
        /// Bits of a place in the memory of lists.
        bits: u32,
    },
}

impl Destinations {
    /// The width of the result.
    pub fn width(self) -> u32 {
        match self {
            Destinations::Group { bits } => 2 * bits,
            Destinations::Session { bits } => 2 * bits + 27,
        }
    }

    /// The width of the number.
    pub fn number_width(self) -> u32 {
        match self {
            Destinations::Group { .. } => 16,
            Destinations::Session { .. } => 32,
        }
    }
}

/// The result of a lookup: one bit for a hit, the number of the action in [`LookupLayout::actions`], the action's data.
/// The hit is the highest bit. The data of an action with less than others are in the highest bits of the data. Of a table with an action
/// profile, a place in its list of members and a number of members follow the hit instead; [`Op::Member`] reads the action there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupLayout {
    /// The actions that an entry or the default can have.
    pub actions: Vec<ActionId>,
    /// The width of the action number.
    pub action_bits: u32,
    /// The width of the data.
    pub data_bits: u32,
    /// The width of the number that an entry has for its direct counter and meter. It is not part of the result.
    pub entry_bits: u32,
    /// Of a table with an action profile, the width of places in its list of members, and of their number; zero for other tables.
    pub list_bits: u32,
}

/// The fewest and the most words of a list of members.
const LIST_WORDS: std::ops::RangeInclusive<u64> = 64..=1 << 16;

/// Words of the list of members for an action profile that says no size.
const UNSIZED_LIST: u64 = 1024;

impl LookupLayout {
    /// The layout of a table.
    pub fn of(pipeline: &Pipeline, table: TableId) -> LookupLayout {
        let table = &pipeline[table];
        let mut actions: Vec<ActionId> = table.actions.iter().map(|a| a.action).collect();
        if !actions.contains(&table.default_action.action) {
            actions.push(table.default_action.action);
        }
        let data = |action: ActionId| pipeline[action].params.iter().map(|p| p.ty.width()).sum();
        LookupLayout {
            action_bits: usize::BITS - (actions.len() - 1).leading_zeros(),
            data_bits: actions.iter().map(|a| data(*a)).max().unwrap_or(0),
            entry_bits: match table.direct_counter.or(table.direct_meter) {
                Some(_) if table.match_keys().next().is_some() => {
                    table.size.clamp(2, 1 << 63).next_power_of_two().ilog2()
                }
                _ => 0,
            },
            list_bits: match table.implementation.map(|id| &pipeline[id].kind) {
                // A list is written beside the one that it replaces.
                Some(ExternKind::ActionProfile { size } | ExternKind::ActionSelector { size, .. }) => {
                    let members = if *size == 0 { UNSIZED_LIST } else { *size };
                    let words = members.saturating_mul(2).clamp(*LIST_WORDS.start(), *LIST_WORDS.end());
                    words.next_power_of_two().ilog2()
                }
                _ => 0,
            },
            actions,
        }
    }

    /// The width of an action and its data.
    pub fn call_bits(&self) -> u32 {
        self.action_bits + self.data_bits
    }

    /// The width of what follows the hit: an action and its data, or a place and a number of members.
    pub fn result_bits(&self) -> u32 {
        if self.list_bits > 0 { 2 * self.list_bits } else { self.call_bits() }
    }

    /// The width of what an entry holds: the result, and the entry's number.
    pub fn stored_bits(&self) -> u32 {
        (self.result_bits() + self.entry_bits).max(1)
    }

    /// The width of the whole result.
    pub fn width(&self) -> u32 {
        1 + self.result_bits()
    }

    /// The width of a hit with an action and its data.
    pub fn chosen_width(&self) -> u32 {
        1 + self.call_bits()
    }
}

/// A part of a header that is emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// These bits.
    Bits(Value),
    /// Bytes of the packet as received: their offset in the upper 16 bits, their number in the lower 16.
    Region(Value),
}

/// A header that is appended to the packet.
#[derive(Clone, Debug)]
pub struct Emit {
    /// The header.
    pub header: HeaderId,
    /// Whether it is appended.
    pub enable: Value,
    /// Its parts in order; together whole bytes.
    pub pieces: Vec<Piece>,
    /// The P4 text.
    pub span: Span,
}

/// Bytes of the kept part of the packet that differ from what was received.
#[derive(Clone, Debug)]
pub struct Edit {
    /// Whether they do.
    pub enable: Value,
    /// Where, in bytes from the beginning of the packet as received, 16 bits.
    pub offset: Value,
    /// The new bytes.
    pub bits: Value,
    /// The P4 text.
    pub span: Span,
}

/// What the traffic manager learns from ingress.
#[derive(Clone, Copy, Debug, Default)]
pub struct IngressOutputs {
    /// `parser_error`, 16 bits.
    pub parser_error: Value,
    /// `mcast_grp`, 16 bits.
    pub multicast_group: Value,
    /// `egress_spec`, 9 bits.
    pub egress_spec: Value,
    /// Whether the packet is cloned, one bit.
    pub clone: Value,
    /// The session, 32 bits.
    pub session: Value,
    /// Of programs that resubmit packets.
    pub resubmit: Option<Repetition>,
    /// Whether the packet has failed an assertion, one bit. It goes nowhere then.
    pub fault: Value,
}

/// Another pass of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Repetition {
    /// Whether it passes again, one bit.
    pub enable: Value,
    /// What is [kept](Input::Again) of it.
    pub kept: Value,
}

/// What becomes of a copy.
#[derive(Clone, Debug, Default)]
pub struct EgressOutputs {
    /// Whether it is dropped, one bit.
    pub drop: Value,
    /// `instance_type`, 32 bits.
    pub instance_type: Value,
    /// New headers, in order.
    pub emits: Vec<Emit>,
    /// The number of bytes at the beginning of the packet as received that do not follow the new headers, 16 bits. The others
    /// are kept, headers among them that stay where they are.
    pub skip: Value,
    /// What changes in the part that is kept. Edits do not overlap.
    pub edits: Vec<Edit>,
    /// Whether it is truncated, one bit.
    pub truncate: Value,
    /// To how many bytes, 32 bits.
    pub truncate_length: Value,
    /// Of programs that recirculate packets. What would be sent passes again, if it is not dropped.
    pub recirculate: Option<Repetition>,
    /// Of programs that clone packets at the end of egress. The packet as received passes again, besides what becomes of the copy.
    pub mirror: Option<Repetition>,
    /// Whether the copy has failed an assertion, one bit. It is dropped then.
    pub fault: Value,
}

impl Default for Value {
    /// The first node.
    fn default() -> Value {
        Value(0)
    }
}

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Design {
    /// Operations, in order.
    pub nodes: Vec<Node>,
    /// The number of nodes of parser and ingress.
    pub split: usize,
    /// Results of ingress; values of the first part.
    pub ingress: IngressOutputs,
    /// Results of egress.
    pub egress: EgressOutputs,
}

impl std::ops::Index<Value> for Design {
    type Output = Node;
    fn index(&self, value: Value) -> &Node {
        &self.nodes[value.index()]
    }
}

impl Op {
    /// The operands, in order.
    pub fn operands(&self) -> Vec<Value> {
        match self {
            Op::Const(_) | Op::Input(_) => Vec::new(),
            Op::Not(a) | Op::SignExtend(a) | Op::Ones(a) | Op::Slice { arg: a, .. } | Op::Hash(_, a) => vec![*a],
            Op::Binary(_, a, b) => vec![*a, *b],
            Op::Mux { cond, then, otherwise } => vec![*cond, *then, *otherwise],
            Op::OneHot(cases) => cases.iter().flat_map(|(cond, value)| [*cond, *value]).collect(),
            Op::Concat(parts) => parts.clone(),
            Op::Window { offset, .. } | Op::Fetch { offset } | Op::Destinations { number: offset, .. } => vec![*offset],
            Op::Lookup { enable, keys, .. } => [*enable].into_iter().chain(keys.iter().copied()).collect(),
            Op::Color { lookup } => vec![*lookup],
            Op::Member { lookup, hit, place } => vec![*lookup, *hit, *place],
            Op::InSet { keys, .. } => keys.clone(),
            Op::Count { enable, index, .. } | Op::Measure { enable, index, .. } => vec![*enable, *index],
            Op::RegisterRead { index, .. } => vec![*index],
            Op::Random { enable } => vec![*enable],
            Op::Digest { enable, word, .. } => vec![*enable, *word],
            Op::RegisterWrite { enable, index, value, .. } => vec![*enable, *index, *value],
            Op::Extern { enable, args, .. } => [*enable].into_iter().chain(args.iter().copied()).collect(),
        }
    }

    /// Replaces the operands.
    pub fn map_operands(&mut self, mut f: impl FnMut(Value) -> Value) {
        let mut each = |v: &mut Value| *v = f(*v);
        match self {
            Op::Const(_) | Op::Input(_) => {}
            Op::Not(a) | Op::SignExtend(a) | Op::Ones(a) | Op::Slice { arg: a, .. } | Op::Hash(_, a) => each(a),
            Op::Binary(_, a, b) => [a, b].into_iter().for_each(each),
            Op::Mux { cond, then, otherwise } => [cond, then, otherwise].into_iter().for_each(each),
            Op::OneHot(cases) => cases.iter_mut().flat_map(|(cond, value)| [cond, value]).for_each(each),
            Op::Concat(parts) => parts.iter_mut().for_each(each),
            Op::Window { offset, .. } | Op::Fetch { offset } | Op::Destinations { number: offset, .. } => each(offset),
            Op::Lookup { enable, keys, .. } => [enable].into_iter().chain(keys).for_each(each),
            Op::Color { lookup } => each(lookup),
            Op::Member { lookup, hit, place } => [lookup, hit, place].into_iter().for_each(each),
            Op::InSet { keys, .. } => keys.iter_mut().for_each(each),
            Op::Count { enable, index, .. } | Op::Measure { enable, index, .. } => {
                [enable, index].into_iter().for_each(each);
            }
            Op::RegisterRead { index, .. } => each(index),
            Op::Random { enable } => each(enable),
            Op::Digest { enable, word, .. } => [enable, word].into_iter().for_each(each),
            Op::RegisterWrite { enable, index, value, .. } => [enable, index, value].into_iter().for_each(each),
            Op::Extern { enable, args, .. } => [enable].into_iter().chain(args).for_each(each),
        }
    }

    /// The operand that enables the operation, if it has an effect.
    pub fn enable_mut(&mut self) -> Option<&mut Value> {
        match self {
            Op::Lookup { enable, .. }
            | Op::Count { enable, .. }
            | Op::Measure { enable, .. }
            | Op::RegisterWrite { enable, .. }
            | Op::Random { enable }
            | Op::Digest { enable, .. }
            | Op::Extern { enable, .. } => Some(enable),
            _ => None,
        }
    }

    /// Whether the operation may change state, or reads state that others change.
    pub fn accesses_state(&self) -> bool {
        matches!(
            self,
            Op::Lookup { .. }
                | Op::Destinations { .. }
                | Op::Color { .. }
                | Op::Member { .. }
                | Op::InSet { .. }
                | Op::Count { .. }
                | Op::Measure { .. }
                | Op::RegisterRead { .. }
                | Op::RegisterWrite { .. }
                | Op::Random { .. }
                | Op::Digest { .. }
                | Op::Extern { .. }
        )
    }
}

impl Design {
    /// The first bit of a [`Op::Window`] in the packet, if its offset is a constant.
    pub fn window_start(&self, offset: Value, bit: u32) -> Option<u32> {
        let Op::Const(bytes) = &self[offset].op else { return None };
        bytes.to_u32()?.checked_mul(8)?.checked_add(bit)
    }

    /// How many low bits of a value may be other than zero.
    pub fn significant(&self, value: Value) -> u32 {
        let bits = |value: Value| match &self[value].op {
            Op::Const(bits) => bits.bits() as u32,
            _ => self[value].width,
        };
        match &self[value].op {
            Op::Concat(parts) => self[value].width - self[parts[0]].width + bits(parts[0]),
            _ => bits(value),
        }
    }

    /// The parts of a value without zeros in front.
    pub fn significant_parts<'a>(&'a self, value: &'a Value) -> &'a [Value] {
        match &self[*value].op {
            Op::Concat(parts) => &parts[usize::from(self.significant(parts[0]) == 0)..],
            _ => std::slice::from_ref(value),
        }
    }

    /// All results, of ingress first.
    pub fn outputs(&self) -> Vec<Value> {
        let IngressOutputs { parser_error, multicast_group, egress_spec, clone, session, resubmit, fault } =
            self.ingress;
        let mut outputs = vec![parser_error, multicast_group, egress_spec, clone, session, fault];
        let EgressOutputs { drop, instance_type, emits, skip, edits, truncate, truncate_length, .. } = &self.egress;
        let EgressOutputs { recirculate, mirror, fault, .. } = &self.egress;
        outputs.extend(resubmit.iter().chain(recirculate).chain(mirror).flat_map(|again| [again.enable, again.kept]));
        outputs.extend([drop, instance_type, skip, truncate, truncate_length, fault]);
        outputs.extend(edits.iter().flat_map(|edit| [edit.enable, edit.offset, edit.bits]));
        for emit in emits {
            outputs.push(emit.enable);
            outputs.extend(emit.pieces.iter().map(|p| match p {
                Piece::Bits(v) | Piece::Region(v) => *v,
            }));
        }
        outputs
    }

    /// Replaces all results.
    pub fn map_outputs(&mut self, mut f: impl FnMut(Value) -> Value) {
        let mut each = |v: &mut Value| *v = f(*v);
        let repetitions = self.ingress.resubmit.iter_mut().chain(&mut self.egress.recirculate);
        let repetitions = repetitions.chain(&mut self.egress.mirror);
        repetitions.for_each(|again| [&mut again.enable, &mut again.kept].into_iter().for_each(&mut each));
        let IngressOutputs { parser_error, multicast_group, egress_spec, clone, session, fault, .. } =
            &mut self.ingress;
        [parser_error, multicast_group, egress_spec, clone, session, fault].into_iter().for_each(&mut each);
        let EgressOutputs { drop, instance_type, emits, skip, edits, truncate, truncate_length, fault, .. } =
            &mut self.egress;
        [drop, instance_type, skip, truncate, truncate_length, fault].into_iter().for_each(&mut each);
        for Edit { enable, offset, bits, .. } in edits {
            [enable, offset, bits].into_iter().for_each(&mut each);
        }
        for emit in emits {
            each(&mut emit.enable);
            for piece in &mut emit.pieces {
                match piece {
                    Piece::Bits(v) | Piece::Region(v) => each(v),
                }
            }
        }
    }
}
