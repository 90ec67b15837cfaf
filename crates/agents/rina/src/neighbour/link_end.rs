//! What a DIF sees of a link's other end, in every dialect.

use std::fmt::Debug;
use std::time::Duration;

use super::{Admit, Effect, LinkCounts, Local, Mac};
use crate::cdap::Message;
use crate::name::Name;

/// A link's other end.
pub(crate) trait LinkEnd: Debug + Send {
    /// The neighbour that is up, and its station.
    fn up(&self) -> Option<(&Name, Mac)>;

    fn counts(&self) -> LinkCounts;

    /// The SDU of a message. None while the neighbour is not up.
    fn prepare(&mut self, message: &Message) -> Option<(Mac, Vec<u8>)>;

    /// Tries to enrol at once if the neighbour is not up.
    fn hurry(&mut self);

    /// When [`LinkEnd::tick`] has something to do, if nothing happens before.
    fn due(&self, keepalive: Duration, dead_after: Duration) -> Duration;

    /// Ends the session, because the link is down or the DIF has another configuration.
    fn end(&mut self, out: &mut Vec<Effect>);

    /// What a neighbour is sent before this member stops.
    fn release(&mut self) -> Option<(Mac, Vec<u8>)> {
        None
    }

    /// Does what is due.
    fn tick(&mut self, local: &Local<'_>, now: Duration, out: &mut Vec<Effect>);

    /// Takes a management SDU that came from a station.
    fn receive(
        &mut self,
        local: &Local<'_>,
        from: Mac,
        sdu: &[u8],
        now: Duration,
        admit: Admit<'_>,
        out: &mut Vec<Effect>,
    );

    /// Takes an ARP packet.
    fn receive_arp(&mut self, _local: &Local<'_>, _packet: &[u8], _now: Duration, _out: &mut Vec<Effect>) {}

    /// Any bytes in the place of a message, protected.
    fn protect_bytes(&mut self, _bytes: &[u8]) -> Option<Vec<u8>> {
        None
    }
}
