//! A virtual data plane: a running program and its state.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hopwright_interp::{Interp, Observer};
use hopwright_ir::{ExternInstance, ExternKind, Pipeline, StmtKind, Table, custom_crc, walk};

use crate::build_error::BuildError;
use crate::control::Control;
use crate::executor::live_store::LiveStore;
use crate::executor::machine::{Code, MachineProgram};
use crate::executor::room;
use crate::externs::ExternTypes;
use crate::footprint;
use crate::jit::{self, Ahead, CompiledPipeline};
use crate::offload::{Device, DeviceFault, Offload};
use crate::state::digest::Digests;
use crate::state::{ExternObject, models_of};
use crate::trace::shared::SharedTraces;
use crate::trace::traces::Traces;

/// Which executor runs the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EngineKind {
    /// Machine code. It needs the feature `jit`, and is the default with it.
    #[cfg_attr(feature = "jit", default)]
    Jit,
    /// The reference interpreter: slow, complete.
    #[cfg_attr(not(feature = "jit"), default)]
    Interp,
    /// A device: see [`VirtualDataPlane::offloaded`].
    Offload,
}

/// A program and its state: what workers run. The control plane uses its [`Control`].
pub struct VirtualDataPlane {
    // Dropped first: it points into the tables and externs.
    engine: Engine,
    pipeline: Arc<Pipeline>,
    control: Arc<Control>,
    traces: Traces,
    observer: OnceLock<SharedObserver>,
    /// Bytes of the program and the code that were there first, which stay beside other code; 0 for these themselves.
    first: u64,
}

/// An observer of packets that workers interpret.
pub type SharedObserver = Arc<Mutex<dyn Observer + Send>>;

pub(crate) enum Engine {
    Jit(Box<MachineProgram>),
    Interp(Box<Interpreter>),
    Offload(Arc<Device>),
}

impl Engine {
    /// The traces of all data planes with this one's machine code.
    fn shared_traces(&self) -> Arc<SharedTraces> {
        match self {
            Engine::Jit(program) => program.code().traces.clone(),
            Engine::Interp(_) | Engine::Offload(_) => Arc::default(),
        }
    }
}

/// The interpreter. It is the one writer of counters, meters and registers: interpreters of the same objects, with the code before a
/// change and behind it, take turns.
pub(crate) struct Interpreter {
    turn: Arc<Mutex<()>>,
    interp: Mutex<Interp<LiveStore>>,
}

impl Interpreter {
    /// Its turn, which lasts as long as both are there.
    pub(crate) fn lock(&self) -> (MutexGuard<'_, ()>, MutexGuard<'_, Interp<LiveStore>>) {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        (turn, self.interp.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl VirtualDataPlane {
    /// A program as it starts, with the extern types of `crypto.p4`.
    pub fn new(pipeline: Arc<Pipeline>, engine: EngineKind) -> Result<Arc<VirtualDataPlane>, BuildError> {
        VirtualDataPlane::with_externs(pipeline, engine, &ExternTypes::standard())
    }

    /// Machine code; or the interpreter, for programs that the code generator does not support and in builds without it, and why.
    ///
    /// # Errors
    /// The program runs in neither.
    pub fn automatic(
        pipeline: Arc<Pipeline>,
        types: &ExternTypes,
    ) -> Result<(Arc<VirtualDataPlane>, Option<BuildError>), BuildError> {
        match VirtualDataPlane::with_externs(pipeline.clone(), EngineKind::Jit, types) {
            Ok(vdp) => Ok((vdp, None)),
            Err(why) => VirtualDataPlane::with_externs(pipeline, EngineKind::Interp, types).map(|vdp| (vdp, Some(why))),
        }
    }

    /// The same as [`VirtualDataPlane::new`] with machine code that was made ahead, if it suits this machine. Otherwise the program is compiled.
    ///
    /// # Safety
    /// That of `hopwright_jit::load`: the code was made from this very pipeline by this version of the compiler.
    pub unsafe fn with_code(pipeline: Arc<Pipeline>, code: Ahead) -> Result<Arc<VirtualDataPlane>, BuildError> {
        // SAFETY: the caller's promise.
        let load = |pipeline: &Pipeline| unsafe { jit::load(pipeline, code) };
        VirtualDataPlane::build(pipeline, EngineKind::Jit, &ExternTypes::standard(), load_code(load))
    }

    /// A program as it starts.
    pub fn with_externs(
        pipeline: Arc<Pipeline>,
        engine: EngineKind,
        types: &ExternTypes,
    ) -> Result<Arc<VirtualDataPlane>, BuildError> {
        VirtualDataPlane::build(with_parameters(pipeline), engine, types, load_code(jit::compile))
    }

    /// A program that a device runs, which has it as it starts.
    pub fn offloaded(pipeline: Arc<Pipeline>, offload: Box<dyn Offload>) -> Result<Arc<VirtualDataPlane>, BuildError> {
        let types = ExternTypes::standard();
        let control = Control::new(&pipeline, &types, || Ok(Digests::interpreted()))?;
        let device = Device::new(offload);
        control.attach(&device).map_err(|fault| BuildError::Program(fault.to_string()))?;
        let traces = Traces::new(control.domain(), Arc::default());
        let (engine, control, observer) = (Engine::Offload(device), Arc::new(control), OnceLock::new());
        Ok(Arc::new(VirtualDataPlane { engine, pipeline, control, traces, observer, first: 0 }))
    }

    fn build(
        pipeline: Arc<Pipeline>,
        engine: EngineKind,
        types: &ExternTypes,
        code: impl FnOnce(&Pipeline) -> Result<Arc<Code>, BuildError>,
    ) -> Result<Arc<VirtualDataPlane>, BuildError> {
        if let Some(header) = pipeline.headers.iter().find(|h| !h.fixed_bits.is_multiple_of(8)) {
            let (name, bits) = (&header.name, header.fixed_bits);
            let message = format!("header `{name}` has {bits} bits: packets consist of whole bytes");
            return Err(BuildError::Program(message));
        }
        let (engine, control) = match engine {
            EngineKind::Offload => return Err(BuildError::Program("no device is given".into())),
            EngineKind::Interp => {
                let control = Control::new(&pipeline, types, || Ok(Digests::interpreted()))?;
                let control = Arc::new(control);
                (interpreter(&pipeline, &control, Arc::default())?, control)
            }
            EngineKind::Jit => {
                let mut compiled = None;
                let control = Control::new(&pipeline, types, || {
                    let it = code(&pipeline)?;
                    Ok(Digests::compiled(&compiled.insert(it).compiled.interface().digests))
                })?;
                let control = Arc::new(control);
                let Some(compiled) = compiled else { unreachable!("the digests are those of the compiled program") };
                (Engine::Jit(Box::new(MachineProgram::new(compiled, &control)?)), control)
            }
        };
        let traces = Traces::new(control.domain(), engine.shared_traces());
        Ok(Arc::new(VirtualDataPlane { engine, pipeline, control, traces, observer: OnceLock::new(), first: 0 }))
    }

    /// Other code for the same tables and objects: that of the program after a change that is in its statements only. Both may run at the
    /// same time. An observer does not see packets that run the other code.
    ///
    /// # Errors
    /// The engine does not support the program, its tables and objects are others, or a device runs it.
    pub fn recoded(&self, pipeline: Arc<Pipeline>) -> Result<Arc<VirtualDataPlane>, BuildError> {
        let pipeline = with_parameters(pipeline);
        let control = self.control.clone();
        let others = || BuildError::Program("the program has other tables or objects than before".into());
        if state_of(&pipeline) != state_of(control.pipeline()) {
            return Err(others());
        }
        let engine = match &self.engine {
            Engine::Offload(_) => return Err(BuildError::Program("the code of a device stays as it is".into())),
            Engine::Interp(before) => interpreter(&pipeline, &control, before.turn.clone())?,
            Engine::Jit(_) => {
                let code = load_code(jit::compile)(&pipeline)?;
                if !control.digests().is_of(&code.compiled.interface().digests) {
                    return Err(others());
                }
                Engine::Jit(Box::new(MachineProgram::new(code, &control)?))
            }
        };
        let first = match self.first {
            0 => footprint::of_program(&self.pipeline).saturating_add(self.code_bytes()),
            first => first,
        };
        let traces = Traces::new(control.domain(), engine.shared_traces());
        Ok(Arc::new(VirtualDataPlane { engine, pipeline, control, traces, observer: OnceLock::new(), first }))
    }

    /// Waits until all changes so far are made where the program runs. A device may take longer than the call that changes something.
    ///
    /// # Errors
    /// The device does not answer.
    pub fn settle(&self) -> Result<(), DeviceFault> {
        match &self.engine {
            Engine::Jit(_) | Engine::Interp(_) => Ok(()),
            Engine::Offload(device) => device.lock().settle(),
        }
    }

    /// The control interface to the program's state.
    pub fn control(&self) -> &Arc<Control> {
        &self.control
    }

    /// The traces compiled for the paths that packets take most.
    pub fn traces(&self) -> &Traces {
        &self.traces
    }

    /// The program.
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    /// The bytes that must be free in front of packets so that the program can add all that it may; `u32::MAX` if there is no
    /// bound. In frames with less headroom, packets that grow further are dropped.
    pub fn headroom(&self) -> u32 {
        room::headroom(self.pipeline())
    }

    /// The bytes of memory that the program takes with its declared state and its machine code, for this many workers. Equal programs
    /// share their code ([`Executable`]); each counts all of it. Other code ([`VirtualDataPlane::recoded`]) comes beside that of the program
    /// as it was first.
    pub fn needs(&self, workers: usize) -> u64 {
        let records = match &self.engine {
            Engine::Jit(program) => program.worker_bytes(),
            Engine::Interp(_) | Engine::Offload(_) => 0,
        };
        let workers = workers as u64;
        let more = records.saturating_sub(footprint::RECORDS).saturating_mul(workers).saturating_add(self.first);
        // A worker's counters before a change of the code are free when those behind it are there.
        let counting = workers + u64::from(self.first > 0);
        footprint::of(self.pipeline(), counting).saturating_add(self.code_bytes()).saturating_add(more)
    }

    fn code_bytes(&self) -> u64 {
        match &self.engine {
            Engine::Jit(program) => program.code_bytes(),
            Engine::Interp(_) | Engine::Offload(_) => 0,
        }
    }

    /// What equal programs have in common: the pipeline and its machine code.
    pub fn executable(&self) -> Executable {
        let code = match &self.engine {
            Engine::Jit(program) => Some(program.code().clone()),
            Engine::Interp(_) | Engine::Offload(_) => None,
        };
        Executable { pipeline: self.pipeline().clone(), kind: self.engine_kind(), code }
    }

    /// Which executor runs it.
    pub fn engine_kind(&self) -> EngineKind {
        match self.engine {
            Engine::Jit(_) => EngineKind::Jit,
            Engine::Interp(_) => EngineKind::Interp,
            Engine::Offload(_) => EngineKind::Offload,
        }
    }

    /// Whether several workers may run the program at the same time. What packets read and write in turn, registers,
    /// meters and counters of table entries, they would corrupt: then the error names it. Registers of at most 64 bits
    /// that the program says it shares (`@concurrent`) are no obstacle.
    pub fn shareable(&self) -> Result<(), BuildError> {
        if self.engine_kind() != EngineKind::Jit {
            return Ok(());
        }
        let taken_in_turn = |(object, state): &(&ExternInstance, &ExternObject)| match (&object.kind, state) {
            (ExternKind::Register { ty, .. }, _) => !object.concurrent || ty.width() > 64,
            (ExternKind::DirectCounter { .. } | ExternKind::Meter { .. } | ExternKind::DirectMeter { .. }, _) => true,
            (_, ExternObject::Named(named)) => named.taken_in_turn(),
            _ => false,
        };
        match self.pipeline().externs.iter().zip(self.control.externs()).find(taken_in_turn) {
            None => Ok(()),
            Some((object, _)) => Err(BuildError::Program(format!(
                "`{}` is state that packets of several workers would corrupt: run this program with one worker",
                object.name
            ))),
        }
    }

    /// Reports every step of the packets that workers run from now on to an observer. Its lock is taken for each batch. Returns whether it
    /// is the first observer and the engine is the interpreter; otherwise nothing is reported to it.
    pub fn observe(&self, observer: SharedObserver) -> bool {
        self.engine_kind() == EngineKind::Interp && self.observer.set(observer).is_ok()
    }

    pub(crate) fn observer(&self) -> Option<&SharedObserver> {
        self.observer.get()
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }
}

/// A program that is ready to run, without state: its pipeline, and its machine code if it has some. Data planes that are made of it share
/// these.
#[derive(Clone)]
pub struct Executable {
    pipeline: Arc<Pipeline>,
    kind: EngineKind,
    code: Option<Arc<Code>>,
}

impl Executable {
    /// A data plane that runs it, in its initial state. The extern types are those of the data plane that it is of.
    ///
    /// # Errors
    /// The program cannot run, which it could before: the system has no random numbers, for example.
    pub fn data_plane(&self, types: &ExternTypes) -> Result<Arc<VirtualDataPlane>, BuildError> {
        let Executable { pipeline, kind, code } = self.clone();
        let code = |_: &Pipeline| code.ok_or_else(|| BuildError::Program("there is no machine code".into()));
        VirtualDataPlane::build(pipeline, kind, types, code)
    }
}

impl fmt::Debug for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executable")
            .field("program", &self.pipeline.name)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// Machine code of its own for a data plane.
fn load_code(
    load: impl FnOnce(&Pipeline) -> Result<CompiledPipeline, BuildError>,
) -> impl FnOnce(&Pipeline) -> Result<Arc<Code>, BuildError> {
    move |pipeline| load(pipeline).map(Code::new)
}

impl fmt::Debug for VirtualDataPlane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualDataPlane")
            .field("program", &self.pipeline().name)
            .field("engine", &self.engine_kind())
            .finish_non_exhaustive()
    }
}

fn interpreter(pipeline: &Arc<Pipeline>, control: &Arc<Control>, turn: Arc<Mutex<()>>) -> Result<Engine, BuildError> {
    let store = LiveStore::of_engine(control);
    let models = models_of(pipeline, control.externs(), control.domain(), false);
    let interp = Interp::with_store(pipeline.clone(), &models, store);
    let interp = interp.map_err(|e| BuildError::Program(e.to_string()))?;
    Ok(Engine::Interp(Box::new(Interpreter { turn, interp: Mutex::new(interp) })))
}

/// What tables and objects are like, and how code refers to them.
fn state_of(pipeline: &Pipeline) -> Vec<String> {
    let tables = pipeline.tables.iter().map(|table| {
        let keys: Vec<_> = table.keys.iter().map(|key| (&key.name, key.kind, key.expr.ty)).collect();
        let Table { name, actions, size, implementation, direct_counter, direct_meter, entry_cells, .. } = table;
        let objects = (implementation, direct_counter, direct_meter, entry_cells, table.idle_timeout);
        format!("{name} {keys:?} {actions:?} {size} {objects:?}")
    });
    let actions = pipeline.actions.iter().map(|action| format!("{} {:?}", action.name, action.params));
    let objects = pipeline.externs.iter().map(|object| format!("{} {:?}", object.name, object.kind));
    let sets = pipeline.value_sets.iter().map(|set| format!("{} {:?} {}", set.name, set.types, set.size));
    tables.chain(actions).chain(objects).chain(sets).collect()
}

/// The program with registers for what control planes may change of its hashes.
fn with_parameters(pipeline: Arc<Pipeline>) -> Arc<Pipeline> {
    let mut is_custom = false;
    walk::all_stmts(&pipeline, &mut |stmt| {
        is_custom |= matches!(&stmt.kind, StmtKind::Extern(call) if custom_crc::is_custom(&call.function));
    });
    if !is_custom {
        return pipeline;
    }
    let mut pipeline = (*pipeline).clone();
    custom_crc::expand(&mut pipeline);
    Arc::new(pipeline)
}
