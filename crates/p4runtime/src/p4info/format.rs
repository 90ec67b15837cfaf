//! P4Info on disk: text, binary and JSON, the forms other tools of the field read.

use prost::Message;
use prost_reflect::text_format::FormatOptions;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions};

use super::P4InfoError;
use crate::proto;
use crate::proto::config::P4Info;

/// The text form of protocol buffers.
///
/// # Errors
/// None that a program can cause.
pub fn to_text(info: &P4Info) -> Result<String, P4InfoError> {
    let text = dynamic(info)?.to_text_format_with_options(&FormatOptions::new().pretty(true));
    Ok(text + "\n")
}

/// The JSON form of protocol buffers.
///
/// # Errors
/// None that a program can cause.
pub fn to_json(info: &P4Info) -> Result<String, P4InfoError> {
    let mut out = serde_json::Serializer::pretty(Vec::new());
    dynamic(info)?
        .serialize_with_options(&mut out, &SerializeOptions::new())
        .map_err(|e| P4InfoError::Form(e.to_string()))?;
    let mut text = String::from_utf8(out.into_inner()).map_err(|e| P4InfoError::Form(e.to_string()))?;
    text.push('\n');
    Ok(text)
}

/// The wire form.
pub fn to_binary(info: &P4Info) -> Vec<u8> {
    info.encode_to_vec()
}

/// Reads the text form of protocol buffers.
///
/// # Errors
/// Text that is not of a P4Info.
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
