//! Links that cannot work, because of their addresses: everything else does.

use std::net::SocketAddr;

use super::{Agent, AgentError};
use crate::config::links::Target;
use crate::underlay::next_hop;

impl Agent {
    /// Uses the links of addresses that were missing.
    pub(super) fn take_up(&mut self, addresses: &[SocketAddr]) -> Result<(), AgentError> {
        for (target, ..) in next_hop::link_ends(&self.setup.links) {
            if addresses.contains(&self.setup.links.local(target)) {
                self.program_target(target)?;
            }
        }
        Ok(())
    }

    /// Why a link is down whatever BFD says, if that is so: its addresses are of no use, or missing on this machine.
    pub(super) fn broken(&self, target: Target) -> Option<String> {
        let local = self.setup.links.local(target);
        let missing = || self.underlay.is_missing(local).then(|| format!("this machine does not have {}", local.ip()));
        self.setup.links.problem(target).map(String::from).or_else(missing)
    }
}
