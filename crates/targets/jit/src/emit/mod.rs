//! The emitter: generates a function from a pipeline, statement by statement. This module contains the function's
//! frame: arguments, the loop over packets, the order of v1model's blocks, and access to slots.

mod bounds;
pub(crate) mod bytes;
pub(crate) mod control_plane;
pub(crate) mod deparse;
pub(crate) mod edges;
pub(crate) mod emit_sites;
mod ends;
pub(crate) mod expr;
pub(crate) mod externs;
pub(crate) mod flow_state;
mod frame;
pub(crate) mod header_table;
pub(crate) mod headers;
pub(crate) mod indirect;
mod known;
pub(crate) mod layout;
pub(crate) mod lookup;
pub(crate) mod memory;
pub(crate) mod parser;
pub(crate) mod point;
pub(crate) mod schedule;
mod slots;
pub(crate) mod stmt;
pub(crate) mod suspension;
pub(crate) mod suspension_plan;
pub(crate) mod table;
pub(crate) mod varbit;
pub(crate) mod wide;

use std::collections::{BTreeMap, HashMap};
use std::mem::offset_of;
use std::rc::Rc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, ExternalName, GlobalValueData, InstBuilder, SigRef, Signature, SourceLoc, StackSlot,
    StackSlotData, StackSlotKind, UserExternalName, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, Variable};
use hopwright_interp::QueueDepths;
use hopwright_ir::analysis::parser_graph;
use hopwright_ir::{Pipeline, Span, Stmt, Type};

use crate::Unsupported;
use crate::code::libcalls::Libcall;
use crate::emit::edges::Schedule;
use crate::emit::emit_sites::Deparse;
use crate::emit::flow_state::{FRAME_WORDS, FlowState, Root, TestSites};
use crate::emit::header_table::{HeaderTable, HeaderUses};
use crate::emit::layout::{Layout, Place, limbs};
use crate::emit::memory::MemoryKinds;
use crate::emit::point::{Context, Point, PointId, PointPlace, stage};
use crate::emit::suspension_plan::{EntryPoint, SuspensionPlan};
use crate::trace::batch_splitting::TraceShape;
use crate::trace::mode::{BatchInvariant, Mode, TraceBuild};
use crate::trace_ir::TraceIr;
use hopwright_abi::{self as abi, Interface, Pause, PauseLayout};

type Result<T> = std::result::Result<T, Unsupported>;

/// The maximum number of parser states and loop iterations per packet.
pub(crate) const MAX_STEPS: u64 = 65_536;

/// Signatures of indirect calls.
#[derive(Clone, Copy)]
pub(crate) struct Signatures {
    /// Two words in, one out: lookups, value sets, `prepare`.
    pub lookup: SigRef,
    pub method: SigRef,
    /// [`abi::BlockMethod::run`].
    pub block: SigRef,
}

impl Signatures {
    fn import(b: &mut FunctionBuilder, call_conv: CallConv) -> Signatures {
        let mut signature = |params: &[cranelift_codegen::ir::Type], results: usize| {
            let mut s = Signature::new(call_conv);
            s.params.extend(params.iter().map(|&t| AbiParam::new(t)));
            s.returns.extend(vec![AbiParam::new(types::I64); results]);
            b.import_signature(s)
        };
        Signatures {
            lookup: signature(&[types::I64, types::I64], 1),
            method: signature(&[types::I64, types::I32, types::I64], 0),
            block: signature(&[types::I64; 3], 2),
        }
    }
}

/// What to emit, and how.
pub(crate) struct Job<'a> {
    pub entry: EntryPoint,
    pub plan: &'a SuspensionPlan,
    pub linkage: Linkage,
    pub mode: Mode<'a>,
    /// Emits the processing of one packet by the tree of a trace.
    pub emit_tree: fn(&mut Emitter<'_>, &TraceIr) -> Result<()>,
}

/// How code refers to symbols outside of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Linkage {
    /// By address, in this process. `zeros` is the address of the zeros that absent headers read.
    Addresses { zeros: u64 },
    /// By number, to be relocated: 0 is the block of zeros, functions count from 1 in the order of [`Libcall::ALL`].
    Symbols,
}

/// The result of emission besides the function.
pub(crate) struct Output {
    /// Source places, by the number that instructions carry.
    pub places: Vec<Span>,
    /// The uses of the header table, if they differ from those assumed: emission must be repeated.
    pub missing: Option<HeaderUses>,
    /// The points of a path profiler, by number.
    pub points: Vec<(PointId, PointPlace)>,
    /// The structure of a trace function.
    pub shape: Option<TraceShape>,
}

/// The state of emission.
pub(crate) struct Emitter<'a> {
    pub b: FunctionBuilder<'a>,
    pub p: &'a Pipeline,
    pub layout: &'a Layout,
    pub interface: &'a Interface,
    pub entry: EntryPoint,
    pub plan: &'a SuspensionPlan,
    pub mode: Mode<'a>,
    pub flags: MemoryKinds,
    pub signatures: Signatures,
    call_conv: CallConv,
    linkage: Linkage,
    pub runtime: Value,
    pub tables: Value,
    pub externs: Value,
    pub functions: Value,
    /// The frame's words: [`FRAME_WORDS`], then roots ([`crate::emit::flow_state`]) and batch invariants.
    pub frame: StackSlot,
    /// Number of words in the frame behind the loop's.
    pub roots: u32,
    /// Batch invariants and their offsets in the frame.
    pub invariants: BTreeMap<BatchInvariant, i32>,
    /// Upper bounds of action parameters.
    pub param_bounds: HashMap<Value, u64>,
    /// Variables of slots: one per limb of a scalar; address and length of a varbit.
    slots: Vec<Vec<Variable>>,
    pub headers: HeaderTable,
    steps: Option<Variable>,
    pub cursor: Variable,
    /// Start of the in-place suffix ([`hopwright_ir::analysis::in_place_suffix`]), once one of its headers is extracted.
    pub suffix_start: Variable,
    /// The egress port.
    port: Variable,
    /// The data-flow state.
    pub flow: FlowState,
    /// The context of the statement being emitted.
    pub context: Rc<Context<'a>>,
    /// The context of the parser's statements.
    pub in_parser: Rc<Context<'a>>,
    pub schedule: Schedule<'a>,
    pub tests: TestSites<'a>,
    /// The parser's states in order of emission.
    pub state_order: Vec<usize>,
    /// For each state, the maximum number of bytes that extracts of fixed size take from there on.
    pub reach: Vec<u32>,
    /// Variables of entries for action bodies, by point of the table's application.
    pub entries: HashMap<PointId, Variable>,
    /// Variables of direct meters' colours, by point of the table's application.
    pub colors: HashMap<PointId, Variable>,
    /// The block where a packet ends.
    pub next_packet: Block,
    drop: Block,
    fault: Block,
    /// The block that returns because the packet paused.
    stop: Block,
    pub no_headroom: Block,
    pub deparse: Deparse,
    key_slot: StackSlot,
    spare_slot: StackSlot,
    /// Source places of the code; instructions refer to them by index.
    pub places: Vec<Span>,
}

impl<'a> Emitter<'a> {
    /// Emits a whole function.
    pub(crate) fn run(
        mut b: FunctionBuilder<'a>,
        p: &'a Pipeline,
        layout: &'a Layout,
        interface: &'a Interface,
        Job { entry, plan, linkage, mode, emit_tree }: Job<'a>,
        call_conv: CallConv,
        wanted: &HeaderUses,
    ) -> Result<(FunctionBuilder<'a>, Output)> {
        let flags = MemoryKinds::new(b.func);
        let signatures = Signatures::import(&mut b, call_conv);
        let (key_slot, spare_slot) = (words(&mut b, 1), words(&mut b, 1));

        let prologue = b.create_block();
        b.append_block_params_for_function_params(prologue);
        b.switch_to_block(prologue);
        b.seal_block(prologue);
        let [runtime, first, count] = [0, 1, 2].map(|i| b.block_params(prologue)[i]);
        let mut pointer = |at: usize| b.ins().load(types::I64, flags.runtime, runtime, at as i32);
        let tables = pointer(offset_of!(abi::Runtime, tables));
        let externs = pointer(offset_of!(abi::Runtime, externs));
        let functions = pointer(offset_of!(abi::Runtime, functions));

        let slots = variables(&mut b, p, layout);
        let headers = HeaderTable::new(&mut b, layout, wanted);
        let steps = layout.counts_steps.then(|| b.declare_var(types::I64));
        let [cursor, suffix_start, port] = std::array::from_fn(|_| b.declare_var(types::I64));
        let state_order = parser_graph::order(p);
        let in_parser = Rc::new(Context { parsed: Some(Point::stage(stage::PARSED)), ..Context::default() });
        let [next_packet, drop, fault, no_headroom, stop, top, out] = std::array::from_fn(|_| b.create_block());
        b.set_cold_block(fault);
        b.set_cold_block(no_headroom);
        let frame = frame(&mut b, &flags, first, count);
        b.ins().brif(count, top, &[], out, &[]);
        b.switch_to_block(top);

        let mut g = Emitter {
            b,
            p,
            layout,
            interface,
            entry,
            plan,
            mode,
            flags,
            signatures,
            call_conv,
            linkage,
            runtime,
            tables,
            externs,
            functions,
            frame,
            roots: 1,
            invariants: BTreeMap::new(),
            param_bounds: HashMap::new(),
            slots,
            headers,
            steps,
            cursor,
            suffix_start,
            port,
            flow: FlowState::none(p.headers.len()),
            context: Rc::default(),
            in_parser,
            schedule: Schedule::default(),
            tests: TestSites::of(p, &state_order, &layout.suffix.headers, &suspension_plan::test_sites(&plan.slots)),
            reach: parser_graph::reach(p, &state_order),
            state_order,
            entries: HashMap::new(),
            colors: HashMap::new(),
            next_packet,
            drop,
            fault,
            stop,
            no_headroom,
            deparse: Deparse::default(),
            key_slot,
            spare_slot,
            places: Vec::new(),
        };
        match g.mode {
            Mode::Trace(TraceBuild { tree, .. }) => emit_tree(&mut g, tree)?,
            _ => g.packet_body()?,
        }
        g.verdicts();
        g.emit_side_exit(next_packet, call_conv);
        Ok(g.end_function(top, out))
    }

    /// Ends the function behind the code of a packet: `top` is where each packet begins, `out` where the batch ends.
    fn end_function(mut self, top: Block, out: Block) -> (FunctionBuilder<'a>, Output) {
        self.clear_location();
        self.enter(self.next_packet);
        let (descriptor, beyond) = (self.descriptor(), self.load_batch_word(8));
        let following = self.b.ins().iadd_imm_s(descriptor, size_of::<abi::Packet>() as i64);
        self.store_frame(0, following);
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, following, beyond);
        self.b.ins().brif(more, top, &[], out, &[]);
        if !self.plan.slots.any() {
            self.b.seal_block(self.stop);
        } else {
            self.enter(self.stop);
            let descriptor = self.descriptor();
            let following = self.b.ins().iadd_imm_s(descriptor, size_of::<abi::Packet>() as i64);
            self.b.ins().return_(&[following]);
        }
        let shape = self.shape(top, out);
        let Emitter { mut b, places, headers, mode, .. } = self;
        b.seal_block(top);
        b.seal_block(out);
        b.switch_to_block(out);
        let none = b.ins().iconst(types::I64, 0);
        b.ins().return_(&[none]);
        let points = match mode {
            Mode::Profile(points) => points.list(),
            _ => Vec::new(),
        };
        (b, Output { places, missing: headers.missing(), points, shape })
    }

    /// The structure of a trace function.
    fn shape(&self, top: Block, out: Block) -> Option<TraceShape> {
        let Mode::Trace(build) = &self.mode else { return None };
        Some(TraceShape {
            top,
            next_packet: self.next_packet,
            out,
            exit: build.exit,
            all: self.generic_function(),
            frame: self.frame,
            runtime_word: self.invariants.get(&BatchInvariant::Runtime).copied(),
            batch_words: self.invariants.values().copied().collect(),
            arguments: [self.key_slot, self.spare_slot],
            block: self.signatures.block,
            methods: build.methods.clone(),
            pauses: self.plan.slots.any(),
            splittable: !build.methods.is_empty() && !build.order_dependent,
            flags: self.flags,
            without: build.without.to_vec(),
        })
    }

    /// Sets the source place of the following instructions.
    pub(crate) fn at(&mut self, span: Span) {
        if self.places.last() != Some(&span) {
            self.places.push(span);
        }
        self.b.set_srcloc(SourceLoc::new(self.places.len() as u32 - 1));
    }

    /// The following instructions have no source place.
    fn clear_location(&mut self) {
        self.b.set_srcloc(SourceLoc::default());
    }

    /// Emits the processing of one packet, from descriptor to verdict.
    fn packet_body(&mut self) -> Result<()> {
        self.clear()?;
        match self.entry {
            EntryPoint::Whole | EntryPoint::KeyPrefetch => {}
            EntryPoint::Reentry | EntryPoint::Parse => self.restore_kept(),
            EntryPoint::Egress => {
                self.restore();
                self.resume();
                return self.generate_rest();
            }
        }
        if self.saves_original() && self.plan.parser_writes {
            self.save_original(true);
        }
        let start = self.state_point(self.p.parser.start.0 as usize);
        self.generate(&start)
    }

    /// Emits the code between the program's blocks.
    pub(crate) fn stage(&mut self, stage: u32) -> Result<()> {
        self.clear_location();
        let p = self.p;
        let standard = &p.standard;
        // The first point of a control. `exit` jumps to its end.
        let control = |body: &'a [Stmt], number: u32, end: u32| {
            let end = Point::stage(end);
            let context = Rc::new(Context { exit: Some(end.clone()), ..Context::default() });
            Point::stmts(vec![number], body, &end, &context)
        };
        match stage {
            stage::PARSED if self.entry == EntryPoint::KeyPrefetch => {
                self.go(&control(&p.ingress.body, stage::INGRESS, stage::ADMITTED));
            }
            stage::PARSED => {
                let error = self.read(standard.parser_error)[0];
                self.describe(offset_of!(abi::Packet, parser_error), error);
                self.flow.checked = None;
                if self.saves_original() && !self.plan.parser_writes {
                    self.save_original(false);
                }
                self.go(&control(&p.verify_checksum.body, stage::VERIFY, stage::VERIFIED));
            }
            stage::VERIFIED if self.entry == EntryPoint::Parse => self.pause(Pause::Parsed),
            stage::ADMITTED if self.entry == EntryPoint::KeyPrefetch => {
                let next = self.next_packet;
                self.b.ins().jump(next, &[]);
            }
            stage::VERIFIED => self.go(&control(&p.ingress.body, stage::INGRESS, stage::ADMITTED)),
            stage::ADMITTED => {
                if self.ingress_requests() {
                    return Ok(());
                }
                if self.dropped_without_port(standard.egress_spec) {
                    return Ok(());
                }
                let port = self.read(standard.egress_spec)[0];
                self.set_port(port);
                self.enter_egress();
                self.go(&control(&p.egress.body, stage::EGRESS, stage::LEAVING));
            }
            stage::ENTERING => {
                self.enter_egress();
                self.go(&control(&p.egress.body, stage::EGRESS, stage::LEAVING));
            }
            stage::LEAVING | stage::LEFT => {
                if stage == stage::LEAVING && self.egress_requests() {
                    return Ok(());
                }
                if self.dropped_without_port(standard.egress_spec) {
                    return Ok(());
                }
                self.go(&control(&p.compute_checksum.body, stage::COMPUTE, stage::COMPUTED));
            }
            stage::COMPUTED => {
                self.begin_deparse()?;
                self.go(&control(&p.deparser.body, stage::DEPARSER, stage::ASSEMBLE));
            }
            stage::ASSEMBLE => {
                self.at(p.deparser.span);
                self.assemble();
            }
            stage::REBUILD => {
                self.at(p.deparser.span);
                self.rebuild();
            }
            stage::DROPPED => self.jump_to_drop(),
            stage::INGRESS_PAUSE => self.pause(Pause::Ingress),
            stage::EGRESS_PAUSE => self.pause(Pause::Egress),
            _ => self.pause(Pause::Sent),
        }
        Ok(())
    }

    /// Emits the beginning of egress.
    fn enter_egress(&mut self) {
        let standard = &self.p.standard;
        let port = self.b.use_var(self.port);
        self.preset(standard.egress_port, port);
        let now = self.now();
        self.preset(standard.enq_timestamp, now);
        self.preset(standard.egress_global_timestamp, now);
        self.write_zero(standard.egress_spec);
        let priority = self.read(standard.priority)[0];
        if self.layout.sets_priority {
            self.describe(offset_of!(abi::Packet, priority), priority);
        }
        // Dead-code elimination removes this if the program does not read it.
        let depth = self.queue_depth(port, priority);
        self.preset(standard.enq_qdepth, depth);
        self.preset(standard.deq_qdepth, depth);
        let wait = self.queue_wait(port, priority);
        self.preset(standard.deq_timedelta, wait);
    }

    /// The depth of a port's queue for a priority.
    pub(crate) fn queue_depth(&mut self, port: Value, priority: Value) -> Value {
        self.of_queue(port, priority, 0)
    }

    /// How long packets wait there.
    pub(crate) fn queue_wait(&mut self, port: Value, priority: Value) -> Value {
        self.of_queue(port, priority, QueueDepths::WAITS)
    }

    fn of_queue(&mut self, port: Value, priority: Value, at: usize) -> Value {
        let depths = offset_of!(abi::Runtime, depths) as i32;
        let depths = self.b.ins().load(types::I64, self.flags.runtime, self.runtime, depths);
        let number = self.b.ins().band_imm_u(port, 511);
        let queues = self.b.ins().ishl_imm_u(number, 3);
        let queue = self.b.ins().bor(queues, priority);
        let offset = self.b.ins().ishl_imm_u(queue, 2);
        let place = self.b.ins().iadd(depths, offset);
        self.b.ins().uload32(self.flags.runtime, place, at as i32)
    }

    /// Sets the egress port and writes it to the packet's descriptor immediately. Cranelift computes values as late as
    /// possible, and the fields that the port was computed from may have moved by the time the packet is deparsed.
    pub(crate) fn set_port(&mut self, port: Value) {
        self.b.def_var(self.port, port);
        self.describe(offset_of!(abi::Packet, egress_port), port);
    }

    /// The egress port in the packet's descriptor.
    pub(crate) fn described_port(&mut self) -> Value {
        self.described(offset_of!(abi::Packet, egress_port))
    }

    /// The remaining steps; the maximum if steps are not counted.
    pub(crate) fn steps_left(&mut self) -> Value {
        match self.steps {
            Some(steps) => self.b.use_var(steps),
            None => self.c64(MAX_STEPS),
        }
    }

    /// Sets the remaining steps.
    pub(crate) fn set_steps(&mut self, left: Value) {
        if let Some(steps) = self.steps {
            self.b.def_var(steps, left);
        }
    }

    /// Whether the original bytes must be saved before they change.
    fn saves_original(&self) -> bool {
        self.plan.slots.save_original() && matches!(self.entry, EntryPoint::Whole | EntryPoint::Reentry)
    }

    /// Continues in a block that gets no further predecessors.
    pub(crate) fn enter(&mut self, block: Block) {
        self.b.seal_block(block);
        self.b.switch_to_block(block);
    }

    /// Notes in the packet's descriptor that parsing ended without error.
    pub(crate) fn no_parser_error(&mut self) {
        let none = self.c64(0);
        self.describe(offset_of!(abi::Packet, parser_error), none);
    }

    /// Counts a parser state or a loop iteration.
    pub(crate) fn step(&mut self) {
        let Some(steps) = self.steps else { return };
        let left = self.b.use_var(steps);
        self.fault_unless(left);
        let left = self.b.ins().iadd_imm_s(left, -1);
        self.b.def_var(steps, left);
    }

    pub(crate) fn now(&mut self) -> Value {
        self.b.ins().load(types::I64, self.flags.runtime, self.runtime, offset_of!(abi::Runtime, now_us) as i32)
    }

    pub(crate) fn packet_length(&mut self) -> Value {
        if self.entry == EntryPoint::Egress {
            return self.record_word(PauseLayout::LENGTH);
        }
        let start = self.described(offset_of!(abi::Packet, start));
        let end = self.described(offset_of!(abi::Packet, end));
        let [start, end] = [start, end].map(|v| self.b.ins().ireduce(types::I32, v));
        let length = self.b.ins().isub(end, start);
        self.b.ins().uextend(types::I64, length)
    }

    /// Makes the packet's first byte a root, and returns its address.
    pub(crate) fn begin_at_start(&mut self) -> Value {
        let start = self.described(offset_of!(abi::Packet, start));
        let buffer = self.packet_buffer();
        let start = self.b.ins().iadd(buffer, start);
        self.store_frame((FRAME_WORDS * 8) as i32, start);
        self.keep_root(Root::START);
        start
    }

    /// The address of a symbol, to be relocated.
    fn symbol(&mut self, number: u32) -> Value {
        let name = UserExternalName { namespace: 0, index: number };
        let name = ExternalName::user(self.b.func.declare_imported_user_function(name));
        let data = GlobalValueData::Symbol { name, offset: 0.into(), colocated: false, tls: false };
        let global = self.b.create_global_value(data);
        self.b.ins().symbol_value(types::I64, global)
    }

    /// Calls a library function with 64-bit arguments.
    pub(crate) fn libcall(&mut self, libcall: Libcall, args: &[Value], result: bool) -> Option<Value> {
        let mut s = Signature::new(self.call_conv);
        s.params.extend(args.iter().map(|_| AbiParam::new(types::I64)));
        if result {
            s.returns.push(AbiParam::new(types::I64));
        }
        let signature = self.b.import_signature(s);
        let callee = match self.linkage {
            Linkage::Addresses { .. } => self.c64(libcall.address()),
            Linkage::Symbols => self.symbol(1 + Libcall::ALL.iter().position(|s| *s == libcall).unwrap_or(0) as u32),
        };
        self.before_call();
        let call = self.b.ins().call_indirect(signature, callee, args);
        self.b.inst_results(call).first().copied()
    }
}

fn words(b: &mut FunctionBuilder, count: u32) -> StackSlot {
    b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 8 * count, 3))
}

/// The frame of the loop over a batch, see [`FRAME_WORDS`].
fn frame(b: &mut FunctionBuilder, flags: &MemoryKinds, first: Value, count: Value) -> StackSlot {
    let bytes = b.ins().imul_imm_u(count, size_of::<abi::Packet>() as i64);
    let beyond = b.ins().iadd(first, bytes);
    let frame = words(b, FRAME_WORDS + 1);
    let address = b.ins().stack_addr(types::I64, frame, 0);
    b.ins().store(flags.packet_word(0), first, address, 0);
    b.ins().store(flags.batch_words, beyond, address, 8);
    frame
}

fn variables(b: &mut FunctionBuilder, p: &Pipeline, layout: &Layout) -> Vec<Vec<Variable>> {
    let mut out = Vec::with_capacity(p.slots.len());
    for (slot, place) in p.slots.iter().zip(&layout.places) {
        let count = match place {
            Place::HeaderVarbit(_) | Place::Valid(_) | Place::Field(..) => 0,
            Place::Varbit => 2,
            _ => limbs(slot.ty.width()),
        };
        let ty = if slot.ty == Type::Bool { types::I8 } else { types::I64 };
        out.push((0..count).map(|_| b.declare_var(ty)).collect());
    }
    out
}
