//! Options about a program, the engine that runs it, and what its packets reach.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The most errors that are printed; the last line tells how many more there are.
pub(crate) const MAX_ERRORS: usize = 100;

/// A P4 program and how to preprocess it.
#[derive(Args, Debug, Clone)]
pub(crate) struct Source {
    /// The P4 program; or a FILE.json with one, as `hopwright bundle` and p4c (for BMv2's simple_switch) write it
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
    /// What the file would have, in its place: a device config
    #[arg(skip)]
    #[cfg_attr(not(feature = "bfruntime"), allow(dead_code))]
    pub config: Option<Vec<u8>>,
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

/// The engine of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TestEngine {
    /// The P4-16 specification, read literally: slow, without the compiler's lowering
    Reference,
    /// The reference interpreter: slow, defines what the compiled pipeline means
    Interp,
    /// Machine code
    #[cfg(feature = "jit")]
    Jit,
    /// Simulated hardware: the design of `hopwright rtl` for ecp5-85-512, by verilator and a C++ compiler
    #[cfg(feature = "rtl")]
    Rtl,
}

impl Default for TestEngine {
    fn default() -> TestEngine {
        TestEngine::FASTEST
    }
}

impl TestEngine {
    /// Machine code, if this build has it.
    #[cfg(feature = "jit")]
    const FASTEST: TestEngine = TestEngine::Jit;
    #[cfg(not(feature = "jit"))]
    const FASTEST: TestEngine = TestEngine::Interp;
}

/// The engine of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineChoice {
    /// The reference interpreter: slow, defines the meaning
    Interp,
    /// Machine code
    #[cfg(feature = "jit")]
    Jit,
    /// Simulated hardware: the design of `hopwright rtl` for ecp5-85-512, by verilator and a C++ compiler
    #[cfg(feature = "rtl")]
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
    #[cfg(feature = "jit")]
    Jit,
    /// Simulated hardware: the design of `hopwright rtl` for ecp5-85-512, by verilator and a C++ compiler
    #[cfg(feature = "rtl")]
    Rtl,
}

/// Where to write what packets reached of the program.
#[derive(Args, Debug)]
pub(crate) struct CoverageArgs {
    /// Write what packets reached of the program: lines, branches, parser states, select cases, actions, outcomes of tables, entries.
    /// FILE.info is for lcov and genhtml, FILE.html a page with the source, any other name text, - standard output. May be repeated. The
    /// interpreter runs the program, without optimisation: another --engine is refused
    #[arg(long = "coverage", value_name = "FILE")]
    pub files: Vec<PathBuf>,
}
