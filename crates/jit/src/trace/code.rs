//! The path profiler and the code of traces, as the data plane uses them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use hopwright_abi::{ExternAttributes, RunBatch};
use hopwright_ir::{Pipeline, Span};

use crate::code::memory::Code;
use crate::code::target::TargetMachine;
use crate::compiler::{Compiler, Generated, Text};
use crate::emit::schedule::PointId;
use crate::emit::suspension::EntryPoint;
use crate::trace::exit_counters::ExitSites;
use crate::trace::passes::{TracePass, TracePasses};
use crate::trace::tree::{self, PointPlace};
use crate::trace::{Mode, Path, PointNumbers, TraceBuild};
use crate::trace_ir::build::build_completed;
use crate::trace_ir::passes::Pass;
use crate::{CompiledPipeline, Unsupported};

/// A variant of the generic function that records each packet's path in [`hopwright_abi::Runtime::profile`].
pub struct PathProfiler {
    code: Code,
    _zeros: Box<[u64]>,
    points: Vec<(PointId, PointPlace)>,
}

impl PathProfiler {
    /// Compiles the profiler of a pipeline.
    ///
    /// # Errors
    /// As [`crate::compile`].
    pub fn new(pipeline: &Pipeline) -> Result<PathProfiler, Unsupported> {
        let compiler = Compiler::new(pipeline, TargetMachine::Host)?;
        let mode = || Mode::Profile(PointNumbers::default());
        let generated = compiler.generate(EntryPoint::Whole, &mode, false)?;
        let code = compiler.link(generated.code)?;
        let points = generated.points;
        Ok(PathProfiler { code, _zeros: compiler.zeros, points })
    }

    /// The function. Its contract is that of [`CompiledPipeline::run`]; the runtime must also have a `profile`.
    pub fn run(&self) -> RunBatch {
        self.code.entry()
    }

    /// The path with the point numbers that the function recorded.
    pub fn path(&self, numbers: &[u32]) -> Path {
        Path(numbers.iter().map_while(|n| self.points.get(*n as usize)).map(|(point, _)| point.clone()).collect())
    }
}

impl PathProfiler {
    /// The tree of paths and the number of packets on each of them, as text: where packets go, with P4 lines, and where those
    /// leave whose path is not among the `learned` ones.
    pub fn tree(&self, pipeline: &Pipeline, profile: &[(Path, usize)], learned: &[Path]) -> String {
        let places: HashMap<&PointId, &PointPlace> = self.points.iter().map(|(point, place)| (point, place)).collect();
        let profiled = |(path, packets): &'_ (Path, usize)| tree::Profiled {
            places: path.0.iter().map(|point| places[point]).collect(),
            learned: learned.contains(path),
            path: path.clone(),
            packets: *packets,
        };
        tree::text(pipeline, &profile.iter().map(profiled).collect::<Vec<_>>())
    }
}

/// A function specialised to some paths. [`CompiledPipeline::run`] processes packets that leave these paths.
///
/// Owns the code: [`TraceCode::run`] must not be called after it or the [`CompiledPipeline`] is dropped.
pub struct TraceCode {
    code: Code,
    _zeros: Box<[u64]>,
    paths: Vec<Path>,
    lines: Vec<(Range<u32>, Span)>,
    compile_time: Duration,
    missing: Option<String>,
}

impl TraceCode {
    /// Compiles traces for paths of a pipeline. `attributes` describe the pipeline's extern objects. The passes
    /// in `without` are left out. Places with side exits are added to `sites`; the code counts by their numbers.
    ///
    /// Paths with effects that cannot be deferred to their end get no code. Returns `None` if no path is left.
    ///
    /// # Errors
    /// As [`crate::compile`].
    pub fn new(
        pipeline: &Pipeline,
        compiled: &CompiledPipeline,
        paths: &[Path],
        attributes: &[ExternAttributes],
        without: &[TracePass],
        sites: &mut ExitSites,
    ) -> Result<Option<TraceCode>, Unsupported> {
        let compiler = Compiler::new(pipeline, TargetMachine::Host)?;
        compiler.exit_sites.swap(&RefCell::new(std::mem::take(sites)));
        let code = TraceCode::compile(&compiler, pipeline, compiled, paths, attributes, TracePasses::without(without));
        *sites = compiler.exit_sites.take();
        Ok(code?.map(|code| TraceCode { _zeros: compiler.zeros, ..code }))
    }

    /// The code, without the zeros.
    fn compile(
        compiler: &Compiler,
        pipeline: &Pipeline,
        compiled: &CompiledPipeline,
        paths: &[Path],
        attributes: &[ExternAttributes],
        passes: TracePasses,
    ) -> Result<Option<TraceCode>, Unsupported> {
        let begin = Instant::now();
        let generate = |paths: &[Path]| {
            let mode = || Mode::Trace(TraceBuild::new(paths, compiled.run(), attributes, passes));
            compiler.generate(EntryPoint::Whole, &mode, false)
        };
        let mut paths = paths.to_vec();
        let missing = match TraceCode::from_tree(compiler, pipeline, compiled, &paths, attributes, passes) {
            Ok(code) => return Ok(Some(code)),
            Err(missing) => Some(missing),
        };
        let Generated { code, text: Text { lines, .. }, .. } = loop {
            let generated = generate(&paths)?;
            if generated.completed.is_empty() {
                return Ok(None);
            }
            if generated.completed.len() == paths.len() {
                break generated;
            }
            paths = generated.completed.iter().map(|path| paths[*path].clone()).collect();
        };
        let code = compiler.link(code)?;
        let compile_time = begin.elapsed();
        Ok(Some(TraceCode { code, _zeros: Box::default(), paths, lines, compile_time, missing }))
    }

    /// Compiles traces as [`TraceCode::new`] does, but only from the trace IR.
    ///
    /// # Errors
    /// What the tree of the paths has for which no code can be generated.
    pub fn from_trace_ir(
        pipeline: &Pipeline,
        compiled: &CompiledPipeline,
        paths: &[Path],
        attributes: &[ExternAttributes],
        sites: &mut ExitSites,
    ) -> Result<TraceCode, String> {
        let compiler = Compiler::new(pipeline, TargetMachine::Host).map_err(|e| e.message)?;
        compiler.exit_sites.swap(&RefCell::new(std::mem::take(sites)));
        let passes = TracePasses::without(&[]);
        let code = TraceCode::from_tree(&compiler, pipeline, compiled, paths, attributes, passes);
        *sites = compiler.exit_sites.take();
        code.map(|code| TraceCode { _zeros: compiler.zeros, ..code })
    }

    /// Code that is generated from the trace IR, without the zeros.
    ///
    /// # Errors
    /// Why there is none.
    fn from_tree(
        compiler: &Compiler,
        pipeline: &Pipeline,
        compiled: &CompiledPipeline,
        paths: &[Path],
        attributes: &[ExternAttributes],
        passes: TracePasses,
    ) -> Result<TraceCode, String> {
        let begin = Instant::now();
        if !passes.has(TracePass::TraceIr) {
            return Err("the pass trace-ir is left out".into());
        }
        let mut paths = paths.to_vec();
        let mut tree = loop {
            let (tree, completed) = build_completed(pipeline, &paths, attributes);
            if completed.is_empty() {
                return Err("no path that ends".into());
            }
            if completed.len() == paths.len() {
                break tree;
            }
            paths = completed.into_iter().map(|path| paths[path].clone()).collect();
        };
        for pass in Pass::ALL {
            let named = match pass {
                Pass::GuardElimination => TracePass::GuardElimination,
                Pass::GuardHoisting => TracePass::GuardHoisting,
                Pass::GuardSinking => TracePass::BatchSplitting,
                Pass::GuardCoalescing => TracePass::PacketGuardCoalescing,
            };
            if passes.has(named) {
                pass.run(&mut tree);
            }
        }
        let mode = || {
            let completed = (0..paths.len()).collect();
            let build = TraceBuild::new(&paths, compiled.run(), attributes, passes);
            Mode::Trace(TraceBuild { tree: Some(&tree), completed, ..build })
        };
        let generated = compiler.generate(EntryPoint::Whole, &mode, false).map_err(|e| e.message)?;
        let Generated { code, text: Text { lines, .. }, .. } = generated;
        let code = compiler.link(code).map_err(|e| e.message)?;
        let compile_time = begin.elapsed();
        Ok(TraceCode { code, _zeros: Box::default(), paths, lines, compile_time, missing: None })
    }

    /// Why the code was not generated from the trace IR, if it was not.
    pub fn missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// The paths that have code.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The function. Its contract is that of [`CompiledPipeline::run`]; the runtime must also have `side_exits`.
    pub fn run(&self) -> RunBatch {
        self.code.entry()
    }

    /// The machine code.
    pub fn code(&self) -> &[u8] {
        self.code.bytes()
    }

    /// As [`CompiledPipeline::lines`].
    pub fn lines(&self) -> &[(Range<u32>, Span)] {
        &self.lines
    }

    /// Time that compiling took.
    pub fn compile_time(&self) -> Duration {
        self.compile_time
    }
}
