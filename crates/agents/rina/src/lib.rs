//! The agent of the RINA router: IPC processes over `p4/rina/interior.p4`.
//!
//! - [`run`] is a router or host: devices, program, IPC processes, applications' socket, metrics. [`Config`] is `rina.toml`.
//! - [`ipcp::Ipcp`] is an IPC process as a state machine without I/O. It composes the modules below; nothing else is
//!   shared between them.
//! - [`client`] is what applications use.
//!
//! | module | owns |
//! | --- | --- |
//! | `neighbour`, `credential` | a link's other end: enrollment, keep-alive, keys |
//! | `agreement` | nothing: secrets that two ends agree on and forget |
//! | `dialect` | nothing: which dialect a DIF has |
//! | `rlite`, `irati`, `plain` | a link's other end in the dialect of another implementation, and what its messages are here; what both share |
//! | `identity` | nothing: certificates of members, and proofs |
//! | `admission` | nothing: who becomes a member, and with which address |
//! | `members` | the keys of management between members that are not neighbours |
//! | `rib` | the DIF's objects, and which neighbours lack which of them |
//! | [`routing`] | nothing: paths over the RIB, by a policy |
//! | `flows` | flows and their state, each with its `efcp` sender and receiver, and a [`congestion`] policy |
//! | `tables` | the program's tables: whatever is written there |
//! | `plane` | where the program runs: packets to and from it |
//! | `applications` | the socket and its connections |
//! | `agent` | threads, timers, CPU queues, frames; `error`: why it ends |
//! | `cdap`, `pdu` | message formats |
//! | [`capture`] | frames of captures as text, and a dissector |

mod admission;
mod agent;
mod agreement;
mod applications;
mod border_tables;
pub mod capture;
mod cdap;
pub mod client;
mod config;
mod credential;
mod dialect;
mod efcp;
mod error;
mod fixture;
mod flows;
mod frames;
#[doc(hidden)]
pub mod fuzz;
mod identity;
pub mod ipcp;
mod irati;
mod lower_flows;
mod members;
mod name;
mod neighbour;
mod pdu;
mod plain;
mod plane;
pub mod program;
mod rib;
mod rlite;
pub mod routing;
mod status;
mod tables;

pub use agent::{Orders, Router, Watch, run};
pub use applications::{Answer, Cube, Request};
pub use config::{Config, ConfigError, DEFAULT_SOCKET, IpcpConfig, Link, SAMPLE, SwitchConfig, SwitchPort};
pub use credential::{Credential, CredentialError};
pub use dialect::Dialect;
pub use efcp::{Qos, congestion};
pub use error::AgentError;
pub use flows::{End, FlowEvent, FlowId};
pub use frames::{Protection, Shim};
pub use identity::{Identity, IdentityError};
pub use name::{Name, NotAName};
pub use neighbour::{LinkCounts, Mac};
pub use pdu::Syntax;
