//! What the agent says of itself: snapshots for pages and metrics, the state, and statistics.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::{Agent, AgentError};
use crate::bfd;
use crate::config::links::INTERNAL_INDEX;
use crate::config::links::Target;
use crate::status::stats::Stats;
use crate::status::{Session, Snapshot, state};
use crate::tap::Taps;
use crate::underlay::next_hop;

impl Agent {
    /// Returns the agent's part of the status.
    pub(super) fn snapshot(&self) -> Snapshot {
        let mut own_packets = self.own_packets.clone();
        let mut slow_path_drops = self.slow_path.drops().clone();
        for (interface, packets) in self.bfd.strays() {
            let index = self.setup.links.interface(interface).map_or(INTERNAL_INDEX, |link| link.index);
            slow_path_drops.invalid(index, bfd::frame::LEAST_BYTES, packets);
        }
        let mut sessions = BTreeMap::new();
        for status in self.bfd.status() {
            let Some(index) = self.setup.links.index(status.link) else { continue };
            let bfd::Counts { state_changes, sent, received, discarded, .. } = status.counts;
            slow_path_drops.invalid(index, status.packet_bytes, discarded);
            own_packets.add(index, status.packet_bytes, sent);
            sessions.insert(index, Session { up: status.is_up(), state_changes, sent, received, down: status.down });
        }
        let slow_path = self.taps.as_ref().map_or_else(|| self.slow_path.counts().families(), Taps::families);
        let links = &self.setup.links;
        let internal = self.broken(Target::Host(links.internal.ip())).map(|why| (INTERNAL_INDEX, why));
        let broken = next_hop::link_ends(links).filter_map(|(target, ..)| {
            let index = links.index(links.bfd_link(target)?)?;
            Some((index, self.broken(target)?))
        });
        Snapshot {
            broken: broken.chain(internal).collect(),
            sessions,
            hosts: self.hosts.counts(&self.next_hops),
            link_ports: self.link_ports.clone(),
            own_packets,
            slow_path: self.slow_path_time,
            slow_path_drops,
            reloads: self.reload.counts(),
            key_set: self.rollover.key_set(),
            stats_written: self.stats_written,
            counts: slow_path.into_iter().chain(self.underlay.families()).collect(),
        }
    }

    /// Writes the state to standard error, whatever the log level is.
    pub(super) fn dump(&self) {
        match state::page(&self.status) {
            // Nobody may be listening.
            Ok(page) => drop(writeln!(io::stderr(), "{page:#}")),
            Err(error) => tracing::error!(event = "state-unavailable", %error, "cannot collect the state"),
        }
    }

    /// Collects the statistics.
    pub(super) fn stats(&self) -> Result<Stats, AgentError> {
        let mut stats = Stats::collect(&self.status, &self.bfd.status(), self.started.elapsed().as_secs_f64())?;
        stats.slow_path = self.taps.as_ref().map_or_else(|| self.slow_path.counts().by_name(), Taps::by_name);
        let strays = self.bfd.strays().values().sum::<u64>();
        stats.slow_path.extend((strays > 0).then(|| ("bfd_without_session".into(), strays)));
        stats.reloads = self.reload.counts();
        Ok(stats)
    }
}
