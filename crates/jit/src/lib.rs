//! Pipeline IR to machine code with Cranelift.
//!
//! [`compile`] makes one function of a whole pipeline: for each packet of a batch parser, ingress, egress and
//! deparser, straight through. Lives here: the code generator and the data plane implements ([`hopwright_abi`]).
//! Does not live here: tables, externs and packet buffers themselves (the data plane implements the interface), and
//! the meaning of the IR (the reference interpreter).
//!
//! What the function does with a packet:
//! - header fields live where they lie in the packet and are read and written there; a header that was not extracted
//!   gets bytes of its own in the stack frame; metadata and locals live in registers;
//! - at the end only headers that are not where they belong are moved, and the payload never is;
//! - lookups in tables of short exact keys are in line; other lookups and named externs are calls through [`abi::Runtime`]; everything else is in line.
//!
//! A program that copies or repeats packets gets further functions, by which a traffic manager goes on where the first
//! paused ([`Requests`]).

mod analysis;
mod clif;
mod code;
mod emit;
mod key_prefetch;
mod trace;

use std::ops::Range;
use std::time::{Duration, Instant};

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, Function, Signature, UserFuncName, types};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{CodegenError, Context, isa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use hopwright_abi::{self as abi, ExternAttributes, Interface, PauseLayout};
use hopwright_ir::{FieldList, Pipeline, SlotId, Span};
use hopwright_source::stack;

use analysis::suspension_points::{self, Plan};
pub use code::ahead::{Ahead, compile_ahead, load};
use code::ahead::{Functions, Relocatable};
use emit::suspension::{self, Pass};
use emit::{Job, Outside};
pub use key_prefetch::{Scout, ScoutedTable};
pub use trace::Way;
use trace::{Hot, Mode, Points};

/// A part of a program that generated code cannot do yet, or that it never can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// Where.
    pub span: Span,
    /// What, as a noun phrase or a sentence.
    pub message: String,
}

impl Unsupported {
    pub(crate) fn new(span: Span, what: impl AsRef<str>) -> Unsupported {
        Unsupported { span, message: format!("{} is not supported yet by the machine-code engine", what.as_ref()) }
    }
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Unsupported {}

/// How to compile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Keep the texts that [`CompiledPipeline::clif`] and [`CompiledPipeline::disassembly`] give.
    pub keep_text: bool,
}

/// A pipeline as machine code. Owns the code: [`CompiledPipeline::run`] must not be used after it is dropped.
pub struct CompiledPipeline {
    code: code::memory::Code,
    requests: Option<Requests>,
    scout: Option<Scout>,
    /// What packets without a header's bytes read; the code knows its address.
    _zeros: Box<[u64]>,
    interface: Interface,
    parsed_bytes: usize,
    lines: Vec<(Range<u32>, Span)>,
    clif: Option<String>,
    disassembly: Option<String>,
    compile_time: Duration,
}

impl CompiledPipeline {
    /// The function.
    ///
    /// To call it, the runtime must have a handle for every table, extern and value set of the pipeline, a `call` for digests
    /// if the interface has any, and for every function
    /// of [`CompiledPipeline::interface`]; handles of named externs must have a `call`, those of
    /// counters and registers as many cells as the program says; every entry that a lookup
    /// returns must name an action of its table and carry all its parameters.
    pub fn run(&self) -> abi::RunBatch {
        self.code.entry()
    }

    /// Bytes that [`abi::Runtime::context`] must have.
    pub fn context_bytes(&self) -> usize {
        self.requests.as_ref().map_or(0, |r| 8 * r.record.words())
    }

    /// What the traffic manager needs, if the program may ask it for anything.
    pub fn requests(&self) -> Option<&Requests> {
        self.requests.as_ref()
    }

    /// What goes over a batch first, if the program looks anything up in large tables by what the packet alone tells.
    pub fn scout(&self) -> Option<&Scout> {
        self.scout.as_ref()
    }

    /// The named externs it calls.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Bytes at the beginning of packets that the parser may take for headers of fixed sizes.
    pub fn parsed_bytes(&self) -> usize {
        self.parsed_bytes
    }

    /// Machine code.
    pub fn code(&self) -> &[u8] {
        self.code.bytes()
    }

    /// For parts of [`CompiledPipeline::code`], in order, the statement of the program they were generated for. What
    /// belongs to no statement is left out.
    pub fn lines(&self) -> &[(Range<u32>, Span)] {
        &self.lines
    }

    /// The code generator's intermediate form, if it was to be kept.
    pub fn clif(&self) -> Option<&str> {
        self.clif.as_deref()
    }

    /// Assembly text, if it was to be kept.
    pub fn disassembly(&self) -> Option<&str> {
        self.disassembly.as_deref()
    }

    /// How long compiling took.
    pub fn compile_time(&self) -> Duration {
        self.compile_time
    }
}

impl std::fmt::Debug for CompiledPipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompiledPipeline")
            .field("code_bytes", &self.code.bytes().len())
            .field("interface", &self.interface)
            .field("compile_time", &self.compile_time)
            .finish_non_exhaustive()
    }
}

/// What a program asks of the traffic manager, and the functions by which that goes on. All are called as
/// [`CompiledPipeline::run`] is, with the same runtime, and one packet at a time.
pub struct Requests {
    again: Option<code::memory::Code>,
    parse: Option<code::memory::Code>,
    egress: code::memory::Code,
    /// Upper half: what [`abi::decode_list`] takes; lower half: the session. Zero if nothing was asked for, as all of
    /// these slots.
    pub clone_ingress: Option<SlotId>,
    /// As for `clone_ingress`.
    pub clone_egress: Option<SlotId>,
    /// What [`abi::decode_list`] takes.
    pub resubmit: Option<SlotId>,
    /// What [`abi::decode_list`] takes.
    pub recirculate: Option<SlotId>,
    /// Upper half: one; lower half: most bytes to send.
    pub truncate: Option<SlotId>,
    /// When ingress ends, [`abi::Runtime::original`] has the whole packet as it was received. Otherwise it has what is
    /// before the payload.
    pub whole_original: bool,
    /// How packets are written down.
    pub record: PauseLayout,
    /// What is kept for copies and packets that come again, by slots of the record.
    pub lists: Vec<FieldList>,
}

impl Requests {
    /// The whole way of a packet that comes again. Takes its ingress port, its instance type and the slots of all field
    /// lists from the record in [`abi::Runtime::context`].
    pub fn again(&self) -> Option<abi::RunBatch> {
        self.again.as_ref().map(code::memory::Code::entry)
    }

    /// Parser and checks of checksums of a clone of ingress; reads the record as [`Requests::again`] does, and pauses.
    pub fn parse(&self) -> Option<abi::RunBatch> {
        self.parse.as_ref().map(code::memory::Code::entry)
    }

    /// Egress and what follows, from the record in [`abi::Runtime::context`], whose headers it changes. The packet is what
    /// the parser did not take, and has its room in front of it.
    pub fn egress(&self) -> abi::RunBatch {
        self.egress.entry()
    }
}

/// Compiles a verified pipeline for the machine this runs on.
///
/// # Errors
/// What is not supported, with the place in the program. Also, with the program's ingress as the place, a machine
/// that code cannot be generated for.
pub fn compile(pipeline: &Pipeline, options: &Options) -> Result<CompiledPipeline, Unsupported> {
    let begin = Instant::now();
    let compiler = Compiler::new(pipeline, Machine::This)?;
    let zeros = compiler.zeros.as_ptr() as u64;
    let mut text = Text::default();
    let functions = compiler.functions(Some((options.keep_text, &mut text)))?;
    let failed = |message| Unsupported { span: pipeline.ingress.span, message };
    let functions = functions.map(|generated| generated.code.link(zeros).map_err(failed))?;
    let compiled = compiler.finish(functions);
    let Text { lines, clif, disassembly } = text;
    Ok(CompiledPipeline { lines, clif, disassembly, compile_time: begin.elapsed(), ..compiled })
}

/// A variant of [`CompiledPipeline::run`] that also writes down the ways of packets, in [`abi::Runtime::profile`].
pub struct Recorder {
    code: code::memory::Code,
    _zeros: Box<[u64]>,
    points: Vec<emit::schedule::Order>,
}

impl Recorder {
    /// For the pipeline of a [`CompiledPipeline`].
    ///
    /// # Errors
    /// As [`compile`].
    pub fn new(pipeline: &Pipeline) -> Result<Recorder, Unsupported> {
        let compiler = Compiler::new(pipeline, Machine::This)?;
        let record = || Mode::Record(Points::default());
        let generated = compiler.generate(Pass::Whole, &record, false)?;
        let code = compiler.link(generated.code)?;
        let points = generated.points;
        Ok(Recorder { code, _zeros: compiler.zeros, points })
    }

    /// The function. What holds for [`CompiledPipeline::run`] holds for it, and the runtime must have a `profile`.
    pub fn run(&self) -> abi::RunBatch {
        self.code.entry()
    }

    /// The way of one packet, from the numbers that were written down.
    pub fn way(&self, numbers: &[u32]) -> Way {
        Way(numbers.iter().map_while(|n| self.points.get(*n as usize).cloned()).collect())
    }
}

/// A function for packets on some ways, which gives all others to [`CompiledPipeline::run`]. Owns the code:
/// [`HotPaths::run`] must not be used after it is dropped, nor after the [`CompiledPipeline`] is.
pub struct HotPaths {
    code: code::memory::Code,
    _zeros: Box<[u64]>,
    ways: Vec<Way>,
    lines: Vec<(Range<u32>, Span)>,
    compile_time: Duration,
}

impl HotPaths {
    /// From a pipeline, what it was compiled to, the ways, and what its extern objects are like. Ways with effects that cannot wait until their end get no code; `None` if those are all.
    ///
    /// # Errors
    /// As [`compile`].
    pub fn new(
        pipeline: &Pipeline,
        compiled: &CompiledPipeline,
        ways: &[Way],
        natives: &[ExternAttributes],
    ) -> Result<Option<HotPaths>, Unsupported> {
        let begin = Instant::now();
        let compiler = Compiler::new(pipeline, Machine::This)?;
        let generate = |ways: &[Way]| {
            let hot = || Mode::Hot(Hot::new(ways, compiled.run(), natives));
            compiler.generate(Pass::Whole, &hot, false)
        };
        let mut ways = ways.to_vec();
        let Generated { code, text: Text { lines, .. }, .. } = loop {
            let generated = generate(&ways)?;
            if generated.whole.is_empty() {
                return Ok(None);
            }
            if generated.whole.len() == ways.len() {
                break generated;
            }
            ways = generated.whole.iter().map(|way| ways[*way].clone()).collect();
        };
        let code = compiler.link(code)?;
        let compile_time = begin.elapsed();
        Ok(Some(HotPaths { code, _zeros: compiler.zeros, ways, lines, compile_time }))
    }

    /// The ways that have code.
    pub fn ways(&self) -> &[Way] {
        &self.ways
    }

    /// The function. What holds for [`CompiledPipeline::run`] holds for it, and the runtime must have `side_exits`.
    pub fn run(&self) -> abi::RunBatch {
        self.code.entry()
    }

    /// Machine code.
    pub fn code(&self) -> &[u8] {
        self.code.bytes()
    }

    /// As [`CompiledPipeline::lines`].
    pub fn lines(&self) -> &[(Range<u32>, Span)] {
        &self.lines
    }

    /// How long compiling took.
    pub fn compile_time(&self) -> Duration {
        self.compile_time
    }
}

/// A pipeline ready to have code generated for it.
struct Compiler {
    /// Requests are assignments in it.
    pipeline: Pipeline,
    plan: Plan,
    interface: Interface,
    zeros: Box<[u64]>,
    parsed_bytes: usize,
    isa: isa::OwnedTargetIsa,
    machine: Machine,
}

/// What code is generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Machine {
    /// This machine and this process.
    This,
    /// Machines with this architecture that are not too old, and any process of them.
    Common,
}

/// What people may read of a function.
#[derive(Default)]
struct Text {
    lines: Vec<(Range<u32>, Span)>,
    clif: Option<String>,
    disassembly: Option<String>,
}

impl Compiler {
    fn new(pipeline: &Pipeline, machine: Machine) -> Result<Compiler, Unsupported> {
        let (pipeline, slots) = match suspension_points::lower(pipeline) {
            Some((lowered, slots)) => (lowered, slots),
            None => (pipeline.clone(), suspension_points::Slots::default()),
        };
        let plan = Plan::of(&pipeline, slots);
        let layout = suspension::layout_of(&pipeline, Pass::Whole, &plan)?;
        let zeros = vec![0u64; layout.zeros / 8].into_boxed_slice();
        let isa = isa_for(machine).map_err(|what| Unsupported { span: pipeline.ingress.span, message: what })?;
        let parsed_bytes = analysis::parser_graph::longest(&pipeline) as usize;
        Ok(Compiler { interface: Interface::of(&pipeline), plan, zeros, parsed_bytes, isa, machine, pipeline })
    }

    /// All functions of the pipeline. The first one's text is kept if there is a place for it, what is long of it if
    /// told.
    fn functions(&self, text: Option<(bool, &mut Text)>) -> Result<Functions<Generated>, Unsupported> {
        let all = || Mode::All;
        let keep = text.as_ref().is_some_and(|(keep, _)| *keep);
        let mut whole = self.generate(Pass::Whole, &all, keep)?;
        if let Some((_, text)) = text {
            *text = std::mem::take(&mut whole.text);
        }
        let slots = &self.plan.slots;
        let further = |wanted: bool, pass: Pass| wanted.then(|| self.generate(pass, &all, false)).transpose();
        // Without a scout it is as right.
        let scout = key_prefetch::lower(&self.pipeline).and_then(|(scout, tables)| {
            let generated = self.generate_of(&scout, &Plan::default(), Pass::Scout, &|| Mode::All, false).ok()?;
            Some((generated, tables))
        });
        Ok(Functions {
            whole,
            again: further(slots.resubmit.is_some() || slots.recirculate.is_some(), Pass::Again)?,
            parse: further(slots.clone_ingress.is_some(), Pass::Parse)?,
            egress: further(slots.any(), Pass::Egress)?,
            scout,
        })
    }

    /// The compiled pipeline, but for what people read of it.
    fn finish(self, functions: Functions<code::memory::Code>) -> CompiledPipeline {
        let Functions { whole, again, parse, egress, scout } = functions;
        let slots = &self.plan.slots;
        let requests = egress.map(|egress| Requests {
            again,
            parse,
            egress,
            clone_ingress: slots.clone_ingress,
            clone_egress: slots.clone_egress,
            resubmit: slots.resubmit,
            recirculate: slots.recirculate,
            truncate: slots.truncate,
            whole_original: self.plan.parser_writes,
            record: self.plan.record.clone(),
            lists: self.pipeline.field_lists.clone(),
        });
        CompiledPipeline {
            code: whole,
            requests,
            scout: scout.map(|(code, tables)| Scout { code, tables }),
            parsed_bytes: self.parsed_bytes,
            _zeros: self.zeros,
            interface: self.interface,
            lines: Vec::new(),
            clif: None,
            disassembly: None,
            compile_time: Duration::ZERO,
        }
    }

    /// Code that may run.
    fn link(&self, code: Relocatable) -> Result<code::memory::Code, Unsupported> {
        code.link(self.zeros.as_ptr() as u64)
            .map_err(|message| Unsupported { span: self.pipeline.ingress.span, message })
    }

    fn generate<'a>(
        &'a self,
        pass: Pass,
        mode: &dyn Fn() -> Mode<'a>,
        keep_text: bool,
    ) -> Result<Generated, Unsupported> {
        self.generate_of(&self.pipeline, &self.plan, pass, mode, keep_text)
    }

    /// The same from another pipeline that calls nothing that this one does not.
    fn generate_of<'a>(
        &'a self,
        pipeline: &'a Pipeline,
        plan: &'a Plan,
        pass: Pass,
        mode: &dyn Fn() -> Mode<'a>,
        keep_text: bool,
    ) -> Result<Generated, Unsupported> {
        stack::with_room(|| self.generate_here(pipeline, plan, pass, mode, keep_text))
    }

    /// The same on a stack that has room for programs that nest deeply.
    fn generate_here<'a>(
        &'a self,
        pipeline: &'a Pipeline,
        plan: &'a Plan,
        pass: Pass,
        mode: &dyn Fn() -> Mode<'a>,
        keep_text: bool,
    ) -> Result<Generated, Unsupported> {
        let machine = |what: String| Unsupported { span: pipeline.ingress.span, message: what };
        let layout = suspension::layout_of(pipeline, pass, plan)?;
        let call_conv = self.isa.default_call_conv();
        let mut signature = Signature::new(call_conv);
        signature.params.extend([AbiParam::new(types::I64); 3]);
        signature.returns.push(AbiParam::new(types::I64));
        let mut wanted = emit::headers::Wanted::default();
        let (function, made) = loop {
            let mut function = Function::with_name_signature(UserFuncName::user(0, 0), signature.clone());
            let mut frontend = FunctionBuilderContext::new();
            let builder = FunctionBuilder::new(&mut function, &mut frontend);
            let outside = match self.machine {
                Machine::This => Outside::Addresses { zeros: self.zeros.as_ptr() as u64 },
                Machine::Common => Outside::Numbers,
            };
            let job = Job { pass, plan, outside, mode: mode() };
            let (builder, made) = emit::Gen::run(builder, pipeline, &layout, &self.interface, job, call_conv, &wanted)?;
            builder.finalize(self.isa.frontend_config());
            match made.missing {
                Some(more) => wanted = more,
                None => break (function, made),
            }
        };
        let mut function = function;
        clif::dead_code::prune(&mut function);
        if !made.whole.is_empty() {
            clif::byte_order::turn(&mut function, &made.bounds);
            clif::demanded_bits::simplify(&mut function, &made.bounds);
            clif::dead_code::prune(&mut function);
        }
        let clif = keep_text.then(|| function.display().to_string());
        let failed = |e: CodegenError| machine(format!("the code generator failed: {e:?}"));
        if let Some(shape) = &made.shape {
            let mut context = Context::for_function(function);
            context.optimize(&*self.isa, &mut ControlPlane::default()).map_err(failed)?;
            clif::dead_code::prune(&mut context.func);
            clif::load_coalescing::load(&mut context.func, shape.flags.packet);
            clif::dead_code::prune(&mut context.func);
            if let Some(exit) = shape.exit {
                trace::guard_elimination::remove(&mut context.func, exit, &shape.flags);
                trace::guard_hoisting::ask(&mut context.func, exit, shape);
                trace::guard_coalescing::entry::ask(&mut context.func, exit, &shape.flags);
            }
            let split = shape.in_stages.then(|| trace::batch_splitting::split(&context.func, shape)).flatten();
            function = split.unwrap_or(context.func);
            clif::redundant_loads::remove(&mut function, &shape.flags.beside());
            clif::extending_loads::at_loads(&mut function);
            clif::dead_code::prune(&mut function);
        }
        let mut context = Context::for_function(function);
        context.set_disasm(keep_text);
        context.compile(&*self.isa, &mut ControlPlane::default()).map_err(|e| failed(e.inner))?;
        let Some(compiled) = context.compiled_code() else { return Err(machine("no code came of it".into())) };
        let code = Relocatable::new(&context.func, compiled).map_err(machine)?;
        let disassembly = compiled.vcode.clone();
        let lines = compiled.buffer.get_srclocs_sorted().iter();
        let lines = lines.filter_map(|l| Some((l.start..l.end, *made.places.get(l.loc.bits() as usize)?))).collect();
        let text = Text { lines, clif, disassembly };
        Ok(Generated { code, text, points: made.points, whole: made.whole })
    }
}

/// One function.
struct Generated {
    code: Relocatable,
    text: Text,
    /// The points that a recorder writes down by number.
    points: Vec<emit::schedule::Order>,
    /// The ways that a function for some goes to the end of.
    whole: Vec<usize>,
}

#[cfg(test)]
fn host() -> Result<isa::OwnedTargetIsa, String> {
    isa_for(Machine::This)
}

fn isa_for(machine: Machine) -> Result<isa::OwnedTargetIsa, String> {
    let mut flags = settings::builder();
    for (name, value) in [
        ("opt_level", "speed"),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        ("enable_heap_access_spectre_mitigation", "false"),
        ("enable_table_access_spectre_mitigation", "false"),
        ("unwind_info", "false"),
    ] {
        flags.set(name, value).map_err(|e| e.to_string())?;
    }
    if cfg!(target_endian = "big") {
        return Err("machine code for a big-endian machine is not supported yet".into());
    }
    let mut builder = cranelift_native::builder_with_options(machine == Machine::This)?;
    if machine == Machine::Common && cfg!(target_arch = "x86_64") {
        // What x86-64-v3 stands for: AVX2, BMI.
        builder.enable("haswell").map_err(|e| e.to_string())?;
    }
    builder.finish(settings::Flags::new(flags)).map_err(|e| e.to_string())
}
