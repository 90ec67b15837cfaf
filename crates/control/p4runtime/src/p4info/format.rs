//! P4Info as text, binary and JSON, the forms that other P4Runtime tools read.

use prost::Message;
use prost_reflect::text_format::FormatOptions;
use prost_reflect::{
    DescriptorPool, DynamicMessage, MapKey, MessageDescriptor, ReflectMessage, SerializeOptions, Value,
};

use super::error::P4InfoError;
use crate::proto;
use crate::proto::config::P4Info;

/// The text form of protocol buffers.
///
/// # Errors
/// None for the P4Info of a program.
pub fn to_text(info: &P4Info) -> Result<String, P4InfoError> {
    let print =
        |message: &DynamicMessage| message.to_text_format_with_options(&FormatOptions::new().pretty(true)) + "\n";
    let mut message = dynamic(info)?;
    let types = message.get_field_by_name("type_info").map(|types| types.into_owned());
    message.clear_field_by_name("type_info");
    let mut text = print(&message);
    let Some(Value::Message(types)) = types.filter(|_| info.type_info.is_some()) else { return Ok(text) };
    // Maps have no order: print entries sorted by name.
    text.push_str("type_info {\n");
    for (field, value) in types.fields() {
        let parts = match value {
            Value::Map(entries) => {
                let mut entries: Vec<_> = entries.iter().collect();
                entries.sort_by_key(|(key, _)| key.as_str());
                let one = |(key, value): (&MapKey, &Value)| Value::Map([(key.clone(), value.clone())].into());
                entries.into_iter().map(one).collect()
            }
            other => vec![other.clone()],
        };
        for part in parts {
            let mut one = DynamicMessage::new(types.descriptor());
            one.set_field(&field, part);
            print(&one).lines().for_each(|line| text.extend(["  ", line, "\n"]));
        }
    }
    text.push_str("}\n");
    Ok(text)
}

/// The JSON form of protocol buffers, with sorted keys: maps have no order.
///
/// # Errors
/// None for the P4Info of a program.
pub fn to_json(info: &P4Info) -> Result<String, P4InfoError> {
    let value = dynamic(info)?
        .serialize_with_options(serde_json::value::Serializer, &SerializeOptions::new())
        .map_err(|e| P4InfoError::Form(e.to_string()))?;
    Ok(format!("{value:#}\n"))
}

/// The wire form.
pub fn to_binary(info: &P4Info) -> Vec<u8> {
    info.encode_to_vec()
}

/// Reads the text form of protocol buffers.
///
/// # Errors
/// If the text is not a P4Info.
pub fn from_text(text: &str) -> Result<P4Info, P4InfoError> {
    let message =
        DynamicMessage::parse_text_format(descriptor()?, text).map_err(|e| P4InfoError::Form(e.to_string()))?;
    message.transcode_to().map_err(|e| P4InfoError::Form(e.to_string()))
}

fn descriptor() -> Result<MessageDescriptor, P4InfoError> {
    let pool = DescriptorPool::decode(proto::DESCRIPTORS).map_err(|e| P4InfoError::Form(e.to_string()))?;
    pool.get_message_by_name("p4.config.v1.P4Info").ok_or_else(|| P4InfoError::Form("no descriptor".into()))
}

fn dynamic(info: &P4Info) -> Result<DynamicMessage, P4InfoError> {
    let mut message = DynamicMessage::new(descriptor()?);
    message.transcode_from(info).map_err(|e| P4InfoError::Form(e.to_string()))?;
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::config::P4TypeInfo;

    #[test]
    fn json_is_sorted() {
        let names: Vec<String> = (10..40).map(|n| format!("header_{n}")).collect();
        let headers = names.iter().rev().map(|name| (name.clone(), Default::default())).collect();
        let info = P4Info { type_info: Some(P4TypeInfo { headers, ..Default::default() }), ..Default::default() };
        let json = to_json(&info).unwrap();
        let found: Vec<&str> = json.split('"').filter(|word| word.starts_with("header_")).collect();
        assert_eq!(found, names);
    }
}
