//! Compiles tenants' programs, and fills their tables with the entries to start with.

use std::path::Path;
use std::sync::Arc;

use hopwright_dataplane::{FrameSize, VirtualDataPlane};
use hopwright_driver::compile_file;
use hopwright_host::files;
use hopwright_p4runtime::{Bundle, Program};
use hopwright_stf::DataPlaneEngine;
use hopwright_syntax::Options;

use crate::config::{self, Source};

/// Longest file with entries, in bytes.
const LONGEST_ENTRIES: usize = 64 << 20;

/// A compiled program with its entries.
pub(crate) struct Compiled {
    pub program: Program,
    entries: Option<String>,
    source: Source,
}

/// Programs that were compiled, each of them once.
#[derive(Default)]
pub(crate) struct Programs(Vec<Arc<Compiled>>);

impl Programs {
    /// The program of a source.
    ///
    /// # Errors
    /// As [`Compiled::new`].
    pub(crate) fn compile(&mut self, source: &Source) -> Result<Arc<Compiled>, String> {
        if let Some(there) = self.0.iter().find(|compiled| compiled.source == *source) {
            return Ok(there.clone());
        }
        let new = Arc::new(Compiled::new(source)?);
        self.0.push(new.clone());
        Ok(new)
    }
}

impl Compiled {
    /// Compiles a program.
    ///
    /// # Errors
    /// What the compiler says, or why a file cannot be read.
    pub(crate) fn new(source: &Source) -> Result<Compiled, String> {
        let mut options = Options { include_paths: source.include.clone(), ..Options::default() };
        source.defines.iter().for_each(|definition| options.define(definition));
        let (compiled, main) = match &source.file {
            config::Program::File(file) => (compile_file(file, &options, true), file.as_path()),
            config::Program::Agent(kind) => (kind.compile(&source.defines), Path::new("")),
        };
        let bundle = Bundle::of(&compiled, main, &source.defines, &source.include);
        let program = Program::from_compiled(&compiled, bundle.to_bytes()).map_err(|f| f.message)?;
        let read = |file: &std::path::PathBuf| {
            files::read_text(file, LONGEST_ENTRIES).map_err(|e| format!("{}: {e}", file.display()))
        };
        let entries = source.entries.as_ref().map(read).transpose()?;
        Ok(Compiled { program, entries, source: source.clone() })
    }

    /// Whether another compilation gives the same program with the same entries.
    pub(crate) fn same(&self, other: &Compiled) -> bool {
        self.program.config.p4_device_config == other.program.config.p4_device_config
            && self.entries == other.entries
            && self.source.engine == other.source.engine
    }

    /// A data plane with the entries to start with.
    ///
    /// # Errors
    /// If the engine does not support the program, or the entries do not fit it.
    pub(crate) fn data_plane(&self) -> Result<Arc<VirtualDataPlane>, String> {
        let vdp = self.program.data_plane(self.source.engine).map_err(|f| f.message)?;
        if let (Some(entries), Some(file)) = (&self.entries, &self.source.entries) {
            let script = hopwright_stf::parse(&file.display().to_string(), entries)
                .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
            let mut engine = DataPlaneEngine::new(vdp.clone(), FrameSize::JUMBO).map_err(|e| e.to_string())?;
            hopwright_stf::configure(&script, &mut engine).map_err(|e| e.to_string())?;
        }
        Ok(vdp)
    }
}
