//! Programs that a device can run.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, Weak};

use ::bytes::Bytes;
use hopwright_control::COPIED_TO_CPU;
use hopwright_dataplane::externs::ExternTypes;
use hopwright_dataplane::{BuildError, EngineKind, Executable, VirtualDataPlane};
use hopwright_driver::{Compiled, Hashes};
use hopwright_ir::Pipeline;
use hopwright_sema::hir::TypedProgram;
use hopwright_syntax::render;
use prost::Message as _;

use crate::device::lock;
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
/// How many times as long as its message a P4Info is in memory: that of the compiler.
const DECODED: u64 = 16;
/// The same of what a client has added, which may be nothing but empty messages.
const DECODED_OF_CLIENT: u64 = 128;

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

/// A program that a device can run.
#[derive(Clone)]
pub struct Program {
    /// The program.
    pub pipeline: Arc<Pipeline>,
    /// Ids.
    pub schema: Arc<Schema>,
    /// The config that clients read.
    pub config: v1::ForwardingPipelineConfig,
    compilation: Arc<Compilation>,
}

/// What equal programs of a process share. Programs are equal if their device configs are.
struct Compilation {
    device_config: Bytes,
    pipeline: Arc<Pipeline>,
    schema: Arc<Schema>,
    info: P4Info,
    /// Bytes of the P4Info's message; 0 if it is a client's.
    compiled_info: usize,
    /// By policy, once a data plane was made. Locked while one is compiled, so that each is compiled once.
    executables: Mutex<Vec<(EnginePolicy, Executable)>>,
}

/// The compilations that programs use.
static COMPILATIONS: Mutex<Vec<Weak<Compilation>>> = Mutex::new(Vec::new());

impl Compilation {
    /// The one of a device config, if a program has it. Programs without a config have nothing in common.
    fn of(device_config: &Bytes) -> Option<Arc<Compilation>> {
        if device_config.is_empty() {
            return None;
        }
        let mut known = lock(&COMPILATIONS);
        known.retain(|compilation| compilation.strong_count() > 0);
        known.iter().filter_map(Weak::upgrade).find(|one| one.device_config == *device_config)
    }

    /// Lets others share it, or gives the one that another thread has made meanwhile.
    fn share(self) -> Arc<Compilation> {
        if let Some(there) = Compilation::of(&self.device_config) {
            return there;
        }
        let new = Arc::new(self);
        lock(&COMPILATIONS).push(Arc::downgrade(&new));
        new
    }

    fn program(self: Arc<Compilation>) -> Program {
        let (p4info, p4_device_config) = (Some(self.info.clone()), self.device_config.clone());
        let config = v1::ForwardingPipelineConfig { p4info, p4_device_config, cookie: None };
        Program { pipeline: self.pipeline.clone(), schema: self.schema.clone(), config, compilation: self }
    }
}

impl Program {
    /// Compiles the config that a client sends.
    ///
    /// # Errors
    /// If there is no program, it does not compile, or it lacks an object of the P4Info.
    pub fn from_config(config: &v1::ForwardingPipelineConfig) -> Result<Program> {
        if let Some(known) = Compilation::of(&config.p4_device_config) {
            return known.program().configured(config);
        }
        let mut compiled = compile_device_config(&config.p4_device_config, true)?;
        // The config may be a part of the message, which would be kept with it.
        let device_config = Bytes::copy_from_slice(&config.p4_device_config);
        if let (None, Some(pipeline), Some(info)) = (&compiled.typed, &mut compiled.pipeline, &config.p4info)
            && *info != P4Info::default()
        {
            // BMv2's JSON has names only; the rest is in the P4Info that was made with it.
            let wrong = |e| invalid(format!("the P4Info is not that of the device config: {e}"));
            p4info::adopt(pipeline, info).map_err(wrong)?;
            let mut program = Program::of(pipeline.clone(), None, detached(info)?, device_config)?;
            program.config.cookie = config.cookie;
            return Ok(program);
        }
        Program::from_compiled(&compiled, device_config)?.configured(config)
    }

    /// The program with a client's P4Info, if it has given one, and cookie.
    fn configured(mut self, config: &v1::ForwardingPipelineConfig) -> Result<Program> {
        if let Some(request) = &config.p4info
            && *request != P4Info::default()
        {
            let ours = self.config.p4info.take().unwrap_or_default();
            same_objects(request, &ours)?;
            self.config.p4info = Some(detached(request)?);
        }
        self.config.cookie = config.cookie;
        Ok(self)
    }

    /// Wraps a compiled program and the config it came from.
    ///
    /// # Errors
    /// If it does not compile or its ids are wrong.
    pub fn from_compiled(compiled: &Compiled, device_config: Bytes) -> Result<Program> {
        if let Some(known) = Compilation::of(&device_config) {
            return Ok(known.program());
        }
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
        let (pipeline, executables) = (Arc::new(pipeline), Mutex::default());
        let compiled_info = typed.map_or(0, |_| info.encoded_len());
        let compilation = Compilation { device_config, pipeline, schema, info, compiled_info, executables };
        // What clients say of the objects is part of a program that is only known as a pipeline. Without a config nothing tells it apart.
        let alone = typed.is_none() || compilation.device_config.is_empty();
        Ok(if alone { Arc::new(compilation) } else { compilation.share() }.program())
    }

    /// Its pipeline with hashes as control planes have configured them.
    ///
    /// # Errors
    /// The program is not known as P4 text, or the compiler does not support a configuration.
    pub(crate) fn with_hashes(&self, hashes: &Hashes) -> Result<Pipeline> {
        let unknown = || unimplemented("the hashes of this program cannot change: its text is not known");
        if self.config.p4_device_config.is_empty() {
            return Err(unknown());
        }
        let compiled = compile_device_config(&self.config.p4_device_config, true)?.with_hashes(hashes, true);
        if compiled.typed.is_none() && compiled.pipeline.is_some() {
            return Err(unknown());
        }
        let report = || unimplemented(render::render(&compiled.diagnostics, &compiled.sources, false));
        let pipeline = compiled.pipeline.as_ref().ok_or_else(report)?;
        Ok(Pipeline { name: self.pipeline.name.clone(), ..pipeline.clone() })
    }

    /// The bytes of memory that the config takes beside the program's text: what else is in it, and the P4Info.
    pub(crate) fn config_bytes(&self) -> u64 {
        let text: usize = self.pipeline.sources.files().map(|(_, file)| file.text().len()).sum();
        let more = self.config.p4_device_config.len().saturating_sub(text) as u64;
        let compiled = self.compilation.compiled_info;
        let info = self.config.p4info.as_ref().map_or(0, P4Info::encoded_len);
        let added = info.saturating_sub(compiled) as u64;
        more.saturating_add(compiled as u64 * DECODED).saturating_add(added.saturating_mul(DECODED_OF_CLIENT))
    }

    /// A data plane that runs it, with empty tables.
    ///
    /// # Errors
    /// If the engine does not support the program.
    pub fn data_plane(&self, policy: EnginePolicy) -> Result<Arc<VirtualDataPlane>> {
        let (mut executables, types) = (lock(&self.compilation.executables), ExternTypes::standard());
        if let Some((_, executable)) = executables.iter().find(|(of, _)| *of == policy) {
            return executable.data_plane(&types).map_err(|error| unimplemented(error.text(&self.pipeline)));
        }
        let build = |kind| VirtualDataPlane::new(self.pipeline.clone(), kind);
        let built = match policy {
            EnginePolicy::Jit => build(EngineKind::Jit),
            EnginePolicy::Interp => build(EngineKind::Interp),
            EnginePolicy::Other(Maker(make)) => make(&self.pipeline),
            EnginePolicy::Auto => VirtualDataPlane::automatic(self.pipeline.clone(), &types).map(|(vdp, why)| {
                if let Some(why) = why {
                    let why = why.text(&self.pipeline);
                    tracing::warn!("{}: {why}; the interpreter runs it, slowly", self.pipeline.name);
                }
                vdp
            }),
        };
        let vdp = built.map_err(|error| unimplemented(error.text(&self.pipeline)))?;
        if !matches!(policy, EnginePolicy::Other(_)) {
            executables.push((policy, vdp.executable()));
        }
        Ok(vdp)
    }

    /// Whether the program makes copies to the CPU that it does not name a destination for.
    pub(crate) fn copies_to_cpu(&self) -> bool {
        self.is_for_tofino() && self.pipeline.field_lists.iter().any(|list| list.index == COPIED_TO_CPU)
    }

    /// Whether the program is for a Tofino, whose counters count frame check sequences.
    pub(crate) fn is_for_tofino(&self) -> bool {
        let package = self.config.p4info.as_ref().and_then(|info| info.pkg_info.as_ref());
        package.is_some_and(|package| matches!(package.arch.as_str(), "tna" | "t2na"))
    }
}

/// A P4Info that shares no memory with the message that it came in, which would be kept with it.
fn detached(info: &P4Info) -> Result<P4Info> {
    P4Info::decode(&*info.encode_to_vec()).map_err(|error| invalid(format!("the P4Info cannot be read: {error}")))
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
    // What a hash is like is in its annotations, by which other protocols configure it.
    let hashes = |info: &P4Info| -> Vec<Preamble> {
        let of_type = info.externs.iter().filter(|it| it.extern_type_name == p4info::HASH_TYPE);
        of_type.flat_map(|it| &it.instances).filter_map(|instance| instance.preamble.clone()).collect()
    };
    let known = hashes(ours);
    for hash in hashes(request) {
        let same = |of: &Preamble| (of.id, &of.name, &of.annotations) == (hash.id, &hash.name, &hash.annotations);
        if !known.iter().any(same) {
            return Err(missing("hash", &hash));
        }
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
