//! Extern functions and methods, and their descriptions.
//!
//! An [`ExternFn`] is described by its [`ExternInfo`]: name, parameters, effects, latency and the targets that support
//! it. Passes, the verifier, the text form and the default lowering use the description. Each function also has a case
//! in the interpreter, one in each target's code generator, and one in the lowering if its P4 arguments select
//! constants of the call.

use serde::{Deserialize, Serialize};

use super::{ExternId, ExternInstance, ExternKind, HashAlgorithm};

/// An extern function or method: one that the IR defines, or one registered by name. P4 arguments that select an
/// instance, an algorithm or a list are constants here, not arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExternFn {
    /// `counter.count(In index)`. An index out of range has no effect.
    CounterCount(ExternId),
    /// `counter.count_bytes(In index, In bytes)`: the same, as for a packet of this length.
    CounterCountBytes(ExternId),
    /// `direct_counter.count()`, for the entry that was hit in the table being applied.
    DirectCounterCount(ExternId),
    /// `direct_counter.count_bytes(In bytes)`: the packet, which the hit has counted, counts as this number of bytes. No effect
    /// outside of the actions of the counter's table.
    DirectCounterCountBytes(ExternId),
    /// `meter.execute_meter(In index, Out color)`.
    MeterExecute(ExternId),
    /// `meter.execute_bytes(In index, In bytes, Out color)`: the same, as for a packet of this length.
    MeterExecuteBytes(ExternId),
    /// `direct_meter.read(Out color)`: the colour from the hit of the entry, see [`super::Pipeline::measures_hits`].
    DirectMeterRead(ExternId),
    /// `direct_meter.execute_bytes(In bytes, Out color)`: runs the meter of the entry that was hit, for a packet of this number of
    /// bytes. Green if none was hit and outside of the actions of the meter's table.
    DirectMeterExecuteBytes(ExternId),
    /// `entry_index(Out index)`: the index of the entry that was hit in the table whose action runs, which is less than the size of
    /// the table. All ones if none was, outside of actions, and in tables without [`super::Table::entry_cells`].
    EntryIndex,
    /// `register.read(Out value, In index)`. An index out of range has no effect.
    RegisterRead(ExternId),
    /// `register.write(In index, In value)`. An index out of range has no effect.
    RegisterWrite(ExternId),
    /// `hash(Out result, In base, List data, In max)`: base + H mod max; for max = 0 the result is base.
    Hash(HashAlgorithm),
    /// `custom_crc(Out result, List data, In first, In second)`: the CRC of an algorithm's width with the parameters in two words; see
    /// [`crate::custom_crc::crc`].
    CustomCrc(HashAlgorithm),
    /// `random(Out result, In lo, In hi)`: an inclusive range. If lo > hi, nothing is written.
    Random,
    /// `digest(In receiver, List data)` of the named struct type.
    Digest(String),
    /// `clone(type, In session)`, which preserves a field list; `egress` = E2E.
    Clone {
        /// Clone at the end of egress.
        egress: bool,
        /// `@field_list` number.
        field_list: Option<u8>,
    },
    /// `resubmit_preserving_field_list`.
    Resubmit(u8),
    /// `recirculate_preserving_field_list`.
    Recirculate(u8),
    /// `truncate(In bytes)`.
    Truncate,
    /// `count_header(In bytes)`: where a copy is cut off by its clone session, a header of this many bytes in front of it counts.
    CountHeader,
    /// Where a packet of a multicast group goes, too: to a second group, whose number is in the low 16 bits, and with bit 16 to its
    /// port.
    Replicate,
    /// `assert(In condition)`.
    Assert,
    /// `assume(In condition)`.
    Assume,
    /// `log_msg(format, List data)`.
    LogMsg(String),
    /// `verify_checksum(In condition, List data, In checksum)`, also over the payload if `payload` is set.
    VerifyChecksum {
        /// Algorithm.
        algorithm: HashAlgorithm,
        /// Append the payload to the data.
        payload: bool,
    },
    /// `update_checksum(In condition, List data, InOut checksum)`, also over the payload if `payload` is set.
    UpdateChecksum {
        /// Algorithm.
        algorithm: HashAlgorithm,
        /// Append the payload to the data.
        payload: bool,
    },
    /// `adjust_checksum(InOut checksum, List removed, List added)`: `~(~checksum + ~removed + added)` in one's complement
    /// sums of 16-bit words.
    AdjustChecksum,
    /// `population_count(In value, Out ones)`: the number of ones.
    PopulationCount,
    /// A method of a [`ExternKind::Named`] object, or a free function, found by name in the extern registry. It has no
    /// effects except on its object's state; arguments are scalars.
    Named {
        /// The object, for methods.
        instance: Option<ExternId>,
        /// Method or function name.
        name: String,
        /// Declared `@noSideEffects` or `@pure`: a call only changes its out arguments and result.
        no_side_effects: bool,
    },
}

/// The description of an extern function or method.
#[derive(Clone, Copy, Debug)]
pub struct ExternInfo {
    /// The name in the text form. A method's name follows its object's.
    pub name: &'static str,
    /// For methods: whether an object has the right kind.
    pub method_of: Option<fn(&ExternKind) -> bool>,
    /// The parameters; `None` for any number of scalars.
    pub params: Option<&'static [ParamShape]>,
    /// Whether a call always writes its out arguments. If not, it may leave them unchanged.
    pub writes_results: bool,
    /// What a call changes, other than its out arguments.
    pub effect: Effect,
    /// The time until the result is available in hardware.
    pub latency: Latency,
    /// The targets that support it.
    pub targets: &'static [ExternTarget],
    /// Creates the function from its object, if it is a method, and its constants; `None` if these do not fit.
    make: fn(Option<ExternId>, &[ExternConstant]) -> Option<ExternFn>,
}

/// A parameter of an extern function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamShape {
    /// An input.
    In(TypeRule),
    /// A list of inputs, which are concatenated; the first is the most significant.
    List,
    /// An output.
    Out(TypeRule),
    /// An input and output. The same as `Out` for functions that may leave an out argument unchanged.
    InOut(TypeRule),
}

/// The types that a parameter accepts. None accepts varbits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeRule {
    /// `bool`.
    Bool,
    /// `bit<W>`.
    Bits,
    /// `bit<W>` of this width.
    Width(u32),
    /// The type of the register's values.
    Cell,
    /// `bit<W>`, the same as the argument at this place has.
    SameAs(usize),
}

/// What a call changes, other than its out arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing. A call whose results are unused can be removed.
    None,
    /// The object's state.
    State,
    /// `checksum_error` of the intrinsic metadata.
    ChecksumError,
    /// What happens to the packet or to copies of it.
    Packet,
    /// A message to the control plane or a log.
    Message,
    /// The packet may be dropped immediately.
    Fault,
}

/// The time until a result is available in hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// A few gates.
    Gates,
    /// A memory access.
    Memory,
    /// A pipeline whose depth depends on the width of the data.
    Pipeline,
    /// When the last byte of the packet has arrived.
    Payload,
}

/// A target that calls can be compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternTarget {
    /// The interpreter, `hopwright-interp`.
    Interpreter,
    /// Machine code for the data plane.
    MachineCode,
    /// A hardware description.
    Hardware,
}

/// A constant of a call, in angle brackets in the text form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExternConstant {
    /// A word: an algorithm, `payload`, `I2E`, the name of a type.
    Word(String),
    /// The number of a field list.
    Number(u8),
    /// A quoted text.
    Text(String),
}

use ParamShape::{In, InOut, List, Out};
use TypeRule::{Bits, Bool, Cell, SameAs, Width};

/// The two software executors.
const SOFTWARE: &[ExternTarget] = &[ExternTarget::Interpreter, ExternTarget::MachineCode];

/// A free function without effects that takes a few gates.
const PLAIN: ExternInfo = ExternInfo {
    name: "",
    method_of: None,
    params: Some(&[]),
    writes_results: true,
    effect: Effect::None,
    latency: Latency::Gates,
    targets: SOFTWARE,
    make: |_, _| None,
};

/// A method that accesses state.
const STATEFUL: ExternInfo =
    ExternInfo { writes_results: false, effect: Effect::State, latency: Latency::Memory, ..PLAIN };

/// Declares the descriptions, each with the constructor of its function, and the list of all of them.
macro_rules! externs {
    ($($name:ident, $make:expr, $info:expr;)*) => {
        $(pub(super) static $name: ExternInfo = ExternInfo { make: $make, ..$info };)*
        pub(super) static ALL: &[&ExternInfo] = &[$(&$name),*];
    };
}

#[rustfmt::skip]
mod table {
    use super::*;
    use ExternConstant::{Number, Text, Word};

    externs! {
    COUNTER_COUNT, |object, _| Some(ExternFn::CounterCount(object?)),
        ExternInfo {
            name: "count", method_of: Some(|k| matches!(k, ExternKind::Counter { .. })),
            params: Some(&[In(Bits)]), ..STATEFUL
        };
    COUNTER_COUNT_BYTES, |object, _| Some(ExternFn::CounterCountBytes(object?)),
        ExternInfo {
            name: "count_bytes", method_of: Some(|k| matches!(k, ExternKind::Counter { .. })),
            params: Some(&[In(Bits), In(Width(32))]), ..STATEFUL
        };
    DIRECT_COUNTER_COUNT, |object, _| Some(ExternFn::DirectCounterCount(object?)),
        ExternInfo {
            name: "count", method_of: Some(|k| matches!(k, ExternKind::DirectCounter { .. })),
            ..STATEFUL
        };
    DIRECT_COUNTER_COUNT_BYTES, |object, _| Some(ExternFn::DirectCounterCountBytes(object?)),
        ExternInfo {
            name: "count_bytes", method_of: Some(|k| matches!(k, ExternKind::DirectCounter { .. })),
            params: Some(&[In(Width(32))]), ..STATEFUL
        };
    METER_EXECUTE, |object, _| Some(ExternFn::MeterExecute(object?)),
        ExternInfo {
            name: "execute_meter", method_of: Some(|k| matches!(k, ExternKind::Meter { .. })),
            params: Some(&[In(Bits), Out(Bits)]), ..STATEFUL
        };
    METER_EXECUTE_BYTES, |object, _| Some(ExternFn::MeterExecuteBytes(object?)),
        ExternInfo {
            name: "execute_bytes", method_of: Some(|k| matches!(k, ExternKind::Meter { .. })),
            params: Some(&[In(Bits), In(Width(32)), Out(Bits)]), ..STATEFUL
        };
    DIRECT_METER_READ, |object, _| Some(ExternFn::DirectMeterRead(object?)),
        ExternInfo {
            name: "read", method_of: Some(|k| matches!(k, ExternKind::DirectMeter { .. })),
            params: Some(&[Out(Bits)]), ..STATEFUL
        };
    DIRECT_METER_EXECUTE_BYTES, |object, _| Some(ExternFn::DirectMeterExecuteBytes(object?)),
        ExternInfo {
            name: "execute_bytes", method_of: Some(|k| matches!(k, ExternKind::DirectMeter { .. })),
            params: Some(&[In(Width(32)), Out(Bits)]), ..STATEFUL
        };
    REGISTER_READ, |object, _| Some(ExternFn::RegisterRead(object?)),
        ExternInfo {
            name: "read", method_of: Some(|k| matches!(k, ExternKind::Register { .. })),
            params: Some(&[Out(Cell), In(Bits)]), ..STATEFUL
        };
    REGISTER_WRITE, |object, _| Some(ExternFn::RegisterWrite(object?)),
        ExternInfo {
            name: "write", method_of: Some(|k| matches!(k, ExternKind::Register { .. })),
            params: Some(&[In(Bits), In(Cell)]), ..STATEFUL
        };
    ENTRY_INDEX, |_, c| c.is_empty().then_some(ExternFn::EntryIndex),
        ExternInfo { name: "entry_index", params: Some(&[Out(Width(32))]), latency: Latency::Memory, ..PLAIN };
    HASH, |_, c| match c { [Word(algorithm)] => Some(ExternFn::Hash(HashAlgorithm::by_name(algorithm)?)), _ => None },
        ExternInfo {
            name: "hash", params: Some(&[Out(Bits), In(Bits), List, In(Bits)]), latency: Latency::Pipeline, ..PLAIN
        };
    CUSTOM_CRC, |_, c| match c { [Word(name)] => Some(ExternFn::CustomCrc(HashAlgorithm::by_name(name)?)), _ => None },
        ExternInfo {
            name: "custom_crc", params: Some(&[Out(Width(32)), List, In(Width(64)), In(Width(64))]),
            latency: Latency::Pipeline, ..PLAIN
        };
    RANDOM, |_, c| c.is_empty().then_some(ExternFn::Random),
        ExternInfo {
            name: "random", params: Some(&[Out(Bits), In(SameAs(0)), In(SameAs(0))]),
            writes_results: false, effect: Effect::State, latency: Latency::Pipeline, ..PLAIN
        };
    DIGEST, |_, c| match c { [Word(name) | Text(name)] => Some(ExternFn::Digest(name.clone())), _ => None },
        ExternInfo {
            name: "digest", params: Some(&[In(Width(32)), List]), effect: Effect::Message, ..PLAIN
        };
    CLONE, |_, c| clone(c),
        ExternInfo {
            name: "clone", params: Some(&[In(Width(32))]), effect: Effect::Packet, ..PLAIN
        };
    RESUBMIT, |_, c| match c { [Number(list)] => Some(ExternFn::Resubmit(*list)), _ => None },
        ExternInfo { name: "resubmit", effect: Effect::Packet, ..PLAIN };
    RECIRCULATE, |_, c| match c { [Number(list)] => Some(ExternFn::Recirculate(*list)), _ => None },
        ExternInfo { name: "recirculate", effect: Effect::Packet, ..PLAIN };
    TRUNCATE, |_, c| c.is_empty().then_some(ExternFn::Truncate),
        ExternInfo {
            name: "truncate", params: Some(&[In(Width(32))]), effect: Effect::Packet, ..PLAIN
        };
    COUNT_HEADER, |_, c| c.is_empty().then_some(ExternFn::CountHeader),
        ExternInfo { name: "count_header", ..TRUNCATE };
    REPLICATE, |_, c| c.is_empty().then_some(ExternFn::Replicate),
        ExternInfo {
            name: "replicate", params: Some(&[In(Width(32))]), effect: Effect::Packet, ..PLAIN
        };
    ASSERT, |_, c| c.is_empty().then_some(ExternFn::Assert),
        ExternInfo {
            name: "assert", params: Some(&[In(Bool)]), effect: Effect::Fault, ..PLAIN
        };
    ASSUME, |_, c| c.is_empty().then_some(ExternFn::Assume),
        ExternInfo { name: "assume", ..ASSERT };
    LOG_MSG, |_, c| match c { [Text(format)] => Some(ExternFn::LogMsg(format.clone())), _ => None },
        ExternInfo {
            name: "log_msg", params: Some(&[List]), effect: Effect::Message, ..PLAIN
        };
    VERIFY_CHECKSUM, |_, c| checksum(c, false, |algorithm, payload| ExternFn::VerifyChecksum { algorithm, payload }),
        ExternInfo {
            name: "verify_checksum", params: Some(&[In(Bool), List, In(Bits)]),
            effect: Effect::ChecksumError, latency: Latency::Pipeline, ..PLAIN
        };
    VERIFY_CHECKSUM_WITH_PAYLOAD, |_, c| checksum(c, true, |algorithm, payload| ExternFn::VerifyChecksum { algorithm, payload }),
        ExternInfo {
            latency: Latency::Payload, ..VERIFY_CHECKSUM
        };
    UPDATE_CHECKSUM, |_, c| checksum(c, false, |algorithm, payload| ExternFn::UpdateChecksum { algorithm, payload }),
        ExternInfo {
            name: "update_checksum", params: Some(&[In(Bool), List, InOut(Bits)]),
            writes_results: false, latency: Latency::Pipeline, ..PLAIN
        };
    UPDATE_CHECKSUM_WITH_PAYLOAD, |_, c| checksum(c, true, |algorithm, payload| ExternFn::UpdateChecksum { algorithm, payload }),
        ExternInfo {
            latency: Latency::Payload, ..UPDATE_CHECKSUM
        };
    ADJUST_CHECKSUM, |_, c| c.is_empty().then_some(ExternFn::AdjustChecksum),
        ExternInfo {
            name: "adjust_checksum", params: Some(&[InOut(Width(16)), List, List]), latency: Latency::Pipeline, ..PLAIN
        };
    POPULATION_COUNT, |_, c| c.is_empty().then_some(ExternFn::PopulationCount),
        ExternInfo {
            name: "population_count", params: Some(&[In(Bits), Out(Bits)]), ..PLAIN
        };
    NAMED, |_, _| None,
        ExternInfo {
            params: None, effect: Effect::State, latency: Latency::Pipeline, ..PLAIN
        };
    NAMED_PURE, |_, _| None,
        ExternInfo { effect: Effect::None, ..NAMED };
    }

    fn clone(constants: &[ExternConstant]) -> Option<ExternFn> {
        let (egress, field_list) = match constants {
            [Word(kind), list @ ..] if kind == "E2E" => (true, list),
            [Word(kind), list @ ..] if kind == "I2E" => (false, list),
            _ => return None,
        };
        match field_list {
            [] => Some(ExternFn::Clone { egress, field_list: None }),
            [Number(list)] => Some(ExternFn::Clone { egress, field_list: Some(*list) }),
            _ => None,
        }
    }

    /// Creates a checksum with the algorithm in the constants, if these have `payload` exactly if the function includes
    /// it.
    fn checksum(
        constants: &[ExternConstant],
        payload: bool,
        make: fn(HashAlgorithm, bool) -> ExternFn,
    ) -> Option<ExternFn> {
        match constants {
            [Word(algorithm)] if !payload => Some(make(HashAlgorithm::by_name(algorithm)?, false)),
            [Word(algorithm), Word(word)] if payload && word == "payload" => {
                Some(make(HashAlgorithm::by_name(algorithm)?, true))
            }
            _ => None,
        }
    }
}

impl ExternFn {
    /// Returns the description.
    pub fn info(&self) -> &'static ExternInfo {
        match self {
            ExternFn::CounterCount(_) => &table::COUNTER_COUNT,
            ExternFn::CounterCountBytes(_) => &table::COUNTER_COUNT_BYTES,
            ExternFn::DirectCounterCount(_) => &table::DIRECT_COUNTER_COUNT,
            ExternFn::DirectCounterCountBytes(_) => &table::DIRECT_COUNTER_COUNT_BYTES,
            ExternFn::MeterExecute(_) => &table::METER_EXECUTE,
            ExternFn::MeterExecuteBytes(_) => &table::METER_EXECUTE_BYTES,
            ExternFn::DirectMeterRead(_) => &table::DIRECT_METER_READ,
            ExternFn::DirectMeterExecuteBytes(_) => &table::DIRECT_METER_EXECUTE_BYTES,
            ExternFn::RegisterRead(_) => &table::REGISTER_READ,
            ExternFn::RegisterWrite(_) => &table::REGISTER_WRITE,
            ExternFn::EntryIndex => &table::ENTRY_INDEX,
            ExternFn::Hash(_) => &table::HASH,
            ExternFn::CustomCrc(_) => &table::CUSTOM_CRC,
            ExternFn::Random => &table::RANDOM,
            ExternFn::Digest(_) => &table::DIGEST,
            ExternFn::Clone { .. } => &table::CLONE,
            ExternFn::Resubmit(_) => &table::RESUBMIT,
            ExternFn::Recirculate(_) => &table::RECIRCULATE,
            ExternFn::Truncate => &table::TRUNCATE,
            ExternFn::CountHeader => &table::COUNT_HEADER,
            ExternFn::Replicate => &table::REPLICATE,
            ExternFn::Assert => &table::ASSERT,
            ExternFn::Assume => &table::ASSUME,
            ExternFn::LogMsg(_) => &table::LOG_MSG,
            ExternFn::VerifyChecksum { payload: false, .. } => &table::VERIFY_CHECKSUM,
            ExternFn::VerifyChecksum { payload: true, .. } => &table::VERIFY_CHECKSUM_WITH_PAYLOAD,
            ExternFn::UpdateChecksum { payload: false, .. } => &table::UPDATE_CHECKSUM,
            ExternFn::UpdateChecksum { payload: true, .. } => &table::UPDATE_CHECKSUM_WITH_PAYLOAD,
            ExternFn::AdjustChecksum => &table::ADJUST_CHECKSUM,
            ExternFn::PopulationCount => &table::POPULATION_COUNT,
            ExternFn::Named { no_side_effects: false, .. } => &table::NAMED,
            ExternFn::Named { no_side_effects: true, .. } => &table::NAMED_PURE,
        }
    }

    /// Returns the name, without a method's object.
    pub fn name(&self) -> &str {
        match self {
            ExternFn::Named { name, .. } => name,
            _ => self.info().name,
        }
    }

    /// Returns the object of a method.
    pub fn object(&self) -> Option<ExternId> {
        match self {
            ExternFn::CounterCount(id)
            | ExternFn::CounterCountBytes(id)
            | ExternFn::DirectCounterCount(id)
            | ExternFn::DirectCounterCountBytes(id)
            | ExternFn::MeterExecute(id)
            | ExternFn::MeterExecuteBytes(id)
            | ExternFn::DirectMeterRead(id)
            | ExternFn::DirectMeterExecuteBytes(id)
            | ExternFn::RegisterRead(id)
            | ExternFn::RegisterWrite(id) => Some(*id),
            ExternFn::Named { instance, .. } => *instance,
            _ => None,
        }
    }

    /// Returns the constants of the call.
    pub fn constants(&self) -> Vec<ExternConstant> {
        let algorithm = |a: &HashAlgorithm| ExternConstant::Word(format!("{a:?}"));
        match self {
            ExternFn::Hash(a) | ExternFn::CustomCrc(a) => vec![algorithm(a)],
            ExternFn::VerifyChecksum { algorithm: a, payload } | ExternFn::UpdateChecksum { algorithm: a, payload } => {
                let payload = payload.then(|| ExternConstant::Word("payload".into()));
                [algorithm(a)].into_iter().chain(payload).collect()
            }
            ExternFn::Digest(name) => vec![ExternConstant::Word(name.clone())],
            ExternFn::Clone { egress, field_list } => {
                let kind = ExternConstant::Word(if *egress { "E2E" } else { "I2E" }.into());
                [kind].into_iter().chain(field_list.map(ExternConstant::Number)).collect()
            }
            ExternFn::Resubmit(list) | ExternFn::Recirculate(list) => vec![ExternConstant::Number(*list)],
            ExternFn::LogMsg(format) => vec![ExternConstant::Text(format.clone())],
            _ => Vec::new(),
        }
    }

    /// Returns the function with this name and these constants, or the object's method. Returns `None` for names of the
    /// extern registry.
    pub fn find(
        name: &str,
        object: Option<(ExternId, &ExternInstance)>,
        constants: &[ExternConstant],
    ) -> Option<ExternFn> {
        let fits = |info: &&&ExternInfo| match (info.method_of, object) {
            (None, None) => info.name == name,
            (Some(is), Some((_, instance))) => info.name == name && is(&instance.kind),
            _ => false,
        };
        table::ALL.iter().filter(fits).find_map(|info| (info.make)(object.map(|(id, _)| id), constants))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Span, TableId, Type, Unit};

    #[test]
    fn functions_are_found_by_name_and_constants() {
        let algorithm = HashAlgorithm::Csum16;
        let functions = [
            ExternFn::EntryIndex,
            ExternFn::Hash(HashAlgorithm::Crc16),
            ExternFn::CustomCrc(HashAlgorithm::Crc32Custom),
            ExternFn::Random,
            ExternFn::Digest("seen_t".into()),
            ExternFn::Clone { egress: true, field_list: None },
            ExternFn::Clone { egress: false, field_list: Some(3) },
            ExternFn::Resubmit(1),
            ExternFn::Recirculate(2),
            ExternFn::Truncate,
            ExternFn::CountHeader,
            ExternFn::Replicate,
            ExternFn::Assert,
            ExternFn::Assume,
            ExternFn::LogMsg("{}".into()),
            ExternFn::VerifyChecksum { algorithm, payload: false },
            ExternFn::VerifyChecksum { algorithm, payload: true },
            ExternFn::UpdateChecksum { algorithm, payload: false },
            ExternFn::UpdateChecksum { algorithm, payload: true },
            ExternFn::AdjustChecksum,
            ExternFn::PopulationCount,
        ];
        for function in &functions {
            assert_eq!(ExternFn::find(function.name(), None, &function.constants()).as_ref(), Some(function));
        }
        // Every description with a name is tested, here or with the methods below.
        for info in table::ALL.iter().filter(|info| info.method_of.is_none() && !info.name.is_empty()) {
            assert!(functions.iter().any(|f| std::ptr::eq(f.info(), *info)), "{}", info.name);
        }
        assert_eq!(ExternFn::find("hash", None, &[]), None);
        assert_eq!(ExternFn::find("mac", None, &[]), None);
        assert_eq!(ExternFn::find("count", None, &[]), None);
    }

    #[test]
    fn methods_are_found_by_name_and_object() {
        let id = ExternId(0);
        let (size, unit, table) = (4, Unit::Packets, Some(TableId(0)));
        let objects = [
            (ExternKind::Counter { size, unit }, vec![ExternFn::CounterCount(id), ExternFn::CounterCountBytes(id)]),
            (
                ExternKind::DirectCounter { unit, table },
                vec![ExternFn::DirectCounterCount(id), ExternFn::DirectCounterCountBytes(id)],
            ),
            (ExternKind::Meter { size, unit }, vec![ExternFn::MeterExecute(id), ExternFn::MeterExecuteBytes(id)]),
            (
                ExternKind::DirectMeter { unit, table },
                vec![ExternFn::DirectMeterRead(id), ExternFn::DirectMeterExecuteBytes(id)],
            ),
            (
                ExternKind::Register { size, ty: Type::Bits(8) },
                vec![ExternFn::RegisterRead(id), ExternFn::RegisterWrite(id)],
            ),
        ];
        let mut described = 0;
        for (kind, methods) in objects {
            let object = ExternInstance {
                name: "object".into(),
                id: None,
                kind,
                concurrent: false,
                initial: Default::default(),
                span: Span::none(),
            };
            for method in methods {
                assert_eq!(ExternFn::find(method.name(), Some((id, &object)), &[]).as_ref(), Some(&method));
                assert_eq!(ExternFn::find(method.name(), None, &[]), None);
                described += 1;
            }
            assert_eq!(ExternFn::find("random", Some((id, &object)), &[]), None);
        }
        assert_eq!(described, table::ALL.iter().filter(|info| info.method_of.is_some()).count());
    }

    #[test]
    fn only_functions_of_the_payload_wait_for_it() {
        let checksum = |payload| ExternFn::UpdateChecksum { algorithm: HashAlgorithm::Csum16, payload };
        assert_eq!(checksum(true).info().latency, Latency::Payload);
        assert_ne!(checksum(false).info().latency, Latency::Payload);
    }
}
