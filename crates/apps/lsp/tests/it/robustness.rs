//! Programs and clients that are not as they should be.

use serde_json::json;

use crate::client::{Client, place, root, uri};

/// The share of declarations that are found although something is wrong, in percent, at least.
const KEPT: usize = 85;

fn names(client: &mut Client, path: &std::path::Path) -> Vec<String> {
    let params = json!({ "textDocument": { "uri": uri(path) } });
    let symbols = client.request("textDocument/documentSymbol", params);
    let mut names = Vec::new();
    let mut waiting = symbols.as_array().unwrap().clone();
    while let Some(symbol) = waiting.pop() {
        names.push(symbol["name"].as_str().unwrap().to_string());
        waiting.extend(symbol["children"].as_array().into_iter().flatten().cloned());
    }
    names
}

/// Leaves out one token of a file at many places: the server answers, and nearly all declarations are still there.
#[test]
fn a_missing_token_costs_few_declarations() {
    let folder = root().join("p4/scion");
    let file = folder.join("parser.p4");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut client = Client::start(&folder);
    client.open(&file, None);
    let all = names(&mut client, &file).len();
    let tokens: Vec<usize> =
        text.char_indices().filter(|(_, c)| ";{}().,:<>=".contains(*c)).map(|(i, _)| i).step_by(37).collect();
    let (mut least, mut sum, mut worst) = (all, 0, 0);
    for (version, at) in tokens.iter().enumerate() {
        let mut broken = text.clone();
        broken.remove(*at);
        client.replace(&file, version as i32 + 2, &broken);
        let found = names(&mut client, &file).len().min(all);
        sum += found;
        if found < least {
            (least, worst) = (found, *at);
        }
    }
    let kept = 100 * sum / (all * tokens.len());
    println!("{} edits: {kept} % of {all} declarations on average, at least {least} (offset {worst})", tokens.len());
    assert!(kept >= KEPT, "{kept} % of the declarations are found");
}

/// The server answers each request at each place of a text that ends anywhere.
#[test]
fn every_request_is_answered_in_text_that_ends_anywhere() {
    let folder = root().join("p4/scion");
    let file = folder.join("delivery.p4");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut client = Client::start(&folder);
    client.open(&file, None);
    for (version, at) in (0..text.len()).step_by(421).filter(|at| text.is_char_boundary(*at)).enumerate() {
        let begun = &text[..at];
        client.replace(&file, version as i32 + 2, begun);
        let end = json!({ "textDocument": { "uri": uri(&file) }, "position": crate::client::position(begun, at) });
        for method in
            ["completion", "hover", "signatureHelp", "definition", "documentHighlight", "prepareCallHierarchy"]
        {
            let answer = client.ask(&format!("textDocument/{method}"), end.clone());
            assert!(answer["error"]["code"] != -32603, "{method} at {at}: {answer}");
        }
        let document = json!({ "textDocument": { "uri": uri(&file) } });
        for method in ["semanticTokens/full", "foldingRange", "documentSymbol"] {
            client.request(&format!("textDocument/{method}"), document.clone());
        }
    }
}

#[test]
fn requests_that_make_no_sense_are_errors() {
    let folder = root().join("p4/scion");
    let file = folder.join("parser.p4");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut client = Client::start(&folder);
    let at = |line: u64| json!({ "textDocument": { "uri": uri(&file) }, "position": { "line": line, "character": 0 } });
    // A file that is not open is read from disk.
    assert!(client.ask("textDocument/hover", place(&file, &text, "END_HOST_PORT", 0))["result"].is_object());
    client.open(&file, None);
    assert_eq!(client.ask("textDocument/hover", at(1 << 40))["error"]["code"], -32602);
    assert_eq!(client.ask("textDocument/hover", at(100_000))["error"]["code"], -32602);
    assert_eq!(client.ask("textDocument/hover", json!([1]))["error"]["code"], -32602);
    assert_eq!(client.ask("no/such", json!({}))["error"]["code"], -32601);
    assert_eq!(client.ask("initialize", json!({ "capabilities": {} }))["error"]["code"], -32600);
    client.bytes(b"\xff\xfe");
    assert_eq!(client.receive()["error"]["code"], -32700);
    // An edit outside the text changes nothing.
    let range = json!({ "start": { "line": 99_999, "character": 0 }, "end": { "line": 99_999, "character": 1 } });
    let change = json!({ "textDocument": { "uri": uri(&file), "version": 2 }, "contentChanges": [{ "range": range, "text": "x" }] });
    client.notify("textDocument/didChange", change);
    assert!(client.ask("textDocument/hover", place(&file, &text, "END_HOST_PORT", 0))["result"].is_object());
    client.request("shutdown", json!(null));
    assert_eq!(client.ask("textDocument/hover", at(0))["error"]["code"], -32600);
}
