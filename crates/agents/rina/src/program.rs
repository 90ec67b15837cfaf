//! The programs that are built in, and what the agent has of them.

mod sources;

use std::sync::Arc;

use hopwright_dataplane::{BuildError, EngineKind, VirtualDataPlane};
use hopwright_driver::{Compiled, compile_text};
use hopwright_p4runtime::Bundle;

#[cfg(test)]
pub(crate) use sources::HARDWARE;
pub use sources::Kind;
use sources::SEPARATE_MANAGEMENT;

/// What the build script makes of the programs: entries of tables, names of objects, numbers.
macro_rules! bindings {
    ($($(#[$doc:meta])* $program:ident),*) => {
        $(
            $(#[$doc])*
            #[allow(clippy::too_many_arguments, dead_code, unreachable_pub)]
            pub(crate) mod $program {
                include!(concat!(env!("OUT_DIR"), "/", stringify!($program), ".rs"));
            }
        )*
    };
}

bindings! {
    /// The interior router.
    interior,
    /// The interior router in hardware.
    hardware,
    /// The border router.
    border
}

use interior::{Reason, number, packet_in};

/// Port by which the program punts, and by which it takes what the control plane sends.
pub const CPU_PORT: u32 = number::CPU_PORT as u32;
/// Port by which it punts layer management to the router.
pub const URGENT_CPU_PORT: u32 = number::URGENT_CPU_PORT as u32;
/// Bytes of `packet_in_t`, in front of a punted frame.
pub(crate) const PACKET_IN_BYTES: usize = packet_in::BYTES;

/// Numbers and names of `Reason` in `reasons.p4`: the indices of the counter `reasons`.
pub(crate) fn reasons() -> impl Iterator<Item = (u8, &'static str)> {
    Reason::ALL.iter().map(|reason| (*reason as u8, reason.name()))
}

/// The sources of a program with macros, as a device config of P4Runtime.
pub fn bundle(kind: Kind, defines: &[String]) -> Bundle {
    let files = kind.sources().iter().map(|(name, text)| (name.to_string(), text.to_string()));
    Bundle {
        hopwright_bundle: 1,
        main: kind.sources()[0].0.into(),
        files: files.collect(),
        defines: defines.to_vec(),
        include_paths: Vec::new(),
    }
}

/// Whether a punted packet is one of those that have a CPU port of their own with `SEPARATE_MANAGEMENT`.
pub(crate) fn is_urgent(packet: &[u8]) -> bool {
    let reason = packet.get(packet_in::REASON.start).and_then(|reason| Reason::from_number(*reason));
    matches!(reason, Some(Reason::Management | Reason::Arp))
}

/// Compiles a program with macros; with `separate` layer management has a CPU port of its own.
pub fn compile(kind: Kind, separate: bool, defines: &[String]) -> Compiled {
    let (name, text) = kind.sources()[0];
    let separate = separate.then_some(SEPARATE_MANAGEMENT);
    compile_text(name, text, &kind.options(separate.into_iter().chain(defines.iter().map(String::as_str))), true)
}

/// A program, ready to run, with a CPU port for layer management.
pub fn data_plane(kind: Kind) -> Result<Arc<VirtualDataPlane>, BuildError> {
    let compiled = compile(kind, true, &[]);
    let report = compiled.report(false);
    let pipeline = compiled.pipeline.ok_or(BuildError::Program(report))?;
    VirtualDataPlane::new(Arc::new(pipeline), EngineKind::Jit)
}
