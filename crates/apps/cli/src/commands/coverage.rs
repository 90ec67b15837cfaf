//! What packets reached of a program: the files of `--coverage`.

use hopwright_coverage::Coverage;
use hopwright_stf::DataPlaneEngine;

use crate::cli::{CoverageArgs, EngineChoice, Source};
use crate::compile;
use crate::engine::{data_plane, one_by_one};
use crate::failure::Failure;

/// An interpreter that counts what packets reach of the program as it was written: nothing is optimised.
pub(crate) fn engine(source: &Source) -> Result<DataPlaneEngine, Failure> {
    let pipeline = compile::printed(compile::compile(source, false))?;
    let mut engine = one_by_one(data_plane(&pipeline, EngineChoice::Interp)?)?;
    engine.coverage = Some(Coverage::new(&pipeline));
    Ok(engine)
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
