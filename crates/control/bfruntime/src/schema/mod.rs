//! The tables that controllers see: those of the program ([`program`]), and those that every device has ([`fixed`]).
//!
//! In BfRuntime everything is a table with keys, actions and data: match-action tables, counters, meters, registers, action
//! profiles, multicast groups, mirror sessions, ports. Names, ids and types of all of them are in `bf-rt.json` ([`json`]), from
//! which controllers read them.

pub(crate) mod connectors;
pub(crate) mod fixed;
mod json;
pub(crate) mod program;
mod several;

pub(crate) use json::operations;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use hopwright_ir::hash_object::HashObject;

/// Ids of fields that objects of one kind have in common. Ids of keys, parameters and registers' members are smaller.
pub(crate) mod field {
    pub(crate) const MATCH_PRIORITY: u32 = 65537;
    pub(crate) const ACTION_MEMBER_ID: u32 = 65539;
    pub(crate) const SELECTOR_GROUP_ID: u32 = 65540;
    pub(crate) const ACTION_MEMBER_STATUS: u32 = 65541;
    pub(crate) const MAX_GROUP_SIZE: u32 = 65542;
    pub(crate) const ENTRY_TTL: u32 = 65543;
    pub(crate) const ENTRY_HIT_STATE: u32 = 65544;
    pub(crate) const CIR_KBPS: u32 = 65545;
    pub(crate) const PIR_KBPS: u32 = 65546;
    pub(crate) const CBS_KBITS: u32 = 65547;
    pub(crate) const PBS_KBITS: u32 = 65548;
    pub(crate) const CIR_PPS: u32 = 65549;
    pub(crate) const PIR_PPS: u32 = 65550;
    pub(crate) const CBS_PKTS: u32 = 65551;
    pub(crate) const PBS_PKTS: u32 = 65552;
    pub(crate) const COUNTER_BYTES: u32 = 65553;
    pub(crate) const COUNTER_PACKETS: u32 = 65554;
    pub(crate) const METER_INDEX: u32 = 65555;
    pub(crate) const COUNTER_INDEX: u32 = 65556;
    pub(crate) const REGISTER_INDEX: u32 = 65557;
    pub(crate) const LPF_INDEX: u32 = 65558;
    pub(crate) const WRED_INDEX: u32 = 65559;
    pub(crate) const LPF_TYPE: u32 = 65560;
    pub(crate) const LPF_GAIN: u32 = 65561;
    pub(crate) const LPF_DECAY: u32 = 65562;
    pub(crate) const LPF_SCALE: u32 = 65563;
    pub(crate) const WRED_TIME: u32 = 65564;
    pub(crate) const WRED_LEAST: u32 = 65565;
    pub(crate) const WRED_MOST: u32 = 65566;
    pub(crate) const WRED_PROBABILITY: u32 = 65567;
    pub(crate) const INGRESS_PORT: u32 = 65574;
    pub(crate) const PORT_METADATA: u32 = 65575;
    pub(crate) const HASH_ROTATE: u32 = 65576;
    pub(crate) const HASH_SEED: u32 = 65577;
    pub(crate) const HASH_MSB: u32 = 65578;
    pub(crate) const HASH_EXTEND: u32 = 65579;
    pub(crate) const HASH_PRE_DEFINED: u32 = 65580;
    pub(crate) const HASH_USER_DEFINED: u32 = 65581;
    pub(crate) const HASH_VALUE: u32 = 65582;
    pub(crate) const HASH_START_BIT: u32 = 65583;
    pub(crate) const HASH_LENGTH: u32 = 65584;
    pub(crate) const HASH_ORDER: u32 = 65585;
}

/// A program of a device.
#[derive(Debug)]
pub(crate) struct Program {
    /// Its name, which controllers bind to.
    pub name: String,
    /// Its tables among those of the schema, and its digests.
    pub tables: Range<usize>,
    pub digests: Range<usize>,
    /// The names of its pipelines, with the pipes that each is in.
    pub pipelines: Vec<(String, Vec<u8>)>,
}

/// All tables of a device, and the digests of its programs.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    /// One, or several that have pipes of their own.
    pub programs: Vec<Program>,
    pub tables: Vec<Table>,
    pub digests: Vec<Digest>,
    /// Hashes that controllers can change, by their ids in P4Info.
    pub hashes: BTreeMap<u32, HashObject>,
    /// Registers of the architecture: which ports lead back, which nodes have which level-1 exclusion id, and which ports which
    /// level-2 exclusion ids.
    pub loopback_register: Option<u32>,
    pub exclusion_register: Option<u32>,
    pub pruning_register: Option<u32>,
    /// That of the replication id which counts for all nodes.
    pub global_rid_register: Option<u32>,
    /// Pipes of the device: those of `Switch`, or one that all ports belong to.
    pub pipes: u32,
    /// The device that the program is for, if that is a Tofino.
    pub generation: Option<Generation>,
    by_id: HashMap<u32, usize>,
}

impl Schema {
    /// A schema of these tables, of which the first one with an id counts.
    pub(crate) fn new(programs: Vec<Program>, tables: Vec<Table>, digests: Vec<Digest>) -> Schema {
        let by_id = tables.iter().enumerate().rev().map(|(at, table)| (table.id, at)).collect();
        let (loopback_register, exclusion_register, pruning_register) = (None, None, None);
        let (generation, pipes) = (None, 1);
        Schema {
            programs,
            tables,
            digests,
            hashes: BTreeMap::new(),
            loopback_register,
            exclusion_register,
            pruning_register,
            global_rid_register: None,
            pipes,
            generation,
            by_id,
        }
    }

    pub(crate) fn table(&self, id: u32) -> Option<&Table> {
        self.by_id.get(&id).map(|at| &self.tables[*at])
    }

    /// The program of this name.
    pub(crate) fn program(&self, name: &str) -> Option<&Program> {
        self.programs.iter().find(|program| program.name == name)
    }

    /// `bf-rt.json` of a program.
    pub(crate) fn program_document(&self, program: &Program) -> serde_json::Value {
        json::document(self.tables[program.tables.clone()].iter(), &self.digests[program.digests.clone()])
    }

    /// The same of the tables that every device has.
    pub(crate) fn fixed_document(&self) -> serde_json::Value {
        json::document(self.tables.iter().filter(|t| t.object.is_fixed()), &[])
    }
}

/// What a device is like.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Generation {
    /// The device in names of tables.
    pub device: &'static str,
    pub stages: u32,
    /// Of packet generators.
    pub applications: u32,
    /// Bits of an application's number in the header of its packets.
    pub application_bits: u32,
    /// The rate of a meter that limits nothing.
    pub meter_kbps: u64,
}

/// A table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub id: u32,
    pub name: String,
    /// What it stands for.
    pub object: Object,
    /// The pipes that have it, which share its entries.
    pub pipes: Vec<u8>,
    /// The number of its entries.
    pub size: u64,
    pub keys: Vec<Key>,
    pub actions: Vec<Action>,
    /// Data that entries have whatever their action.
    pub data: Vec<Field>,
    /// Those of them that are in the entry's cell of a register.
    pub registers: Vec<DirectRegister>,
    /// Filters with a cell for each entry, by their ids in P4Info.
    pub filters: Vec<(u32, FilterKind)>,
    pub const_default: bool,
    /// The register of the masks of its keys, if these can change.
    pub key_masks: Option<u32>,
    /// Tables that must have what entries refer to.
    pub depends_on: Vec<u32>,
}

/// What a table stands for. Ids are those of P4Info.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    /// A match-action table.
    Match {
        /// Whether entries refer to members and groups of an action profile.
        indirect: bool,
        /// Whether entries have a direct meter, and whether it counts bytes.
        meter: Option<MeterUnit>,
        /// Whether entries have a direct counter.
        counter: bool,
        /// Whether entries may be idle.
        idle: bool,
    },
    /// The members of an action profile.
    Members,
    /// The groups of the action profile with this id.
    Groups {
        profile: u32,
    },
    Counter,
    Meter(MeterUnit),
    Register,
    Filter(FilterKind),
    /// Members of a parser value set.
    ValueSet,
    /// The one cell of a register that register actions read.
    RegisterParam,
    /// What the hash with this id hashes, what it computes, and the result for given values.
    HashFields(u32),
    HashAlgorithm(u32),
    HashResult(u32),
    /// The member of a group of the action profile with this id that a hash selects.
    SelectedMember {
        profile: u32,
    },
    /// The register with this id and cells of this many bits, by port. Without one the program does not look at port metadata.
    PortMetadata {
        register: Option<u32>,
        bits: u32,
    },
    MulticastGroups,
    MulticastNodes,
    MulticastLags,
    MulticastEcmps,
    Pruning,
    /// Where copies to the CPU go.
    CpuPort,
    Mirror,
    Ports,
    PortCounts,
    /// Which port is called what.
    PortNames(PortNaming),
    /// Of packet generators.
    Applications,
    PacketBuffer,
    GeneratorPorts,
    /// The device itself, as its one default entry.
    Device,
}

impl Object {
    /// Whether every device has it, whatever its program.
    fn is_fixed(self) -> bool {
        matches!(
            self,
            Object::MulticastGroups
                | Object::MulticastNodes
                | Object::MulticastLags
                | Object::MulticastEcmps
                | Object::Pruning
                | Object::CpuPort
                | Object::Mirror
                | Object::Ports
                | Object::PortCounts
                | Object::PortNames(_)
                | Object::Applications
                | Object::PacketBuffer
                | Object::GeneratorPorts
                | Object::Device
        )
    }
}

/// By what ports are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PortNaming {
    /// Connector and channel.
    Connector,
    /// The number at the front, which is the port's own.
    Front,
    /// Connector and channel as text.
    Name,
}

/// What smooths values over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterKind {
    Lpf,
    Wred,
}

impl FilterKind {
    /// The settings of a cell.
    pub(crate) fn fields(self) -> Vec<Field> {
        match self {
            FilterKind::Lpf => vec![
                Field::new(field::LPF_TYPE, "$LPF_SPEC_TYPE", Ty::Text(&["RATE", "SAMPLE"])),
                Field::new(field::LPF_GAIN, "$LPF_SPEC_GAIN_TIME_CONSTANT_NS", Ty::Float),
                Field::new(field::LPF_DECAY, "$LPF_SPEC_DECAY_TIME_CONSTANT_NS", Ty::Float),
                Field::new(field::LPF_SCALE, "$LPF_SPEC_OUT_SCALE_DOWN_FACTOR", Ty::Uint(32)),
            ],
            FilterKind::Wred => vec![
                Field::new(field::WRED_TIME, "$WRED_SPEC_TIME_CONSTANT_NS", Ty::Float),
                Field::new(field::WRED_LEAST, "$WRED_SPEC_MIN_THRESH_CELLS", Ty::Uint(32)),
                Field::new(field::WRED_MOST, "$WRED_SPEC_MAX_THRESH_CELLS", Ty::Uint(32)),
                Field::new(field::WRED_PROBABILITY, "$WRED_SPEC_MAX_PROBABILITY", Ty::Float),
            ],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeterUnit {
    Bytes,
    Packets,
}

/// A register with a cell for each entry of a table.
#[derive(Clone, Debug)]
pub(crate) struct DirectRegister {
    /// Its id in P4Info.
    pub id: u32,
    /// What a cell consists of, the first field in the highest bits.
    pub fields: Vec<Field>,
}

/// A part of a key.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub id: u32,
    pub name: String,
    pub matching: Matching,
    pub ty: Ty,
    pub mandatory: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matching {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ty {
    /// A number of this many bits, in as few bytes as hold them.
    Bytes(u32),
    /// A number of 8, 16, 32 or 64 bits.
    Uint(u32),
    Bool,
    Float,
    /// One of these words; any text if there are none.
    Text(&'static [&'static str]),
    /// Slices of a field of this many bits, each with its place in an order.
    Slices(u32),
}

impl Ty {
    /// Bits of a number.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Ty::Bytes(bits) | Ty::Uint(bits) | Ty::Slices(bits) => bits,
            Ty::Bool | Ty::Float | Ty::Text(_) => 1,
        }
    }
}

/// An action of a table.
#[derive(Clone, Debug)]
pub(crate) struct Action {
    pub id: u32,
    pub name: String,
    /// `TableAndDefault`, `TableOnly` or `DefaultOnly`.
    pub scope: &'static str,
    pub data: Vec<Field>,
}

/// A part of an entry's data.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub id: u32,
    pub name: String,
    pub ty: Ty,
    pub repeated: bool,
    pub mandatory: bool,
    pub read_only: bool,
    /// Its class, for clients.
    pub annotation: Option<(&'static str, &'static str)>,
}

impl Field {
    pub(crate) fn new(id: u32, name: impl Into<String>, ty: Ty) -> Field {
        let name = name.into();
        Field { id, name, ty, repeated: false, mandatory: false, read_only: false, annotation: None }
    }

    pub(crate) fn repeated(self) -> Field {
        Field { repeated: true, ..self }
    }

    pub(crate) fn mandatory(self) -> Field {
        Field { mandatory: true, ..self }
    }

    pub(crate) fn read_only(self) -> Field {
        Field { read_only: true, ..self }
    }
}

/// A digest: what it consists of, with the widths of its parts in bits.
#[derive(Clone, Debug)]
pub(crate) struct Digest {
    pub id: u32,
    /// What the data plane calls it.
    pub object: String,
    pub name: String,
    pub fields: Vec<Field>,
}
