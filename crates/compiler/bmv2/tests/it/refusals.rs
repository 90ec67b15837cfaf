//! What is not supported is refused, with its place in the JSON.

use hopwright_bmv2::read;
use serde_json::{Value, json};

use crate::{json, text};

/// The error of a file after a change.
fn refusal(name: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut file = json(name);
    change(&mut file);
    match read(&file.to_string(), name, true) {
        Ok(_) => "read".into(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn errors_name_the_place_and_what_was_expected() {
    /// A file, what is made wrong in it, and the beginning of the error.
    type Case = (&'static str, fn(&mut Value), &'static str);
    let cases: [Case; 12] = [
        ("router", |f| f["__meta__"]["version"] = json!([3, 0]), "__meta__.version: version 3.0 of the format"),
        ("router", |f| f["parsers"] = json!([]), "parsers: expected one parser, found 0"),
        (
            "router",
            |f| f["actions"][3]["primitives"][0]["op"] = "meet".into(),
            "actions[3].primitives[0].op: the primitive `meet` is not known",
        ),
        (
            "router",
            |f| f["actions"][3]["primitives"][0]["parameters"][1]["value"] = 7.into(),
            "actions[3].primitives[0].parameters[1].value: the action has 2 parameters",
        ),
        (
            "router",
            |f| f["pipelines"][0]["tables"][0]["key"][0]["target"] = json!(["ipv4", "dst"]),
            "pipelines[0].tables[0].key[0].target: the header `ipv4` has no field `dst`",
        ),
        (
            "router",
            |f| f["pipelines"][0]["tables"][0]["match_type"] = "exact".into(),
            "pipelines[0].tables[0].match_type: `exact` does not fit",
        ),
        (
            "router",
            |f| f["pipelines"][0]["tables"][1]["entries"][1]["match_key"][0]["mask"] = Value::Null,
            "pipelines[0].tables[1].entries[1].match_key[0]: expected the attribute `mask`",
        ),
        (
            "router",
            |f| f["pipelines"][0]["conditionals"][0]["true_next"] = "nobody".into(),
            "pipelines[0].conditionals[0].true_next: no table, conditional or action call is called `nobody`",
        ),
        (
            "router",
            |f| f["calculations"][0]["algo"] = "crcCCITT".into(),
            "calculations[0].algo: the algorithm `crcCCITT` is not supported",
        ),
        (
            "router",
            |f| f["extern_instances"] = json!([{ "name": "e", "id": 0, "type": "Counter" }]),
            "extern_instances[0].type: `e` of type `Counter`",
        ),
        ("router", |f| f["pipelines"][0]["tables"][0]["surprise"] = 1.into(), "unknown field `surprise`"),
        (
            "exact",
            |f| f["actions"][0]["primitives"][6]["parameters"][0]["value"] = "0x99".into(),
            "actions[0].primitives[6].parameters: expected the number of a primitive, up to 9",
        ),
    ];
    for (name, change, expected) in cases {
        let found = refusal(name, change);
        assert!(found.contains(expected), "expected {expected}\nfound    {found}");
    }
}

#[test]
fn text_that_is_no_file_of_the_format_is_refused() {
    for (text, expected) in [("", "EOF"), ("{", "EOF"), ("[]", "struct Program"), ("{}", "missing field")] {
        let error = read(text, "program", true).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let twice = format!("{} {{}}", text("exact"));
    assert!(read(&twice, "program", true).unwrap_err().to_string().contains("trailing characters"));
}

#[test]
fn names_and_ids_are_those_of_p4c() {
    let pipeline = read(&text("router"), "file", true).unwrap();
    assert_eq!(pipeline.name, "router");
    let lpm = &pipeline.tables[0];
    assert_eq!((lpm.name.as_str(), lpm.id.map(|id| id.0)), ("MyIngress.ipv4_lpm", Some(37375156)));
    // Both actions called `MyIngress.drop` are one, and calls of actions are no tables.
    assert_eq!(pipeline.actions.iter().filter(|a| a.name == "MyIngress.drop").count(), 1);
    assert_eq!(pipeline.tables.len(), 2);
}
