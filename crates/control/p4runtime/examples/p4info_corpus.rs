//! Compares P4Info with that of p4c: `cargo run --profile bench --example p4info_corpus -- CHECKOUT [NAME]`, where the
//! checkout of p4c has its `testdata`. Prints how many v1model samples have an equal P4Info, and the others with the
//! fields that differ. Exits with 1 if there are any of those.
//!
//! The order of objects and of named types carries no meaning and is ignored, and so is a `type_info` without types; the
//! order of fields, parameters and actions of a table is compared. Each sample is then pushed with p4c's P4Info.

use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::path::Path;
use std::process::ExitCode;

use hopwright_driver::compile_file;
use hopwright_p4runtime::proto::config::{P4Info, P4TypeInfo};
use hopwright_p4runtime::proto::v1::ForwardingPipelineConfig;
use hopwright_p4runtime::{Bundle, Program, p4info};
use hopwright_syntax::{Options, Severity};
use serde_json::Value;

/// What became of a sample.
enum Outcome {
    Equal,
    /// Places in the P4Info that differ.
    Different(Vec<String>),
    /// The first error.
    Refused(String),
    Panicked,
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(checkout) = args.next() else {
        eprintln!("usage: p4info_corpus CHECKOUT [NAME]");
        return ExitCode::FAILURE;
    };
    let only = args.next();
    let testdata = Path::new(&checkout).join("testdata");
    let outputs = testdata.join("p4_16_samples_outputs");
    let Ok(listed) = std::fs::read_dir(&outputs) else {
        eprintln!("{} cannot be read", outputs.display());
        return ExitCode::FAILURE;
    };
    let mut names: Vec<String> = listed
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".p4info.txtpb").map(str::to_string))
        .filter(|name| only.as_ref().is_none_or(|only| name.starts_with(only)))
        .collect();
    names.sort();

    let mut outcomes: BTreeMap<String, Outcome> = BTreeMap::new();
    for name in names {
        let Ok(text) = std::fs::read_to_string(outputs.join(format!("{name}.p4info.txtpb"))) else { continue };
        if text.contains("arch: \"v1model\"") {
            let outcome = compare(&testdata.join("p4_16_samples").join(&name), &text, only.is_some());
            outcomes.insert(name, outcome);
        }
    }
    report(&outcomes)
}

fn compare(source: &Path, expected: &str, verbose: bool) -> Outcome {
    let Ok(mut expected) = p4info::from_text(expected) else {
        return Outcome::Refused("p4c's P4Info is malformed".into());
    };
    let pushed = expected.clone();
    expected.type_info = expected.type_info.filter(|types| *types != P4TypeInfo::default());
    let made = catch_unwind(|| {
        let compiled = compile_file(source, &Options::default(), true);
        let (Some(typed), Some(pipeline)) = (&compiled.typed, &compiled.pipeline) else {
            let error = compiled.diagnostics.iter().find(|d| d.severity == Severity::Error);
            return Err(error.map_or_else(String::new, |d| format!("{} {}", d.code, d.message)));
        };
        let info = p4info::of(typed, pipeline).map_err(|e| e.to_string())?;
        let config = ForwardingPipelineConfig {
            p4info: Some(pushed.clone()),
            p4_device_config: Bundle::of(&compiled, source, &[], &[]).to_bytes(),
            cookie: None,
        };
        let push = Program::from_config(&config).map(|_| ()).map_err(|failure| failure.message);
        Ok((info, push))
    });
    let (info, push) = match made {
        Err(_) => return Outcome::Panicked,
        Ok(Err(message)) => return Outcome::Refused(message),
        Ok(Ok(made)) => made,
    };
    let value = |info: &P4Info| -> Value {
        let text = p4info::to_json(info).unwrap_or_default();
        let mut value = serde_json::from_str(&text).unwrap_or_default();
        sort(&mut value);
        value
    };
    let mut places = Vec::new();
    differences(&value(&expected), &value(&info), "", &mut places);
    places.extend(push.err().map(|message| format!("not accepted on push: {message}")));
    if verbose {
        places.iter().for_each(|place| println!("{place}"));
    }
    if places.is_empty() { Outcome::Equal } else { Outcome::Different(places) }
}

/// Objects by id.
fn sort(info: &mut Value) {
    let Value::Object(fields) = info else { return };
    for list in fields.values_mut().filter_map(Value::as_array_mut) {
        list.sort_by_key(|object| object["preamble"]["id"].as_u64());
        for object in list {
            if let Some(tables) = object["tableIds"].as_array_mut() {
                tables.sort_by_key(Value::as_u64);
            }
        }
    }
}

fn differences(expected: &Value, ours: &Value, at: &str, places: &mut Vec<String>) {
    match (expected, ours) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                differences(value, b.get(key).unwrap_or(&Value::Null), &format!("{at}.{key}"), places);
            }
            for (key, value) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
                differences(&Value::Null, value, &format!("{at}.{key}"), places);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (a, b) in a.iter().zip(b) {
                differences(a, b, at, places);
            }
        }
        // Which objects there are.
        (Value::Array(a), Value::Array(b)) if at.matches('.').count() == 1 => {
            let name = |value: &Value| value["preamble"]["name"].as_str().unwrap_or_default().to_string();
            let only = |a: &[Value], b: &[Value]| {
                let names = a.iter().map(name).filter(|n| b.iter().all(|o| name(o) != *n)).collect::<Vec<_>>();
                names.join(", ")
            };
            places.push(format!("{at}: missing [{}], extra [{}]", only(a, b), only(b, a)));
        }
        _ if expected == ours => {}
        _ => places.push(format!("{at}: {expected} there, {ours} here")),
    }
}

fn report(outcomes: &BTreeMap<String, Outcome>) -> ExitCode {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut equal = 0;
    for (name, outcome) in outcomes {
        let mut count = |reason: String| reasons.entry(reason).or_default().push(name);
        match outcome {
            Outcome::Equal => equal += 1,
            Outcome::Refused(message) => count(format!("refused: {message}")),
            Outcome::Panicked => count("panicked".into()),
            Outcome::Different(places) => {
                let mut fields: Vec<&str> = places.iter().filter_map(|p| p.split(':').next()).collect();
                fields.dedup();
                count(format!("differs in {}", fields.join(" ")));
                println!("{name}\n    {}", places.join("\n    "));
            }
        }
    }
    for (reason, names) in &reasons {
        println!("{:4} {reason}: {}", names.len(), names.join(" "));
    }
    println!("{equal} of {} samples for v1model have the P4Info of p4c", outcomes.len());
    let different = outcomes.values().any(|o| !matches!(o, Outcome::Equal | Outcome::Refused(_)));
    if different { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
