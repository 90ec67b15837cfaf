//! The bridge behind `NORMAL`: stations by VLAN and address, and the ports where they are.
//!
//! Packets of stations that the program does not know come here, and are sent on by the agent. A station stays
//! known as long as it sends. To notice one that has gone, the program forgets its source from time to time, so that its next packet comes here.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::Datapath;
use crate::codec::port;

/// Stations that are known at once.
const STATIONS: usize = 65_536;
/// Time after which the next packet of a station shows that it is still there.
const REFRESHED_AFTER: Duration = Duration::from_secs(240);
/// Time after which a station is forgotten, as by IEEE 802.1D.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(300);
/// Time between two looks at the age of stations.
const LOOKED_AFTER: Duration = Duration::from_secs(5);
/// The bit of `vlan` that says that there is a tag.
const TAGGED: u16 = 0x1000;

#[derive(Debug)]
struct Station {
    port: u32,
    /// When the agent last had a packet of it.
    heard: Instant,
    /// Whether the program knows packets of it.
    is_source: bool,
}

#[derive(Debug)]
pub(super) struct Bridge {
    stations: HashMap<(u16, u64), Station>,
    looked: Instant,
}

impl Bridge {
    pub(super) fn new() -> Bridge {
        Bridge { stations: HashMap::new(), looked: Instant::now() }
    }
}

/// The addresses of a frame, destination first, and its VLAN.
fn addresses(packet: &[u8]) -> Option<(u64, u64, u16)> {
    let (dst, rest) = packet.split_first_chunk::<6>()?;
    let (src, rest) = rest.split_first_chunk::<6>()?;
    let number = |mac: &[u8; 6]| mac.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
    let vlan = match rest {
        [0x81, 0x00, high, low, ..] | [0x88, 0xa8, high, low, ..] => TAGGED | u16::from_be_bytes([*high, *low]) & 0xfff,
        _ => 0,
    };
    Some((number(dst), number(src), vlan))
}

fn is_group(mac: u64) -> bool {
    mac >> 40 & 1 == 1
}

impl Datapath {
    /// Learns where a packet came from. Returns the port that it is to leave by, `FLOOD` for several.
    pub(crate) fn learn(&mut self, in_port: u32, packet: &[u8]) -> Option<u32> {
        let (dst, src, vlan) = addresses(packet)?;
        if !is_group(src) && self.around.ports.contains_key(&in_port) {
            self.put_station(in_port, vlan, src);
        }
        let known = self.bridge.stations.get(&(vlan, dst)).filter(|_| !is_group(dst));
        Some(known.map_or(port::FLOOD, |station| station.port))
    }

    /// Port, VLAN and address of each station.
    pub(super) fn stations(&self) -> impl Iterator<Item = (u32, u16, u64)> {
        self.bridge.stations.iter().map(|((vlan, mac), station)| (station.port, *vlan, *mac))
    }

    pub(super) fn put_station(&mut self, in_port: u32, vlan: u16, mac: u64) {
        let Datapath { program, bridge, .. } = self;
        let old = bridge.stations.get(&(vlan, mac));
        if old.is_none() && bridge.stations.len() >= STATIONS {
            return;
        }
        let moved = old.is_none_or(|old| old.port != in_port);
        if let Some(old) = old.filter(|old| moved || old.is_source) {
            program.delete_source(old.port, vlan, mac);
        }
        let written = match moved {
            true => program.put_station(in_port, vlan, mac, old.is_none()),
            false => Ok(()),
        };
        if let Err(error) = written.and_then(|()| program.put_source(in_port, vlan, mac)) {
            tracing::debug!("a station cannot be learned: {error}");
            program.delete_station(vlan, mac);
            bridge.stations.remove(&(vlan, mac));
            return;
        }
        bridge.stations.insert((vlan, mac), Station { port: in_port, heard: Instant::now(), is_source: true });
    }

    /// Forgets stations that have sent nothing for a while.
    pub(super) fn age_stations(&mut self) {
        let Datapath { program, bridge, .. } = self;
        if bridge.looked.elapsed() < LOOKED_AFTER {
            return;
        }
        bridge.looked = Instant::now();
        bridge.stations.retain(|(vlan, mac), station| {
            let age = station.heard.elapsed();
            if age >= REFRESHED_AFTER && station.is_source {
                program.delete_source(station.port, *vlan, *mac);
                station.is_source = false;
            }
            let stays = age < FORGOTTEN_AFTER;
            if !stays {
                program.delete_station(*vlan, *mac);
            }
            stays
        });
    }

    /// Forgets the stations of ports for which `which` is true.
    pub(super) fn forget_stations(&mut self, which: impl Fn(u32) -> bool) {
        let Datapath { program, bridge, .. } = self;
        bridge.stations.retain(|(vlan, mac), station| {
            let stays = !which(station.port);
            if !stays {
                program.delete_source(station.port, *vlan, *mac);
                program.delete_station(*vlan, *mac);
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_a_vlan_if_it_has_a_tag() {
        let frame = |kind: [u8; 4]| [&[1, 2, 3, 4, 5, 6, 2, 0, 0, 0, 0, 9][..], &kind].concat();
        assert_eq!(addresses(&frame([0x81, 0, 0x61, 0x23])), Some((0x0102_0304_0506, 0x0200_0000_0009, 0x1123)));
        assert_eq!(addresses(&frame([8, 0, 0x45, 0])), Some((0x0102_0304_0506, 0x0200_0000_0009, 0)));
        assert_eq!(addresses(&[0; 11]), None);
        assert!(is_group(0x0100_0000_0000) && !is_group(0x0200_0000_0000));
    }
}
