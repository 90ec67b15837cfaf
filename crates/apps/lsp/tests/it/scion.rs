//! Each feature on the SCION border router, a program of sixteen files.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::client::{Client, place, position, root, uri};

/// The router's workspace, with one of its files open.
struct Router {
    client: Client,
    file: PathBuf,
    text: String,
}

fn open(name: &str) -> Router {
    let folder = root().join("p4/scion");
    let file = folder.join(name);
    let text = std::fs::read_to_string(&file).unwrap();
    let mut client = Client::start(&folder);
    client.open(&file, None);
    Router { client, file, text }
}

impl Router {
    fn at(&self, needle: &str, inside: usize) -> Value {
        place(&self.file, &self.text, needle, inside)
    }

    fn document(&self) -> Value {
        json!({ "textDocument": { "uri": uri(&self.file) } })
    }

    fn hover(&mut self, needle: &str, inside: usize) -> String {
        let at = self.at(needle, inside);
        self.client.request("textDocument/hover", at)["contents"]["value"].as_str().unwrap().to_string()
    }

    /// Replaces text in the buffer.
    fn edit(&mut self, old: &str, new: &str) {
        assert!(self.text.contains(old), "no `{old}`");
        self.text = self.text.replacen(old, new, 1);
        let text = self.text.clone();
        self.client.replace(&self.file, 2, &text);
    }

    fn labels(&mut self, offset: usize) -> Vec<String> {
        let at = json!({ "textDocument": { "uri": uri(&self.file) }, "position": position(&self.text, offset) });
        let items = self.client.request("textDocument/completion", at);
        items.as_array().unwrap().iter().map(|i| i["label"].as_str().unwrap().to_string()).collect()
    }

    /// Labels of completion behind a text that replaces another.
    fn completed(&mut self, old: &str, new: &str) -> Vec<String> {
        let offset = self.text.find(old).unwrap() + new.len();
        self.edit(old, new);
        self.labels(offset)
    }
}

/// The text of a location, and the name of its file.
fn located(location: &Value) -> (String, String) {
    let path = location["uri"].as_str().unwrap().strip_prefix("file://").unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let range = &location["range"];
    let line = text.lines().nth(range["start"]["line"].as_u64().unwrap() as usize).unwrap();
    let columns = |at: &str| range[at]["character"].as_u64().unwrap() as usize;
    let name = Path::new(path).file_name().unwrap().to_string_lossy().into_owned();
    (name, line[columns("start")..columns("end")].to_string())
}

#[test]
fn every_file_of_the_router_is_checked_as_a_part_of_it() {
    for entry in std::fs::read_dir(root().join("p4/scion")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "p4") {
            continue;
        }
        let mut router = open(path.file_name().unwrap().to_str().unwrap());
        let found = router.client.published(&path);
        assert!(found.is_empty(), "{}: {found:?}", path.display());
    }
}

#[test]
fn errors_in_a_buffer_are_shown_where_they_are() {
    let mut router = open("headers.p4");
    let file = router.file.clone();
    assert!(router.client.published(&file).is_empty());
    router.edit("bit<16> ether_type;", "bit<16> ethertype;");
    let parser = root().join("p4/scion/parser.p4");
    let found = router.client.published(&parser);
    assert_eq!(found[0]["code"], "E0203");
    assert!(found[0]["message"].as_str().unwrap().contains("did you mean `ethertype`?"));
    assert_eq!(found[0]["relatedInformation"][0]["location"]["uri"], uri(&file));
    router.edit("bit<16> ethertype;", "bit<16> ether_type");
    let found = router.client.published(&file);
    assert_eq!((found[0]["code"].as_str(), found.len()), (Some("E0111"), 1));
    // The diagnostics of the previous text are cleared.
    while !router.client.diagnostics[&uri(&parser)].is_empty() {
        router.client.receive();
    }
}

#[test]
fn hover_shows_types_offsets_values_and_comments() {
    let mut router = open("parser.p4");
    let field = router.hover("hdr.ethernet.ether_type", 15);
    assert!(
        field.contains("bit<16> ether_type") && field.contains("bits 96–111") && field.contains("byte 12"),
        "{field}"
    );
    let constant = router.hover("END_HOST_PORT", 0);
    assert!(constant.contains("30041 (0x7559)") && constant.contains("Port at which hosts"), "{constant}");
    let error = router.hover("ScionTooManyHops", 0);
    assert!(error.contains("error.ScionTooManyHops"), "{error}");
    assert!(router.hover("packet.extract", 9).contains("extract"));
    let mut router = open("delivery.p4");
    let table = router.hover("table services", 8);
    assert!(table.contains("key ") && table.contains("actions ") && table.contains("no_instance"), "{table}");
    let mut router = open("headers.p4");
    let header = router.hover("ipv6_t", 0);
    assert!(header.contains("320 bits (40 bytes)") && header.contains("`dst`: bits 192–319"), "{header}");
}

#[test]
fn definitions_are_in_other_files_and_in_built_in_ones() {
    let mut router = open("parser.p4");
    let at = router.at("hdr.ethernet.ether_type", 15);
    let found = router.client.request("textDocument/definition", at.clone());
    assert_eq!(located(&found), ("headers.p4".into(), "ether_type".into()));
    let at = router.at("transition select(std.ingress_port)", 24);
    let found = router.client.request("textDocument/definition", at);
    assert_eq!(located(&found), ("v1model.p4".into(), "ingress_port".into()));
    let at = router.at("CPU_PORT: from_agent", 11);
    let found = router.client.request("textDocument/definition", at);
    assert_eq!(located(&found), ("parser.p4".into(), "from_agent".into()));
    let at = router.at(" out headers_t hdr", 15);
    let found = router.client.request("textDocument/typeDefinition", at);
    assert_eq!(located(&found), ("headers.p4".into(), "headers_t".into()));
    // Also where the preprocessor leaves text out.
    let at = router.at("ipv4_checksum.add(hdr.ipv4)", 22);
    let found = router.client.request("textDocument/definition", at);
    assert_eq!(located(&found), ("headers.p4".into(), "ipv4".into()));
    let mut router = open("border_router.p4");
    let at = router.at("\"parser.p4\"", 2);
    let found = router.client.request("textDocument/definition", at);
    assert_eq!(found["uri"], uri(&root().join("p4/scion/parser.p4")));
}

#[test]
fn references_are_found_in_all_files() {
    let mut router = open("headers.p4");
    let mut at = router.at("ETHERTYPE_IPV4", 0);
    at["context"] = json!({ "includeDeclaration": true });
    let found = router.client.request("textDocument/references", at);
    let mut files: Vec<_> = found.as_array().unwrap().iter().map(located).collect();
    files.sort();
    files.dedup();
    assert!(files.iter().all(|(_, text)| text == "ETHERTYPE_IPV4"), "{files:?}");
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert!(
        names.contains(&"headers.p4") && names.contains(&"parser.p4") && names.contains(&"underlay.p4"),
        "{names:?}"
    );
    let at = router.at("ETHERTYPE_IPV4", 0);
    let highlights = router.client.request("textDocument/documentHighlight", at);
    assert_eq!(highlights.as_array().unwrap().len(), 1);
}

#[test]
fn a_renamed_field_leaves_a_program_without_errors() {
    let mut router = open("headers.p4");
    let at = router.at("ether_type;", 0);
    let mut rename = at.clone();
    rename["newName"] = "kind".into();
    let range = router.client.request("textDocument/prepareRename", at.clone());
    assert_eq!(located(&json!({ "uri": uri(&router.file), "range": range })).1, "ether_type");
    let changes = router.client.request("textDocument/rename", rename)["changes"].clone();
    let changes = changes.as_object().unwrap();
    assert!(changes.len() >= 3, "{changes:?}");
    for (name, why) in
        [("dst", "dst"), ("state", "ok"), ("header", "reserved"), ("a-b", "not a name"), ("", "not a name")]
    {
        let mut rename = at.clone();
        rename["newName"] = name.into();
        let answer = router.client.ask("textDocument/rename", rename);
        match why {
            "ok" => assert!(answer.get("error").is_none(), "{answer}"),
            why => assert!(answer["error"]["message"].as_str().unwrap().contains(why), "{answer}"),
        }
    }
    let mut parser = open("parser.p4");
    let mut rename = parser.at("packet.extract", 8);
    rename["newName"] = "take".into();
    let answer = parser.client.ask("textDocument/rename", rename);
    assert!(answer["error"]["message"].as_str().unwrap().contains("outside the workspace"), "{answer}");
}

#[test]
fn completion_knows_fields_states_and_match_kinds() {
    let mut router = open("parser.p4");
    let labels = router.completed("packet.extract(hdr.ethernet);", "packet.extract(hdr.");
    assert!(["ethernet", "ipv4", "scion"].iter().all(|l| labels.iter().any(|f| f == l)), "{labels:?}");
    let mut router = open("parser.p4");
    let labels = router.completed("packet.extract(hdr.ethernet);", "hdr.ethernet.");
    assert!(labels.starts_with(&["dst".into(), "src".into(), "ether_type".into()]), "{labels:?}");
    let mut router = open("parser.p4");
    let labels = router.completed("ETHERTYPE_IPV4: ipv4;", "ETHERTYPE_IPV4: ");
    assert!(labels.contains(&"ipv6".into()) && labels.contains(&"accept".into()) && !labels.contains(&"hdr".into()));
    let mut router = open("delivery.p4");
    let labels = router.completed("default_action = no_instance();", "default_action = ");
    assert!(labels.contains(&"instance_ipv4".into()) && !labels.contains(&"services".into()), "{labels:?}");
}

#[test]
fn signatures_have_the_argument_in_question() {
    let mut router = open("border_router.p4");
    let at = router.at("HashAlgorithm.csum16", 3);
    let help = router.client.request("textDocument/signatureHelp", at);
    assert_eq!(help["activeParameter"], 3);
    let label = help["signatures"][0]["label"].as_str().unwrap();
    assert!(label.contains("verify_checksum") && label.contains("HashAlgorithm algo"), "{label}");
}

#[test]
fn what_is_shown_beside_the_text() {
    let mut router = open("headers.p4");
    let mut params = router.document();
    let end = position(&router.text, router.text.len());
    params["range"] = json!({ "start": { "line": 0, "character": 0 }, "end": end });
    let hints = router.client.request("textDocument/inlayHint", params);
    let labels: Vec<&str> = hints.as_array().unwrap().iter().map(|h| h["label"].as_str().unwrap()).collect();
    assert!(labels.starts_with(&["bits 0–7", "bits 8–15", "bits 16–31"]), "{labels:?}");
    let document = router.document();
    let symbols = router.client.request("textDocument/documentSymbol", document.clone());
    let ethernet = symbols.as_array().unwrap().iter().find(|s| s["name"] == "ethernet_t").unwrap().clone();
    let fields: Vec<&str> =
        ethernet["children"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert_eq!(fields, ["dst", "src", "ether_type"]);
    let folds = router.client.request("textDocument/foldingRange", document.clone());
    assert!(folds.as_array().unwrap().len() > 20);
    let tokens = router.client.request("textDocument/semanticTokens/full", document);
    assert!(tokens["data"].as_array().unwrap().len() > 5 * 200);
    let found = router.client.request("workspace/symbol", json!({ "query": "brdrrtrprsr" }));
    assert_eq!(found[0]["name"], "BorderRouterParser");
}

#[test]
fn states_lead_to_each_other() {
    let mut router = open("parser.p4");
    let at = router.at("state ethernet", 7);
    let item = router.client.request("textDocument/prepareCallHierarchy", at)[0].clone();
    let incoming = router.client.request("callHierarchy/incomingCalls", json!({ "item": item }));
    let from: Vec<&str> = incoming.as_array().unwrap().iter().map(|c| c["from"]["name"].as_str().unwrap()).collect();
    assert_eq!(from, ["start", "from_agent"]);
    let outgoing = router.client.request("callHierarchy/outgoingCalls", json!({ "item": item }));
    let to: Vec<&str> = outgoing.as_array().unwrap().iter().map(|c| c["to"]["name"].as_str().unwrap()).collect();
    assert_eq!(to, ["ipv4", "ipv6"]);
}

#[test]
fn a_suggested_name_is_a_quick_fix() {
    let mut router = open("parser.p4");
    let file = router.file.clone();
    router.client.published(&file);
    router.edit("ETHERTYPE_IPV4: ipv4;", "ETHERTYPE_IPV5: ipv4;");
    let error = router.client.published(&file)[0].clone();
    let mut params = router.document();
    params["range"] = error["range"].clone();
    params["context"] = json!({ "diagnostics": [error] });
    let actions = router.client.request("textDocument/codeAction", params);
    let edit = &actions[0]["edit"]["changes"][uri(&file)][0];
    assert!(edit["newText"].as_str().unwrap().starts_with("ETHERTYPE_IPV"), "{actions}");
}
