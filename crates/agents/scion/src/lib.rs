//! The agent of the SCION border router: it reads the reference router's configuration, programs the tables of
//! `p4/scion/border_router.p4`, keeps next hops and the clock up to date, and answers the packets that the program punts.
//!
//! - [`config`]: the files, the AS, keys and links; [`setup`]: all of them together. [`control`]: the program and its table entries.
//! - [`underlay`]: sockets and ports, and next hops.
//! - [`scmp`], [`stun`], [`bfd`], [`tap`]: process punted packets.
//! - [`status`]: statistics, metrics and HTTP pages.
//! - [`packet`]: building SCION packets. [`synthetic`]: routers and traffic for tests and benchmarks.
//! - [`agent`]: the running router, which ties these together.

pub mod agent;
pub mod bfd;
pub mod config;
pub mod control;
mod kind;
pub mod packet;
pub mod privileges;
pub mod scmp;
pub mod setup;
pub mod status;
pub mod stun;
pub mod synthetic;
pub mod tap;
pub mod underlay;

pub use agent::tenant::TenantAgent;
pub use agent::{AgentError, MakeDataPlane, Options, Watch, run};
pub use kind::KIND;
pub use setup::Setup;
