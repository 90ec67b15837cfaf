//! BfRuntime: the gRPC service that controllers of Tofino programs speak to, over the devices of a P4Runtime server.
//!
//! Requests become updates and reads of the same control model as those of P4Runtime ([`hopwright_p4runtime::Device`]), so that both
//! services see the same entries and refuse the same mistakes. What the model does not have, such as the nodes of multicast groups, is in
//! [`state`].
//!
//! `schema` has the tables that a controller sees, `write` and `read` convert entries, `service` is the gRPC service.

mod attributes;
mod failure;
pub mod fuzz;
mod hashes;
mod idle;
pub use hopwright_protobuf::bfrt as proto;
mod programs;
mod read;
mod schema;
mod service;
mod state;
mod value;
mod watch;
mod write;

use hopwright_p4runtime::Devices;
use hopwright_p4runtime::proto::config::P4Info;
use proto::bf_runtime_server::BfRuntimeServer;
use tonic::service::Routes;

/// The longest message.
const MAX_MESSAGE: usize = 128 << 20;

/// Adds the service to those of a P4Runtime server ([`hopwright_p4runtime::Server::start_with`]).
pub fn serve(devices: Devices, routes: Routes) -> Routes {
    let service = service::Service::new(devices);
    routes.add_service(
        BfRuntimeServer::new(service).max_decoding_message_size(MAX_MESSAGE).max_encoding_message_size(MAX_MESSAGE),
    )
}

/// `bf-rt.json` of a program: the tables that controllers find, with their keys, actions and data.
pub fn info(program: &str, info: &P4Info) -> serde_json::Value {
    let schema = schema::program::schema(&service::name_of(program), info);
    schema.programs.first().map(|program| schema.program_document(program)).unwrap_or_default()
}
