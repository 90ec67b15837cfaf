//! Messages of controllers.

use super::bytes::Reader;
use super::{Action, GROUP_ANY, Instructions, Match, NO_BUFFER, Refusal, TABLE_ALL, Version, action, port};

/// A message of a controller, without its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// With the versions it names, a bit for each.
    Hello(Option<u32>),
    /// The controller refuses something: type and code.
    Error(u16, u16),
    Echo(Vec<u8>),
    EchoReply,
    Features,
    GetConfig,
    SetConfig {
        flags: u16,
        miss_send_len: u16,
    },
    PacketOut(PacketOut),
    FlowMod(FlowMod),
    GroupMod(GroupMod),
    MeterMod(MeterMod),
    PortMod(PortMod),
    TableMod {
        table: u8,
        config: u32,
    },
    Multipart(Multipart),
    Barrier,
    QueueConfig {
        port: u32,
    },
    Role {
        role: u32,
        generation: u64,
    },
    GetAsync,
    SetAsync([u32; 6]),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PacketOut {
    pub in_port: u32,
    pub actions: Vec<Action>,
    pub data: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum FlowCommand {
    Add,
    Modify { strict: bool },
    Delete { strict: bool },
}

/// Flags of flow messages (`OFPFF_*`).
pub(crate) mod flow_flag {
    pub(crate) const SEND_REMOVED: u16 = 1;
    pub(crate) const CHECK_OVERLAP: u16 = 2;
    pub(crate) const RESET_COUNTS: u16 = 4;
    /// Counters need not be kept; they are.
    pub(crate) const NO_COUNTS: u16 = 8 | 16;
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct FlowMod {
    pub command: FlowCommand,
    pub table: u8,
    pub matching: Match,
    pub priority: u16,
    pub cookie: u64,
    pub cookie_mask: u64,
    /// Seconds, 0 for none.
    pub idle_timeout: u16,
    /// Seconds, 0 for none.
    pub hard_timeout: u16,
    pub out_port: u32,
    pub out_group: u32,
    pub flags: u16,
    pub instructions: Instructions,
    /// The version of the message: its actions have no prerequisites in 1.0.
    pub version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum GroupCommand {
    Add,
    Modify,
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub(crate) enum GroupKind {
    All = 0,
    Select = 1,
    Indirect = 2,
    FastFailover = 3,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Bucket {
    pub weight: u16,
    /// The port that must be up for the bucket to be used, or `port::ANY`.
    pub watch_port: u32,
    /// The group that must have a bucket that can be used, or `GROUP_ANY`.
    pub watch_group: u32,
    pub actions: Vec<Action>,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct GroupMod {
    pub command: GroupCommand,
    pub kind: GroupKind,
    pub group: u32,
    pub buckets: Vec<Bucket>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum MeterCommand {
    Add,
    Modify,
    Delete,
}

/// Flags of meters (`OFPMF_*`).
pub(crate) mod meter_flag {
    pub(crate) const KBPS: u16 = 1;
    pub(crate) const PKTPS: u16 = 2;
    pub(crate) const BURST: u16 = 4;
    pub(crate) const STATS: u16 = 8;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum BandKind {
    Drop,
    /// Raises the drop precedence by this.
    Remark(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Band {
    pub kind: BandKind,
    /// Kilobits or packets a second, as the meter's flags say.
    pub rate: u32,
    /// Kilobits or packets.
    pub burst: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct MeterMod {
    pub command: MeterCommand,
    pub flags: u16,
    pub meter: u32,
    pub bands: Vec<Band>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortMod {
    pub port: u32,
    pub mac: [u8; 6],
    pub config: u32,
    pub mask: u32,
}

/// Which flows a request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlowFilter {
    pub table: u8,
    pub matching: Match,
    pub out_port: u32,
    pub out_group: u32,
    pub cookie: u64,
    pub cookie_mask: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Multipart {
    Description,
    Flows(FlowFilter),
    Aggregate(FlowFilter),
    Tables,
    Ports(u32),
    Queues { port: u32, queue: u32 },
    Groups(u32),
    GroupDescriptions,
    GroupFeatures,
    Meters(u32),
    MeterConfigs(u32),
    MeterFeatures,
    TableFeatures,
    PortDescriptions,
}

impl Multipart {
    /// Its number in messages.
    pub(crate) fn number(&self) -> u16 {
        match self {
            Multipart::Description => 0,
            Multipart::Flows(_) => 1,
            Multipart::Aggregate(_) => 2,
            Multipart::Tables => 3,
            Multipart::Ports(_) => 4,
            Multipart::Queues { .. } => 5,
            Multipart::Groups(_) => 6,
            Multipart::GroupDescriptions => 7,
            Multipart::GroupFeatures => 8,
            Multipart::Meters(_) => 9,
            Multipart::MeterConfigs(_) => 10,
            Multipart::MeterFeatures => 11,
            Multipart::TableFeatures => 12,
            Multipart::PortDescriptions => 13,
        }
    }
}

impl Request {
    /// Reads a message's body.
    pub(crate) fn read(version: Version, kind: u8, body: &[u8]) -> Result<Request, Refusal> {
        let mut from = Reader::new(body, Refusal::BAD_LEN);
        match kind {
            0 => return Ok(Request::Hello(versions(from))),
            1 => return Ok(Request::Error(from.u16()?, from.u16()?)),
            2 => return Ok(Request::Echo(body.to_vec())),
            3 => return Ok(Request::EchoReply),
            4 => return Err(Refusal::BAD_EXPERIMENTER),
            _ => {}
        }
        let request = match (version, kind) {
            (_, 5) => Request::Features,
            (_, 7) => Request::GetConfig,
            (_, 9) => Request::SetConfig { flags: from.u16()?, miss_send_len: from.u16()? },
            (_, 13) => Request::PacketOut(PacketOut::read(version, &mut from)?),
            (Version::V10, 14) => Request::FlowMod(FlowMod::read_10(&mut from)?),
            (Version::V13, 14) => Request::FlowMod(FlowMod::read_13(&mut from)?),
            (Version::V13, 15) => Request::GroupMod(GroupMod::read(&mut from)?),
            (Version::V10, 15) | (Version::V13, 16) => Request::PortMod(PortMod::read(version, &mut from)?),
            (Version::V13, 17) => {
                let table = from.u8()?;
                from.skip(3)?;
                Request::TableMod { table, config: from.u32()? }
            }
            (Version::V10, 16) | (Version::V13, 18) => Request::Multipart(Multipart::read(version, &mut from)?),
            (Version::V10, 18) | (Version::V13, 20) => Request::Barrier,
            (Version::V10, 20) => {
                let port = port::of_10(from.u16()?);
                from.skip(2)?;
                Request::QueueConfig { port }
            }
            (Version::V13, 22) => {
                let port = from.u32()?;
                from.skip(4)?;
                Request::QueueConfig { port }
            }
            (Version::V13, 24) => {
                let role = from.u32()?;
                from.skip(4)?;
                Request::Role { role, generation: from.u64()? }
            }
            (Version::V13, 26) => Request::GetAsync,
            (Version::V13, 28) => {
                let mut masks = [0; 6];
                for mask in &mut masks {
                    *mask = from.u32()?;
                }
                Request::SetAsync(masks)
            }
            (Version::V13, 29) => Request::MeterMod(MeterMod::read(&mut from)?),
            _ => return Err(Refusal::BAD_TYPE),
        };
        if from.is_empty() { Ok(request) } else { Err(Refusal::BAD_LEN) }
    }
}

/// The first version bitmap of a hello, whose other elements are ignored (section 7.5.1).
fn versions(mut from: Reader<'_>) -> Option<u32> {
    loop {
        let kind = from.u16().ok()?;
        let length = usize::from(from.u16().ok()?);
        let mut body = from.part(length.checked_sub(4)?, Refusal::BAD_LEN).ok()?;
        if kind == 1 {
            return body.u32().ok();
        }
        from.skip((length.next_multiple_of(8) - length).min(from.len())).ok()?;
    }
}

fn buffer(id: u32) -> Result<(), Refusal> {
    // Packets are never buffered.
    if id == NO_BUFFER { Ok(()) } else { Err(Refusal::BUFFER_UNKNOWN) }
}

impl PacketOut {
    fn read(version: Version, from: &mut Reader<'_>) -> Result<PacketOut, Refusal> {
        let id = from.u32()?;
        let in_port = match version {
            Version::V10 => port::of_10(from.u16()?),
            Version::V13 => from.u32()?,
        };
        let length = from.u16()?;
        if version == Version::V13 {
            from.skip(6)?;
        }
        let actions = from.part(length.into(), Refusal::ACTION_LEN)?;
        let actions = action::read(actions, version)?;
        buffer(id)?;
        Ok(PacketOut { in_port, actions, data: from.take(from.len())?.to_vec() })
    }
}

impl FlowCommand {
    fn of(number: u16) -> Result<FlowCommand, Refusal> {
        Ok(match number {
            0 => FlowCommand::Add,
            1 => FlowCommand::Modify { strict: false },
            2 => FlowCommand::Modify { strict: true },
            3 => FlowCommand::Delete { strict: false },
            4 => FlowCommand::Delete { strict: true },
            _ => return Err(Refusal::FLOW_COMMAND),
        })
    }
}

impl FlowMod {
    /// A message of 1.3 about flows of table 0 that do these actions: without cookie, timeouts and flags.
    pub(crate) fn new(command: FlowCommand, priority: u16, matching: Match, apply: Vec<Action>) -> FlowMod {
        FlowMod {
            command,
            table: 0,
            matching,
            priority,
            cookie: 0,
            cookie_mask: 0,
            idle_timeout: 0,
            hard_timeout: 0,
            out_port: port::ANY,
            out_group: GROUP_ANY,
            flags: 0,
            instructions: Instructions { apply, ..Instructions::default() },
            version: Version::V13,
        }
    }

    fn read_10(from: &mut Reader<'_>) -> Result<FlowMod, Refusal> {
        let matching = Match::read_10(from)?;
        let cookie = from.u64()?;
        let command = FlowCommand::of(from.u16()?)?;
        let (idle_timeout, hard_timeout, priority) = (from.u16()?, from.u16()?, from.u16()?);
        let id = from.u32()?;
        let out_port = port::of_10(from.u16()?);
        let flags = from.u16()?;
        let apply = action::read(Reader::new(from.take(from.len())?, Refusal::ACTION_LEN), Version::V10)?;
        if flags & 4 != 0 {
            return Err(Refusal::FLOW_EMERGENCY);
        }
        if flags & !3 != 0 {
            return Err(Refusal::FLOW_FLAGS);
        }
        let deletes = matches!(command, FlowCommand::Delete { .. });
        if !deletes {
            buffer(id)?;
        }
        Ok(FlowMod {
            command,
            table: if deletes { TABLE_ALL } else { 0 },
            matching,
            priority,
            cookie,
            cookie_mask: 0,
            idle_timeout,
            hard_timeout,
            // In 1.0 it counts for deletions only.
            out_port: if deletes { out_port } else { port::ANY },
            out_group: GROUP_ANY,
            flags,
            instructions: Instructions { apply, ..Instructions::default() },
            version: Version::V10,
        })
    }

    fn read_13(from: &mut Reader<'_>) -> Result<FlowMod, Refusal> {
        let (cookie, cookie_mask) = (from.u64()?, from.u64()?);
        let table = from.u8()?;
        let command = FlowCommand::of(from.u8()?.into())?;
        let (idle_timeout, hard_timeout, priority) = (from.u16()?, from.u16()?, from.u16()?);
        let id = from.u32()?;
        let (out_port, out_group) = (from.u32()?, from.u32()?);
        let flags = from.u16()?;
        from.skip(2)?;
        let matching = Match::read_13(from)?;
        let instructions = Instructions::read(Reader::new(from.take(from.len())?, Refusal::INSTRUCTION_LEN))?;
        if flags
            & !(flow_flag::SEND_REMOVED | flow_flag::CHECK_OVERLAP | flow_flag::RESET_COUNTS | flow_flag::NO_COUNTS)
            != 0
        {
            return Err(Refusal::FLOW_FLAGS);
        }
        let deletes = matches!(command, FlowCommand::Delete { .. });
        if !deletes {
            buffer(id)?;
        }
        Ok(FlowMod {
            command,
            table,
            matching,
            priority,
            cookie,
            // For additions it has no meaning (section 6.4).
            cookie_mask: if command == FlowCommand::Add { 0 } else { cookie_mask },
            idle_timeout,
            hard_timeout,
            out_port: if deletes { out_port } else { port::ANY },
            out_group: if deletes { out_group } else { GROUP_ANY },
            flags,
            instructions,
            version: Version::V13,
        })
    }
}

impl GroupMod {
    fn read(from: &mut Reader<'_>) -> Result<GroupMod, Refusal> {
        let command = match from.u16()? {
            0 => GroupCommand::Add,
            1 => GroupCommand::Modify,
            2 => GroupCommand::Delete,
            _ => return Err(Refusal::GROUP_COMMAND),
        };
        let kind = match from.u8()? {
            0 => GroupKind::All,
            1 => GroupKind::Select,
            2 => GroupKind::Indirect,
            3 => GroupKind::FastFailover,
            _ => return Err(Refusal::GROUP_TYPE),
        };
        from.skip(1)?;
        let group = from.u32()?;
        let mut buckets = Vec::new();
        while !from.is_empty() {
            let length = usize::from(from.u16()?);
            let mut body = from.part(length.checked_sub(2).ok_or(Refusal::GROUP_BUCKET)?, Refusal::GROUP_BUCKET)?;
            let weight = body.u16()?;
            let (watch_port, watch_group) = (body.u32()?, body.u32()?);
            body.skip(4)?;
            let actions = action::read(Reader::new(body.rest(), Refusal::ACTION_LEN), Version::V13)?;
            buckets.push(Bucket { weight, watch_port, watch_group, actions });
        }
        Ok(GroupMod { command, kind, group, buckets })
    }
}

impl MeterMod {
    fn read(from: &mut Reader<'_>) -> Result<MeterMod, Refusal> {
        let command = match from.u16()? {
            0 => MeterCommand::Add,
            1 => MeterCommand::Modify,
            2 => MeterCommand::Delete,
            _ => return Err(Refusal::METER_COMMAND),
        };
        let (flags, meter) = (from.u16()?, from.u32()?);
        let mut bands = Vec::new();
        while !from.is_empty() {
            let kind = from.u16()?;
            let length = usize::from(from.u16()?);
            if length < 12 {
                return Err(Refusal::BAD_LEN);
            }
            let mut body = from.part(length - 4, Refusal::BAD_LEN)?;
            let (rate, burst) = (body.u32()?, body.u32()?);
            let kind = match kind {
                1 => BandKind::Drop,
                2 => BandKind::Remark(body.u8()?),
                _ => return Err(Refusal::METER_BAND),
            };
            bands.push(Band { kind, rate, burst });
        }
        Ok(MeterMod { command, flags, meter, bands })
    }
}

impl PortMod {
    fn read(version: Version, from: &mut Reader<'_>) -> Result<PortMod, Refusal> {
        let port = match version {
            Version::V10 => port::of_10(from.u16()?),
            Version::V13 => {
                let port = from.u32()?;
                from.skip(4)?;
                port
            }
        };
        let mac = from.mac()?;
        if version == Version::V13 {
            from.skip(2)?;
        }
        let (config, mask) = (from.u32()?, from.u32()?);
        // What to advertise is the device's own affair.
        from.skip(8)?;
        Ok(PortMod { port, mac, config, mask })
    }
}

impl FlowFilter {
    fn read(version: Version, from: &mut Reader<'_>) -> Result<FlowFilter, Refusal> {
        match version {
            Version::V10 => {
                let matching = Match::read_10(from)?;
                let table = from.u8()?;
                from.skip(1)?;
                let out_port = port::of_10(from.u16()?);
                Ok(FlowFilter { table, matching, out_port, out_group: GROUP_ANY, cookie: 0, cookie_mask: 0 })
            }
            Version::V13 => {
                let table = from.u8()?;
                from.skip(3)?;
                let (out_port, out_group) = (from.u32()?, from.u32()?);
                from.skip(4)?;
                let (cookie, cookie_mask) = (from.u64()?, from.u64()?);
                let matching = Match::read_13(from)?;
                Ok(FlowFilter { table, matching, out_port, out_group, cookie, cookie_mask })
            }
        }
    }
}

impl Multipart {
    fn read(version: Version, from: &mut Reader<'_>) -> Result<Multipart, Refusal> {
        let kind = from.u16()?;
        let more = from.u16()? & 1 == 1;
        if version == Version::V13 {
            from.skip(4)?;
        }
        if more {
            return Err(Refusal::BUFFER_OVERFLOW);
        }
        let number = |from: &mut Reader<'_>| {
            let number = from.u32()?;
            from.skip(4)?;
            Ok(number)
        };
        Ok(match (version, kind) {
            (_, 0) => Multipart::Description,
            (_, 1) => Multipart::Flows(FlowFilter::read(version, from)?),
            (_, 2) => Multipart::Aggregate(FlowFilter::read(version, from)?),
            (_, 3) => Multipart::Tables,
            (Version::V10, 4) => {
                let port = port::of_10(from.u16()?);
                from.skip(6)?;
                Multipart::Ports(port)
            }
            (Version::V13, 4) => Multipart::Ports(number(from)?),
            (Version::V10, 5) => {
                let port = port::of_10(from.u16()?);
                from.skip(2)?;
                Multipart::Queues { port, queue: from.u32()? }
            }
            (Version::V13, 5) => Multipart::Queues { port: from.u32()?, queue: from.u32()? },
            (Version::V13, 6) => Multipart::Groups(number(from)?),
            (Version::V13, 7) => Multipart::GroupDescriptions,
            (Version::V13, 8) => Multipart::GroupFeatures,
            (Version::V13, 9) => Multipart::Meters(number(from)?),
            (Version::V13, 10) => Multipart::MeterConfigs(number(from)?),
            (Version::V13, 11) => Multipart::MeterFeatures,
            // With a body it would change the tables.
            (Version::V13, 12) if !from.is_empty() => return Err(Refusal::TABLE_FEATURES_EPERM),
            (Version::V13, 12) => Multipart::TableFeatures,
            (Version::V13, 13) => Multipart::PortDescriptions,
            (_, 0xffff) => return Err(Refusal::BAD_EXPERIMENTER),
            _ => return Err(Refusal::BAD_MULTIPART),
        })
    }
}
