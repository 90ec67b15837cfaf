//! The path profiler and the code of traces, as the data plane uses them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use hopwright_abi::{ExternAttributes, RunBatch};
use hopwright_ir::{Pipeline, Span};

use crate::code::memory::Code;
use crate::code::target::TargetMachine;
use crate::compiled::GeneratedCode;
use crate::compiler::{Compiler, Generated};
use crate::emit::point::{PointId, PointPlace};
use crate::emit::suspension_plan::EntryPoint;
use crate::trace::exit_counters::ExitSites;
use crate::trace::mode::{Mode, Path, PointNumbers, TraceBuild};
use crate::trace::passes::TracePass;
use crate::trace::tree;
use crate::trace_ir::TraceIr;
use crate::trace_ir::build::{build, build_completed};
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
    compile_time: Duration,
    left_out: Option<Unsupported>,
}

impl TraceCode {
    /// Compiles traces for paths of a pipeline. `attributes` describe the pipeline's extern objects. The passes
    /// in `without` are left out. Places with side exits are added to `sites`; the code counts by their numbers.
    ///
    /// Paths with effects that cannot be deferred to their end, or with operations for which traces have no code, get none. Returns
    /// `None` if no path is left.
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
        let compilation = Compilation { compiler: &compiler, pipeline, compiled, attributes, without };
        let code = compilation.run(paths.to_vec());
        *sites = compiler.exit_sites.take();
        Ok(code?.map(|code| TraceCode { _zeros: compiler.zeros, ..code }))
    }

    /// Why some paths that end have no code, if there are any.
    pub fn left_out(&self) -> Option<&Unsupported> {
        self.left_out.as_ref()
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
        self.code.lines()
    }

    /// The function's code and lines.
    pub fn function(&self) -> GeneratedCode<'_> {
        GeneratedCode(&self.code)
    }

    /// Time that compiling took.
    pub fn compile_time(&self) -> Duration {
        self.compile_time
    }
}

/// What traces are compiled from.
struct Compilation<'a> {
    compiler: &'a Compiler,
    pipeline: &'a Pipeline,
    compiled: &'a CompiledPipeline,
    attributes: &'a [ExternAttributes],
    without: &'a [TracePass],
}

impl Compilation<'_> {
    /// The code, without the zeros.
    fn run(&self, mut paths: Vec<Path>) -> Result<Option<TraceCode>, Unsupported> {
        let begin = Instant::now();
        let mut left_out = None;
        let Generated { code, lines, .. } = loop {
            let (tree, completed) = build_completed(self.pipeline, &paths, self.attributes);
            if completed.is_empty() {
                return Ok(None);
            }
            if completed.len() < paths.len() {
                paths = completed.into_iter().map(|path| paths[path].clone()).collect();
                continue;
            }
            match self.generate(tree) {
                Ok(generated) => break generated,
                Err(error) => {
                    let before = paths.len();
                    paths.retain(|path| {
                        self.generate(build(self.pipeline, std::slice::from_ref(path), self.attributes)).is_ok()
                    });
                    if paths.len() == before {
                        return Err(error);
                    }
                    left_out = Some(error);
                }
            }
        };
        let code = self.compiler.link(code)?.with_lines(lines);
        let compile_time = begin.elapsed();
        Ok(Some(TraceCode { code, _zeros: Box::default(), paths, compile_time, left_out }))
    }

    /// Runs the passes over a tree and generates its function.
    fn generate(&self, mut tree: TraceIr) -> Result<Generated, Unsupported> {
        for pass in Pass::ALL {
            if !self.without.contains(&TracePass::Tree(pass)) {
                pass.run(&mut tree);
            }
        }
        let mode = || Mode::Trace(TraceBuild::new(&tree, self.compiled.run(), self.attributes, self.without));
        self.compiler.generate(EntryPoint::Whole, &mode, false)
    }
}
