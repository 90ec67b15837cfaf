//! What an agent counts.

/// Counts of an agent since its start, and two gauges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Controllers that are connected now.
    pub controllers: u64,
    /// Flows that there are now.
    pub flows: u64,
    /// Messages of controllers.
    pub messages: u64,
    /// Those that were refused with an error.
    pub refused: u64,
    /// Flow messages.
    pub flow_mods: u64,
    /// Flows whose removal was reported.
    pub flows_removed: u64,
    /// Packets that the program sent to the controllers.
    pub packet_ins: u64,
    /// Packets of controllers.
    pub packet_outs: u64,
    /// Those that the data plane's queue had no room for.
    pub packet_outs_lost: u64,
    /// Messages that controllers did not read in time: packets, removals, changes of ports.
    pub events_lost: u64,
}
