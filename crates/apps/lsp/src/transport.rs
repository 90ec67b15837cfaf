//! The frames of the protocol on standard input and output.
//!
//! A frame that is no message does not end the connection: it is answered by an error, and reading goes on at the next header.

use std::io::{BufRead, Read, Write};
use std::sync::mpsc::Sender;

use lsp_server::Message;

/// Largest frame that is read, in bytes.
const MAX_FRAME: usize = 256 << 20;
/// Longest line of a header, in bytes.
const MAX_HEADER: u64 = 4096;

/// What arrives.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A message.
    Message(Message),
    /// A frame that is none, and why.
    Garbage(String),
}

/// Reads frames and sends what they are, up to the end of the input or until nobody receives them.
pub(crate) fn read(input: &mut dyn BufRead, to: &Sender<Incoming>) {
    while let Some(incoming) = next(input) {
        if to.send(incoming).is_err() {
            return;
        }
    }
}

/// The next frame; `None` at the end of the input.
fn next(input: &mut dyn BufRead) -> Option<Incoming> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        let read = (&mut *input).take(MAX_HEADER).read_until(b'\n', &mut line).ok()?;
        if read == 0 {
            return None;
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if line.is_empty() {
            match length {
                Some(length) => return body(input, length),
                None => continue,
            }
        }
        let Some((name, value)) = line.split_once(':') else {
            return Some(Incoming::Garbage("expected a header such as `Content-Length: 10`".into()));
        };
        if name.eq_ignore_ascii_case("content-length") {
            match value.trim().parse::<usize>() {
                Ok(n) if n <= MAX_FRAME => length = Some(n),
                _ => return Some(Incoming::Garbage(format!("`Content-Length` is from 0 to {MAX_FRAME}"))),
            }
        }
    }
}

fn body(input: &mut dyn BufRead, length: usize) -> Option<Incoming> {
    let mut body = Vec::new();
    let read = input.take(length as u64).read_to_end(&mut body).ok()?;
    if read < length {
        return None;
    }
    Some(match serde_json::from_slice::<Message>(&body) {
        Ok(message) => Incoming::Message(message),
        Err(error) => Incoming::Garbage(format!("not a message of JSON-RPC: {error}")),
    })
}

/// Writes a message.
pub(crate) fn write(output: &mut dyn Write, message: &Message) -> std::io::Result<()> {
    let mut value = serde_json::to_value(message)?;
    value["jsonrpc"] = "2.0".into();
    frame(output, &value)
}

/// Answers a frame that is no message (JSON-RPC 2.0, section 5: the id is null).
pub(crate) fn write_parse_error(output: &mut dyn Write, why: &str) -> std::io::Result<()> {
    let error = serde_json::json!({ "code": -32700, "message": why });
    frame(output, &serde_json::json!({ "jsonrpc": "2.0", "id": null, "error": error }))
}

fn frame(output: &mut dyn Write, value: &serde_json::Value) -> std::io::Result<()> {
    let text = serde_json::to_vec(value)?;
    write!(output, "Content-Length: {}\r\n\r\n", text.len())?;
    output.write_all(&text)?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(input: &[u8]) -> Vec<Incoming> {
        let mut input = input;
        std::iter::from_fn(|| next(&mut input)).collect()
    }

    #[test]
    fn garbage_between_messages_is_reported_and_passed_over() {
        let good = br#"{"jsonrpc":"2.0","method":"exit"}"#;
        let mut input = b"hello\n".to_vec();
        for body in [&good[..], b"{]", b"[1]", good] {
            input.extend(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
            input.extend(body);
        }
        input.extend(b"Content-Length: minus one\r\n\r\n");
        let found: Vec<bool> = all(&input).iter().map(|i| matches!(i, Incoming::Message(_))).collect();
        assert_eq!(found, [false, true, false, false, true, false]);
    }

    #[test]
    fn a_frame_that_ends_too_early_ends_the_input() {
        assert!(all(b"Content-Length: 10\r\n\r\n{}").is_empty());
        assert!(all(b"Content-Le").iter().all(|i| matches!(i, Incoming::Garbage(_))));
    }
}
