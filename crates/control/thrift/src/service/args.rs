//! The arguments of calls.

use crate::failure::{Application, Result};
use crate::wire::{Fields, Value};

/// The fields of a structure that a client gave, by their ids. An argument without a default that is missing, or of another type, is an
/// error.
#[derive(Clone, Copy)]
pub(super) struct Args<'a>(pub(super) &'a Fields);

impl<'a> Args<'a> {
    fn find(&self, id: i16) -> Option<&'a Value> {
        self.0.iter().find(|(other, _)| *other == id).map(|(_, value)| value)
    }

    /// An argument that `read` understands.
    fn get<T>(&self, id: i16, what: &str, read: impl FnOnce(&'a Value) -> Option<T>) -> Result<T> {
        let found = self.find(id).and_then(read);
        found.ok_or_else(|| Application::ProtocolError.because(format!("argument {id} is missing or no {what}")))
    }

    pub(super) fn bool(&self, id: i16) -> Result<bool> {
        self.get(id, "truth value", |value| if let Value::Bool(value) = value { Some(*value) } else { None })
    }

    pub(super) fn i16(&self, id: i16) -> Result<i16> {
        self.get(id, "number of 16 bits", |value| if let Value::I16(value) = value { Some(*value) } else { None })
    }

    pub(super) fn i32(&self, id: i16) -> Result<i32> {
        self.get(id, "number of 32 bits", read_i32)
    }

    pub(super) fn i64(&self, id: i16) -> Result<i64> {
        self.get(id, "number of 64 bits", |value| if let Value::I64(value) = value { Some(*value) } else { None })
    }

    pub(super) fn double(&self, id: i16) -> Result<f64> {
        self.get(
            id,
            "floating-point number",
            |value| if let Value::Double(value) = value { Some(*value) } else { None },
        )
    }

    pub(super) fn bytes(&self, id: i16) -> Result<&'a [u8]> {
        self.get(id, "string", |value| if let Value::Binary(bytes) = value { Some(&bytes[..]) } else { None })
    }

    pub(super) fn text(&self, id: i16) -> Result<&'a str> {
        let text = str::from_utf8(self.bytes(id)?);
        text.map_err(|_| Application::ProtocolError.because(format!("argument {id} is no UTF-8")))
    }

    pub(super) fn list(&self, id: i16) -> Result<&'a [Value]> {
        self.get(id, "list", |value| if let Value::List(_, elements) = value { Some(&elements[..]) } else { None })
    }

    pub(super) fn fields(&self, id: i16) -> Result<Args<'a>> {
        self.get(id, "structure", read_fields)
    }

    /// A number that may be missing.
    pub(super) fn optional_i32(&self, id: i16) -> Result<Option<i32>> {
        self.find(id).map(|_| self.i32(id)).transpose()
    }

    /// A list of strings.
    pub(super) fn list_of_bytes(&self, id: i16) -> Result<Vec<Vec<u8>>> {
        let bytes = |value: &Value| if let Value::Binary(bytes) = value { Some(bytes.clone()) } else { None };
        self.elements(id, "strings", bytes)
    }

    /// A list of structures.
    pub(super) fn list_of_fields(&self, id: i16) -> Result<Vec<Args<'a>>> {
        self.elements(id, "structures", read_fields)
    }

    fn elements<T>(&self, id: i16, what: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<Vec<T>> {
        let elements: Option<Vec<T>> = self.list(id)?.iter().map(read).collect();
        elements.ok_or_else(|| Application::ProtocolError.because(format!("argument {id} is no list of {what}")))
    }
}

fn read_i32(value: &Value) -> Option<i32> {
    if let Value::I32(value) = value { Some(*value) } else { None }
}

fn read_fields(value: &Value) -> Option<Args<'_>> {
    if let Value::Struct(fields) = value { Some(Args(fields)) } else { None }
}
