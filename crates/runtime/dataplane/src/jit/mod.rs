//! The code generator, where this build has it (feature `jit`). Otherwise [types without values](absent) stand in for its own, so
//! that nothing else here asks which build it is.

#[cfg(not(feature = "jit"))]
mod absent;
#[cfg(feature = "jit")]
mod present;

#[cfg(not(feature = "jit"))]
pub use absent::*;
#[cfg(feature = "jit")]
pub use present::*;
