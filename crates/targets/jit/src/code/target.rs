//! The machines that code is generated for.

use cranelift_codegen::isa;
use cranelift_codegen::settings::{self, Configurable, OptLevel};

/// An architecture that code can be made for ahead of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// 64-bit x86 with the features of x86-64-v3.
    X86_64,
    /// 64-bit Arm: ARMv8.0.
    Aarch64,
}

impl Architecture {
    /// The architecture that the compiler runs on.
    pub fn here() -> Option<Architecture> {
        Architecture::named(std::env::consts::ARCH)
    }

    /// The architecture of a name as in Rust's `target_arch`.
    pub fn named(name: &str) -> Option<Architecture> {
        [Architecture::X86_64, Architecture::Aarch64].into_iter().find(|architecture| architecture.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Architecture::X86_64 => "x86_64",
            Architecture::Aarch64 => "aarch64",
        }
    }

    /// Whether the compiler can generate its code: it was built for it, or with the feature `arm64`.
    pub fn is_available(self) -> bool {
        self.builder().is_ok()
    }

    fn builder(self) -> Result<isa::Builder, String> {
        isa::lookup_by_name(&format!("{}-unknown-linux-gnu", self.name())).map_err(|e| e.to_string())
    }
}

/// The machine that code is generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetMachine {
    /// This machine and this process.
    Host,
    /// Any process on reasonably recent machines of an architecture.
    Portable(Architecture),
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
    let mut builder = match machine {
        TargetMachine::Host => cranelift_native::builder()?,
        TargetMachine::Portable(architecture) => architecture.builder()?,
    };
    if machine == TargetMachine::Portable(Architecture::X86_64) {
        // The features of x86-64-v3: AVX2, BMI.
        builder.enable("haswell").map_err(|e| e.to_string())?;
    }
    builder.finish(settings::Flags::new(flags)).map_err(|e| e.to_string())
}
