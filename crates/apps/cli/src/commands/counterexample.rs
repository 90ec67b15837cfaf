//! `hopwright stf --counterexample`: the smallest test on which an engine and the interpreter differ.

use std::cell::RefCell;
use std::path::Path;

use hopwright_stf::counterexample::{difference, reduce};

use crate::cli::StfArgs;
use crate::cli::program::{EngineChoice, TestEngine};
use crate::commands::stf;
use crate::compile;
use crate::engine::{Maker, data_plane, of_test, one_by_one};
use crate::failure::Failure;
#[cfg(feature = "rtl")]
use crate::hardware;

/// Compares an engine with the interpreter on the packets of tests, and writes what shows the first difference to a folder.
pub(crate) fn find(args: &StfArgs, folder: &Path) -> Result<(), Failure> {
    let pipeline = compile::pipeline(&args.source)?;
    let mut make = maker(args)?;
    for test in &args.tests {
        let failed = RefCell::new(None);
        let mut differs = |script: &hopwright_stf::Script| {
            let mut compare = || -> Result<_, Failure> {
                let mut wanted = one_by_one(data_plane(&pipeline, EngineChoice::Interp)?)?;
                Ok(difference(script, &mut wanted, &mut *make()?)?)
            };
            // Without some lines, others may not be possible; that they are with all lines is seen first.
            compare().unwrap_or_else(|failure| {
                failed.borrow_mut().get_or_insert(failure);
                None
            })
        };
        // Whether all lines can be carried out.
        let whole = differs(&stf::read(test)?);
        if let Some(failure) = failed.borrow_mut().take() {
            return Err(failure);
        }
        let text = std::fs::read_to_string(test)?;
        let Some(found) = whole.and_then(|_| reduce(&text, &mut differs)) else {
            println!("{}: both engines agree", test.display());
            continue;
        };
        let captures = found.write(folder)?;
        println!("{}: {found}\n{}", test.display(), folder.join("test.stf").display());
        captures.values().for_each(|capture| println!("{}", capture.display()));
        return Err(Failure::Reported);
    }
    Ok(())
}

/// How engines are made: hardware is compiled once.
fn maker(args: &StfArgs) -> Result<Maker, Failure> {
    let engine = args.engine.unwrap_or_default();
    #[cfg(feature = "rtl")]
    if matches!(engine, TestEngine::Rtl) {
        return hardware::maker(&compile::pipeline(&args.source)?);
    }
    let (source, engine): (_, TestEngine) = (args.source.clone(), engine);
    Ok(Box::new(move || of_test(&source, engine)))
}
