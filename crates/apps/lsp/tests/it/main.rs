//! The server with a client in the same process.

mod client;
mod robustness;
mod scion;
