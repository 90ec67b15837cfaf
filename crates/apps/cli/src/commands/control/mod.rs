//! Controls a running switch without a controller: tables, counters, registers, meters, traces of packets. The client is
//! `hopwright_p4runtime::client`.

pub(crate) mod cells;
pub(crate) mod meter;
pub(crate) mod table;
pub(crate) mod trace;

use hopwright_p4runtime::client::{Client, ClientOptions, ClientTls};
use hopwright_p4runtime::proto::config::Preamble;

use crate::cli::control::SwitchArgs;
use crate::failure::Failure;

/// Connects to the switch that the options select.
pub(crate) fn connect(args: &SwitchArgs) -> Result<Client, Failure> {
    let tls = args.tls_ca.clone().map(|ca| ClientTls {
        ca,
        name: args.tls_name.clone(),
        identity: args.tls_cert.clone().zip(args.tls_key.clone()),
    });
    let (server, device, force) = (args.server.clone(), args.device_id, args.force);
    Ok(Client::connect(ClientOptions { server, device, tls, force })?)
}

/// Full name and id.
fn preamble(preamble: &Option<Preamble>) -> (&str, u32) {
    preamble.as_ref().map_or(("", 0), |p| (&p.name, p.id))
}

/// Prints one JSON value on standard output.
fn print_json(value: &serde_json::Value) {
    println!("{value:#}");
}
