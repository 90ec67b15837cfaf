//! Thrift's binary protocol: messages as trees of values.
//!
//! A message is bounded by [`MAX_MESSAGE`] bytes, [`MAX_VALUES`] values and [`MAX_DEPTH`] levels. Nothing is allocated for a length
//! that a message gives, only for bytes that have come.

/// The longest message, in bytes.
pub(crate) const MAX_MESSAGE: usize = 4 << 20;
/// The most values in a message.
pub(crate) const MAX_VALUES: usize = 65_536;
/// The most levels of structures and lists in each other.
pub(crate) const MAX_DEPTH: usize = 16;
/// The longest name of a method, in bytes.
const MAX_NAME: usize = 256;
/// The upper half of the first word of a message, in the protocol's strict form.
const VERSION: u32 = 0x8001_0000;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Type {
    Bool = 2,
    Byte = 3,
    Double = 4,
    I16 = 6,
    I32 = 8,
    I64 = 10,
    Binary = 11,
    Struct = 12,
    Map = 13,
    Set = 14,
    List = 15,
}

impl Type {
    const ALL: [Type; 11] = {
        use Type::*;
        [Bool, Byte, Double, I16, I32, I64, Binary, Struct, Map, Set, List]
    };

    fn of(code: u8) -> Result<Type, Stop> {
        Type::ALL.into_iter().find(|ty| *ty as u8 == code).ok_or(Stop::Malformed("a type that does not exist"))
    }
}

/// The fields of a structure, by their ids.
pub(crate) type Fields = Vec<(i16, Value)>;

/// A value. Strings and binary values have the same form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Bool(bool),
    Byte(i8),
    Double(f64),
    I16(i16),
    I32(i32),
    I64(i64),
    Binary(Vec<u8>),
    Struct(Fields),
    /// With the types of keys and values.
    Map(Type, Type, Vec<(Value, Value)>),
    /// A list or a set, with the type of its elements.
    List(Type, Vec<Value>),
}

impl Value {
    pub(crate) fn text(text: impl Into<String>) -> Value {
        Value::Binary(text.into().into_bytes())
    }

    fn ty(&self) -> Type {
        match self {
            Value::Bool(_) => Type::Bool,
            Value::Byte(_) => Type::Byte,
            Value::Double(_) => Type::Double,
            Value::I16(_) => Type::I16,
            Value::I32(_) => Type::I32,
            Value::I64(_) => Type::I64,
            Value::Binary(_) => Type::Binary,
            Value::Struct(_) => Type::Struct,
            Value::Map(..) => Type::Map,
            Value::List(..) => Type::List,
        }
    }
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Call = 1,
    Reply = 2,
    Exception = 3,
    /// A call without an answer.
    OneWay = 4,
}

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The caller's number of the call, which the answer repeats.
    pub(crate) sequence: i32,
    pub(crate) body: Fields,
}

/// The reason why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not Thrift's binary protocol: {0}")]
pub(crate) struct Malformed(&'static str);

/// Reads the message that bytes begin with. Returns it with its length, or `None` if more bytes must come.
pub(crate) fn decode(bytes: &[u8]) -> Result<Option<(Message, usize)>, Malformed> {
    let mut decoder = Decoder { rest: bytes, values: 0 };
    match decoder.message() {
        Ok(message) => Ok(Some((message, bytes.len() - decoder.rest.len()))),
        Err(Stop::Incomplete) if bytes.len() > MAX_MESSAGE => Err(Malformed("a message is too long")),
        Err(Stop::Incomplete) => Ok(None),
        Err(Stop::Malformed(reason)) => Err(Malformed(reason)),
    }
}

enum Stop {
    Incomplete,
    Malformed(&'static str),
}

struct Decoder<'a> {
    rest: &'a [u8],
    values: usize,
}

impl<'a> Decoder<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Stop> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Stop::Incomplete)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Stop::Incomplete)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn byte(&mut self) -> Result<u8, Stop> {
        Ok(self.array::<1>()?[0])
    }

    fn i32(&mut self) -> Result<i32, Stop> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// A length that `limit` bounds.
    fn length(&mut self, limit: usize) -> Result<usize, Stop> {
        let length = usize::try_from(self.i32()?).map_err(|_| Stop::Malformed("a negative length"))?;
        if length > limit { Err(Stop::Malformed("a length beyond the limit")) } else { Ok(length) }
    }

    fn message(&mut self) -> Result<Message, Stop> {
        let word = self.i32()? as u32;
        let (name, kind) = if word & 0x8000_0000 != 0 {
            if word & 0xffff_0000 != VERSION {
                return Err(Stop::Malformed("another version"));
            }
            let length = self.length(MAX_NAME)?;
            (self.take(length)?, word as u8)
        } else {
            // The old form without a version begins with the name.
            if word as usize > MAX_NAME {
                return Err(Stop::Malformed("the name of a method is too long"));
            }
            (self.take(word as usize)?, self.byte()?)
        };
        let name = str::from_utf8(name).map_err(|_| Stop::Malformed("the name of a method is no text"))?.into();
        let kind = [Kind::Call, Kind::Reply, Kind::Exception, Kind::OneWay].into_iter().find(|k| *k as u8 == kind);
        let kind = kind.ok_or(Stop::Malformed("a kind of message that does not exist"))?;
        Ok(Message { name, kind, sequence: self.i32()?, body: self.fields(0)? })
    }

    fn fields(&mut self, depth: usize) -> Result<Fields, Stop> {
        let mut fields = Vec::new();
        loop {
            let code = self.byte()?;
            if code == 0 {
                return Ok(fields);
            }
            let id = i16::from_be_bytes(self.array()?);
            fields.push((id, self.value(Type::of(code)?, depth)?));
        }
    }

    fn value(&mut self, ty: Type, depth: usize) -> Result<Value, Stop> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(Stop::Malformed("too many values"));
        }
        if depth > MAX_DEPTH {
            return Err(Stop::Malformed("too many levels"));
        }
        Ok(match ty {
            Type::Bool => Value::Bool(self.byte()? != 0),
            Type::Byte => Value::Byte(self.byte()? as i8),
            Type::Double => Value::Double(f64::from_be_bytes(self.array()?)),
            Type::I16 => Value::I16(i16::from_be_bytes(self.array()?)),
            Type::I32 => Value::I32(self.i32()?),
            Type::I64 => Value::I64(i64::from_be_bytes(self.array()?)),
            Type::Binary => {
                let length = self.length(MAX_MESSAGE)?;
                Value::Binary(self.take(length)?.to_vec())
            }
            Type::Struct => Value::Struct(self.fields(depth + 1)?),
            Type::Map => {
                let codes: [u8; 2] = self.array()?;
                let length = self.length(MAX_VALUES)?;
                if length == 0 {
                    // Some writers say nothing of the types of an empty map.
                    return Ok(Value::Map(Type::Binary, Type::Binary, Vec::new()));
                }
                let [key, of] = [Type::of(codes[0])?, Type::of(codes[1])?];
                let mut entries = Vec::new();
                for _ in 0..length {
                    entries.push((self.value(key, depth + 1)?, self.value(of, depth + 1)?));
                }
                Value::Map(key, of, entries)
            }
            Type::List | Type::Set => {
                let of = Type::of(self.byte()?)?;
                let length = self.length(MAX_VALUES)?;
                let mut elements = Vec::new();
                for _ in 0..length {
                    elements.push(self.value(of, depth + 1)?);
                }
                Value::List(of, elements)
            }
        })
    }
}

impl Message {
    /// The message's bytes, in the strict form.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend((VERSION | self.kind as u32).to_be_bytes());
        write_bytes(&mut out, self.name.as_bytes());
        out.extend(self.sequence.to_be_bytes());
        write_fields(&mut out, &self.body);
        out
    }
}

fn write_length(out: &mut Vec<u8>, length: usize) {
    // What is written is the state of a switch, which is never so large.
    out.extend(i32::try_from(length).unwrap_or(i32::MAX).to_be_bytes());
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_length(out, bytes.len());
    out.extend(bytes);
}

fn write_fields(out: &mut Vec<u8>, fields: &Fields) {
    for (id, value) in fields {
        out.push(value.ty() as u8);
        out.extend(id.to_be_bytes());
        write_value(out, value);
    }
    out.push(0);
}

fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Bool(value) => out.push(u8::from(*value)),
        Value::Byte(value) => out.extend(value.to_be_bytes()),
        Value::Double(value) => out.extend(value.to_be_bytes()),
        Value::I16(value) => out.extend(value.to_be_bytes()),
        Value::I32(value) => out.extend(value.to_be_bytes()),
        Value::I64(value) => out.extend(value.to_be_bytes()),
        Value::Binary(bytes) => write_bytes(out, bytes),
        Value::Struct(fields) => write_fields(out, fields),
        Value::Map(key, of, entries) => {
            out.extend([*key as u8, *of as u8]);
            write_length(out, entries.len());
            for (key, value) in entries {
                write_value(out, key);
                write_value(out, value);
            }
        }
        Value::List(of, elements) => {
            out.push(*of as u8);
            write_length(out, elements.len());
            elements.iter().for_each(|element| write_value(out, element));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn leaf() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<bool>().prop_map(Value::Bool),
            any::<i8>().prop_map(Value::Byte),
            any::<i32>().prop_map(|number| Value::Double(number.into())),
            any::<i16>().prop_map(Value::I16),
            any::<i32>().prop_map(Value::I32),
            any::<i64>().prop_map(Value::I64),
            proptest::collection::vec(any::<u8>(), 0..9).prop_map(Value::Binary),
        ]
    }

    fn value() -> impl Strategy<Value = Value> {
        leaf().prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec((any::<i16>(), inner.clone()), 0..4).prop_map(Value::Struct),
                (inner.clone(), 0..4usize).prop_map(|(value, count)| Value::List(value.ty(), vec![value; count])),
                (inner.clone(), inner, 1..4usize)
                    .prop_map(|(key, value, count)| { Value::Map(key.ty(), value.ty(), vec![(key, value); count]) }),
            ]
        })
    }

    proptest! {
        #[test]
        fn messages_are_read_as_they_are_written(
            name in "[a-z_:]{0,40}", sequence in any::<i32>(),
            body in proptest::collection::vec((any::<i16>(), value()), 0..4), more in proptest::collection::vec(any::<u8>(), 0..9),
        ) {
            let message = Message { name, kind: Kind::Call, sequence, body };
            let mut bytes = message.encode();
            let length = bytes.len();
            for cut in 0..length {
                prop_assert_eq!(decode(&bytes[..cut]), Ok(None));
            }
            bytes.extend(more);
            prop_assert_eq!(decode(&bytes), Ok(Some((message, length))));
        }

        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode(&bytes);
        }
    }

    /// A call of `m` with this body.
    fn call(body: &[u8]) -> Vec<u8> {
        [&[0x80, 1, 0, 1, 0, 0, 0, 1, b'm', 0, 0, 0, 7][..], body].concat()
    }

    #[test]
    fn the_old_form_is_read() {
        let bytes = [&[0, 0, 0, 1, b'm', 1, 0, 0, 0, 7][..], &[8, 0, 1, 0, 0, 0, 5, 0]].concat();
        let message = Message { name: "m".into(), kind: Kind::Call, sequence: 7, body: vec![(1, Value::I32(5))] };
        assert_eq!(decode(&bytes), Ok(Some((message.clone(), bytes.len()))));
        assert_eq!(message.encode(), call(&[8, 0, 1, 0, 0, 0, 5, 0]));
    }

    #[test]
    fn lengths_levels_and_numbers_are_bounded() {
        let refused = |body: &[u8]| decode(&call(body)).err().map_or("", |error| error.0);
        assert_eq!(refused(&[11, 0, 1, 0x7f, 0xff, 0xff, 0xff]), "a length beyond the limit");
        assert_eq!(refused(&[11, 0, 1, 0xff, 0xff, 0xff, 0xff]), "a negative length");
        assert_eq!(refused(&[15, 0, 1, 2, 0x10, 0, 0, 0]), "a length beyond the limit");
        assert_eq!(refused(&[1, 0, 1]), "a type that does not exist");
        assert_eq!(refused(&[12, 0, 1].repeat(30)), "too many levels");
        // Lists in lists would be many values in few bytes.
        let many = [&[15, 0, 1, 15, 0, 0, 0xff, 0xff][..], &[2, 0, 0, 0, 2, 0, 0].repeat(40_000)].concat();
        assert_eq!(refused(&many), "too many values");
        assert_eq!(decode(b"GET / HTTP/1.1\r\n\r\n").unwrap_err().0, "the name of a method is too long");
        assert_eq!(decode(&[0x80, 2, 0, 1]).unwrap_err().0, "another version");
        let long = [&call(&[11, 0, 1, 0, 0x40, 0, 0])[..], &vec![0; MAX_MESSAGE - 1]].concat();
        assert_eq!(decode(&long).err(), Some(Malformed("a message is too long")));
    }
}
