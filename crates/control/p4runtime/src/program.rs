//! Programs that a device can run, and bundles: several source files and options as one device config.
//!
//! A bundle is JSON: `{"hopwright_bundle": 1, "main": "router.p4", "files": {"router.p4": "…", "parts.p4": "…"},
//! "defines": ["N=4"], "include_paths": ["include"]}`. Includes find files as on disk: beside the including file, then in the
//! include paths.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::bytes::Bytes;
use hopwright_dataplane::externs::ExternTypes;
use hopwright_dataplane::{BuildError, EngineKind, VirtualDataPlane};
use hopwright_driver::Compiled;
use hopwright_ir::Pipeline;
use hopwright_sema::hir::TypedProgram;
use hopwright_syntax::render;
use serde::{Deserialize, Serialize};

use crate::device_config::compile_device_config;
use crate::failure::{Failure, Result, invalid, unimplemented};
use crate::p4info;
use crate::proto::config::{self, P4Info, Preamble};
use crate::proto::v1;
use crate::schema::Schema;

/// The most bytes of compiler messages in an answer: clients limit the size of trailers.
const MAX_MESSAGE: usize = 3000;
/// The most errors of a program in an answer.
const MAX_ERRORS: usize = 20;

/// The engine of pushed programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EnginePolicy {
    /// Machine code, or the interpreter for programs that the JIT does not support.
    #[default]
    Auto,
    /// Machine code only.
    Jit,
    /// The interpreter only.
    Interp,
    /// What this makes of the program.
    Other(Maker),
}

/// Makes a data plane of a program.
#[derive(Clone, Copy, Debug)]
pub struct Maker(pub fn(&Arc<Pipeline>) -> std::result::Result<Arc<VirtualDataPlane>, BuildError>);

impl PartialEq for Maker {
    fn eq(&self, other: &Maker) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Maker {}

/// Several source files as one device config.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// Version of this format: 1.
    pub hopwright_bundle: u32,
    /// The name of the main file.
    pub main: String,
    /// Texts by the names in `#include`.
    pub files: BTreeMap<String, String>,
    /// `NAME` or `NAME=VALUE`.
    #[serde(default)]
    pub defines: Vec<String>,
    /// Folders in which includes are looked up.
    #[serde(default)]
    pub include_paths: Vec<String>,
}

/// A program that a device can run.
#[derive(Clone)]
pub struct Program {
    /// The program.
    pub pipeline: Arc<Pipeline>,
    /// Ids.
    pub schema: Arc<Schema>,
    /// The config that clients read.
    pub config: v1::ForwardingPipelineConfig,
}

impl Program {
    /// Compiles the config that a client sends.
    ///
    /// # Errors
    /// If there is no program, it does not compile, or it lacks an object of the P4Info.
    pub fn from_config(config: &v1::ForwardingPipelineConfig) -> Result<Program> {
        let mut compiled = compile_device_config(&config.p4_device_config, true)?;
        if let (None, Some(pipeline), Some(info)) = (&compiled.typed, &mut compiled.pipeline, &config.p4info)
            && *info != P4Info::default()
        {
            // BMv2's JSON has names only; the rest is in the P4Info that was made with it.
            let wrong = |e| invalid(format!("the P4Info is not that of the device config: {e}"));
            p4info::adopt(pipeline, info).map_err(wrong)?;
            let mut program = Program::of(pipeline.clone(), None, info.clone(), config.p4_device_config.clone())?;
            program.config.cookie = config.cookie;
            return Ok(program);
        }
        let mut program = Program::from_compiled(&compiled, config.p4_device_config.clone())?;
        if let Some(request) = &config.p4info
            && *request != P4Info::default()
        {
            let ours = program.config.p4info.take().unwrap_or_default();
            same_objects(request, &ours)?;
            program.config.p4info = Some(request.clone());
        }
        program.config.cookie = config.cookie;
        Ok(program)
    }

    /// Wraps a compiled program and the config it came from.
    ///
    /// # Errors
    /// If it does not compile or its ids are wrong.
    pub fn from_compiled(compiled: &Compiled, device_config: Bytes) -> Result<Program> {
        let (Some(pipeline), Some(info)) = (&compiled.pipeline, p4info::of_compiled(compiled)) else {
            let first = compiled.diagnostics.clone().first_errors(MAX_ERRORS);
            let mut text = render::render(&first, &compiled.sources, false);
            if text.len() > MAX_MESSAGE {
                let end = text.floor_char_boundary(MAX_MESSAGE);
                text.truncate(end);
                text.push_str("\n…");
            }
            let count = compiled.diagnostics.error_count();
            let errors = if count == 1 { "one error".to_string() } else { format!("{count} errors") };
            return Err(invalid(format!("the program does not compile, it has {errors}:\n{text}")));
        };
        let info = info.map_err(|e| invalid(e.to_string()))?;
        Program::of(pipeline.clone(), compiled.typed.as_ref(), info, device_config)
    }

    /// A program that is only known as a pipeline, with the names and ids that this has. There is no config to read.
    ///
    /// # Errors
    /// If its ids are wrong.
    pub fn from_pipeline(pipeline: &Pipeline) -> Result<Program> {
        let info = p4info::of_pipeline(pipeline).map_err(|e| invalid(e.to_string()))?;
        Program::of(pipeline.clone(), None, info, Bytes::new())
    }

    /// A pipeline with its P4Info.
    fn of(pipeline: Pipeline, typed: Option<&TypedProgram>, info: P4Info, device_config: Bytes) -> Result<Program> {
        let schema = Arc::new(Schema::new(&info, typed, &pipeline)?);
        let config = v1::ForwardingPipelineConfig { p4info: Some(info), p4_device_config: device_config, cookie: None };
        Ok(Program { pipeline: Arc::new(pipeline), schema, config })
    }

    /// A data plane that runs it, with empty tables.
    ///
    /// # Errors
    /// If the engine does not support the program.
    pub fn data_plane(&self, policy: EnginePolicy) -> Result<Arc<VirtualDataPlane>> {
        let build = |kind| VirtualDataPlane::new(self.pipeline.clone(), kind);
        let built = match policy {
            EnginePolicy::Jit => build(EngineKind::Jit),
            EnginePolicy::Interp => build(EngineKind::Interp),
            EnginePolicy::Other(Maker(make)) => make(&self.pipeline),
            EnginePolicy::Auto => {
                VirtualDataPlane::automatic(self.pipeline.clone(), &ExternTypes::standard()).map(|(vdp, why)| {
                    if let Some(why) = why {
                        let why = why.text(&self.pipeline);
                        tracing::warn!("{}: {why}; the interpreter runs it, slowly", self.pipeline.name);
                    }
                    vdp
                })
            }
        };
        built.map_err(|error| unimplemented(error.text(&self.pipeline)))
    }

    /// Whether the device that the program is for counts frame check sequences.
    pub(crate) fn counts_fcs(&self) -> bool {
        let package = self.config.p4info.as_ref().and_then(|info| info.pkg_info.as_ref());
        package.is_some_and(|package| matches!(package.arch.as_str(), "tna" | "t2na"))
    }
}

impl Bundle {
    /// The bundle of a compiled program: its main file and its include files, except built-in ones. Files are named relative
    /// to the main file's folder, or to the include path they were found by, which becomes the folder `include0`,
    /// `include1` and so on.
    pub fn of(compiled: &Compiled, main: &Path, defines: &[String], include_paths: &[PathBuf]) -> Bundle {
        let folder = main.parent().unwrap_or(Path::new(""));
        let mut places = vec![(folder, PathBuf::new())];
        for (i, path) in include_paths.iter().enumerate() {
            let name = match path.strip_prefix(folder) {
                Ok(inside) if inside.is_relative() => inside.to_path_buf(),
                _ => PathBuf::from(format!("include{i}")),
            };
            places.push((path, name));
        }
        let name = |path: &str| {
            let path = Path::new(path);
            let inside = |(place, name): &(&Path, PathBuf)| {
                path.strip_prefix(place).ok().filter(|p| p.is_relative()).map(|p| name.join(p))
            };
            let name = places.iter().find_map(inside).or_else(|| path.file_name().map(PathBuf::from));
            name.unwrap_or_else(|| path.to_path_buf()).to_string_lossy().into_owned()
        };
        let files = compiled
            .sources
            .files()
            .filter(|(_, f)| !f.name().starts_with('<'))
            .map(|(_, f)| (name(f.name()), f.text().to_string()))
            .collect();
        Bundle {
            hopwright_bundle: 1,
            main: name(&main.to_string_lossy()),
            files,
            defines: defines.to_vec(),
            include_paths: places[1..].iter().map(|(_, name)| name.to_string_lossy().into_owned()).collect(),
        }
    }

    /// As a device config.
    pub fn to_bytes(&self) -> Bytes {
        // Strings have a JSON form.
        Bytes::from(serde_json::to_vec(self).unwrap_or_default())
    }
}

/// Checks that every object of a client's P4Info exists here, with the same id.
pub(crate) fn same_objects(request: &P4Info, ours: &P4Info) -> Result<()> {
    let missing = |what: &str, p: &Preamble| -> Failure {
        invalid(format!("the P4Info is of another program: {what} `{}` with id {:#x} is not in it", p.name, p.id))
    };
    macro_rules! compare {
        ($($what:literal $field:ident;)*) => {
            $(
                for object in &request.$field {
                    let Some(p) = &object.preamble else { return Err(invalid(concat!($what, " without a preamble"))) };
                    let same = |o: &Option<Preamble>| o.as_ref().is_some_and(|o| o.id == p.id && o.name == p.name);
                    if !ours.$field.iter().any(|o| same(&o.preamble)) {
                        return Err(missing($what, p));
                    }
                }
            )*
        };
    }
    compare! {
        "table" tables;
        "action" actions;
        "action profile" action_profiles;
        "counter" counters;
        "direct counter" direct_counters;
        "meter" meters;
        "direct meter" direct_meters;
        "controller header" controller_packet_metadata;
        "value set" value_sets;
        "register" registers;
        "digest" digests;
    }
    macro_rules! parts {
        ($($what:literal $field:ident $parts:literal $shape:expr;)*) => {
            $(
                let shape = $shape;
                for object in &request.$field {
                    let id = |o: &Option<Preamble>| o.as_ref().map(|p| p.id);
                    let ours = ours.$field.iter().find(|o| id(&o.preamble) == id(&object.preamble));
                    if ours.is_none_or(|ours| shape(ours) != shape(object)) {
                        let name = object.preamble.as_ref().map_or("", |p| p.name.as_str());
                        return Err(invalid(format!(
                            concat!("the P4Info is of another program: ", $what, " `{}` has other ", $parts), name
                        )));
                    }
                }
            )*
        };
    }
    parts! {
        "table" tables "match fields" |t: &config::Table| {
            t.match_fields.iter().map(|f| (f.id, f.bitwidth, f.r#match.clone())).collect::<Vec<_>>()
        };
        "table" tables "actions" |t: &config::Table| t.action_refs.iter().map(|a| a.id).collect::<BTreeSet<_>>();
        "action" actions "parameters" |a: &config::Action| {
            a.params.iter().map(|p| (p.id, p.bitwidth)).collect::<Vec<_>>()
        };
        "controller header" controller_packet_metadata "members" |c: &config::ControllerPacketMetadata| {
            c.metadata.iter().map(|m| (m.id, m.bitwidth)).collect::<Vec<_>>()
        };
        "value set" value_sets "match fields" |v: &config::ValueSet| {
            v.r#match.iter().map(|f| (f.id, f.bitwidth)).collect::<Vec<_>>()
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use hopwright_driver::compile_file;
    use hopwright_syntax::Options;

    use super::*;

    const REST: &str = "
        struct none_t { }
        parser P(packet_in p, out none_t h, inout none_t m, inout standard_metadata_t s) {
            state start { transition accept; }
        }
        control C(inout none_t h, inout none_t m) { apply { } }
        control I(inout none_t h, inout none_t m, inout standard_metadata_t s) { apply { s.egress_spec = PORT; } }
        control E(inout none_t h, inout none_t m, inout standard_metadata_t s) { apply { } }
        control D(packet_out p, in none_t h) { apply { } }
        V1Switch(P(), C(), I(), E(), C(), D()) main;";

    /// Includes of included files: beside them, above them, by include paths inside and outside of the program's folder.
    #[test]
    fn a_bundle_compiles_as_its_files_did() {
        let root = std::env::temp_dir().join(format!("hopwright-bundle-{}", std::process::id()));
        let files = [
            ("program/main.p4", format!("#include <core.p4>\n#include <v1model.p4>\n#include \"inc/a.p4\"\n{REST}")),
            (
                "program/inc/a.p4",
                "#include \"b.p4\"\n#include <d.p4>\n#include <e/f.p4>\nconst bit<9> PORT = FROM_B + FROM_D + FROM_F;"
                    .into(),
            ),
            ("program/inc/b.p4", "#include \"../c.p4\"\nconst bit<9> FROM_B = FROM_C;".into()),
            ("program/c.p4", "const bit<9> FROM_C = 1;".into()),
            ("program/paths/d.p4", "const bit<9> FROM_D = 2;".into()),
            ("elsewhere/e/f.p4", "#include \"g.p4\"\nconst bit<9> FROM_F = FROM_G;".into()),
            ("elsewhere/e/g.p4", "const bit<9> FROM_G = 3;".into()),
        ];
        for (name, text) in &files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let main = root.join("program/main.p4");
        let include_paths = vec![root.join("program/paths"), root.join("elsewhere")];
        let options = Options { include_paths: include_paths.clone(), ..Options::default() };
        let compiled = compile_file(&main, &options, true);
        std::fs::remove_dir_all(&root).unwrap();
        assert!(compiled.pipeline.is_some(), "{}", compiled.report(false));
        let bundle = Bundle::of(&compiled, &main, &[], &include_paths);
        let names: Vec<&str> = bundle.files.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["inc/../c.p4", "inc/a.p4", "inc/b.p4", "include1/e/f.p4", "include1/e/g.p4", "main.p4", "paths/d.p4"]
        );
        let again = compile_device_config(&bundle.to_bytes(), true).unwrap();
        assert!(again.pipeline.is_some(), "{}", again.report(false));
    }
}
