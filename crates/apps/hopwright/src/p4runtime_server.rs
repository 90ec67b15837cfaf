//! P4Runtime: the program's P4Info, and its server.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hopwright_dataplane::Tenant;
use hopwright_driver::Compiled;
use hopwright_p4runtime::p4info::P4InfoError;
use hopwright_p4runtime::proto::config::P4Info;
use hopwright_p4runtime::{Access, Bundle, Device, EnginePolicy, Options, Server, p4info};

use crate::{Program, RunError};

/// The device id of the switch.
const DEVICE: u64 = 1;

/// The program as a controller reads it, or why there is no such thing.
pub(crate) struct Config {
    info: Result<P4Info, P4InfoError>,
    program: Result<hopwright_p4runtime::Program, String>,
}

impl Config {
    pub(crate) fn of(compiled: &Compiled, file: &Path, defines: &[String], includes: &[PathBuf]) -> Config {
        let bundle = Bundle::of(compiled, file, defines, includes);
        let program = hopwright_p4runtime::Program::from_compiled(compiled, bundle.to_bytes());
        let info = p4info::of_compiled(compiled).unwrap_or_else(|| Ok(P4Info::default()));
        Config { info, program: program.map_err(|failure| failure.message) }
    }

    /// Serves a switch that runs the program.
    pub(crate) fn serve(&self, address: SocketAddr, tenant: &Arc<Tenant>) -> Result<Server, RunError> {
        let program = self.program.clone().map_err(RunError::P4Info)?;
        let device = Device::new(DEVICE, tenant.clone(), EnginePolicy::Auto).with_program(program);
        Ok(Server::start(&Options { address, tls: None, access: Access::Everybody }, [device])?)
    }
}

impl Program {
    /// Its P4Info: what a P4Runtime controller must know of it, with the ids that p4c assigns.
    ///
    /// # Errors
    /// The program gives an id twice, or one that is none.
    pub fn p4info(&self) -> Result<P4Info, P4InfoError> {
        self.config.info.clone()
    }

    /// The same as text, in the form of `hopwright p4info`.
    ///
    /// # Errors
    /// As [`Program::p4info`].
    pub fn p4info_text(&self) -> Result<String, P4InfoError> {
        p4info::to_text(&self.p4info()?)
    }
}
