//! From a pipeline to its functions: emission, passes, Cranelift.

use std::cell::RefCell;
use std::ops::Range;
use std::time::{Duration, Instant};

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, Function, Signature, UserFuncName, types};
use cranelift_codegen::settings::OptLevel;
use cranelift_codegen::{CodegenError, Context, isa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use hopwright_abi::Interface;
use hopwright_ir::analysis::parser_graph;
use hopwright_ir::analysis::suspension_points::{self, RequestSlots};
use hopwright_ir::{Pipeline, Span};
use hopwright_source::stack;

use crate::clif::{dead_code, extending_loads, redundant_loads, reloading};
use crate::code::memory::Code;
use crate::code::relocatable::{Functions, Relocatable};
use crate::code::target::{TargetMachine, isa_for};
use crate::emit::header_table::HeaderUses;
use crate::emit::memory::disagreement;
use crate::emit::point::{PointId, PointPlace};
use crate::emit::suspension_plan::{EntryPoint, SuspensionPlan, layout_of};
use crate::emit::{Emitter, Job, Linkage, Output};
use crate::trace::exit_counters::{self, ExitSites, Places};
use crate::trace::mode::Mode;
use crate::trace::passes::TracePass;
use crate::trace::{batch_splitting, entry_guards, guard_hoisting};
use crate::trace_ir::codegen;
use crate::trace_ir::passes::Pass;
use crate::{CompiledPipeline, KeyPrefetcher, Options, Suspension, Unsupported, key_prefetch};

/// Compiles a verified pipeline for the machine this runs on.
///
/// # Errors
/// The program uses something unsupported; the error includes the place in the program. If the machine is not
/// supported, that place is the program's ingress.
pub fn compile(pipeline: &Pipeline, options: &Options) -> Result<CompiledPipeline, Unsupported> {
    let begin = Instant::now();
    let compiler = Compiler::new(pipeline, TargetMachine::Host)?;
    let zeros = compiler.zeros.as_ptr() as u64;
    let mut text = Text::default();
    let functions = compiler.functions(Some((options.keep_text, &mut text)))?;
    let failed = |message| Unsupported { span: pipeline.ingress.span, message };
    let functions = functions.map(|generated| {
        let code = generated.code.link(zeros).map_err(failed)?;
        Ok(code.with_lines(generated.lines))
    })?;
    let compiled = compiler.finish(functions);
    let Text { clif, disassembly } = text;
    Ok(CompiledPipeline { clif, disassembly, compile_time: begin.elapsed(), ..compiled })
}

/// A pipeline prepared for code generation.
pub(crate) struct Compiler {
    /// The pipeline, in which requests to the traffic manager have become assignments.
    pipeline: Pipeline,
    plan: SuspensionPlan,
    interface: Interface,
    pub zeros: Box<[u64]>,
    parsed_bytes: usize,
    pub isa: isa::OwnedTargetIsa,
    machine: TargetMachine,
    /// Where traces have side exits.
    pub exit_sites: RefCell<ExitSites>,
}

/// The readable forms of a function.
#[derive(Default)]
pub(crate) struct Text {
    pub clif: Option<String>,
    pub disassembly: Option<String>,
}

/// A generated function.
pub(crate) struct Generated {
    pub code: Relocatable,
    /// Ranges of the code, in order, with what they were generated for.
    pub lines: Vec<(Range<u32>, Span)>,
    pub text: Text,
    /// The points of a path profiler, by number.
    pub points: Vec<(PointId, PointPlace)>,
}

impl Compiler {
    pub(crate) fn new(pipeline: &Pipeline, machine: TargetMachine) -> Result<Compiler, Unsupported> {
        let (pipeline, slots) = match suspension_points::lower(pipeline) {
            Some((lowered, slots)) => (lowered, slots),
            None => (pipeline.clone(), RequestSlots::default()),
        };
        let plan = SuspensionPlan::of(&pipeline, slots);
        let layout = layout_of(&pipeline, EntryPoint::Whole, &plan)?;
        let zeros = vec![0u64; layout.zeros / 8].into_boxed_slice();
        let isa = isa_for(machine, OptLevel::Speed)
            .map_err(|what| Unsupported { span: pipeline.ingress.span, message: what })?;
        let parsed_bytes = parser_graph::longest(&pipeline) as usize;
        let (interface, exit_sites) = (Interface::of(&pipeline), RefCell::default());
        Ok(Compiler { interface, plan, zeros, parsed_bytes, isa, machine, exit_sites, pipeline })
    }

    /// Generates all functions of the pipeline. `text`, if given, receives the generic function's text; its flag
    /// requests the long forms, too.
    pub(crate) fn functions(&self, text: Option<(bool, &mut Text)>) -> Result<Functions<Generated>, Unsupported> {
        let generic = || Mode::Generic;
        let keep = text.as_ref().is_some_and(|(keep, _)| *keep);
        let mut whole = self.generate(EntryPoint::Whole, &generic, keep)?;
        if let Some((_, text)) = text {
            *text = std::mem::take(&mut whole.text);
        }
        let slots = &self.plan.slots;
        let further =
            |wanted: bool, entry: EntryPoint| wanted.then(|| self.generate(entry, &generic, false)).transpose();
        // A key prefetcher is optional: if it cannot be generated, there is none.
        let key_prefetcher = key_prefetch::slice(&self.pipeline).and_then(|(slice, tables)| {
            let (plan, entry) = (SuspensionPlan::default(), EntryPoint::KeyPrefetch);
            Some((self.generate_from(&slice, &plan, entry, &|| Mode::Generic, false).ok()?, tables))
        });
        Ok(Functions {
            whole,
            reentry: further(slots.resubmit.is_some() || slots.recirculate.is_some(), EntryPoint::Reentry)?,
            parse: further(slots.clone_ingress.is_some(), EntryPoint::Parse)?,
            egress: further(slots.any(), EntryPoint::Egress)?,
            key_prefetcher,
        })
    }

    /// The compiled pipeline, without its text.
    pub(crate) fn finish(self, functions: Functions<Code>) -> CompiledPipeline {
        let Functions { whole, reentry, parse, egress, key_prefetcher } = functions;
        let slots = &self.plan.slots;
        let suspension = egress.map(|egress| Suspension {
            reentry,
            parse,
            egress,
            clone_ingress: slots.clone_ingress,
            clone_egress: slots.clone_egress,
            resubmit: slots.resubmit,
            recirculate: slots.recirculate,
            truncate: slots.truncate,
            replicate: slots.replicate,
            whole_original: self.plan.parser_writes,
            record: self.plan.record.clone(),
            lists: self.pipeline.field_lists.clone(),
        });
        CompiledPipeline {
            code: whole,
            suspension,
            key_prefetcher: key_prefetcher.map(|(code, tables)| KeyPrefetcher { code, tables }),
            parsed_bytes: self.parsed_bytes,
            _zeros: self.zeros,
            interface: self.interface,
            clif: None,
            disassembly: None,
            compile_time: Duration::ZERO,
        }
    }

    /// Makes code executable.
    pub(crate) fn link(&self, code: Relocatable) -> Result<Code, Unsupported> {
        code.link(self.zeros.as_ptr() as u64)
            .map_err(|message| Unsupported { span: self.pipeline.ingress.span, message })
    }

    /// Generates one function of the pipeline.
    pub(crate) fn generate<'a>(
        &'a self,
        entry: EntryPoint,
        mode: &dyn Fn() -> Mode<'a>,
        keep_text: bool,
    ) -> Result<Generated, Unsupported> {
        self.generate_from(&self.pipeline, &self.plan, entry, mode, keep_text)
    }

    /// Generates one function of another pipeline, which calls no externs that this one does not. The stack grows as
    /// needed, because programs may be deeply nested.
    fn generate_from<'a>(
        &'a self,
        pipeline: &'a Pipeline,
        plan: &'a SuspensionPlan,
        entry: EntryPoint,
        mode: &dyn Fn() -> Mode<'a>,
        keep_text: bool,
    ) -> Result<Generated, Unsupported> {
        stack::with_room(|| {
            let (function, output) = self.emit(pipeline, plan, entry, mode)?;
            self.optimize_and_compile(function, output, pipeline, keep_text)
        })
    }

    /// Emits a function. Emission is repeated until the table of headers has exactly the members that the code uses.
    fn emit<'a>(
        &'a self,
        pipeline: &'a Pipeline,
        plan: &'a SuspensionPlan,
        entry: EntryPoint,
        mode: &dyn Fn() -> Mode<'a>,
    ) -> Result<(Function, Output), Unsupported> {
        let layout = layout_of(pipeline, entry, plan)?;
        let call_conv = self.isa.default_call_conv();
        let mut signature = Signature::new(call_conv);
        signature.params.extend([AbiParam::new(types::I64); 3]);
        signature.returns.push(AbiParam::new(types::I64));
        let mut uses = HeaderUses::default();
        loop {
            let mut function = Function::with_name_signature(UserFuncName::user(0, 0), signature.clone());
            let mut frontend = FunctionBuilderContext::new();
            let builder = FunctionBuilder::new(&mut function, &mut frontend);
            let linkage = match self.machine {
                TargetMachine::Host => Linkage::Addresses { zeros: self.zeros.as_ptr() as u64 },
                TargetMachine::Portable(_) => Linkage::Symbols,
            };
            let job = Job { entry, plan, linkage, mode: mode(), emit_tree: codegen::emit };
            let (builder, output) = Emitter::run(builder, pipeline, &layout, &self.interface, job, call_conv, &uses)?;
            builder.finalize(self.isa.frontend_config());
            match output.missing {
                Some(missing) => uses = missing,
                None => return Ok((function, output)),
            }
        }
    }

    /// Runs the passes and Cranelift. Traces have passes of their own, before and after Cranelift's optimiser.
    fn optimize_and_compile(
        &self,
        mut function: Function,
        output: Output,
        pipeline: &Pipeline,
        keep_text: bool,
    ) -> Result<Generated, Unsupported> {
        let unsupported = |what: String| Unsupported { span: pipeline.ingress.span, message: what };
        let failed = |e: CodegenError| unsupported(format!("the code generator failed: {e:?}"));
        debug_assert_eq!(disagreement(&function), None);
        dead_code::run(&mut function);
        let clif = keep_text.then(|| function.display().to_string());
        if let Some(shape) = &output.shape {
            let has = |pass| !shape.without.contains(&pass);
            let mut context = Context::for_function(function);
            context.optimize(&*self.isa, &mut ControlPlane::default()).map_err(failed)?;
            dead_code::run(&mut context.func);
            if let Some(exit) = shape.exit {
                let places = Places { spans: &output.places, sources: &pipeline.sources };
                let sites = &mut self.exit_sites.borrow_mut();
                if has(TracePass::Tree(Pass::GuardHoisting)) {
                    guard_hoisting::run(&mut context.func, exit, shape, places, sites);
                }
                if has(TracePass::EntryGuardCoalescing) {
                    entry_guards::run(&mut context.func, exit, &shape.flags);
                }
                exit_counters::run(&mut context.func, exit, shape, places, sites);
            }
            let split = (shape.splittable && has(TracePass::BatchSplitting))
                .then(|| batch_splitting::split(&context.func, shape))
                .flatten();
            function = split.unwrap_or(context.func);
            if has(TracePass::RedundantLoads) {
                redundant_loads::run(&mut function);
            }
            let mut context = Context::for_function(function);
            context.optimize(&*self.isa, &mut ControlPlane::default()).map_err(failed)?;
            function = context.func;
            if has(TracePass::Reloading) {
                reloading::run(&mut function);
            }
            if has(TracePass::ExtendingLoads) {
                extending_loads::run(&mut function);
            }
            dead_code::run(&mut function);
        }
        debug_assert_eq!(disagreement(&function), None);
        let mut context = Context::for_function(function);
        context.set_disasm(keep_text);
        // The optimiser would undo the last passes over traces.
        let without = output.shape.is_some().then(|| isa_for(self.machine, OptLevel::None));
        let without = without.transpose().map_err(unsupported)?;
        let isa = without.as_ref().unwrap_or(&self.isa);
        context.compile(&**isa, &mut ControlPlane::default()).map_err(|e| failed(e.inner))?;
        let Some(compiled) = context.compiled_code() else {
            return Err(unsupported("the code generator returned no code".into()));
        };
        let code = Relocatable::new(&context.func, compiled).map_err(unsupported)?;
        let disassembly = compiled.vcode.clone();
        let lines = compiled.buffer.get_srclocs_sorted().iter();
        let lines = lines.filter_map(|l| Some((l.start..l.end, *output.places.get(l.loc.bits() as usize)?))).collect();
        let text = Text { clif, disassembly };
        Ok(Generated { code, lines, text, points: output.points })
    }
}
