//! Datagrams of sFlow version 5 (<https://sflow.org/sflow_version_5.txt>).

use std::net::IpAddr;

use hopwright_host::netlink::{Medium, OperState};

use crate::Interface;

/// The most bytes of a packet that a sample has.
pub(super) const HEADER_BYTES: usize = 128;
/// The longest samples of a datagram, in bytes: with UDP, IPv6 and options they fit the MTU of Ethernet.
const LONGEST: usize = 1400;

const VERSION: u32 = 5;
/// Samples and records of sflow.org.
const FLOW_SAMPLE: u32 = 1;
const COUNTERS_SAMPLE: u32 = 2;
const RAW_HEADER: u32 = 1;
const INTERFACE_COUNTERS: u32 = 1;
/// `header_protocol` of Ethernet.
const ETHERNET: u32 = 1;
/// Bytes of the frame check sequence, which frames here are without and sFlow counts.
const FCS: u32 = 4;

/// Where a sampled packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// To an interface with this number.
    Interface(u32),
    /// To the control plane of this machine.
    Internal,
    /// Nowhere.
    Discarded,
    Unknown,
}

impl Output {
    /// The `interface` of a sample: its format in the upper two bits.
    fn number(self) -> u32 {
        match self {
            Output::Interface(index) => index & 0x3fff_ffff,
            Output::Internal => 0x3fff_ffff,
            // Discarded, for reason 256: unknown.
            Output::Discarded => 1 << 30 | 256,
            Output::Unknown => 0,
        }
    }
}

/// A packet that was sampled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow<'a> {
    /// Counts the samples of an interface.
    pub sequence: u32,
    /// The number of the interface that it came by.
    pub input: u32,
    pub output: Output,
    pub rate: u32,
    /// Packets of the interface that might have been sampled so far.
    pub pool: u32,
    /// Samples lost so far.
    pub drops: u32,
    pub frame: &'a [u8],
}

/// Collects samples into datagrams.
#[derive(Debug)]
pub(super) struct Datagrams {
    agent: IpAddr,
    sequence: u32,
    samples: Vec<u8>,
    count: u32,
}

impl Datagrams {
    /// `agent`: the address by which collectors know this machine.
    pub(super) fn new(agent: IpAddr) -> Datagrams {
        Datagrams { agent, sequence: 0, samples: Vec::with_capacity(2 * LONGEST), count: 0 }
    }

    /// Adds a packet. Returns a datagram if it is full.
    pub(super) fn flow(&mut self, flow: &Flow<'_>, uptime_ms: u32) -> Option<Vec<u8>> {
        let header = &flow.frame[..flow.frame.len().min(HEADER_BYTES)];
        let mut record = Vec::with_capacity(HEADER_BYTES + 32);
        let length = (flow.frame.len() as u32).saturating_add(FCS);
        numbers(&mut record, &[ETHERNET, length, FCS, header.len() as u32]);
        record.extend(header);
        record.resize(record.len().next_multiple_of(4), 0);
        let mut sample = Vec::with_capacity(record.len() + 48);
        let Flow { sequence, input, output, rate, pool, drops, .. } = *flow;
        // Of the interface that the packet came by: type 0 of a source.
        numbers(&mut sample, &[sequence, input, rate, pool, drops, input, output.number(), 1]);
        numbers(&mut sample, &[RAW_HEADER, record.len() as u32]);
        sample.extend(record);
        self.add(FLOW_SAMPLE, &sample, uptime_ms)
    }

    /// Adds the counters of an interface. Returns a datagram if it is full.
    pub(super) fn counters(&mut self, sequence: u32, interface: &Interface, uptime_ms: u32) -> Option<Vec<u8>> {
        let c = &interface.counters;
        let kind = match interface.medium {
            Medium::Ethernet => 6,
            Medium::Loopback => 24,
            Medium::Other => 1,
        };
        let status = u32::from(interface.enabled) | u32::from(interface.state == OperState::Up) << 1;
        let mut record = Vec::with_capacity(88);
        numbers(&mut record, &[interface.index, kind]);
        // The speed and the direction are not known.
        record.extend(0u64.to_be_bytes());
        numbers(&mut record, &[0, status]);
        record.extend(c.in_octets.to_be_bytes());
        let [unicast, multicast, broadcast] = [c.in_unicast, c.in_multicast, c.in_broadcast].map(|count| count as u32);
        numbers(&mut record, &[unicast, multicast, broadcast, c.in_discards as u32, c.in_errors as u32, 0]);
        record.extend(c.out_octets.to_be_bytes());
        let [unicast, multicast, broadcast] =
            [c.out_unicast, c.out_multicast, c.out_broadcast].map(|count| count as u32);
        numbers(&mut record, &[unicast, multicast, broadcast, c.out_discards as u32, c.out_errors as u32, 0]);
        let mut sample = Vec::with_capacity(record.len() + 20);
        numbers(&mut sample, &[sequence, interface.index, 1, INTERFACE_COUNTERS, record.len() as u32]);
        sample.extend(record);
        self.add(COUNTERS_SAMPLE, &sample, uptime_ms)
    }

    fn add(&mut self, kind: u32, sample: &[u8], uptime_ms: u32) -> Option<Vec<u8>> {
        let full = (self.samples.len() + sample.len() + 8 > LONGEST).then(|| self.finish(uptime_ms)).flatten();
        numbers(&mut self.samples, &[kind, sample.len() as u32]);
        self.samples.extend(sample);
        self.count += 1;
        full
    }

    /// The datagram of what has been added, if something has.
    pub(super) fn finish(&mut self, uptime_ms: u32) -> Option<Vec<u8>> {
        if self.count == 0 {
            return None;
        }
        self.sequence = self.sequence.wrapping_add(1);
        let mut datagram = Vec::with_capacity(self.samples.len() + 40);
        numbers(&mut datagram, &[VERSION]);
        match self.agent {
            IpAddr::V4(address) => {
                numbers(&mut datagram, &[1]);
                datagram.extend(address.octets());
            }
            IpAddr::V6(address) => {
                numbers(&mut datagram, &[2]);
                datagram.extend(address.octets());
            }
        }
        // There is one agent at the address.
        numbers(&mut datagram, &[0, self.sequence, uptime_ms, std::mem::take(&mut self.count)]);
        datagram.append(&mut self.samples);
        Some(datagram)
    }
}

fn numbers(bytes: &mut Vec<u8>, numbers: &[u32]) {
    numbers.iter().for_each(|number| bytes.extend(number.to_be_bytes()));
}
