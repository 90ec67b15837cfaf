//! Actions and instructions.

use super::bytes::{Reader, Write, align, set_length};
use super::field::{MPLS, MPLS_MULTICAST, PBB, TAG_PRESENT};
use super::matching::{read_field, write_field};
use super::{Field, GROUP_ANY, Refusal, Version, port};

/// An action. What is said to be of 1.0 has no prerequisites: it does nothing to packets that it does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) enum Action {
    /// To a port. `max_len`: bytes of the packet that go to a controller.
    Output { port: u32, max_len: u16 },
    /// Through a group.
    Group(u32),
    /// Sets a field; in 1.0 Ethernet and IPv4 addresses, and the code point.
    Set(Field, u128),
    /// Pushes a tag of this EtherType.
    PushVlan(u16),
    /// Pops a tag, if there is one.
    PopVlan,
    /// Sets the time to live, or hop limit.
    SetTtl(u8),
    /// Decrements it.
    DecTtl,
    /// Pushes an entry of an MPLS label stack with this EtherType.
    PushMpls(u16),
    /// Pops one; the EtherType of what is below.
    PopMpls(u16),
    /// Sets the time to live of the outermost entry.
    SetMplsTtl(u8),
    /// Decrements it.
    DecMplsTtl,
    /// Copies the time to live from the second header that has one to the outermost.
    CopyTtlOut,
    /// And the other way.
    CopyTtlIn,
    /// Pushes a service instance tag.
    PushPbb,
    /// Pops it, with the backbone's header.
    PopPbb,
    /// Chooses the egress queue.
    SetQueue(u32),
    /// To a port by a queue (1.0).
    Enqueue { port: u32, queue: u32 },
    /// Sets the identifier of a tag, which is pushed if there is none (1.0).
    TagVid(u16),
    /// Sets the priority of a tag, which is pushed if there is none (1.0).
    TagPcp(u8),
    /// Sets the source port of TCP or UDP (1.0).
    PortSrc(u16),
    /// Sets the destination port of TCP or UDP (1.0).
    PortDst(u16),
}

/// What a flow does, in the order in which it is done.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Instructions {
    /// Meter.
    pub meter: Option<u32>,
    /// Apply-Actions; the actions of 1.0.
    pub apply: Vec<Action>,
    /// Write-Metadata: value and mask.
    pub metadata: Option<(u64, u64)>,
    /// Clear-Actions.
    pub clear: bool,
    /// Write-Actions.
    pub write: Option<Vec<Action>>,
    /// Goto-Table.
    pub goto: Option<u8>,
}

/// Reads actions that fill all of the bytes.
pub(crate) fn read(mut from: Reader<'_>, version: Version) -> Result<Vec<Action>, Refusal> {
    let mut actions = Vec::new();
    while !from.is_empty() {
        let kind = from.u16()?;
        let length = usize::from(from.u16()?);
        if length < 8 || length % 8 != 0 {
            return Err(Refusal::ACTION_LEN);
        }
        let mut body = from.part(length - 4, Refusal::ACTION_LEN)?;
        actions.push(match version {
            Version::V10 => read_10(kind, length, &mut body)?,
            Version::V13 => read_13(kind, length, &mut body)?,
        });
    }
    Ok(actions)
}

fn fixed(length: usize, wanted: usize) -> Result<(), Refusal> {
    if length == wanted { Ok(()) } else { Err(Refusal::ACTION_LEN) }
}

fn read_10(kind: u16, length: usize, body: &mut Reader<'_>) -> Result<Action, Refusal> {
    match kind {
        4 | 5 | 11 => fixed(length, 16)?,
        0..=10 => fixed(length, 8)?,
        _ => {}
    }
    Ok(match kind {
        0 => Action::Output { port: port::of_10(body.u16()?), max_len: body.u16()? },
        1 => match body.u16()? {
            vid @ 0..=0xfff => Action::TagVid(vid),
            _ => return Err(Refusal::ACTION_ARGUMENT),
        },
        2 => match body.u8()? {
            pcp @ 0..=7 => Action::TagPcp(pcp),
            _ => return Err(Refusal::ACTION_ARGUMENT),
        },
        3 => Action::PopVlan,
        4 => Action::Set(Field::EthSrc, body.number(6)?),
        5 => Action::Set(Field::EthDst, body.number(6)?),
        6 => Action::Set(Field::Ipv4Src, body.number(4)?),
        7 => Action::Set(Field::Ipv4Dst, body.number(4)?),
        8 => match body.u8()? {
            tos if tos & 3 == 0 => Action::Set(Field::IpDscp, (tos >> 2).into()),
            _ => return Err(Refusal::ACTION_ARGUMENT),
        },
        9 => Action::PortSrc(body.u16()?),
        10 => Action::PortDst(body.u16()?),
        11 => {
            let port = port::of_10(body.u16()?);
            body.skip(6)?;
            Action::Enqueue { port, queue: body.u32()? }
        }
        0xffff => return Err(Refusal::ACTION_EXPERIMENTER),
        _ => return Err(Refusal::ACTION_TYPE),
    })
}

fn read_13(kind: u16, length: usize, body: &mut Reader<'_>) -> Result<Action, Refusal> {
    match kind {
        0 => fixed(length, 16)?,
        11 | 12 | 15..=24 | 26 | 27 => fixed(length, 8)?,
        _ => {}
    }
    Ok(match kind {
        0 => Action::Output { port: body.u32()?, max_len: body.u16()? },
        17 => match body.u16()? {
            tpid @ (0x8100 | 0x88a8) => Action::PushVlan(tpid),
            _ => return Err(Refusal::ACTION_ARGUMENT),
        },
        11 => Action::CopyTtlOut,
        12 => Action::CopyTtlIn,
        15 => Action::SetMplsTtl(body.u8()?),
        16 => Action::DecMplsTtl,
        18 => Action::PopVlan,
        19 => match body.u16()? {
            kind @ (MPLS | MPLS_MULTICAST) => Action::PushMpls(kind),
            _ => return Err(Refusal::ACTION_ARGUMENT),
        },
        20 => Action::PopMpls(body.u16()?),
        21 => Action::SetQueue(body.u32()?),
        22 => Action::Group(body.u32()?),
        23 => Action::SetTtl(body.u8()?),
        24 => Action::DecTtl,
        25 => {
            let set = read_field(body, Refusal::ACTION_SET_TYPE, Refusal::ACTION_SET_LEN)?;
            if set.mask != set.field.all() || set.value & !set.field.all() != 0 {
                return Err(Refusal::ACTION_SET_ARGUMENT);
            }
            if !settable(set.field) {
                return Err(Refusal::ACTION_SET_TYPE);
            }
            if set.field == Field::VlanVid && set.value & TAG_PRESENT == 0 {
                return Err(Refusal::ACTION_SET_ARGUMENT);
            }
            Action::Set(set.field, set.value)
        }
        26 => match body.u16()? {
            PBB => Action::PushPbb,
            _ => return Err(Refusal::ACTION_ARGUMENT),
        },
        27 => Action::PopPbb,
        0xffff => return Err(Refusal::ACTION_EXPERIMENTER),
        _ => return Err(Refusal::ACTION_TYPE),
    })
}

/// Whether a field can be set (section 7.2.5).
pub(crate) fn settable(field: Field) -> bool {
    use Field::*;
    !matches!(field, InPort | Metadata | Ipv6Exthdr)
}

/// Writes actions.
pub(crate) fn write(actions: &[Action], version: Version, out: &mut Vec<u8>) {
    for action in actions {
        match version {
            Version::V10 => write_10(*action, out),
            Version::V13 => write_13(*action, out),
        }
    }
}

/// Actions that 1.0 does not have are left out.
fn write_10(action: Action, out: &mut Vec<u8>) {
    let from = out.len();
    let mut head = |kind: u16, length: u16| {
        out.u16(kind);
        out.u16(length);
    };
    match action {
        Action::Output { port, max_len } => {
            head(0, 8);
            out.u16(port as u16);
            out.u16(max_len);
        }
        Action::TagVid(vid) => {
            head(1, 8);
            out.u16(vid);
        }
        Action::Set(Field::VlanVid, vid) => {
            head(1, 8);
            out.u16(vid as u16 & 0xfff);
        }
        Action::TagPcp(pcp) => {
            head(2, 8);
            out.u8(pcp);
        }
        Action::Set(Field::VlanPcp, pcp) => {
            head(2, 8);
            out.u8(pcp as u8);
        }
        Action::PopVlan => head(3, 8),
        Action::Set(field @ (Field::EthSrc | Field::EthDst), address) => {
            head(if field == Field::EthSrc { 4 } else { 5 }, 16);
            out.number(address, 6);
        }
        Action::Set(field @ (Field::Ipv4Src | Field::Ipv4Dst), address) => {
            head(if field == Field::Ipv4Src { 6 } else { 7 }, 8);
            out.number(address, 4);
        }
        Action::Set(Field::IpDscp, code_point) => {
            head(8, 8);
            out.u8((code_point as u8) << 2);
        }
        Action::PortSrc(port) => {
            head(9, 8);
            out.u16(port);
        }
        Action::PortDst(port) => {
            head(10, 8);
            out.u16(port);
        }
        Action::Set(field @ (Field::TcpSrc | Field::UdpSrc | Field::TcpDst | Field::UdpDst), port) => {
            head(if matches!(field, Field::TcpSrc | Field::UdpSrc) { 9 } else { 10 }, 8);
            out.u16(port as u16);
        }
        Action::Enqueue { port, queue } => {
            head(11, 16);
            out.u16(port as u16);
            out.zeros(6);
            out.u32(queue);
        }
        _ => {}
    }
    align(out, from);
}

fn write_13(action: Action, out: &mut Vec<u8>) {
    let from = out.len();
    let head = |out: &mut Vec<u8>, kind: u16| {
        out.u16(kind);
        out.u16(8);
    };
    let set = |out: &mut Vec<u8>, field: Field, value: u128| {
        head(out, 25);
        write_field(out, field, value, None);
    };
    match action {
        Action::Output { port, max_len } => {
            head(out, 0);
            out.u32(port);
            out.u16(max_len);
            out.zeros(6);
        }
        Action::Group(group) => {
            head(out, 22);
            out.u32(group);
        }
        Action::Set(field, value) => set(out, field, value),
        Action::TagVid(vid) => set(out, Field::VlanVid, TAG_PRESENT | u128::from(vid)),
        Action::TagPcp(pcp) => set(out, Field::VlanPcp, pcp.into()),
        Action::PortSrc(port) => set(out, Field::TcpSrc, port.into()),
        Action::PortDst(port) => set(out, Field::TcpDst, port.into()),
        Action::PushVlan(tpid) => {
            head(out, 17);
            out.u16(tpid);
        }
        Action::PopVlan => head(out, 18),
        Action::SetTtl(ttl) => {
            head(out, 23);
            out.u8(ttl);
        }
        Action::DecTtl => head(out, 24),
        Action::CopyTtlOut => head(out, 11),
        Action::CopyTtlIn => head(out, 12),
        Action::SetMplsTtl(ttl) => {
            head(out, 15);
            out.u8(ttl);
        }
        Action::DecMplsTtl => head(out, 16),
        Action::PushMpls(kind) => {
            head(out, 19);
            out.u16(kind);
        }
        Action::PopMpls(kind) => {
            head(out, 20);
            out.u16(kind);
        }
        Action::SetQueue(queue) | Action::Enqueue { queue, .. } => {
            head(out, 21);
            out.u32(queue);
        }
        Action::PushPbb => {
            head(out, 26);
            out.u16(PBB);
        }
        Action::PopPbb => head(out, 27),
    }
    align(out, from);
    set_length(out, from + 2, from);
}

impl Instructions {
    /// Reads instructions that fill all of the bytes.
    pub(crate) fn read(mut from: Reader<'_>) -> Result<Instructions, Refusal> {
        let mut found = Instructions::default();
        let mut seen = 0u32;
        while !from.is_empty() {
            let kind = from.u16()?;
            let length = usize::from(from.u16()?);
            if length < 8 || length % 8 != 0 {
                return Err(Refusal::INSTRUCTION_LEN);
            }
            let mut body = from.part(length - 4, Refusal::INSTRUCTION_LEN)?;
            // At most one of each type (section 5.9).
            if kind < 32 && seen >> kind & 1 == 1 {
                return Err(Refusal::INSTRUCTION_UNKNOWN);
            }
            seen |= if kind < 32 { 1 << kind } else { 0 };
            let actions = |mut body: Reader<'_>| {
                body.skip(4)?;
                read(Reader::new(body.rest(), Refusal::ACTION_LEN), Version::V13)
            };
            match kind {
                1 => found.goto = Some(body.u8()?),
                2 => {
                    body.skip(4)?;
                    found.metadata = Some((body.u64()?, body.u64()?));
                }
                3 => found.write = Some(actions(body)?),
                4 => found.apply = actions(body)?,
                5 => found.clear = true,
                6 => found.meter = Some(body.u32()?),
                0xffff => return Err(Refusal::INSTRUCTION_EXPERIMENTER),
                _ => return Err(Refusal::INSTRUCTION_UNKNOWN),
            }
        }
        Ok(found)
    }

    /// Writes them as 1.3 does.
    pub(crate) fn write_13(&self, out: &mut Vec<u8>) {
        let list = |kind: u16, actions: &[Action], out: &mut Vec<u8>| {
            let from = out.len();
            out.u16(kind);
            out.zeros(6);
            write(actions, Version::V13, out);
            set_length(out, from + 2, from);
        };
        if let Some(meter) = self.meter {
            out.u16(6);
            out.u16(8);
            out.u32(meter);
        }
        if !self.apply.is_empty() {
            list(4, &self.apply, out);
        }
        if self.clear {
            out.u16(5);
            out.u16(8);
            out.zeros(4);
        }
        if let Some(actions) = &self.write {
            list(3, actions, out);
        }
        if let Some((value, mask)) = self.metadata {
            out.u16(2);
            out.u16(24);
            out.zeros(4);
            out.u64(value);
            out.u64(mask);
        }
        if let Some(table) = self.goto {
            out.u16(1);
            out.u16(8);
            out.u8(table);
            out.zeros(3);
        }
    }

    /// All actions.
    pub(crate) fn actions(&self) -> impl Iterator<Item = &Action> {
        self.apply.iter().chain(self.write.iter().flatten())
    }

    /// Whether packets may leave by this port and this group, as deletions and requests for statistics ask.
    pub(crate) fn leads_to(&self, port: u32, group: u32) -> bool {
        let to_port = |action: &Action| matches!(action, Action::Output { port: to, .. } | Action::Enqueue { port: to, .. } if *to == port);
        (port == super::port::ANY || self.actions().any(to_port))
            && (group == GROUP_ANY || self.actions().any(|action| *action == Action::Group(group)))
    }
}
