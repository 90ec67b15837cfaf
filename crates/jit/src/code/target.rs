//! The machines that code is generated for.

use cranelift_codegen::isa;
use cranelift_codegen::settings::{self, Configurable, OptLevel};

/// The machine that code is generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetMachine {
    /// This machine and this process.
    Host,
    /// Any process on reasonably recent machines of this architecture.
    Portable,
}

/// Cranelift's description of this machine.
#[cfg(test)]
pub(crate) fn host() -> Result<isa::OwnedTargetIsa, String> {
    isa_for(TargetMachine::Host, OptLevel::Speed)
}

/// Cranelift's description of a target, with what its optimiser does.
///
/// # Errors
/// If the machine is not supported.
pub(crate) fn isa_for(machine: TargetMachine, level: OptLevel) -> Result<isa::OwnedTargetIsa, String> {
    let mut flags = settings::builder();
    for (name, value) in [
        ("opt_level", &*level.to_string()),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        ("enable_heap_access_spectre_mitigation", "false"),
        ("enable_table_access_spectre_mitigation", "false"),
        ("unwind_info", "false"),
    ] {
        flags.set(name, value).map_err(|e| e.to_string())?;
    }
    if cfg!(target_endian = "big") {
        return Err("machine code for a big-endian machine is not supported yet".into());
    }
    let mut builder = cranelift_native::builder_with_options(machine == TargetMachine::Host)?;
    if machine == TargetMachine::Portable && cfg!(target_arch = "x86_64") {
        // The features of x86-64-v3: AVX2, BMI.
        builder.enable("haswell").map_err(|e| e.to_string())?;
    }
    builder.finish(settings::Flags::new(flags)).map_err(|e| e.to_string())
}
