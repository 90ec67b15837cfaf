//! Capture files as ports: receives packets from one file and sends to another. Reads pcap; writes pcap with nanosecond
//! timestamps.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use hopwright_dataplane::{DeviceStats, Packet, Pool, Port};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapReader, PcapWriter};
use pcap_file::{DataLink, TsResolution};

use crate::filter::FrameMatch;

/// The error that a capture file cannot be used.
#[derive(thiserror::Error)]
pub enum PcapError {
    /// The file cannot be opened or created.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// The file is not a pcap file of Ethernet frames, or its header is damaged.
    #[error("{}: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

/// As people read it: `main` prints its error in this way.
impl std::fmt::Debug for PcapError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// A port that receives the packets of one file and writes what it sends to another.
pub struct PcapPort {
    name: String,
    input: Option<PcapReader<BufReader<File>>>,
    output: Option<PcapWriter<BufWriter<File>>>,
    frames: FrameMatch,
    stats: DeviceStats,
    error: Option<String>,
}

impl PcapPort {
    /// Creates a port that receives from `input` and sends to `output`. Without an input it receives nothing; without
    /// an output it drops what it sends.
    pub fn new(name: impl Into<String>, input: Option<&Path>, output: Option<&Path>) -> Result<PcapPort, PcapError> {
        Ok(PcapPort {
            name: name.into(),
            input: input.map(open).transpose()?,
            output: output.map(create).transpose()?,
            frames: FrameMatch::Everything,
            stats: DeviceStats::default(),
            error: None,
        })
    }

    /// Makes the port skip all frames that do not match.
    pub fn set_match(&mut self, frames: FrameMatch) {
        self.frames = frames;
    }

    /// The first error after opening, if there was one: a damaged input file, a full disk.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    fn fail(&mut self, reason: String) {
        self.error.get_or_insert(reason);
    }
}

/// Opens a capture file for reading packet by packet.
pub fn open(path: &Path) -> Result<PcapReader<BufReader<File>>, PcapError> {
    let file = File::open(path).map_err(|error| PcapError::File { path: path.into(), error })?;
    let format = |reason: String| PcapError::Format { path: path.into(), reason };
    let reader = PcapReader::new(BufReader::new(file)).map_err(|e| format(format!("not a pcap file: {e}")))?;
    match reader.header().datalink {
        DataLink::ETHERNET => Ok(reader),
        other => Err(format(format!("link type {other:?}: only Ethernet is supported"))),
    }
}

/// Creates a capture file of Ethernet frames.
pub fn create(path: &Path) -> Result<PcapWriter<BufWriter<File>>, PcapError> {
    let failed = |error: std::io::Error| PcapError::File { path: path.into(), error };
    let file = File::create(path).map_err(failed)?;
    let header =
        PcapHeader { ts_resolution: TsResolution::NanoSecond, datalink: DataLink::ETHERNET, ..PcapHeader::default() };
    PcapWriter::with_header(BufWriter::new(file), header)
        .map_err(|e| PcapError::Format { path: path.into(), reason: e.to_string() })
}

impl Port for PcapPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        let mut count = 0;
        while count < limit && pool.available() > 0 {
            let Some(reader) = &mut self.input else { break };
            match reader.next_packet() {
                None => self.input = None,
                Some(Ok(packet)) if !self.frames.matches(&packet.data) => {}
                Some(Ok(packet)) => match pool.take_filled(&packet.data) {
                    Some(packet) => {
                        batch.push(packet);
                        count += 1;
                    }
                    None => self.stats.rx_too_long += 1,
                },
                Some(Err(e)) => {
                    let reason = e.to_string();
                    self.input = None;
                    self.fail(reason);
                }
            }
        }
        count
    }

    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut count = 0;
        let mut failure = None;
        for packet in packets.drain(..) {
            if let Some(writer) = &mut self.output {
                match writer.write_packet(&PcapPacket::new(now, packet.len() as u32, packet.bytes())) {
                    Ok(_) => count += 1,
                    Err(e) => {
                        self.stats.tx_error += 1;
                        failure = Some(e.to_string());
                    }
                }
            }
            pool.give(packet);
        }
        if let Some(reason) = failure {
            self.fail(reason);
        }
        count
    }

    fn finished(&self) -> bool {
        self.input.is_none()
    }

    fn stats(&self) -> DeviceStats {
        self.stats
    }
}

impl std::fmt::Debug for PcapPort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PcapPort").field("name", &self.name).field("stats", &self.stats).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use hopwright_dataplane::FrameSize;

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("hopwright-{}-{name}.pcap", std::process::id()))
    }

    #[test]
    fn what_is_written_is_read_again() {
        let path = scratch("roundtrip");
        let mut pool = Pool::new(8, FrameSize { headroom: 16, data: 112 }).unwrap();
        let sent: Vec<Vec<u8>> = vec![vec![1; 60], vec![2; 14], vec![3; 128], vec![4; 99]];
        {
            let mut port = PcapPort::new("w", None, Some(&path)).unwrap();
            assert!(port.finished());
            let mut big = Pool::new(8, FrameSize::JUMBO).unwrap();
            let mut batch: Vec<_> = sent.iter().map(|b| big.take_filled(b).unwrap()).collect();
            assert_eq!(port.transmit(&mut big, &mut batch), 4);
        }
        let mut port = PcapPort::new("r", Some(&path), None).unwrap();
        let mut batch = Vec::with_capacity(8);
        assert_eq!(port.receive(&mut pool, &mut batch, 2), 2);
        assert!(!port.finished());
        // The third packet is longer than a frame of the pool.
        assert_eq!(port.receive(&mut pool, &mut batch, 8), 1);
        assert!(port.finished());
        let got: Vec<_> = batch.iter().map(|p| p.bytes().to_vec()).collect();
        assert_eq!(got, [sent[0].clone(), sent[1].clone(), sent[3].clone()]);
        assert_eq!(port.stats().rx_too_long, 1);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn other_files_are_refused_and_damage_is_told() {
        let path = scratch("damage");
        assert!(matches!(open(&path), Err(PcapError::File { .. })));
        std::fs::write(&path, b"no capture at all, but some text").unwrap();
        assert!(matches!(open(&path), Err(PcapError::Format { .. })));
        let mut bytes = Vec::new();
        // A little-endian pcap 2.4 file of Ethernet with one packet that claims more bytes than the file has.
        bytes.extend_from_slice(&0xa1b2c3d4u32.to_le_bytes());
        bytes.extend_from_slice(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 1, 0, 0, 0]);
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&[100, 0, 0, 0, 100, 0, 0, 0, 1, 2, 3]);
        std::fs::write(&path, &bytes).unwrap();
        let mut port = PcapPort::new("r", Some(&path), None).unwrap();
        let mut pool = Pool::new(8, FrameSize::JUMBO).unwrap();
        let mut batch = Vec::with_capacity(8);
        assert_eq!(port.receive(&mut pool, &mut batch, 8), 0);
        assert!(port.finished());
        assert!(port.error().is_some());
        std::fs::remove_file(path).unwrap();
    }
}
