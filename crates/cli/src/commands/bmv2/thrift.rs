//! The Thrift server of BMv2's names. This build has none, and says so.

use super::Name;
use crate::commands::run::Starting;
use crate::failure::Failure;

/// Starts the Thrift server of a switch; it ends when what is returned is dropped. `port` is what the command line asks for.
///
/// # Errors
/// None without a server.
pub(super) fn start(name: Name, port: Option<u16>, _: &Starting<'_>) -> Result<Option<Box<dyn Send>>, Failure> {
    // Those without P4Runtime have no other control plane.
    if port.is_some() || name != Name::SimpleSwitchGrpc {
        eprintln!(
            "{}: --thrift-port: this build has no Thrift server, so that simple_switch_CLI cannot connect; P4Runtime clients and \
             `hopwright table` can, with --grpc-server-addr",
            name.text()
        );
    }
    Ok(None)
}
