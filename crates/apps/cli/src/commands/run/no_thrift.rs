//! What stands in for Thrift in a build without it.

use std::path::Path;
use std::sync::Arc;

use hopwright_dataplane::{Switch, VirtualDataPlane};
use hopwright_ports::Opener;

use super::queues::Queues;
use crate::cli::RunArgs;
use crate::failure::Failure;

pub(super) fn load_commands(_: &Path, _: &Arc<VirtualDataPlane>, _: Option<&Queues>) -> Result<bool, Failure> {
    Ok(false)
}

pub(super) fn start(
    _: &RunArgs,
    _: &Arc<Switch>,
    _: &super::Server,
    opener: Opener,
    _: Queues,
) -> Result<Opener, Failure> {
    Ok(opener)
}
