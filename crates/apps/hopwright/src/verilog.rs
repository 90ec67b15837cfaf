//! Programs for FPGAs.

use hopwright_rtl::Target;

use crate::Program;

/// A file of a design.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerilogFile {
    /// Its name: `NAME.sv` is the top module, `NAME.json` the register map.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// Why a program is no hardware.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerilogError {
    /// There is no such target.
    #[error("no target `{name}`; there are {}", .known.join(", "))]
    UnknownTarget {
        /// The name that was given.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// The hardware cannot do parts of the program.
    #[error("{}", .0.iter().map(|refusal| refusal.message.as_str()).collect::<Vec<_>>().join("\n"))]
    Refused(Vec<Refusal>),
}

debug_is_display!(VerilogError);

/// A part of a program that the hardware cannot do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The name of what the hardware lacks, as in `docs/fpga.md`.
    pub capability: String,
    /// Where and what.
    pub message: String,
}

impl Program {
    /// Compiles the program to SystemVerilog for a target, such as `simulation`: all files of the design.
    ///
    /// # Errors
    /// There is no such target, or the hardware cannot do parts of the program.
    pub fn verilog(&self, target: &str) -> Result<Vec<VerilogFile>, VerilogError> {
        let known = || Target::all().into_iter().map(|target| target.name).collect();
        let target = Target::by_name(target)
            .ok_or_else(|| VerilogError::UnknownTarget { name: target.into(), known: known() })?;
        let hardware = hopwright_rtl::compile(&self.pipeline, &target).map_err(|refusals| {
            let refusal = |refusal: &hopwright_rtl::Refusal| Refusal {
                capability: refusal.capability.name().to_string(),
                message: refusal.report(&self.pipeline.sources),
            };
            VerilogError::Refused(refusals.iter().map(refusal).collect())
        })?;
        Ok(hardware.files(self.name()).into_iter().map(|(name, text)| VerilogFile { name, text }).collect())
    }
}
