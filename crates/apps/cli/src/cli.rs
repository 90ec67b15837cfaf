//! Commands, options and their help. Commands that control a running switch are in `control`.

#[cfg(feature = "bench")]
pub(crate) mod bench;
#[cfg(feature = "bmv2")]
pub(crate) mod bmv2;
#[cfg(feature = "p4runtime")]
pub(crate) mod control;
#[cfg(feature = "epic")]
pub(crate) mod epic;
#[cfg(feature = "fit")]
pub(crate) mod fit;
#[cfg(feature = "fmt")]
pub(crate) mod fmt;
#[cfg(any(feature = "scion", feature = "ip", feature = "openflow", feature = "switch"))]
pub(crate) mod hand_over;
#[cfg(feature = "ip")]
pub(crate) mod ip;
#[cfg(feature = "jit")]
pub(crate) mod jit;
#[cfg(feature = "openflow")]
pub(crate) mod openflow;
#[cfg(feature = "p4runtime")]
pub(crate) mod p4runtime;
#[cfg(feature = "page")]
pub(crate) mod page;
#[cfg(feature = "profile")]
pub(crate) mod profile;
pub(crate) mod program;
#[cfg(feature = "rina")]
pub(crate) mod rina;
#[cfg(feature = "rtl")]
pub(crate) mod rtl;
#[cfg(feature = "scion")]
pub(crate) mod scion;
#[cfg(feature = "switch")]
pub(crate) mod switch;
#[cfg(feature = "telemetry")]
pub(crate) mod telemetry;
#[cfg(feature = "testgen")]
pub(crate) mod testgen;
#[cfg(feature = "thrift")]
pub(crate) mod thrift;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use hopwright_ports::PortChoice;

use crate::commands::interfaces::{Interface, PortQueues};
use program::{CoverageArgs, RunEngine, Source, TestEngine};

/// A P4-16 compiler and data plane.
///
/// Compiles standard P4-16 programs for v1model, PSA, PNA, TNA and T2NA and runs them: on packets of a test file, of a capture, on real
/// interfaces, or as a router with its control plane (scion, ip, openflow, rina, epic).
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
    /// Format programs, in one style
    ///
    /// Rewrites files that are not formatted: lines of 100 columns, four spaces for each level, braces at the ends of lines, names of
    /// fields and comments below each other. Tokens, comments, directives and their order stay, so that a program means what it meant;
    /// this is checked before a file is written. Where a list or an expression is broken at a comma or an operator, it stays broken.
    /// A file whose text does not consist of tokens is left as it is. docs/fmt.md describes the style.
    ///
    /// Exit status: 0 done, 1 a file could not be formatted, or --check found one that is not.
    #[cfg(feature = "fmt")]
    Fmt(fmt::FmtArgs),
    /// Print a program as the preprocessor leaves it
    ///
    /// Files are included, macros expanded, branches chosen; comments are left out. Lines `# LINE "FILE" FLAG` say where what follows is
    /// from, as those of cpp do: the flag is 1 at the beginning of an include file, and 2 behind it. What is printed compiles as the
    /// program does, and its errors name the files that the text is from. `hopwright as p4c -E` does the same.
    #[command(visible_short_flag_alias = 'E')]
    Preprocess(PreprocessArgs),
    /// Print the pipeline IR of a program
    ///
    /// The IR is what every executor runs: flat state, a parser graph, structured controls, tables and actions.
    Ir(IrArgs),
    /// Run a language server for editors, on standard input and output
    ///
    /// Speaks the Language Server Protocol 3.17: diagnostics while typing, hover, definitions, references, rename, completion, quick
    /// fixes, inlay hints, semantic tokens, outlines, call hierarchy of parser states. Editors start it; docs/editors.md says how, and which
    /// settings there are. What it logs goes to standard error. Exit status: 0 the client ended the connection by `shutdown` and `exit`,
    /// 1 it ended otherwise.
    #[cfg(feature = "lsp")]
    Lsp(LspArgs),
    /// Print the machine code of a program, each part below the line it was generated for
    #[cfg(feature = "jit")]
    Asm(jit::AsmArgs),
    /// Print the traces that are learned from packets, and why packets leave them
    ///
    /// Runs the packets of a capture or a packet test, learns traces of their most frequent paths as a switch does, and prints these
    /// in the trace IR with the number of packets at each block and side exit. Then come the reasons for side exits, the most frequent first.
    /// docs/trace-ir.md explains how to read it. Fails if fewer than half of the packets would complete a trace.
    #[cfg(feature = "jit")]
    TraceIr(jit::TraceIrArgs),
    /// Measure where the time of a program goes: by line of the program, and by table
    ///
    /// Runs the packets of a capture or a packet test as a switch would, with traces of their paths, samples the machine code 5,000 times
    /// a second, and prints what a packet costs in each line and each table. docs/performance.md says how to read it.
    #[cfg(feature = "profile")]
    Profile(profile::ProfileArgs),
    /// Draw the parser and the controls of a program
    ///
    /// Writes one file per graph, PROGRAM.parser.svg, PROGRAM.ingress.svg, …, as SVG and Graphviz dot.
    Graph(GraphArgs),
    /// Estimate whether a program fits the match-action stages of a switch chip
    ///
    /// Prints what would lie in which stage, the longest chain of dependencies with its P4 lines, and what does not fit and why. It is
    /// an estimate: the chip's compiler may need fewer stages or more. Exit status: 0 it fits, 1 it does not, or the program has
    /// errors.
    #[cfg(feature = "fit")]
    Fit(fit::FitArgs),
    /// Compile a program to SystemVerilog for an FPGA
    ///
    /// Writes the top module, the pipeline, its engines and the register map (JSON), and prints the number of stages. What
    /// the hardware cannot do is an error at its place in the program. `--engine rtl` of stf, replay, run and scion simulates the
    /// design; that needs verilator, g++ and make. `--report` tells which lines of the program cost most, and what makes latency and
    /// clock what they are.
    #[cfg(feature = "rtl")]
    Rtl(rtl::RtlArgs),
    /// Print the P4Info of a program
    ///
    /// What a P4Runtime controller needs: tables, actions and extern objects with the ids that p4c assigns.
    #[cfg(feature = "p4runtime")]
    P4info(p4runtime::P4infoArgs),
    /// Pack a program and its include files into one file, to push to a switch by P4Runtime
    ///
    /// A controller sends it as the device config, together with the P4Info. The source text of a program in one file is
    /// a valid device config, too.
    #[cfg(feature = "p4runtime")]
    Bundle(p4runtime::BundleArgs),
    /// Run a packet test (STF)
    ///
    /// Installs the table entries of the test file, sends its packets, and compares the output with its expectations.
    /// Exit status: 0 all tests passed, 1 a test failed.
    Stf(StfArgs),
    /// Make packet tests of a program
    ///
    /// Finds packets, table entries, and states of registers and meters with which each parser state, select case, branch, action and outcome
    /// of a table is reached, as far as it can be, and writes a packet test (STF) for each packet with what must come of it. Each test has
    /// been run by the interpreter and as machine code; if they differ, that is an error. At the end comes what is reached, and why the rest
    /// is not. docs/testgen.md explains it.
    ///
    /// Exit status: 0 tests were made, 1 the program has errors or the engines differ.
    #[cfg(feature = "testgen")]
    Testgen(testgen::TestgenArgs),
    /// Run a program as a software switch on network interfaces
    ///
    /// Opens interfaces with AF_PACKET, which needs CAP_NET_RAW. Controllers connect by P4Runtime. Ctrl-C stops it, and it
    /// prints its counters.
    Run(Box<RunArgs>),
    /// Be a command of BMv2, p4c or Intel's SDE: NAME with its options
    ///
    /// Scripts that call these commands by their names need links to `hopwright`, which packages have in /usr/lib/hopwright/bmv2
    /// and /usr/lib/hopwright/tofino. docs/from-bmv2.md and docs/tofino.md say how to use them, and what differs.
    #[cfg(feature = "bmv2")]
    As(bmv2::AsArgs),
    /// Run a switch with several programs, each for a tenant of its own
    ///
    /// Reads switch.toml: network devices, tenants with their programs, ports, limits and P4Runtime devices, and who may control them.
    /// Tenants do not see or disturb each other. `hopwright switch sample` prints a file with every key.
    ///
    /// SIGHUP makes the switch read the file again and become what it says; tenants that stay lose no packet, and a file with errors
    /// changes nothing. SIGTERM and SIGINT end it with status 0. If it cannot run with the configuration or on the machine, it ends with
    /// status 1 and the reason on standard error. Under systemd (Type=notify) it reports when it forwards packets, and feeds the
    /// watchdog. Needs CAP_NET_RAW, and CAP_NET_ADMIN and CAP_BPF for AF_XDP.
    #[cfg(feature = "switch")]
    Switch(switch::SwitchHostArgs),
    /// Administer the tenants of a running switch: list, add and remove them, change their limits
    #[cfg(feature = "switch")]
    Tenant(switch::TenantArgs),
    /// Read and change the tables of a running switch, without a controller
    #[cfg(feature = "p4runtime")]
    Table(control::TableArgs),
    /// Read and reset the counters of a running switch
    #[cfg(feature = "p4runtime")]
    Counter(control::CounterArgs),
    /// Read and set the registers of a running switch
    #[cfg(feature = "p4runtime")]
    Register(control::RegisterArgs),
    /// Read and set the meters of a running switch
    #[cfg(feature = "p4runtime")]
    Meter(control::MeterArgs),
    /// Trace packets of a running switch: parser states, keys, entries, changes, each with its P4 line
    #[cfg(feature = "p4runtime")]
    Trace(control::TraceArgs),
    /// Serve a page on which to try programs: errors, graphs, packets step by step, what each engine makes of them, generated code
    ///
    /// Open the address that it prints in a browser. Programs are compiled and run by processes of their own with limits of time and
    /// memory, which read no file. docs/page.md describes the page.
    #[cfg(feature = "page")]
    Playground(page::PlaygroundArgs),
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
    #[cfg(feature = "scion")]
    Scion(scion::ScionArgs),
    /// Run an OpenFlow switch
    ///
    /// Speaks OpenFlow 1.0 and 1.3 with the controllers that it connects to and with those that connect to it.
    ///
    /// Opens interfaces as `run` does. Ctrl-C stops it, and it prints its counters.
    #[cfg(feature = "openflow")]
    Openflow(openflow::OpenflowArgs),
    /// Run an IP router, with a network namespace as its control plane
    ///
    /// Forwards IPv4 and IPv6 between network interfaces. The namespace has an interface of the same name for each of them.
    /// Whatever configures addresses and routes there, `ip`, FRR or BIRD, configures the router. Namespace, interfaces and
    /// addresses stay when the router stops, until `ip netns delete`. Needs root. Ctrl-C stops it.
    #[cfg(feature = "ip")]
    Ip(ip::IpArgs),
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
    #[cfg(feature = "rina")]
    Rina(rina::RinaArgs),
    /// Hosts and routers of a network with EPIC: every packet is checked
    ///
    /// Routers are p4/epic/epic_router.p4, run by `hopwright run`. One file describes the network, with all keys: for tests.
    #[command(subcommand)]
    #[cfg(feature = "epic")]
    Epic(epic::EpicCommand),
    /// Measure
    #[cfg(feature = "bench")]
    Bench(bench::BenchArgs),
    /// Print a script that makes a shell complete this command
    ///
    /// For bash: hopwright completion bash > /etc/bash_completion.d/hopwright. Packages install the scripts for bash, fish and zsh. They call
    /// the command, which proposes tables, keys, actions and the like of the running switch, too.
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

/// Targets that a program may have to run on, by name.
fn portable_target() -> impl TypedValueParser<Value = hopwright_lint::Target> {
    PossibleValuesParser::new(hopwright_lint::Target::ALL.map(hopwright_lint::Target::name))
        .try_map(|name| hopwright_lint::Target::by_name(&name).ok_or("no such target"))
}

/// Options of `hopwright lsp`.
#[cfg(feature = "lsp")]
#[derive(Args, Debug)]
pub(crate) struct LspArgs {
    /// Use standard input and output: the only transport, which some clients name
    #[arg(long)]
    pub stdio: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub source: Source,
    /// How to print diagnostics
    #[arg(long, value_enum, default_value_t = DiagnosticFormat::Text)]
    pub format: DiagnosticFormat,
    /// Also warn of what these targets do not have: bmv2, tofino, psa
    #[arg(long, value_name = "TARGET", value_delimiter = ',', value_parser = portable_target())]
    pub portable: Vec<hopwright_lint::Target>,
    /// Stop after this many errors, and tell how many more there are; 0: never
    #[arg(long, value_name = "N", default_value_t = program::MAX_ERRORS)]
    pub max_errors: usize,
    /// Also check that the JIT compiles the program, and print how long each step took
    #[cfg(feature = "jit")]
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
pub(crate) struct PreprocessArgs {
    #[command(flatten)]
    pub source: Source,
    /// Leave out the lines that say where what follows is from
    #[arg(short = 'P', long)]
    pub no_line_markers: bool,
    /// The file to write; without it, standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
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
pub(crate) struct StfArgs {
    #[command(flatten)]
    pub source: Source,
    /// The tests; each begins with the program's initial state
    #[arg(value_name = "TEST.stf", required = true)]
    pub tests: Vec<PathBuf>,
    /// The engine: without it machine code, if this build has it
    #[arg(long, value_enum)]
    pub engine: Option<TestEngine>,
    /// Run a test for the model of a Tofino: packets have a frame check sequence, which parsers may read and counters count
    #[arg(long)]
    pub tofino_model: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Compare what the engine makes of the packets with what the interpreter does, instead of what the test expects. If they differ, the
    /// smallest test that shows it and captures of its packets are written to a directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["tofino_model", "json"])]
    pub counterexample: Option<PathBuf>,
    #[command(flatten)]
    pub coverage: CoverageArgs,
}

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub source: Source,
    /// Attach port NUMBER of the program to an interface
    #[cfg_attr(
        feature = "rtl",
        arg(short = 'i', long = "interface", value_name = "NUMBER@INTERFACE", required_unless_present = "device")
    )]
    #[cfg_attr(
        not(feature = "rtl"),
        arg(short = 'i', long = "interface", value_name = "NUMBER@INTERFACE", required = true)
    )]
    pub interfaces: Vec<Interface>,
    #[cfg(feature = "rtl")]
    #[command(flatten)]
    pub device: rtl::DeviceArgs,
    /// Give a port a rate, such as 1=100M bits a second of whole frames, and egress queues by v1model priority: of
    /// PACKETS each (256), and with weights as W:W:W:W:W:W:W:W for the priorities 0 to 7 (all 0: strict priority)
    #[arg(long = "queue", value_name = "NUMBER=RATE[,packets=PACKETS][,weights=WEIGHTS]")]
    pub queues: Vec<PortQueues>,
    /// Table entries to start with, groups and the like: what an STF file sets before its packets (docs/stf.md), or a file of
    /// simple_switch_CLI's commands (`table_add` …)
    #[arg(long, value_name = "FILE")]
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
    #[cfg(feature = "p4runtime")]
    #[command(flatten)]
    pub serve: p4runtime::ServeArgs,
    #[cfg(feature = "thrift")]
    #[command(flatten)]
    pub thrift: thrift::ThriftArgs,
    #[cfg(feature = "page")]
    #[command(flatten)]
    pub page: page::HttpArgs,
    /// Write the counters as JSON to this file each second
    #[arg(long, value_name = "FILE")]
    pub stats: Option<PathBuf>,
    /// Print the final counters as JSON
    #[arg(long)]
    pub json: bool,
    /// Record packets in this folder, in two captures for each interface: INTERFACE_in.pcap and INTERFACE_out.pcap
    #[arg(long, value_name = "DIR")]
    pub pcap: Option<PathBuf>,
    /// Log a line for each packet: its port of arrival and its fate (`hopwright trace` shows more)
    #[arg(long)]
    pub log_packets: bool,
    #[command(flatten)]
    pub coverage: CoverageArgs,
    #[cfg(feature = "telemetry")]
    #[command(flatten)]
    pub telemetry: telemetry::TelemetryArgs,
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
    /// What runs the program: without it machine code, if this build has it (--trace always interprets)
    #[arg(long, value_enum)]
    pub engine: Option<TestEngine>,
    /// Print a trace of each packet
    #[arg(long)]
    pub trace: bool,
    #[command(flatten)]
    pub coverage: CoverageArgs,
    /// Print results as JSON, one object per packet, with --trace all that happened to it (docs/packet-traces.md)
    #[arg(long)]
    pub json: bool,
}
