//! Why the host's network cannot be used.

use std::io;

use hopwright_ports::DeviceError;
use hopwright_ports::opener::OpenerError;
use hopwright_ports::udp::BindError;

/// The reason why a socket or a port cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum UnderlayError {
    #[error("the switch has no port number left")]
    TooManyDevices,
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error("cannot use UDP sockets: {0}")]
    Sockets(#[source] io::Error),
    #[error(transparent)]
    Ports(#[from] OpenerError),
}
