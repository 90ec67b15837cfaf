//! `[queues]` of `hopwright.toml`.

use hopwright_dataplane::EgressQueues;
use hopwright_dataplane::egress_queues::{MOST_PACKETS, PORT_RATE, QUEUES};
use hopwright_dataplane::quantity::Quantity;
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

/// The rate at which packets leave by a device, and the queues that they wait in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Queues {
    /// Bits per second of whole frames.
    #[serde(serialize_with = "quantity_text")]
    pub rate: Quantity,
    /// Packets that wait in each queue, at most.
    #[serde(default = "default_packets")]
    pub packets: usize,
    /// By priority: the share of what queues of weight 0 leave, which go first.
    #[serde(default)]
    pub weights: [u16; QUEUES],
}

impl Queues {
    /// What is wrong with the values.
    pub(super) fn problem(&self) -> Option<String> {
        if !PORT_RATE.contains(&self.rate.0) {
            return Some(format!("a rate of {} is not in 8k to 1000G", self.rate));
        }
        let packets = self.packets;
        (!(1..=MOST_PACKETS).contains(&packets)).then(|| format!("{packets} packets are not in 1 to {MOST_PACKETS}"))
    }

    /// The queues as the data plane has them.
    pub fn settings(&self) -> EgressQueues {
        EgressQueues { rate: self.rate.0, packets: self.packets, weights: self.weights }
    }
}

fn quantity_text<S: Serializer>(quantity: &Quantity, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(quantity)
}

fn default_packets() -> usize {
    EgressQueues::with_rate(1).packets
}
