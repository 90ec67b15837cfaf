//! Compiles a device config: P4 source text, a [`Bundle`], a file of our `p4c`, which has a bundle in its field `hopwright`, or the JSON that
//! p4lang's `p4c` writes for BMv2; or several bundles for the pipes of a device ([`Programs`]); each also within the `P4DeviceConfig` that controllers of BMv2 put around it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use hopwright_driver::{Compiled, Part, compile_text, compile_together};
use hopwright_syntax::{Diagnostics, Options};
use prost::Message as _;
use serde_json::Value;

use crate::bundle::{Bundle, Programs};
use crate::failure::{Result, invalid};

/// The field of a BMv2-like file that has the bundle.
pub const BUNDLE_FIELD: &str = "hopwright";

/// `p4.tmp.P4DeviceConfig` of p4lang/PI.
#[derive(Clone, PartialEq, prost::Message)]
struct P4DeviceConfig {
    #[prost(bool, tag = "1")]
    reassign: bool,
    #[prost(bytes = "vec", tag = "3")]
    device_data: Vec<u8>,
}

/// The tags of its first field, whichever that is. No text begins with one of these bytes.
const FIRST_BYTES: [u8; 3] = [0x08, 0x12, 0x1a];

/// Compiles a device config.
///
/// # Errors
/// If there is no program in it, or BMv2's JSON that cannot be read. Errors of P4 programs are in what is returned. Of BMv2's JSON there is
/// no typed program.
pub fn compile_device_config(config: &[u8], optimise: bool) -> Result<Compiled> {
    let wrapped =
        config.first().filter(|first| FIRST_BYTES.contains(first)).and_then(|_| P4DeviceConfig::decode(config).ok());
    match wrapped {
        Some(wrapped) => compile(&wrapped.device_data, optimise),
        None => compile(config, optimise),
    }
}

fn compile(config: &[u8], optimise: bool) -> Result<Compiled> {
    let text = std::str::from_utf8(config)
        .map_err(|_| invalid("the device config is neither P4 source text nor a bundle of this switch"))?;
    if text.trim().is_empty() {
        return Err(invalid("the device config is empty: it must be P4 source text or a bundle of this switch"));
    }
    if !text.trim_start().starts_with('{') {
        let options = Options { no_disk: true, ..Options::default() };
        return Ok(compile_text("program.p4", text, &options, optimise));
    }
    let no_bundle = |e| invalid(format!("the device config is JSON, but no bundle of this switch: {e}"));
    let value: Value = serde_json::from_str(text).map_err(no_bundle)?;
    if value.get(BUNDLE_FIELD).is_none() && hopwright_bmv2::is_bmv2_json(&value) {
        drop(value);
        let pipeline =
            hopwright_bmv2::read(text, "program", optimise).map_err(|e| invalid(format!("BMv2's JSON: {e}")))?;
        let (diagnostics, sources) = (Diagnostics::new(), Arc::default());
        return Ok(Compiled { pipeline: Some(pipeline), typed: None, hashes: Vec::new(), diagnostics, sources });
    }
    if value.get(PROGRAMS_FIELD).is_some() {
        return compile_programs(serde_json::from_value(value).map_err(no_bundle)?, optimise);
    }
    let bundle = bundle(value).map_err(no_bundle)?;
    let (main, options) = unpacked(&bundle)?;
    Ok(compile_text(&bundle.main, main, &options, optimise))
}

/// The field of a device config that has several programs.
const PROGRAMS_FIELD: &str = "hopwright_programs";
/// The most programs of a device: one for each pipe.
const MAX_PROGRAMS: usize = 4;

/// Compiles several programs to one, whose name is theirs.
fn compile_programs(config: Programs, optimise: bool) -> Result<Compiled> {
    if config.hopwright_programs != 1 {
        return Err(invalid(format!("several programs of version {} are not known", config.hopwright_programs)));
    }
    if config.programs.len() > MAX_PROGRAMS {
        return Err(invalid("a device has four pipes: it runs four programs at most"));
    }
    let mut parts = Vec::new();
    for program in config.programs {
        let (main, options) = unpacked(&program.bundle)?;
        let (text, main) = (main.to_string(), program.bundle.main);
        parts.push(Part { name: program.name, main, text, options, pipes: program.pipes });
    }
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    Ok(compile_together(&names.join("+"), &parts, optimise))
}

/// The main file of a bundle, and where its further files are.
fn unpacked(bundle: &Bundle) -> Result<(&str, Options)> {
    if bundle.hopwright_bundle != 1 {
        return Err(invalid(format!("bundles of version {} are not known", bundle.hopwright_bundle)));
    }
    let main = bundle.files.get(&bundle.main).ok_or_else(|| invalid("the bundle has not its main file"))?;
    let mut options = Options { no_disk: true, ..Options::default() };
    bundle.defines.iter().for_each(|d| options.define(d));
    options.include_paths = bundle.include_paths.iter().map(PathBuf::from).collect();
    options.embedded = bundle.files.iter().map(|(name, text)| (name.clone(), text.as_str().into())).collect();
    Ok((main, options))
}

/// A program that a device config has: a bundle as it is, or P4 text as one.
///
/// # Errors
/// If it is neither.
pub fn bundle_of(config: &[u8]) -> Result<Bundle> {
    let text =
        std::str::from_utf8(config).map_err(|_| invalid("neither P4 source text nor a bundle of this switch"))?;
    if !text.trim_start().starts_with('{') {
        let files = BTreeMap::from([("program.p4".to_string(), text.to_string())]);
        let (defines, include_paths) = (Vec::new(), Vec::new());
        return Ok(Bundle { hopwright_bundle: 1, main: "program.p4".into(), files, defines, include_paths });
    }
    let value = serde_json::from_str(text).and_then(bundle);
    value.map_err(|e| invalid(format!("JSON, but no bundle of this switch: {e}")))
}

fn bundle(mut value: Value) -> serde_json::Result<Bundle> {
    let found = value.get_mut(BUNDLE_FIELD).map(Value::take).unwrap_or(value);
    serde_json::from_value(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "#include <core.p4>\nconst bit<8> TTL = 64;";

    fn finds_the_program(config: &[u8]) -> bool {
        let compiled = compile_device_config(config, true).unwrap();
        compiled.sources.files().any(|(_, file)| file.text().contains("TTL = 64"))
    }

    #[test]
    fn programs_are_found_in_every_form() {
        let bundle = serde_json::json!({ "hopwright_bundle": 1, "main": "a.p4", "files": { "a.p4": PROGRAM } });
        let file = serde_json::json!({ "program": "a.p4", "header_types": [], BUNDLE_FIELD: bundle });
        for config in [PROGRAM.to_string(), bundle.to_string(), file.to_string()] {
            assert!(finds_the_program(config.as_bytes()), "{config}");
            for reassign in [false, true] {
                let wrapped = P4DeviceConfig { reassign, device_data: config.clone().into_bytes() };
                assert!(finds_the_program(&wrapped.encode_to_vec()), "{config}");
            }
        }
    }

    /// A program's own file may have the name of a built-in one that it includes.
    #[test]
    fn files_with_names_of_built_in_ones() {
        for main in ["core.p4", "v1model.p4"] {
            let files = serde_json::json!({ main: format!("#include <{main}>\nconst bit<8> TTL = 64;") });
            let bundle = serde_json::json!({ "hopwright_bundle": 1, "main": main, "files": files });
            let compiled = compile_device_config(bundle.to_string().as_bytes(), true).unwrap();
            assert!(!compiled.diagnostics.iter().any(|d| d.code == "E0002"), "{:?}", compiled.diagnostics);
            assert!(finds_the_program(bundle.to_string().as_bytes()));
        }
    }

    #[test]
    fn what_has_no_program_is_refused_with_the_reason() {
        let reason = |config: &[u8]| compile_device_config(config, true).unwrap_err().message;
        let json = br#"{"header_types": [], "headers": [], "parsers": []}"#;
        assert!(reason(json).starts_with("BMv2's JSON: .: missing field"), "{}", reason(json));
        assert!(reason(br#"{"a": 1}"#).contains("no bundle"));
        assert!(reason(b"{").contains("no bundle"));
        assert!(reason(b"").contains("empty"));
        assert!(reason(&P4DeviceConfig { reassign: true, device_data: Vec::new() }.encode_to_vec()).contains("empty"));
        assert!(reason(&[0x08, 0xff]).contains("neither"));
        let future = serde_json::json!({ "hopwright_bundle": 2, "main": "a.p4", "files": {} });
        assert!(reason(future.to_string().as_bytes()).contains("version 2"));
        let bundle = serde_json::json!({ "hopwright_bundle": 1, "main": "a.p4", "files": { "a.p4": PROGRAM } });
        let one = serde_json::json!({ "name": "a", "pipes": [["pipe", [0]]], "bundle": bundle });
        let many = serde_json::json!({ PROGRAMS_FIELD: 1, "programs": vec![one; 5] });
        assert!(reason(many.to_string().as_bytes()).contains("four programs at most"));
    }
}
