//! Commands, options and their help. Commands that control a running switch are in `control`.

pub(crate) mod control;
pub(crate) mod rina;
pub(crate) mod switch;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use hopwright_dataplane::TracePass;
use hopwright_dataplane::trace_ir::passes::Pass;
use hopwright_ports::PortChoice;
use hopwright_scion::control::layout::Layout;

use crate::commands::interfaces::{Interface, PortQueues};

/// A P4-16 compiler and data plane.
///
/// Compiles standard P4-16 programs for v1model and runs them: on packets of a test file, of a capture, on real
/// interfaces, or as a SCION border router.
#[derive(Debug, Parser)]
#[command(name = "hopwright", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Set HOPWRIGHT_LOG=debug (or =hopwright_scion=trace, …) for more on standard error.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check a program and report all errors and warnings
    ///
    /// Exit status: 0 the program is fine, 1 it has errors, 2 the command line is wrong.
    Check(CheckArgs),
    /// Explain an error or warning by its code, with examples
    Explain(ExplainArgs),
    /// Print the pipeline IR of a program
    ///
    /// The IR is what every executor runs: flat state, a parser graph, structured controls, tables and actions.
    Ir(IrArgs),
    /// Print the machine code of a program, each part below the line it was generated for
    Asm(AsmArgs),
    /// Print the traces that are learned from packets, and why packets leave them
    ///
    /// Runs the packets of a capture or a packet test, learns traces of their most frequent paths as a switch does, and prints these
    /// in the trace IR with the number of packets at each block and side exit. Then come the reasons for side exits, the most frequent first.
    /// docs/trace-ir.md explains how to read it. Fails if fewer than half of the packets would complete a trace.
    TraceIr(TraceIrArgs),
    /// Draw the parser and the controls of a program
    ///
    /// Writes one file per graph, PROGRAM.parser.svg, PROGRAM.ingress.svg, …, as SVG and Graphviz dot.
    Graph(GraphArgs),
    /// Estimate whether a program fits the match-action stages of a switch chip
    ///
    /// Prints what would lie in which stage, the longest chain of dependencies with its P4 lines, and what does not fit and why. It is
    /// an estimate: the chip's compiler may need fewer stages or more. Exit status: 0 it fits, 1 it does not, or the program has
    /// errors.
    Fit(FitArgs),
    /// Compile a program to SystemVerilog for an FPGA
    ///
    /// Writes the top module, the pipeline, its engines and the register map (JSON), and prints the number of stages. What
    /// the hardware cannot do is an error at its place in the program. `--engine rtl` of stf, replay, run and scion simulates the
    /// design; that needs verilator, g++ and make. `--report` tells which lines of the program cost most, and what makes latency and
    /// clock what they are.
    Rtl(RtlArgs),
    /// Print the P4Info of a program
    ///
    /// What a P4Runtime controller needs: tables, actions and extern objects with the ids that p4c assigns.
    P4info(P4infoArgs),
    /// Pack a program and its include files into one file, to push to a switch by P4Runtime
    ///
    /// A controller sends it as the device config, together with the P4Info. The source text of a program in one file is
    /// a valid device config, too.
    Bundle(BundleArgs),
    /// Run a packet test (STF)
    ///
    /// Installs the table entries of the test file, sends its packets, and compares the output with its expectations.
    /// Exit status: 0 passed, 1 failed.
    Stf(StfArgs),
    /// Run a program as a software switch on network interfaces
    ///
    /// Opens interfaces with AF_PACKET, which needs CAP_NET_RAW. Controllers connect by P4Runtime. Ctrl-C stops it, and it
    /// prints its counters.
    Run(RunArgs),
    /// Run a switch with several programs, each for a tenant of its own
    ///
    /// Reads switch.toml: network devices, tenants with their programs, ports, limits and P4Runtime devices, and who may control them.
    /// Tenants do not see or disturb each other. `hopwright switch sample` prints a file with every key.
    ///
    /// SIGHUP makes the switch read the file again and become what it says; tenants that stay lose no packet, and a file with errors
    /// changes nothing. SIGTERM and SIGINT end it with status 0. If it cannot run with the configuration or on the machine, it ends with
    /// status 1 and the reason on standard error. Under systemd (Type=notify) it reports when it forwards packets, and feeds the
    /// watchdog. Needs CAP_NET_RAW, and CAP_NET_ADMIN and CAP_BPF for AF_XDP.
    Switch(switch::SwitchHostArgs),
    /// Administer the tenants of a running switch: list, add and remove them, change their limits
    Tenant(switch::TenantArgs),
    /// Read and change the tables of a running switch, without a controller
    Table(control::TableArgs),
    /// Read and reset the counters of a running switch
    Counter(control::CounterArgs),
    /// Read and set the registers of a running switch
    Register(control::RegisterArgs),
    /// Read and set the meters of a running switch
    Meter(control::MeterArgs),
    /// Trace packets of a running switch: parser states, keys, entries, changes, each with its P4 line
    Trace(control::TraceArgs),
    /// Run a program on the packets of a capture
    ///
    /// With --trace, prints for each packet the parser states, table keys, entries hit and fields changed, each with
    /// its line in the P4 source.
    Replay(ReplayArgs),
    /// Run a SCION border router
    ///
    /// Reads the same router.toml, topology.json and keys as the reference `router`, and replaces it. It takes only frames
    /// to the router's own underlay addresses; the kernel keeps everything else.
    ///
    /// Needs CAP_NET_RAW and CAP_NET_ADMIN, not root. SIGTERM and SIGINT end it with status 0. If it cannot run with
    /// the configuration or on the machine, it ends with status 1 and the reason on standard error. log.console configures
    /// the log, on standard error; metrics.prometheus and api.addr are the addresses of metrics and status pages. Under
    /// systemd (Type=notify) it reports when it forwards packets, and feeds the watchdog.
    Scion(ScionArgs),
    /// Run an OpenFlow switch
    ///
    /// Speaks OpenFlow 1.0 and 1.3 with the controllers that it connects to and with those that connect to it.
    ///
    /// Opens interfaces as `run` does. Ctrl-C stops it, and it prints its counters.
    Openflow(OpenflowArgs),
    /// Run an IP router, with a network namespace as its control plane
    ///
    /// Forwards IPv4 and IPv6 between network interfaces. The namespace has an interface of the same name for each of them.
    /// Whatever configures addresses and routes there, `ip`, FRR or BIRD, configures the router. Namespace, interfaces and
    /// addresses stay when the router stops, until `ip netns delete`. Needs root. Ctrl-C stops it.
    Ip(IpArgs),
    /// Run a RINA router or host: IPC processes that enrol in DIFs, route and allocate flows
    ///
    /// Reads rina.toml: IPC processes with their DIFs, credentials and links; `hopwright rina sample config` prints a file with every
    /// key. Neighbours enrol with each other, routes follow, applications reach each other by name. PDUs to other systems are
    /// forwarded by p4/rina/interior.p4. It takes RINA's frames (EtherType 0xd1f0) from its devices; the kernel keeps everything else.
    ///
    /// SIGHUP makes it read the file again: costs, credentials, keep-alives and QoS cubes can change so. SIGTERM and SIGINT end it with
    /// status 0. If it cannot run with the configuration or on the machine, it ends with status 1 and the reason on standard error.
    /// Under systemd (Type=notify) it reports when it forwards, and feeds the watchdog. Needs CAP_NET_RAW, and CAP_NET_ADMIN and CAP_BPF
    /// for AF_XDP.
    ///
    /// echo, perf, list and show are applications: they reach the IPC processes of this machine by their socket.
    Rina(rina::RinaArgs),
    /// Hosts and routers of a network with EPIC: every packet is checked
    ///
    /// Routers are p4/epic/epic_router.p4, run by `hopwright run`. One file describes the network, with all keys: for tests.
    #[command(subcommand)]
    Epic(EpicCommand),
    /// Measure
    Bench(BenchArgs),
    /// Print a script that makes a shell complete this command
    ///
    /// For bash: hopwright completion bash > /etc/bash_completion.d/hopwright. Packages install the scripts for bash, fish and zsh.
    Completion {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write a man page for each command
    #[command(hide = true)]
    Man {
        /// The folder to write to; it is made if it is missing
        folder: PathBuf,
    },
}

/// A P4 program and how to preprocess it.
#[derive(Args, Debug, Clone)]
pub(crate) struct Source {
    /// The P4 program
    #[arg(value_name = "FILE.p4")]
    pub file: PathBuf,
    /// Add a directory to the search path of #include (core.p4, v1model.p4, crypto.p4, internet_checksum.p4 and bits.p4 are built in)
    #[arg(short = 'I', value_name = "DIR")]
    pub include: Vec<PathBuf>,
    /// Define a macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub define: Vec<String>,
    /// Undefine a macro
    #[arg(short = 'U', value_name = "NAME")]
    pub undefine: Vec<String>,
    /// Turn warnings into errors: `warnings` for all, a code (W0020), or a name as in @noWarn (unused)
    #[arg(long, value_name = "WARNING", value_delimiter = ',', value_parser = warning)]
    pub deny: Vec<String>,
    /// Suppress warnings, named as for --deny
    #[arg(long, value_name = "WARNING", value_delimiter = ',', value_parser = warning)]
    pub allow: Vec<String>,
}

/// A warning's code or name, or `warnings`.
fn warning(text: &str) -> Result<String, String> {
    if hopwright_lint::NAMES.iter().any(|(code, _)| hopwright_lint::means(text, code)) {
        return Ok(text.to_string());
    }
    let mut names: Vec<&str> = hopwright_lint::NAMES.iter().flat_map(|(_, names)| *names).copied().collect();
    names.sort_unstable();
    names.dedup();
    Err(format!("no such warning; the names are {}", names.join(", ")))
}

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub source: Source,
    /// How to print diagnostics
    #[arg(long, value_enum, default_value_t = DiagnosticFormat::Text)]
    pub format: DiagnosticFormat,
    /// Stop after this many errors, and tell how many more there are; 0: never
    #[arg(long, value_name = "N", default_value_t = crate::compile::MAX_ERRORS)]
    pub max_errors: usize,
    /// Also check that the JIT compiles the program, and print how long each step took
    #[arg(long)]
    pub jit: bool,
}

/// How diagnostics are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiagnosticFormat {
    /// For people, on standard error
    Text,
    /// A JSON array on standard output
    Json,
    /// SARIF 2.1.0 on standard output, as code review tools read it
    Sarif,
}

#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// A code such as E0300; without it, all codes
    pub code: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct IrArgs {
    #[command(flatten)]
    pub source: Source,
    /// Print the IR as lowered, before any pass
    #[arg(long)]
    pub no_passes: bool,
}

#[derive(Args, Debug)]
pub(crate) struct AsmArgs {
    #[command(flatten)]
    pub source: Source,
    /// Print the code generator's intermediate representation (Cranelift IR) instead
    #[arg(long)]
    pub clif: bool,
    /// Print the code of the traces that the packets of this capture or packet test (.stf) lead to, instead of the code for all
    /// packets
    #[arg(long, value_name = "FILE", conflicts_with = "clif")]
    pub packets: Option<PathBuf>,
    #[command(flatten)]
    pub learning: Learning,
}

/// How packets run that paths are learned from.
#[derive(Args, Debug)]
pub(crate) struct Learning {
    /// Table entries: the `add` and `setdefault` lines of an STF file
    #[arg(long, value_name = "FILE.stf")]
    pub entries: Option<PathBuf>,
    /// Port the packets of a capture arrive at
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub port: u16,
    /// Leave these passes over traces out
    #[arg(long, value_name = "PASS", value_delimiter = ',', value_parser = trace_passes())]
    pub without: Vec<TracePass>,
}

/// A layout of the router in pipes.
fn layout(name: &str) -> Result<Layout, String> {
    let known = Layout::ALL.into_iter().find(|layout| layout.name() == name);
    known.ok_or_else(|| format!("there are {}", Layout::ALL.map(Layout::name).join(", ")))
}

/// Passes of the trace IR, by name.
fn trace_ir_passes() -> impl TypedValueParser<Value = Pass> {
    PossibleValuesParser::new(Pass::ALL.map(Pass::name)).try_map(|name| Pass::by_name(&name).ok_or("no such pass"))
}

/// All passes over traces, by name.
fn trace_passes() -> impl TypedValueParser<Value = TracePass> {
    PossibleValuesParser::new(TracePass::all().map(TracePass::name))
        .try_map(|name| TracePass::by_name(&name).ok_or("no such pass"))
}

#[derive(Args, Debug)]
pub(crate) struct TraceIrArgs {
    #[command(flatten)]
    pub source: Source,
    /// Print the paths of all packets instead, as points of the program: also those without a trace
    #[arg(long)]
    pub paths: bool,
    /// Run these passes of the trace IR, in this order, before packets are counted
    #[arg(long, value_name = "PASS", value_delimiter = ',', value_parser = trace_ir_passes(), conflicts_with = "paths")]
    pub passes: Vec<Pass>,
    /// The packets: a capture, or a packet test (.stf)
    #[arg(long, value_name = "FILE")]
    pub packets: PathBuf,
    #[command(flatten)]
    pub learning: Learning,
}

#[derive(Args, Debug)]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub source: Source,
    /// Directory to write to
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub output: PathBuf,
    /// What to write
    #[arg(long, value_enum, default_value_t = GraphFormat::Both)]
    pub format: GraphFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    Svg,
    Dot,
    Both,
}

#[derive(Args, Debug)]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub source: Source,
    /// The chip: tofino or tofino2
    #[arg(long, value_name = "TARGET", default_value = "tofino2")]
    pub target: String,
    /// Only this pipe of a Tofino program with several pipelines. Without it each of them is estimated
    #[arg(long, value_name = "NUMBER")]
    pub pipe: Option<u32>,
    /// Print the estimate as JSON; of a program with several pipelines, a list of them
    #[arg(long)]
    pub json: bool,
    /// Also draw the stages, as SVG. Of a program with several pipelines, `--pipe` says which
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct RtlArgs {
    #[command(flatten)]
    pub source: Source,
    /// Chip and bus width: ecp5-85-256, ecp5-85-512 or xcup-512
    #[arg(long, value_name = "TARGET", default_value = "ecp5-85-512")]
    pub target: String,
    /// Cycles at least between two packets. The more there are, the more engines are shared: the design is smaller and takes fewer packets a
    /// second
    #[arg(long, value_name = "CYCLES", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub gap: u32,
    /// Directory to write to
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub output: PathBuf,
    /// Print the hardware IR instead, and write nothing
    #[arg(long)]
    pub ir: bool,
    /// Print what the design costs and why instead, and write nothing
    #[arg(long, value_enum, value_name = "FORMAT", require_equals = true, num_args = 0..=1, default_missing_value = "text")]
    pub report: Option<ReportFormat>,
    /// Only build the simulation that `--engine rtl` of other commands runs, and print where it is. Takes minutes for a large program
    #[arg(long, conflicts_with = "ir")]
    pub simulation: bool,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// A page with a picture of the pipeline
    Html,
}

#[derive(Args, Debug)]
pub(crate) struct P4infoArgs {
    #[command(flatten)]
    pub source: Source,
    /// Format
    #[arg(long, value_enum, default_value_t = P4infoFormat::Text)]
    pub format: P4infoFormat,
    /// File to write to, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct BundleArgs {
    #[command(flatten)]
    pub source: Source,
    /// File to write to, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum P4infoFormat {
    /// Protocol buffers' text form (.p4info.txtpb)
    Text,
    /// Protocol buffers' wire form
    Binary,
    /// Protocol buffers' JSON form
    Json,
    /// bf-rt.json, which BfRuntime's controllers read: not P4Info, but the tables that they find
    BfRt,
}

/// The engine of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TestEngine {
    /// The P4-16 specification, read literally: slow, without the compiler's lowering
    Reference,
    /// The reference interpreter: slow, defines what the compiled pipeline means
    Interp,
    /// Machine code
    Jit,
    /// Simulated hardware: the design of `hopwright rtl` for ecp5-85-512, by verilator and a C++ compiler
    Rtl,
}

/// The engine of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineChoice {
    /// The reference interpreter: slow, defines the meaning
    Interp,
    /// Machine code
    Jit,
    /// Simulated hardware: the design of `hopwright rtl` for ecp5-85-512, by verilator and a C++ compiler
    Rtl,
}

/// The engine of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunEngine {
    /// Machine code, or the interpreter for a program that the JIT does not support
    Auto,
    /// The reference interpreter: slow, complete
    Interp,
    /// Machine code
    Jit,
    /// Simulated hardware: the design of `hopwright rtl` for ecp5-85-512, by verilator and a C++ compiler
    Rtl,
}

#[derive(Args, Debug)]
pub(crate) struct StfArgs {
    #[command(flatten)]
    pub source: Source,
    /// The test
    #[arg(value_name = "TEST.stf")]
    pub test: PathBuf,
    /// The engine
    #[arg(long, value_enum, default_value_t = TestEngine::Jit)]
    pub engine: TestEngine,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub source: Source,
    /// Attach port NUMBER of the program to an interface
    #[arg(short = 'i', long = "interface", value_name = "NUMBER@INTERFACE", required = true)]
    pub interfaces: Vec<Interface>,
    /// Give a port a rate, such as 1=100M bits a second of whole frames, and egress queues by v1model priority: of
    /// PACKETS each (256), and with weights as W:W:W:W:W:W:W:W for the priorities 0 to 7 (all 0: strict priority)
    #[arg(long = "queue", value_name = "NUMBER=RATE[,packets=PACKETS][,weights=WEIGHTS]")]
    pub queues: Vec<PortQueues>,
    /// Table entries to start with: the `add` and `setdefault` lines of an STF file
    #[arg(long, value_name = "FILE.stf")]
    pub entries: Option<PathBuf>,
    /// The engine
    #[arg(long, value_enum, default_value_t = RunEngine::Auto)]
    pub engine: RunEngine,
    /// How to receive and send packets: af_xdp, af_packet, or auto: AF_XDP on each interface where it works and that has
    /// no IP addresses (AF_XDP hides everything that an interface receives from the kernel)
    #[arg(long, value_name = "KIND", default_value_t)]
    pub ports: PortChoice,
    /// The largest batch taken from an interface, 1 to 256 packets; packets of smaller batches cost more each
    #[arg(long, value_name = "PACKETS", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub batch: u16,
    /// Number of the CPU port
    #[arg(long, value_name = "NUMBER", default_value_t = 510)]
    pub cpu_port: u16,
    /// Where to serve P4Runtime
    #[arg(long, value_name = "ADDRESS:PORT", default_value = hopwright_p4runtime::DEFAULT_ADDRESS)]
    pub p4runtime: std::net::SocketAddr,
    /// Do not serve P4Runtime
    #[arg(long, conflicts_with = "p4runtime")]
    pub no_p4runtime: bool,
    /// The switch's P4Runtime device id
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub device_id: u64,
    /// Encrypt P4Runtime with this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Accept only controllers with a certificate of these authorities (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_client_ca: Option<PathBuf>,
    /// Write the counters as JSON to this file each second
    #[arg(long, value_name = "FILE")]
    pub stats: Option<PathBuf>,
    /// Print the final counters as JSON
    #[arg(long)]
    pub json: bool,
    /// Log a line for each packet: its port of arrival and its fate (`hopwright trace` shows more)
    #[arg(long)]
    pub log_packets: bool,
}

#[derive(Args, Debug)]
pub(crate) struct OpenflowArgs {
    /// Attach port NUMBER (1 to 507) of the switch to an interface
    #[arg(short = 'i', long = "interface", value_name = "NUMBER@INTERFACE", required = true)]
    pub interfaces: Vec<Interface>,
    /// Connect to a controller: tcp:ADDRESS[:PORT] or ssl:HOST[:PORT]; the port is 6653 by default
    #[arg(long, value_name = "CONTROLLER", required_unless_present = "listen")]
    pub controller: Vec<hopwright_openflow::Target>,
    /// Wait for controllers: ptcp:[PORT][:ADDRESS] or pssl:[PORT][:ADDRESS]; the address is 127.0.0.1 by default
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Vec<hopwright_openflow::Listen>,
    /// Speak only these versions
    #[arg(long = "version", value_name = "VERSION", value_delimiter = ',', default_values_t = [OpenflowVersion::V10, OpenflowVersion::V13], value_enum)]
    pub versions: Vec<OpenflowVersion>,
    /// The switch's number in hexadecimal; default: the Ethernet address of the first port
    #[arg(long, value_name = "HEX", value_parser = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16))]
    pub datapath_id: Option<u64>,
    /// Without controllers, forget the flows and learn addresses; otherwise the flows stay
    #[arg(long)]
    pub standalone: bool,
    /// Seconds of silence after which a controller is probed
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub probe_interval: u16,
    /// The switch's certificate (PEM), for ssl and pssl
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Authorities of the controllers' certificates (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_ca: Option<PathBuf>,
    /// How to receive and send packets, as for `run`
    #[arg(long, value_name = "KIND", default_value_t)]
    pub ports: PortChoice,
    /// Packets that may wait for controllers
    #[arg(long, value_name = "PACKETS", default_value_t = 1024, value_parser = clap::value_parser!(u16).range(1..))]
    pub cpu_queue: u16,
}

/// A version of OpenFlow.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OpenflowVersion {
    #[value(name = "1.0")]
    V10,
    #[value(name = "1.3")]
    V13,
}

#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub source: Source,
    /// The capture to read
    #[arg(long = "in", value_name = "FILE.pcap")]
    pub input: PathBuf,
    /// The capture to write
    #[arg(long = "out", value_name = "FILE.pcap")]
    pub output: Option<PathBuf>,
    /// Port the packets arrive at
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub port: u16,
    /// Table entries to start with: the `add` and `setdefault` lines of an STF file
    #[arg(long, value_name = "FILE.stf")]
    pub entries: Option<PathBuf>,
    /// What runs the program (--trace always interprets)
    #[arg(long, value_enum, default_value_t = TestEngine::Jit)]
    pub engine: TestEngine,
    /// Print a trace of each packet
    #[arg(long)]
    pub trace: bool,
    /// Print results as JSON, one object per packet
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct IpArgs {
    /// Make an interface port NUMBER of the router
    #[arg(short = 'i', long = "interface", value_name = "NUMBER@INTERFACE", required = true)]
    pub interfaces: Vec<Interface>,
    /// The control plane: a network namespace (`ip netns`), which is made if it is not there
    #[arg(long, value_name = "NAME")]
    pub namespace: String,
    /// How to receive and send packets: af_xdp, af_packet, or auto: AF_XDP on each interface where it works
    #[arg(long, value_name = "KIND", default_value_t)]
    pub ports: PortChoice,
    /// Threads that forward packets
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    pub workers: u8,
    /// Write the counters as JSON to this file each second and at exit
    #[arg(long, value_name = "FILE")]
    pub stats: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum EpicCommand {
    /// Print the entries of an AS's router, for `hopwright run --entries`
    Entries(EpicEntriesArgs),
    /// Send packets; at level 3 wait for receipts, and fail if a router of the path has not processed one
    Send(EpicSendArgs),
    /// Receive packets and check them; at level 3 send receipts
    Receive(EpicReceiveArgs),
}

#[derive(Args, Debug)]
pub(crate) struct EpicEntriesArgs {
    /// The network's description
    #[arg(value_name = "NETWORK.toml")]
    pub network: PathBuf,
    /// The AS, such as 1-ff00:0:110
    #[arg(value_name = "ISD-AS")]
    pub ia: hopwright_epic::IsdAs,
}

#[derive(Args, Debug)]
pub(crate) struct EpicHostArgs {
    /// The network's description
    #[arg(value_name = "NETWORK.toml")]
    pub network: PathBuf,
    /// This host, such as 1-ff00:0:110,10.0.0.1
    #[arg(long, value_name = "ISD-AS,ADDRESS", value_parser = crate::commands::epic::endpoint)]
    pub host: hopwright_epic::network::Endpoint,
    /// The interface to the router
    #[arg(long, value_name = "INTERFACE")]
    pub device: String,
}

#[derive(Args, Debug)]
pub(crate) struct EpicSendArgs {
    #[command(flatten)]
    pub host: EpicHostArgs,
    /// The destination
    #[arg(long, value_name = "ISD-AS,ADDRESS", value_parser = crate::commands::epic::endpoint)]
    pub to: hopwright_epic::network::Endpoint,
    /// What packets prove: 0 to 3
    #[arg(long, default_value_t = 3)]
    pub level: u8,
    /// Number of packets
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub count: u32,
    /// Text of the packets
    #[arg(long, value_name = "TEXT", default_value = "hello")]
    pub payload: String,
    /// Seconds to wait for each receipt
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    pub timeout: f64,
}

#[derive(Args, Debug)]
pub(crate) struct EpicReceiveArgs {
    #[command(flatten)]
    pub host: EpicHostArgs,
    /// Number of packets from known ASes to this host after which to end, refused ones included. Others are only counted
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub count: u32,
    /// Seconds to wait for them
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    pub timeout: f64,
    /// Seconds for which a packet is good
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    pub lifetime: u32,
    /// Seconds by which clocks may differ
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    pub skew: u32,
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ScionArgs {
    #[command(subcommand)]
    pub command: Option<ScionCommand>,
    /// The router's configuration
    #[arg(long, value_name = "router.toml", required = true)]
    pub config: Option<PathBuf>,
    /// What runs the program. Simulated hardware takes minutes to be built the first time
    #[arg(long, value_enum, default_value_t = EngineChoice::Jit)]
    pub engine: EngineChoice,
    /// With `--engine rtl`, a macro of p4/scion/features.p4 with which the hardware is compiled: a feature that it leaves out, whose packets
    /// software processes, or a profile of sizes. For example -D NO_EPIC -D PROFILE_ULTRASCALE
    #[arg(short = 'D', long = "define", value_name = "MACRO")]
    pub define: Vec<String>,
    /// Write counters as JSON to this file each second and at exit
    #[arg(long, value_name = "FILE")]
    pub stats: Option<PathBuf>,
    /// Warn about unknown keys in router.toml and hopwright.toml instead of refusing them
    #[arg(long)]
    pub lenient: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ScionCommand {
    /// Check a router's files without running it
    ///
    /// Reads router.toml, hopwright.toml beside it, topology.json and keys, and reports all errors in them, each with file and field.
    /// Needs no privileges, no network and no devices. Exit status: 0 the router would start with these files (there may
    /// be warnings), 1 it would not, 2 the command line is wrong.
    Check {
        /// The router's configuration
        #[arg(long, value_name = "router.toml")]
        config: PathBuf,
        /// Read topology.json and keys from this directory, not from the one in the configuration
        #[arg(long, value_name = "DIR")]
        config_dir: Option<PathBuf>,
        /// Warn about unknown keys in router.toml and hopwright.toml instead of refusing them
        #[arg(long)]
        lenient: bool,
    },
    /// Print how to set up the slow path by TAP devices
    ///
    /// For a router whose hopwright.toml says `slow_path = "tap"`: a shell script that makes the network namespace with
    /// the TAP devices. Run it as root before the router: `hopwright scion slow-path --config router.toml | sh`. Then
    /// start the reference router in that namespace with the same files.
    SlowPath {
        /// The router's configuration
        #[arg(long, value_name = "router.toml")]
        config: PathBuf,
    },
    /// Print the version
    Version,
    /// Print sample files
    #[command(subcommand)]
    Sample(SampleCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum SampleCommand {
    /// Print a router.toml with every key, its default and what it does
    Config,
    /// Print a hopwright.toml with every key, its default and what it does
    ///
    /// The settings that the reference router does not have. The file belongs in the directory of router.toml.
    Hopwright,
}

#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub command: BenchCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// The SCION border router in memory, from whole frame to whole frame
    ///
    /// Cases are those of the reference's `brload`: in, out, in_transit, out_transit, br_transit.
    Scion(BenchScionArgs),
    /// The EPIC router in memory, by level, cipher, length of the path and payload
    ///
    /// With a record of what duplicate suppression costs, at level 0.
    Epic(BenchEpicArgs),
    /// Common P4 programs in memory on one core, from whole frame to whole frame
    ///
    /// A learning switch, a router, access control by ternary rules, equal-cost paths, VXLAN and MPLS, in-band telemetry,
    /// metering, a stateful firewall; with tables of 10 to 1,000,000 entries (ternary: to 10,000). The programs are in
    /// p4/bench. Results are compared with the interpreter's before the program is timed.
    Programs(BenchProgramsArgs),
    /// Table updates, and their effect on a forwarding worker
    ///
    /// Entries are written into one exact table of the learning switch, through the data plane's own interface and through
    /// P4Runtime over TCP on this machine. Needs two CPUs.
    Updates(BenchUpdatesArgs),
    /// Several tenants on one switch, next to a switch with one program
    ///
    /// One, two, four and eight tenants in parallel, each a router; with policers; with half of the frames to no tenant's address.
    /// Frames go to tenants by destination address.
    Tenants(BenchTenantsArgs),
    /// Forward frames between two devices until killed: the floor for other forwarders
    #[command(hide = true)]
    Forwarder(BenchForwarderArgs),
}

/// What a benchmark of the border router measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchEngine {
    /// Machine code: ns per packet on this machine
    Jit,
    /// Simulated hardware for ecp5-85-512: clock cycles of a packet back to back, latency, and what they mean at the target's clock
    Rtl,
}

#[derive(Args, Debug)]
pub(crate) struct BenchScionArgs {
    /// What to measure. With `rtl` only `--case`, `--size` and `--json` mean something; the smallest packets of each case and a mix
    /// of them are always measured
    #[arg(long, value_enum, default_value_t = BenchEngine::Jit)]
    pub engine: BenchEngine,
    /// Only these cases
    #[arg(long, value_name = "CASE", value_delimiter = ',')]
    pub case: Vec<String>,
    /// Frame sizes in bytes
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_values_t = [172, 512, 1500])]
    pub size: Vec<usize>,
    /// Hop fields of the packets; default: as many as each case needs, and a record with 64
    #[arg(long, value_name = "NUMBER", value_delimiter = ',')]
    pub hops: Vec<u32>,
    /// Working set of packets: `l2` fits the second-level cache, `memory` does not
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [WorkingSet::L2, WorkingSet::Memory])]
    pub working_set: Vec<WorkingSet>,
    /// Layouts of the program in pipes of a switch chip: plain, 1br, 1br+1aes, 1br+2aes, 2br+2aes
    #[arg(long, value_name = "LAYOUT", value_delimiter = ',', value_parser = layout, default_values_t = [Layout::Plain])]
    pub layout: Vec<Layout>,
    /// Leave these passes over traces out, to see what they gain
    #[arg(long, value_name = "PASS", value_delimiter = ',', value_parser = trace_passes())]
    pub without: Vec<TracePass>,
    /// Count instructions by running a batch step by step, on machines without counters
    #[arg(long)]
    pub single_step: bool,
    /// Number of simultaneous workers, each on a CPU of its own
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', default_values_t = [1])]
    pub workers: Vec<usize>,
    /// Seconds to measure each record
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5)]
    pub duration: f64,
    /// Print a list of records as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct BenchEpicArgs {
    /// Only these levels
    #[arg(long, value_name = "LEVEL", value_delimiter = ',', default_values_t = [0, 1, 2, 3])]
    pub level: Vec<u8>,
    /// Hop fields of the packets
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', default_values_t = [1, 32, 64])]
    pub hops: Vec<usize>,
    /// Bytes behind the header
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_values_t = [0, 128, 512])]
    pub payload: Vec<usize>,
    /// Seconds to measure each record
    #[arg(long, value_name = "SECONDS", default_value_t = 0.2)]
    pub duration: f64,
    /// Print a list of records as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct BenchProgramsArgs {
    /// Only these programs
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub program: Vec<String>,
    /// Entries of the tables; default: 10, 100, … up to what suits the program's kind of table
    #[arg(long, value_name = "NUMBER", value_delimiter = ',')]
    pub entries: Vec<usize>,
    /// Leave these passes over traces out, to see what they gain
    #[arg(long, value_name = "PASS", value_delimiter = ',', value_parser = trace_passes())]
    pub without: Vec<TracePass>,
    /// Count instructions by running a batch step by step, on machines without counters
    #[arg(long)]
    pub single_step: bool,
    /// Only two table sizes: 1,000 and 1,000,000
    #[arg(long)]
    pub short: bool,
    /// Which entries the packets hit: `few`, those of 256 flows that repeat; `all`, each packet another one
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Flows::Few, Flows::All])]
    pub flows: Vec<Flows>,
    /// Frame size in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    pub size: usize,
    /// Seconds to measure each record
    #[arg(long, value_name = "SECONDS", default_value_t = 0.2)]
    pub duration: f64,
    /// Print a list of records as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct BenchTenantsArgs {
    /// Frame sizes in bytes
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_values_t = [64, 128, 256, 512, 1024, 1518],
        value_parser = clap::builder::RangedI64ValueParser::<usize>::new().range(64..=1518))]
    pub size: Vec<usize>,
    /// Packets that a worker receives at once
    #[arg(long, value_name = "NUMBER", default_value_t = 256,
        value_parser = clap::builder::RangedI64ValueParser::<usize>::new().range(1..=256))]
    pub batch: usize,
    /// Seconds to measure each record
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub duration: f64,
    /// Only these cases, for a profiler; the others are compared with the first
    #[arg(long = "case", value_name = "NAME")]
    pub cases: Vec<String>,
    /// Print a list of records as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct BenchForwarderArgs {
    /// One device
    pub from: String,
    /// The other
    pub to: String,
    /// auto, af_xdp or af_packet
    #[arg(long, value_name = "KIND", default_value_t)]
    pub ports: PortChoice,
}

#[derive(Args, Debug)]
pub(crate) struct BenchUpdatesArgs {
    /// Entries to write
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub entries: u64,
    /// Seconds of forwarding beside updates, for each interface
    #[arg(long, value_name = "SECONDS", default_value_t = 4.0)]
    pub duration: f64,
    /// Update rate, in entries per second, beside which forwarding is measured, in addition to the highest possible rate
    #[arg(long, value_name = "NUMBER", default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub rate: u64,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
}

/// The flows that the packets of a measurement belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Flows {
    Few,
    All,
}

/// The memory that the packets of a measurement cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkingSet {
    L2,
    Memory,
}
