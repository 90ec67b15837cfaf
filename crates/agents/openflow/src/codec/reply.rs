//! Messages of the switch.

use std::time::Duration;

use super::bytes::{Write, align, set_length};
use super::request::{Band, BandKind, Bucket, GroupKind, meter_flag};
use super::{Field, HEADER, Instructions, Match, NO_BUFFER, Refusal, Version, action};

/// Bytes of a multipart message after which another one is begun.
const FULL: usize = 48 * 1024;
/// Bytes of a refused message that its refusal quotes.
const QUOTED: usize = 64;
/// `OFPMPF_REPLY_MORE`.
const MORE: u8 = 1;

/// A port as controllers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortDescription {
    pub number: u32,
    pub mac: [u8; 6],
    pub name: String,
    /// `OFPPC_*`.
    pub config: u32,
    /// It has no link.
    pub down: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PortCounts {
    pub rx_packets: u64,
    pub tx_packets: u64,
    pub rx_bytes: u64,
    pub tx_bytes: u64,
    pub rx_dropped: u64,
    pub tx_dropped: u64,
    pub tx_errors: u64,
    pub rx_overrun: u64,
}

/// A flow, as statistics and removals show it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowView<'a> {
    pub table: u8,
    pub matching: &'a Match,
    pub priority: u16,
    pub cookie: u64,
    pub idle_timeout: u16,
    pub hard_timeout: u16,
    pub flags: u16,
    pub age: Duration,
    pub packets: u64,
    pub bytes: u64,
    pub instructions: &'a Instructions,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TableCounts {
    pub active: u32,
    pub lookups: u64,
    pub matched: u64,
}

/// A group, as statistics and descriptions show it. Counts are of packets and bytes.
#[derive(Clone, Debug)]
pub(crate) struct GroupView<'a> {
    pub group: u32,
    pub kind: GroupKind,
    pub buckets: &'a [Bucket],
    pub flows: u32,
    pub age: Duration,
    pub count: (u64, u64),
    pub bucket_counts: Vec<(u64, u64)>,
}

/// A meter, as statistics and configurations show it. Counts are of packets and bytes.
#[derive(Clone, Debug)]
pub(crate) struct MeterView<'a> {
    pub meter: u32,
    pub flags: u16,
    pub bands: &'a [Band],
    pub flows: u32,
    pub age: Duration,
    pub count: (u64, u64),
    pub band_counts: Vec<(u64, u64)>,
}

/// Why a flow is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Removal {
    IdleTimeout = 0,
    HardTimeout = 1,
    Delete = 2,
    GroupDelete = 3,
}

/// Why a packet goes to the controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PacketInReason {
    NoMatch = 0,
    Action = 1,
}

/// What became of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PortChange {
    Add = 0,
    Delete = 1,
    Modify = 2,
}

/// Identity and limits of the switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub datapath_id: u64,
    pub tables: u8,
}

/// Writes messages of one version, with one transaction number.
#[derive(Clone, Debug)]
pub(crate) struct Replies {
    version: Version,
    xid: u32,
    messages: Vec<Vec<u8>>,
}

impl Replies {
    pub(crate) fn new(version: Version, xid: u32) -> Replies {
        Replies { version, xid, messages: Vec::new() }
    }

    pub(crate) fn version(&self) -> Version {
        self.version
    }

    pub(crate) fn into_messages(self) -> Vec<Vec<u8>> {
        self.messages
    }

    /// The only message; empty if there is none.
    pub(crate) fn into_message(mut self) -> Vec<u8> {
        self.messages.pop().unwrap_or_default()
    }

    /// A message of the type that the two versions have, with the body that `write` appends.
    fn message(&mut self, kind: (u8, u8), write: impl FnOnce(&mut Vec<u8>)) {
        let mut out = Vec::with_capacity(128);
        out.u8(self.version.wire());
        out.u8(if self.version == Version::V10 { kind.0 } else { kind.1 });
        out.u16(0);
        out.u32(self.xid);
        write(&mut out);
        set_length(&mut out, 2, 0);
        self.messages.push(out);
    }

    /// A hello with the versions that the switch speaks.
    pub(crate) fn hello(&mut self, versions: &[Version]) {
        self.message((0, 0), |out| {
            out.u16(1);
            out.u16(8);
            out.u32(versions.iter().fold(0, |bits, version| bits | 1 << version.wire()));
        });
    }

    /// A refusal that quotes what is refused.
    pub(crate) fn refuse(&mut self, refusal: Refusal, message: &[u8]) {
        let (kind, code) = refusal.of(self.version);
        self.message((1, 1), |out| {
            out.u16(kind);
            out.u16(code);
            out.put(&message[..message.len().min(QUOTED)]);
        });
    }

    pub(crate) fn echo_request(&mut self) {
        self.message((2, 2), |_| {});
    }

    pub(crate) fn echo_reply(&mut self, data: &[u8]) {
        self.message((3, 3), |out| out.put(data));
    }

    pub(crate) fn features(&mut self, identity: Identity, ports: &[PortDescription]) {
        let version = self.version;
        self.message((6, 6), |out| {
            out.u64(identity.datapath_id);
            // No buffers.
            out.u32(0);
            out.u8(if version == Version::V10 { 1 } else { identity.tables });
            out.zeros(3);
            match version {
                Version::V10 => {
                    // Statistics of flows, tables, ports and queues; addresses in ARP packets are matched.
                    out.u32(1 | 2 | 4 | 64 | 128);
                    out.u32(0xfff);
                    // As many as the message holds; the numbers of ports go to 507.
                    ports.iter().for_each(|port| port.write(version, out));
                }
                Version::V13 => {
                    // Statistics of flows, tables, ports, groups and queues.
                    out.u32(1 | 2 | 4 | 8 | 64);
                    out.u32(0);
                }
            }
        });
    }

    pub(crate) fn config(&mut self, flags: u16, miss_send_len: u16) {
        self.message((8, 8), |out| {
            out.u16(flags);
            out.u16(miss_send_len);
        });
    }

    pub(crate) fn packet_in(
        &mut self,
        in_port: u32,
        reason: PacketInReason,
        table: u8,
        cookie: u64,
        (metadata, tunnel_id): (u64, u64),
        packet: &[u8],
    ) {
        let version = self.version;
        // The longest message is 65,535 bytes.
        let data = &packet[..packet.len().min(usize::from(u16::MAX) - 128)];
        self.message((10, 10), |out| {
            out.u32(NO_BUFFER);
            out.u16(data.len() as u16);
            match version {
                Version::V10 => {
                    out.u16(in_port as u16);
                    out.u8(reason as u8);
                    out.zeros(1);
                }
                Version::V13 => {
                    out.u8(reason as u8);
                    out.u8(table);
                    out.u64(cookie);
                    let mut context = Match::default();
                    context.add(Field::InPort, in_port.into(), Field::InPort.all());
                    if metadata != 0 {
                        context.add(Field::Metadata, metadata.into(), Field::Metadata.all());
                    }
                    if tunnel_id != 0 {
                        context.add(Field::TunnelId, tunnel_id.into(), Field::TunnelId.all());
                    }
                    context.write_13(out);
                    out.zeros(2);
                }
            }
            out.put(data);
        });
    }

    pub(crate) fn flow_removed(&mut self, flow: &FlowView<'_>, reason: Removal) {
        let version = self.version;
        // 1.0 has no groups.
        let reason = if version == Version::V10 { (reason as u8).min(Removal::Delete as u8) } else { reason as u8 };
        self.message((11, 11), |out| {
            if version == Version::V10 {
                flow.matching.write_10(out);
            }
            out.u64(flow.cookie);
            out.u16(flow.priority);
            out.u8(reason);
            out.u8(if version == Version::V10 { 0 } else { flow.table });
            age(flow.age, out);
            out.u16(flow.idle_timeout);
            out.u16(if version == Version::V10 { 0 } else { flow.hard_timeout });
            out.u64(flow.packets);
            out.u64(flow.bytes);
            if version == Version::V13 {
                flow.matching.write_13(out);
            }
        });
    }

    pub(crate) fn port_status(&mut self, change: PortChange, port: &PortDescription) {
        let version = self.version;
        self.message((12, 12), |out| {
            out.u8(change as u8);
            out.zeros(7);
            port.write(version, out);
        });
    }

    pub(crate) fn barrier(&mut self) {
        self.message((19, 21), |_| {});
    }

    /// Queues, as pairs of port and queue, without properties such as rates.
    pub(crate) fn queue_config(&mut self, port: u32, queues: &[(u32, u32)]) {
        let version = self.version;
        self.message((21, 23), |out| {
            match version {
                Version::V10 => out.u16(port as u16),
                Version::V13 => out.u32(port),
            }
            align(out, 0);
            for (port, queue) in queues {
                out.u32(*queue);
                match version {
                    Version::V10 => {
                        out.u16(8);
                        out.zeros(2);
                    }
                    Version::V13 => {
                        out.u32(*port);
                        out.u16(16);
                        out.zeros(6);
                    }
                }
            }
        });
    }

    pub(crate) fn role(&mut self, role: u32, generation: u64) {
        self.message((1, 25), |out| {
            out.u32(role);
            out.zeros(4);
            out.u64(generation);
        });
    }

    pub(crate) fn asynchronous(&mut self, masks: [u32; 6]) {
        self.message((1, 27), |out| masks.iter().for_each(|mask| out.u32(*mask)));
    }

    /// A multipart reply of the given items, in as many messages as they need.
    pub(crate) fn multipart<T>(
        &mut self,
        number: u16,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(Version, T, &mut Vec<u8>),
    ) {
        let version = self.version;
        let head = |out: &mut Vec<u8>| {
            out.u16(number);
            out.u16(0);
            if version == Version::V13 {
                out.zeros(4);
            }
        };
        let mut items = items.into_iter().peekable();
        loop {
            self.message((17, 19), |out| {
                head(out);
                while out.len() < FULL
                    && let Some(item) = items.next()
                {
                    write(version, item, out);
                }
                if items.peek().is_some() {
                    out[HEADER + 3] = MORE;
                }
            });
            if items.peek().is_none() {
                return;
            }
        }
    }
}

fn counts((packets, bytes): (u64, u64), out: &mut Vec<u8>) {
    out.u64(packets);
    out.u64(bytes);
}

fn age(age: Duration, out: &mut Vec<u8>) {
    out.u32(age.as_secs() as u32);
    out.u32(age.subsec_nanos());
}

impl PortDescription {
    /// Whether packets can leave by it: it has a link, and no controller has taken it down.
    pub(crate) fn is_live(&self) -> bool {
        // `OFPPC_PORT_DOWN`
        !self.down && self.config & 1 == 0
    }

    pub(crate) fn write(&self, version: Version, out: &mut Vec<u8>) {
        match version {
            Version::V10 => out.u16(self.number as u16),
            Version::V13 => {
                out.u32(self.number);
                out.zeros(4);
            }
        }
        out.put(&self.mac);
        if version == Version::V13 {
            out.zeros(2);
        }
        out.text(&self.name, 16);
        out.u32(self.config);
        let live = if version == Version::V13 { 4 } else { 0 };
        out.u32(match (self.down, self.is_live()) {
            (true, _) => 1,
            (false, true) => live,
            (false, false) => 0,
        });
        // Nothing is known of speeds.
        out.zeros(if version == Version::V13 { 24 } else { 16 });
    }
}

impl PortCounts {
    pub(crate) fn write(&self, port: u32, up: Duration, version: Version, out: &mut Vec<u8>) {
        match version {
            Version::V10 => {
                out.u16(port as u16);
                out.zeros(6);
            }
            Version::V13 => {
                out.u32(port);
                out.zeros(4);
            }
        }
        let PortCounts { rx_packets, tx_packets, rx_bytes, tx_bytes, .. } = *self;
        let counts = [rx_packets, tx_packets, rx_bytes, tx_bytes, self.rx_dropped, self.tx_dropped, 0, self.tx_errors];
        counts.into_iter().chain([0, self.rx_overrun, 0, 0]).for_each(|count| out.u64(count));
        if version == Version::V13 {
            age(up, out);
        }
    }
}

impl FlowView<'_> {
    /// An item of the statistics of flows.
    pub(crate) fn write(&self, version: Version, out: &mut Vec<u8>) {
        let from = out.len();
        out.u16(0);
        out.u8(self.table);
        out.zeros(1);
        if version == Version::V10 {
            self.matching.write_10(out);
        }
        age(self.age, out);
        out.u16(self.priority);
        out.u16(self.idle_timeout);
        out.u16(self.hard_timeout);
        match version {
            Version::V10 => out.zeros(6),
            Version::V13 => {
                out.u16(self.flags);
                out.zeros(4);
            }
        }
        out.u64(self.cookie);
        out.u64(self.packets);
        out.u64(self.bytes);
        match version {
            Version::V10 => {
                let actions: Vec<_> = self.instructions.actions().copied().collect();
                action::write(&actions, version, out);
            }
            Version::V13 => {
                self.matching.write_13(out);
                self.instructions.write_13(out);
            }
        }
        set_length(out, from, from);
    }
}

impl GroupView<'_> {
    pub(crate) fn write_counts(&self, out: &mut Vec<u8>) {
        let from = out.len();
        out.u16(0);
        out.zeros(2);
        out.u32(self.group);
        out.u32(self.flows);
        out.zeros(4);
        counts(self.count, out);
        age(self.age, out);
        self.bucket_counts.iter().for_each(|count| counts(*count, out));
        set_length(out, from, from);
    }

    pub(crate) fn write_description(&self, out: &mut Vec<u8>) {
        let from = out.len();
        out.u16(0);
        out.u8(self.kind as u8);
        out.zeros(1);
        out.u32(self.group);
        for bucket in self.buckets {
            let from = out.len();
            out.u16(0);
            out.u16(bucket.weight);
            out.u32(bucket.watch_port);
            out.u32(bucket.watch_group);
            out.zeros(4);
            action::write(&bucket.actions, Version::V13, out);
            set_length(out, from, from);
        }
        set_length(out, from, from);
    }
}

impl MeterView<'_> {
    pub(crate) fn write_counts(&self, out: &mut Vec<u8>) {
        let from = out.len();
        out.u32(self.meter);
        out.u16(0);
        out.zeros(6);
        out.u32(self.flows);
        counts(self.count, out);
        age(self.age, out);
        self.band_counts.iter().for_each(|count| counts(*count, out));
        set_length(out, from + 4, from);
    }

    pub(crate) fn write_config(&self, out: &mut Vec<u8>) {
        let from = out.len();
        out.u16(0);
        out.u16(self.flags);
        out.u32(self.meter);
        for band in self.bands {
            let (kind, levels) = match band.kind {
                BandKind::Drop => (1, 0),
                BandKind::Remark(levels) => (2, levels),
            };
            out.u16(kind);
            out.u16(16);
            out.u32(band.rate);
            out.u32(band.burst);
            out.u8(levels);
            out.zeros(3);
        }
        set_length(out, from, from);
    }
}

/// `ofp_meter_features`: bands that drop and that remark, of bits and of packets, with bursts and statistics.
pub(crate) fn write_meter_features(meters: u32, bands: u8, out: &mut Vec<u8>) {
    out.u32(meters);
    out.u32(1 << 1 | 1 << 2);
    out.u32((meter_flag::KBPS | meter_flag::PKTPS | meter_flag::BURST | meter_flag::STATS).into());
    out.u8(bands);
    out.zeros(3);
}

/// `ofp_queue_stats`. `count`: packets and bytes. Those that find a queue full are counted by their port.
pub(crate) fn write_queue(
    (port, queue): (u32, u32),
    (packets, bytes): (u64, u64),
    up: Duration,
    version: Version,
    out: &mut Vec<u8>,
) {
    match version {
        Version::V10 => {
            out.u16(port as u16);
            out.zeros(2);
        }
        Version::V13 => out.u32(port),
    }
    out.u32(queue);
    out.u64(bytes);
    out.u64(packets);
    out.u64(u64::MAX);
    if version == Version::V13 {
        age(up, out);
    }
}

/// `ofp_desc`.
pub(crate) fn write_description(name: &str, out: &mut Vec<u8>) {
    out.text("Hopwright", 256);
    out.text("Software switch", 256);
    out.text(env!("CARGO_PKG_VERSION"), 256);
    out.text("None", 32);
    out.text(name, 256);
}

/// `ofp_table_stats`. `size`: flows that it may hold.
pub(crate) fn write_table(version: Version, table: u8, size: u32, counts: &TableCounts, out: &mut Vec<u8>) {
    out.u8(table);
    out.zeros(3);
    if version == Version::V10 {
        out.text("flows", 32);
        // Every field may be left out.
        out.u32((1 << 22) - 1);
        out.u32(size);
    }
    out.u32(counts.active);
    out.u64(counts.lookups);
    out.u64(counts.matched);
}

/// `ofp_aggregate_stats_reply`.
pub(crate) fn write_aggregate(packets: u64, bytes: u64, flows: u32, out: &mut Vec<u8>) {
    out.u64(packets);
    out.u64(bytes);
    out.u32(flows);
    out.zeros(4);
}

/// `ofp_group_features`: groups of all types, with weights, which may lead to each other.
pub(crate) fn write_group_features(groups: u32, out: &mut Vec<u8>) {
    out.u32(0b1111);
    // Weights, liveness, chaining with a check of loops.
    out.u32(0b1111);
    let actions = ACTIONS.iter().fold(0, |bits, kind| bits | 1u32 << kind);
    [groups; 4].into_iter().chain([actions; 4]).for_each(|number| out.u32(number));
}

/// `ofp_table_features`.
pub(crate) fn write_table_features(table: u8, tables: u8, size: u32, out: &mut Vec<u8>) {
    let from = out.len();
    out.u16(0);
    out.u8(table);
    out.zeros(5);
    out.text(&format!("table{table}"), 32);
    out.u64(u64::MAX);
    out.u64(u64::MAX);
    out.u32(0);
    out.u32(size);
    let mut property = |kind: u16, write: &dyn Fn(&mut Vec<u8>)| {
        let from = out.len();
        out.u16(kind);
        out.u16(0);
        write(out);
        set_length(out, from + 2, from);
        align(out, from);
    };
    // The same for flows and for flows that match everything, which have the next number.
    for miss in 0..=1 {
        let instructions: &[u16] = if table + 1 < tables { &[1, 2, 3, 4, 5, 6] } else { &[3, 4, 5, 6] };
        property(miss, &|out| {
            for kind in instructions {
                out.u16(*kind);
                out.u16(4);
            }
        });
        property(2 + miss, &|out| (table + 1..tables).for_each(|next| out.u8(next)));
        for kind in [4, 6] {
            property(kind + miss, &|out| {
                for kind in ACTIONS {
                    out.u16(*kind);
                    out.u16(4);
                }
            });
        }
        for kind in [12, 14] {
            property(kind + miss, &|out| {
                Field::ALL
                    .iter()
                    .filter(|field| action::settable(**field))
                    .for_each(|field| write_field_id(*field, false, out));
            });
        }
    }
    property(8, &|out| Field::ALL.iter().for_each(|field| write_field_id(*field, field.may_have_mask(), out)));
    property(10, &|out| Field::ALL.iter().for_each(|field| write_field_id(*field, false, out)));
    set_length(out, from, from);
}

fn write_field_id(field: Field, masked: bool, out: &mut Vec<u8>) {
    out.u16(0x8000);
    out.u8(field.number() << 1 | u8::from(masked));
    out.u8((field.bytes() << u32::from(masked)) as u8);
}

/// Types of actions of 1.3 that there are: all but those of experimenters.
const ACTIONS: &[u16] = &[0, 11, 12, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27];
