//! One packet in the words of BMv2's log.

use std::collections::HashMap;
use std::fmt::Write as _;

use hopwright_dataplane::VirtualDataPlane;
use hopwright_interp::{Decision, Event, Observer, Stage, Value};
use hopwright_ir::{ActionCall, Key, MatchValue, Pipeline, Span, TableEntry, TableId};
use num_bigint::BigUint;

use super::short;
use super::switch_options::LogLevel;

/// v1model's drop port.
const DROP_PORT: u32 = 511;
/// The width of the column of keys' names, at least.
const NAME_COLUMN: usize = 20;
/// The width of the column of match kinds.
const KIND_COLUMN: usize = 10;

/// An entry as tables find it.
type EntryKey = (TableId, Vec<MatchValue>, i32);

/// Numbers of entries, which BMv2 calls handles: in each table from 0, in the order in which entries were added as far as that is known.
#[derive(Default)]
pub(super) struct Handles {
    known: HashMap<EntryKey, usize>,
    next: HashMap<TableId, usize>,
}

impl Handles {
    fn of(&mut self, vdp: &VirtualDataPlane, table: TableId, entry: &TableEntry) -> usize {
        let key = |entry: &TableEntry| (table, entry.matches.clone(), entry.priority);
        if let Some(handle) = self.known.get(&key(entry)) {
            return *handle;
        }
        // The entry itself may have been deleted since the packet met it.
        for entry in vdp.control()[table].entries().iter().chain([entry]) {
            let next = self.next.entry(table).or_default();
            self.known.entry(key(entry)).or_insert_with(|| std::mem::replace(next, *next + 1));
        }
        self.known.get(&key(entry)).copied().unwrap_or_default()
    }
}

/// Collects the lines of a packet.
pub(super) struct PacketLog<'a> {
    vdp: &'a VirtualDataPlane,
    handles: &'a mut Handles,
    /// Its number and the time.
    packet: u64,
    time: String,
    level: LogLevel,
    lines: String,
    stage: Option<Stage>,
    state: String,
    parsed: usize,
    /// The statement of the last line, which may consist of several assignments.
    statement: Span,
}

impl<'a> PacketLog<'a> {
    /// `packet` is its number and the time in microseconds since 1970.
    pub(super) fn new(
        vdp: &'a VirtualDataPlane,
        handles: &'a mut Handles,
        packet: (u64, u64),
        level: LogLevel,
    ) -> PacketLog<'a> {
        let (packet, time_us) = packet;
        PacketLog {
            vdp,
            handles,
            packet,
            time: clock(time_us),
            level,
            lines: String::new(),
            stage: None,
            state: String::new(),
            parsed: 0,
            statement: Span::none(),
        }
    }

    /// The lines.
    pub(super) fn take(mut self) -> String {
        self.leave();
        self.lines
    }

    /// Begins the packet.
    pub(super) fn received(&mut self, port: u32, bytes: &[u8], dump: usize) {
        if dump > 0 {
            let data = hex_bytes(&bytes[..bytes.len().min(dump)]);
            self.plain(LogLevel::Info, &format!("Received packet of length {} on port {port}: {data}", bytes.len()));
        }
        self.line(LogLevel::Debug, &format!("Processing packet received on port {port}"));
    }

    /// Logs the bytes of a packet that was sent.
    pub(super) fn sent(&mut self, port: u16, bytes: &[u8], dump: usize) {
        let data = hex_bytes(&bytes[..bytes.len().min(dump)]);
        self.plain(LogLevel::Info, &format!("Sending packet of length {} on port {port}: {data}", bytes.len()));
    }

    /// Logs that the program ran into a fault.
    pub(super) fn fault(&mut self, message: &str) {
        self.line(LogLevel::Error, message);
    }

    fn plain(&mut self, level: LogLevel, text: &str) {
        if level < self.level {
            return;
        }
        let letter = match level {
            LogLevel::Trace => 'T',
            LogLevel::Debug => 'D',
            LogLevel::Info => 'I',
            LogLevel::Warn => 'W',
            LogLevel::Error | LogLevel::Off => 'E',
        };
        // Strings do not fail to be written to.
        let _ = writeln!(self.lines, "[{}] [bmv2] [{letter}] [thread {}] {text}", self.time, std::process::id());
    }

    fn line(&mut self, level: LogLevel, text: &str) {
        if level >= self.level {
            self.plain(level, &format!("[{}.0] [cxt 0] {text}", self.packet));
        }
    }

    /// A line that begins with the place in the program.
    fn line_at(&mut self, span: Span, text: &str) {
        let place = match span == Span::none() {
            true => String::new(),
            false => {
                let at = self.pipeline().sources.location(span);
                format!("{}({}) ", at.file, at.line)
            }
        };
        self.line(LogLevel::Trace, &format!("{place}{text}"));
    }

    fn pipeline(&self) -> &'a Pipeline {
        self.vdp.pipeline()
    }

    /// Ends the stage that the packet is in.
    fn leave(&mut self) {
        match self.stage.take() {
            Some(Stage::Parser) => self.line(LogLevel::Debug, "Parser 'parser': end"),
            Some(Stage::Ingress) => self.line(LogLevel::Debug, "Pipeline 'ingress': end"),
            Some(Stage::Egress) => self.line(LogLevel::Debug, "Pipeline 'egress': end"),
            Some(Stage::Deparser) => self.line(LogLevel::Debug, "Deparser 'deparser': end"),
            Some(Stage::VerifyChecksum | Stage::ComputeChecksum) | None => {}
        }
    }

    fn enter(&mut self, stage: Stage) {
        self.leave();
        self.stage = Some(stage);
        match stage {
            Stage::Parser => {
                self.parsed = 0;
                self.line(LogLevel::Debug, "Parser 'parser': start");
            }
            Stage::Ingress => self.line(LogLevel::Debug, "Pipeline 'ingress': start"),
            Stage::Egress => self.line(LogLevel::Debug, "Pipeline 'egress': start"),
            Stage::Deparser => self.line(LogLevel::Debug, "Deparser 'deparser': start"),
            Stage::VerifyChecksum | Stage::ComputeChecksum => {}
        }
    }

    /// The text of a statement, once.
    fn primitive(&mut self, span: Span) {
        if span == Span::none() || std::mem::replace(&mut self.statement, span) == span {
            return;
        }
        let text =
            self.pipeline().sources.snippet(span).lines().next().unwrap_or_default().trim().trim_end_matches(';');
        self.line_at(span, &format!("Primitive {text}"));
    }

    fn table(&mut self, table: TableId, keys: &[Value], entry: Option<&TableEntry>, action: &ActionCall) {
        let model = &self.pipeline()[table];
        self.line(LogLevel::Trace, &format!("Applying table '{}'", model.name));
        let column = model.keys.iter().map(|key| key.name.len()).max().unwrap_or(0).max(NAME_COLUMN);
        let values: String = model
            .keys
            .iter()
            .zip(keys)
            .map(|(key, value)| format!("* {:column$}: {}\n", key.name, hex(value)))
            .collect();
        self.line(LogLevel::Debug, &format!("Looking up key:\n{values}"));
        let call = self.action(action);
        match entry {
            Some(entry) => {
                let handle = self.handles.of(self.vdp, table, entry);
                self.line(LogLevel::Debug, &format!("Table '{}': hit with handle {handle}", model.name));
                let keys = model.keys.iter().zip(&entry.matches);
                let keys: String =
                    keys.map(|(key, set)| format!("* {:column$}: {}\n", key.name, matched(key, set))).collect();
                let priority = match entry.priority {
                    0 => String::new(),
                    priority => format!("Priority: {priority}\n"),
                };
                self.line(
                    LogLevel::Debug,
                    &format!("Dumping entry {handle}\nMatch key:\n{keys}{priority}Action entry: {call}\n"),
                );
            }
            None => self.line(LogLevel::Debug, &format!("Table '{}': miss", model.name)),
        }
        self.line(LogLevel::Debug, &format!("Action entry is {call}"));
        let run = &self.pipeline()[action.action];
        self.line_at(run.span, &format!("Action {}", run.name));
    }

    /// `MyIngress.ipv4_forward - 80000000200,2,`
    fn action(&self, call: &ActionCall) -> String {
        let arguments: String = call.args.iter().map(|value| format!("{value:x},")).collect();
        format!("{} - {arguments}", self.pipeline()[call.action].name)
    }

    fn decision(&mut self, decision: Decision) {
        self.leave();
        let text = match decision {
            Decision::Unicast { port } => format!("Egress port is {port}"),
            Decision::DropIngress => {
                self.line(LogLevel::Debug, &format!("Egress port is {DROP_PORT}"));
                "Dropping packet at the end of ingress".into()
            }
            Decision::DropEgress => "Dropping packet at the end of egress".into(),
            Decision::Multicast { group, copies } => {
                self.line(LogLevel::Debug, "Multicast requested for packet");
                format!("number of packets replicated : {copies} for MGID: {group}")
            }
            Decision::Resubmit => "Resubmitting packet".into(),
            Decision::Recirculate => "Recirculating packet".into(),
            Decision::CloneIngress { .. } => "Cloning packet at ingress".into(),
            Decision::CloneEgress { .. } => "Cloning packet at egress".into(),
            Decision::Sent { port, length } => format!("Transmitting packet of size {length} out of port {port}"),
            Decision::Digest => return self.line(LogLevel::Trace, "Learning sample for a digest"),
            Decision::NoHeadroom { length } => {
                let text = format!("Dropping packet: {length} bytes are more than packet buffers have room for");
                return self.line(LogLevel::Warn, &text);
            }
        };
        self.line(LogLevel::Debug, &text);
    }
}

impl Observer for PacketLog<'_> {
    fn event(&mut self, event: &Event<'_>) {
        let pipeline = self.pipeline();
        match event {
            Event::Enter(stage) => self.enter(*stage),
            Event::State { state, .. } => {
                self.state.clone_from(&pipeline.parser.states[state.0 as usize].name);
                let text = format!("Parser 'parser' entering state '{}'", self.state);
                self.line(LogLevel::Debug, &text);
            }
            Event::Extract { header, offset, length, .. } => {
                self.parsed = self.parsed.max(offset + length);
                let text = format!("Extracting header '{}'", short(&pipeline[*header].name));
                self.line(LogLevel::Debug, &text);
            }
            Event::Transition { keys, .. } => {
                let key: String = keys.iter().map(hex).collect();
                let text = match keys.is_empty() {
                    true => format!("Parser state '{}' has no switch, going to default next state", self.state),
                    false => format!("Parser state '{}': key is {key}", self.state),
                };
                self.line(LogLevel::Debug, &text);
                self.line(LogLevel::Trace, &format!("Bytes parsed: {}", self.parsed));
            }
            Event::ParserError { error, .. } => {
                let name = pipeline.errors.get(*error as usize).map_or("?", String::as_str);
                self.line(LogLevel::Error, &format!("Exception while parsing: {name}"));
            }
            Event::Assign { span, .. } | Event::Validity { span, .. } => self.primitive(*span),
            Event::Table { table, keys, entry, action, .. } => self.table(*table, keys, *entry, action),
            Event::Extern { call, .. } => match self.stage {
                Some(Stage::ComputeChecksum) => self.line(LogLevel::Debug, "Updating checksum 'cksum'"),
                _ => self.primitive(call.span),
            },
            Event::Log { message, .. } => self.plain(LogLevel::Info, message),
            Event::Exit { .. } => self.line(LogLevel::Debug, "Packet is marked for exit, interrupting pipeline"),
            Event::Emit { header, .. } => {
                let text = format!("Deparsing header '{}'", short(&pipeline[*header].name));
                self.line(LogLevel::Debug, &text);
            }
            Event::Decision(decision) => self.decision(*decision),
        }
    }
}

/// The time of day in UTC: `15:52:31.127`.
fn clock(time_us: u64) -> String {
    let (ms, s) = (time_us / 1_000 % 1_000, time_us / 1_000_000);
    format!("{:02}:{:02}:{:02}.{ms:03}", s / 3_600 % 24, s / 60 % 60, s % 60)
}

/// A value in as many digits as its bytes have.
fn hex(value: &Value) -> String {
    padded(&value.bits, value.width)
}

fn padded(bits: &BigUint, width: u32) -> String {
    let digits = 2 * width.div_ceil(8) as usize;
    format!("{bits:0digits$x}")
}

fn hex_bytes(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What an entry says of a key: `LPM       0a000101/32`.
fn matched(key: &Key, set: &MatchValue) -> String {
    let number = |bits: &BigUint| padded(bits, key.expr.ty.width());
    let (kind, text) = match set {
        MatchValue::Exact(value) => ("EXACT", number(value)),
        MatchValue::Lpm { value, prefix_len } => ("LPM", format!("{}/{prefix_len}", number(value))),
        MatchValue::Ternary { value, mask } => ("TERNARY", format!("{} &&& {}", number(value), number(mask))),
        MatchValue::Range { lo, hi } => ("RANGE", format!("{} -> {}", number(lo), number(hi))),
        MatchValue::Optional(Some(value)) => ("OPTIONAL", number(value)),
        MatchValue::Optional(None) => ("OPTIONAL", "*".into()),
    };
    format!("{kind:KIND_COLUMN$}{text}")
}
