//! The dissector: a Lua plugin whose tables are written from those of the codecs.

use std::fmt::Write;

use super::field_name;
use crate::cdap;
use crate::credential;
use crate::frames::RINA_TYPE;
use crate::pdu::{self, Syntax};

/// What does not depend on the tables.
const CODE: &str = include_str!("dissector.lua");

/// A dissector for Wireshark and tshark, in Lua.
pub fn dissector() -> String {
    let mut lua = String::from(
        "-- RINA in Wireshark: EFCP in three syntaxes, and CDAP. Written by `hopwright rina dissector`.\n\n",
    );
    let _ = writeln!(lua, "local ETHERTYPE = {RINA_TYPE:#06x}");
    let _ = writeln!(lua, "local OVERHEAD = {}", credential::OVERHEAD);
    lua.push_str("-- Name, byte order, and the fields with their bytes.\nlocal SYNTAXES = {\n");
    for syntax in [Syntax::Checksum, Syntax::Irati, Syntax::Rlite] {
        let layout = syntax.layout();
        let fields: Vec<String> =
            layout.fields.iter().map(|(field, bytes)| format!("{{\"{}\", {bytes}}}", field_name(*field))).collect();
        let types: Vec<String> = (0..=255)
            .filter_map(|kind| Some(format!("[{kind:#04x}] = \"{}\"", pdu::type_name(syntax, kind)?)))
            .collect();
        let _ = writeln!(
            lua,
            "    {{name = \"{syntax}\", little_endian = {}, bytes = {},\n     fields = {{{}}},\n     types = {{{}}}}},",
            layout.little_endian,
            syntax.header_bytes(),
            fields.join(", "),
            types.join(", ")
        );
    }
    lua.push_str("}\nlocal FLAGS = {");
    let flags: Vec<String> = pdu::FLAGS.iter().map(|(bit, name)| format!("{{{bit:#04x}, \"{name}\"}}")).collect();
    lua.push_str(&flags.join(", "));
    let _ = write!(lua, "}}\nlocal PASSED = {:#04x}\nlocal OPERATIONS = {{", pdu::PASSED);
    let names = (0..=17).filter_map(|code| Some(format!("[{code}] = \"{}\"", cdap::operation_name(code)?)));
    lua.push_str(&names.collect::<Vec<_>>().join(", "));
    lua.push_str("}\n-- Fields of CDAP messages by number.\nlocal MESSAGE = {\n");
    for (number, name, form) in cdap::FIELDS {
        let _ = writeln!(lua, "    [{number}] = {{\"{name}\", \"{form}\"}},");
    }
    lua.push_str("}\n\n");
    lua.push_str(CODE);
    lua
}
