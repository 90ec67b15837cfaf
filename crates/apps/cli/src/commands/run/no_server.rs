//! What stands in for P4Runtime in a build without it.

use std::sync::Arc;

use hopwright_dataplane::Switch;
use hopwright_driver::Compiled;

use crate::cli::RunArgs;
use crate::failure::Failure;

/// No server.
pub(crate) struct Server;

impl Server {
    pub(crate) fn start(_: &RunArgs, _: &Arc<Switch>, _: Option<&Compiled>) -> Result<Server, Failure> {
        Ok(Server)
    }

    pub(crate) fn takes_packets(&self) -> bool {
        false
    }

    pub(crate) fn counts(&self) -> impl Fn() -> serde_json::Value + use<> {
        || serde_json::Value::Null
    }
}
