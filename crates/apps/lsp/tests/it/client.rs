//! A client in the same process, connected by pipes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A client.
pub(crate) struct Client {
    to: PipeWriter,
    from: BufReader<PipeReader>,
    next: i64,
    /// Diagnostics by URI, as they were published last.
    pub diagnostics: BTreeMap<String, Vec<Value>>,
}

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// The URI of a file.
pub(crate) fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

impl Client {
    /// Starts a server for a workspace.
    pub(crate) fn start(folder: &Path) -> Client {
        let (their_input, to) = std::io::pipe().unwrap();
        let (from, their_output) = std::io::pipe().unwrap();
        std::thread::spawn(move || hopwright_lsp::serve(BufReader::new(their_input), their_output));
        let mut client = Client { to, from: BufReader::new(from), next: 0, diagnostics: BTreeMap::new() };
        let params = json!({
            "capabilities": { "general": { "positionEncodings": ["utf-8"] } },
            "initializationOptions": { "debounce": 0 },
            "workspaceFolders": [{ "uri": uri(folder), "name": "w" }],
        });
        let answer = client.request("initialize", params);
        assert_eq!(answer["capabilities"]["positionEncoding"], "utf-8");
        client.notify("initialized", json!({}));
        client
    }

    fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        self.bytes(message.to_string().as_bytes());
    }

    /// Sends a frame.
    pub(crate) fn bytes(&mut self, body: &[u8]) {
        let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
        frame.extend(body);
        self.to.write_all(&frame).unwrap();
    }

    /// Receives a message.
    pub(crate) fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert_ne!(self.from.read_line(&mut line).unwrap(), 0, "the server is gone");
            match line.trim().split_once(": ") {
                Some((_, value)) => length = value.parse().unwrap(),
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.from.read_exact(&mut body).unwrap();
        let message: Value = serde_json::from_slice(&body).unwrap();
        if message["method"] == "textDocument/publishDiagnostics" {
            let uri = message["params"]["uri"].as_str().unwrap().to_string();
            self.diagnostics.insert(uri, message["params"]["diagnostics"].as_array().unwrap().clone());
        }
        message
    }

    /// Sends a request and waits for its answer, which may be an error.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(json!({ "id": id, "method": method, "params": params }));
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// The result of a request.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "method": method, "params": params }));
    }

    /// Opens a file, with other text than it has on disk if there is some.
    pub(crate) fn open(&mut self, path: &Path, text: Option<&str>) {
        let text = text.map_or_else(|| std::fs::read_to_string(path).unwrap(), str::to_string);
        let document = json!({ "uri": uri(path), "languageId": "p4", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Replaces the whole text of a document.
    pub(crate) fn replace(&mut self, path: &Path, version: i32, text: &str) {
        let document = json!({ "uri": uri(path), "version": version });
        self.notify(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": [{ "text": text }] }),
        );
    }

    /// Waits for the diagnostics of a file after a change.
    pub(crate) fn published(&mut self, path: &Path) -> Vec<Value> {
        loop {
            let message = self.receive();
            if message["params"]["uri"] == uri(path) && message["params"].get("diagnostics").is_some() {
                return message["params"]["diagnostics"].as_array().unwrap().clone();
            }
        }
    }
}

/// Parameters of a request about a place of a text: where `needle` begins, and `inside` bytes further.
pub(crate) fn place(path: &Path, text: &str, needle: &str, inside: usize) -> Value {
    let offset = text.find(needle).unwrap_or_else(|| panic!("no `{needle}`")) + inside;
    json!({ "textDocument": { "uri": uri(path) }, "position": position(text, offset) })
}

/// The position of an offset, in bytes.
pub(crate) fn position(text: &str, offset: usize) -> Value {
    let line = text[..offset].matches('\n').count();
    json!({ "line": line, "character": offset - text[..offset].rfind('\n').map_or(0, |n| n + 1) })
}
