//! What packets reached of a program: the files of `--coverage`.

use std::sync::{Arc, Mutex, PoisonError};

use hopwright_coverage::Coverage;
use hopwright_dataplane::VirtualDataPlane;
use hopwright_stf::DataPlaneEngine;

use crate::cli::program::{CoverageArgs, EngineChoice, Source, TestEngine};
use crate::compile;
use crate::engine::{data_plane, one_by_one};
use crate::failure::Failure;

/// An interpreter that counts what packets reach of the program as it was written: nothing is optimised.
///
/// # Errors
/// Another engine is wanted.
pub(crate) fn engine(source: &Source, wanted: Option<TestEngine>) -> Result<DataPlaneEngine, Failure> {
    if wanted.is_some_and(|engine| engine != TestEngine::Interp) {
        return Err(other_engine());
    }
    let pipeline = compile::printed(compile::compile(source, false))?;
    let mut engine = one_by_one(data_plane(&pipeline, EngineChoice::Interp)?)?;
    engine.coverage = Some(Coverage::new(&pipeline));
    Ok(engine)
}

/// What is said where another engine is wanted.
pub(crate) fn other_engine() -> Failure {
    Failure::message("--coverage is counted by the interpreter: leave --engine out, or say --engine interp")
}

/// Coverage by the packets of a switch, which run in the interpreter.
pub(crate) struct Live {
    vdp: Arc<VirtualDataPlane>,
    coverage: Arc<Mutex<Coverage>>,
}

impl Live {
    /// Counts from now on.
    pub(crate) fn of(vdp: &Arc<VirtualDataPlane>) -> Result<Live, Failure> {
        let coverage = Arc::new(Mutex::new(Coverage::new(vdp.pipeline())));
        match vdp.observe(coverage.clone()) {
            true => Ok(Live { vdp: vdp.clone(), coverage }),
            false => Err(other_engine()),
        }
    }

    /// What packets have reached, and the entries that tables have now.
    pub(crate) fn reached(&self) -> Coverage {
        let mut reached = self.coverage.lock().unwrap_or_else(PoisonError::into_inner).clone();
        hopwright_stf::know_entries(&mut reached, &self.vdp);
        reached
    }
}

/// Writes the files. Their names say in which format.
pub(crate) fn write(args: &CoverageArgs, coverage: Option<&Coverage>) -> Result<(), Failure> {
    let Some(coverage) = coverage else { return Ok(()) };
    let report = coverage.report();
    for file in &args.files {
        let text = match file.extension().and_then(|extension| extension.to_str()) {
            Some("info") => report.to_lcov(),
            Some("html" | "htm") => report.to_html(),
            _ => report.to_text(),
        };
        if file.as_os_str() == "-" {
            print!("{text}");
            continue;
        }
        std::fs::write(file, text).map_err(|e| Failure::message(format!("{}: {e}", file.display())))?;
    }
    Ok(())
}
