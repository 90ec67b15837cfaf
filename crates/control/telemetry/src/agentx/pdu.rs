//! AgentX's protocol data units (RFC 2741, section 6), as far as a subagent needs them.

/// The version of the protocol.
const VERSION: u8 = 1;
/// Bytes of a header.
pub(super) const HEADER: usize = 20;
/// The longest payload that is read.
const LONGEST: usize = 1 << 16;
/// `h.flags`: there is a context; numbers are in network byte order.
const NON_DEFAULT_CONTEXT: u8 = 1 << 3;
const NETWORK_BYTE_ORDER: u8 = 1 << 4;

/// Types of units.
pub(super) mod kind {
    pub(in crate::agentx) const OPEN: u8 = 1;
    pub(in crate::agentx) const CLOSE: u8 = 2;
    pub(in crate::agentx) const REGISTER: u8 = 3;
    pub(in crate::agentx) const GET: u8 = 5;
    pub(in crate::agentx) const GET_NEXT: u8 = 6;
    pub(in crate::agentx) const GET_BULK: u8 = 7;
    pub(in crate::agentx) const TEST_SET: u8 = 8;
    pub(in crate::agentx) const CLEANUP_SET: u8 = 11;
    pub(in crate::agentx) const NOTIFY: u8 = 12;
    pub(in crate::agentx) const PING: u8 = 13;
    pub(in crate::agentx) const RESPONSE: u8 = 18;
}

/// Errors of responses.
pub(super) mod error {
    pub(in crate::agentx) const NOT_WRITABLE: u16 = 17;
    pub(in crate::agentx) const UNSUPPORTED_CONTEXT: u16 = 262;
    pub(in crate::agentx) const PARSE: u16 = 266;
}

/// An object identifier.
pub(super) type Oid = Vec<u32>;

/// The value of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Integer(i32),
    Text(Vec<u8>),
    Oid(Oid),
    Counter32(u32),
    Gauge32(u32),
    TimeTicks(u32),
    Counter64(u64),
    NoSuchObject,
    NoSuchInstance,
    EndOfMibView,
}

/// What a unit's header says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub kind: u8,
    flags: u8,
    pub session: u32,
    pub transaction: u32,
    pub packet: u32,
    /// Bytes behind it.
    pub length: usize,
}

/// A unit is none of AgentX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no AgentX")]
pub(super) struct Malformed;

/// A range to search: from `start`, which may itself be meant, to before `end`, if that is not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Range {
    pub start: Oid,
    pub include: bool,
    pub end: Oid,
}

/// A request of the master agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Get(Vec<Oid>),
    GetNext(Vec<Range>),
    GetBulk { non_repeaters: u16, repetitions: u16, ranges: Vec<Range> },
}

impl Header {
    /// # Errors
    /// It is no header of this version, or announces more than is read.
    pub(super) fn read(bytes: &[u8; HEADER]) -> Result<Header, Malformed> {
        let [version, kind, flags, ..] = *bytes;
        let header = Header { kind, flags, ..Header::default() };
        let number = |at: usize| header.number(bytes, at).ok_or(Malformed);
        let length = number(16)? as usize;
        if version != VERSION || length > LONGEST || !length.is_multiple_of(4) {
            return Err(Malformed);
        }
        Ok(Header { session: number(4)?, transaction: number(8)?, packet: number(12)?, length, ..header })
    }

    fn number(&self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(if self.flags & NETWORK_BYTE_ORDER != 0 { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn half(&self, bytes: &[u8], at: usize) -> Option<u16> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(if self.flags & NETWORK_BYTE_ORDER != 0 { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    /// Whether the unit is of another context than the default one.
    pub(super) fn has_context(&self) -> bool {
        self.flags & NON_DEFAULT_CONTEXT != 0
    }

    /// What a request for values asks, of the payload behind this header.
    ///
    /// # Errors
    /// The payload is not one of a request of this kind.
    pub(super) fn request(&self, payload: &[u8]) -> Result<Request, Malformed> {
        let mut reader = Reader { header: self, bytes: payload };
        match self.kind {
            kind::GET => Ok(Request::Get(reader.ranges()?.into_iter().map(|range| range.start).collect())),
            kind::GET_NEXT => Ok(Request::GetNext(reader.ranges()?)),
            kind::GET_BULK => {
                let numbers = self.half(payload, 0).zip(self.half(payload, 2));
                let (non_repeaters, repetitions) = numbers.ok_or(Malformed)?;
                reader.take(4)?;
                Ok(Request::GetBulk { non_repeaters, repetitions, ranges: reader.ranges()? })
            }
            _ => Err(Malformed),
        }
    }

    /// The time that the master agent has been up, in hundredths of a second, and the error that a response tells.
    ///
    /// # Errors
    /// The payload is not one of a response.
    pub(super) fn response(&self, payload: &[u8]) -> Result<(u32, u16), Malformed> {
        self.number(payload, 0).zip(self.half(payload, 4)).ok_or(Malformed)
    }
}

struct Reader<'a> {
    header: &'a Header,
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(Malformed)?;
        self.bytes = rest;
        Ok(taken)
    }

    /// An object identifier, and its `include`.
    fn oid(&mut self) -> Result<(Oid, bool), Malformed> {
        let [count, prefix, include, _] = *self.take(4)?.first_chunk().ok_or(Malformed)?;
        let mut oid = Oid::new();
        if prefix != 0 {
            oid.extend([1, 3, 6, 1, prefix.into()]);
        }
        for _ in 0..count {
            let number = self.take(4)?;
            oid.push(self.header.number(number, 0).ok_or(Malformed)?);
        }
        Ok((oid, include != 0))
    }

    fn ranges(&mut self) -> Result<Vec<Range>, Malformed> {
        let mut ranges = Vec::new();
        while !self.bytes.is_empty() {
            let (start, include) = self.oid()?;
            let (end, _) = self.oid()?;
            ranges.push(Range { start, include, end });
        }
        Ok(ranges)
    }
}

/// Writes a unit, in network byte order.
#[derive(Debug)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn new(kind: u8, session: u32, transaction: u32, packet: u32) -> Writer {
        let mut bytes = vec![VERSION, kind, NETWORK_BYTE_ORDER, 0];
        for number in [session, transaction, packet, 0] {
            bytes.extend(number.to_be_bytes());
        }
        Writer(bytes)
    }

    /// The answer to a unit with this header, up to the values.
    pub(super) fn response(header: &Header, error: u16, index: u16) -> Writer {
        let writer = Writer::new(kind::RESPONSE, header.session, header.transaction, header.packet);
        writer.number(0).halves(error, index)
    }

    pub(super) fn bytes(mut self, bytes: &[u8; 4]) -> Writer {
        self.0.extend(bytes);
        self
    }

    pub(super) fn number(mut self, number: u32) -> Writer {
        self.0.extend(number.to_be_bytes());
        self
    }

    pub(super) fn halves(mut self, first: u16, second: u16) -> Writer {
        self.0.extend(first.to_be_bytes());
        self.0.extend(second.to_be_bytes());
        self
    }

    pub(super) fn oid(mut self, oid: &[u32]) -> Writer {
        self.0.extend([oid.len() as u8, 0, 0, 0]);
        oid.iter().for_each(|number| self.0.extend(number.to_be_bytes()));
        self
    }

    pub(super) fn text(mut self, text: &[u8]) -> Writer {
        self = self.number(text.len() as u32);
        self.0.extend(text);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    pub(super) fn variable(self, name: &[u32], value: &Value) -> Writer {
        let tag = match value {
            Value::Integer(_) => 2,
            Value::Text(_) => 4,
            Value::Oid(_) => 6,
            Value::Counter32(_) => 65,
            Value::Gauge32(_) => 66,
            Value::TimeTicks(_) => 67,
            Value::Counter64(_) => 70,
            Value::NoSuchObject => 128,
            Value::NoSuchInstance => 129,
            Value::EndOfMibView => 130,
        };
        let writer = self.halves(tag, 0).oid(name);
        match value {
            Value::Integer(value) => writer.number(*value as u32),
            Value::Text(text) => writer.text(text),
            Value::Oid(oid) => writer.oid(oid),
            Value::Counter32(value) | Value::Gauge32(value) | Value::TimeTicks(value) => writer.number(*value),
            Value::Counter64(value) => writer.number((value >> 32) as u32).number(*value as u32),
            Value::NoSuchObject | Value::NoSuchInstance | Value::EndOfMibView => writer,
        }
    }

    /// The whole unit.
    pub(super) fn finish(mut self) -> Vec<u8> {
        let length = (self.0.len() - HEADER) as u32;
        self.0[16..HEADER].copy_from_slice(&length.to_be_bytes());
        self.0
    }
}
