//! The router's own machine as a port: UDP between an address of the router and processes beside it.
//!
//! What goes from one process of a machine to another never crosses a device, so no packet socket of a device sees
//! it. This port is a UDP socket on the router's address: it receives what comes over the loopback device, and hands
//! what the program sends to it to the kernel. To the program both look like frames. Does not live here: keeping the
//! address ([`crate::claim`]).

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};

use hopwright_dataplane::{DeviceStats, Packet, Pool, Port};

use crate::checksum;

/// Ethernet address of the router in this port's frames.
pub const ROUTER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// Ethernet address of the processes in this port's frames.
pub const PROCESSES_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Ethernet, IPv6 and UDP; over IPv4 it is less.
const HEADERS: usize = 14 + 40 + 8;

/// See the module. Made by [`crate::UdpClaim::local_port`].
#[derive(Debug)]
pub struct LocalPort {
    socket: UdpSocket,
    address: SocketAddr,
    stats: DeviceStats,
    /// Rounds to leave out before the kernel is asked again.
    rest: u32,
}

/// Rounds left out after one without packets: asking costs a system call, and other ports have more to say. Fewer than
/// a worker turns before it sleeps.
const REST: u32 = 63;

impl LocalPort {
    /// Of a socket that is bound to an address and does not block.
    pub(crate) fn new(socket: UdpSocket) -> io::Result<LocalPort> {
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        Ok(LocalPort { socket, address, stats: DeviceStats::default(), rest: 0 })
    }

    /// Receives into a packet's buffer. False if there is nothing.
    fn receive_one(&mut self, packet: &mut Packet) -> bool {
        let start = packet.raw().start as usize;
        let ipv4 = self.address.is_ipv4();
        let headers = if ipv4 { HEADERS - 20 } else { HEADERS };
        let buffer = packet.buffer_mut();
        let Some(room) = buffer.get_mut(start + headers..) else { return false };
        let (length, from) = match self.socket.recv_from(room) {
            Ok(received) => received,
            Err(_) => return false,
        };
        if length >= room.len() {
            // Cut off, or nearly.
            self.stats.rx_too_long += 1;
            packet.set_bounds(start as u32, start as u32);
            return true;
        }
        write_headers(&mut buffer[start..start + headers], from, self.address, length);
        checksum::complete(&mut buffer[start..start + headers + length]);
        packet.set_bounds(start as u32, (start + headers + length) as u32)
    }

    /// Hands a frame's datagram to the kernel.
    fn send_one(&mut self, frame: &[u8]) -> bool {
        // What goes to the address itself would come back as something that a process has sent.
        let other = destination(frame).filter(|(to, _)| *to != self.address);
        let sent = other.map(|(to, payload)| self.socket.send_to(payload, to));
        let good = matches!(sent, Some(Ok(_)));
        match sent {
            Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => self.stats.tx_busy += 1,
            _ if !good => self.stats.tx_error += 1,
            _ => {}
        }
        good
    }
}

/// Ethernet, IP and UDP around `length` bytes, UDP's checksum still to be made.
fn write_headers(out: &mut [u8], from: SocketAddr, to: SocketAddr, length: usize) {
    out.fill(0);
    out[..6].copy_from_slice(&ROUTER_MAC);
    out[6..12].copy_from_slice(&PROCESSES_MAC);
    let udp_length = (8 + length) as u16;
    let udp = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let ip = &mut out[14..34];
            ip[0] = 0x45;
            ip[2..4].copy_from_slice(&(20 + udp_length).to_be_bytes());
            ip[6] = 0x40;
            ip[8..10].copy_from_slice(&[64, 17]);
            ip[12..16].copy_from_slice(&from.octets());
            ip[16..20].copy_from_slice(&to.octets());
            let sum = !checksum::ones_sum(ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
            out[12..14].copy_from_slice(&[0x08, 0x00]);
            34
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let ip = &mut out[14..54];
            ip[0] = 0x60;
            ip[4..6].copy_from_slice(&udp_length.to_be_bytes());
            ip[6..8].copy_from_slice(&[17, 64]);
            ip[8..24].copy_from_slice(&from.octets());
            ip[24..40].copy_from_slice(&to.octets());
            out[12..14].copy_from_slice(&[0x86, 0xdd]);
            54
        }
        // A socket of one version hears of that version only.
        _ => return,
    };
    out[udp..udp + 2].copy_from_slice(&from.port().to_be_bytes());
    out[udp + 2..udp + 4].copy_from_slice(&to.port().to_be_bytes());
    out[udp + 4..udp + 6].copy_from_slice(&udp_length.to_be_bytes());
}

/// Where a frame with UDP over IP without options is going, and what it carries.
fn destination(frame: &[u8]) -> Option<(SocketAddr, &[u8])> {
    let (ip, udp): (IpAddr, usize) = match frame.get(12..15)? {
        [0x08, 0x00, 0x45] => (<[u8; 4]>::try_from(frame.get(30..34)?).ok()?.into(), 34),
        [0x86, 0xdd, _] => (<[u8; 16]>::try_from(frame.get(38..54)?).ok()?.into(), 54),
        _ => return None,
    };
    let word = |at: usize| Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
    let payload = frame.get(udp + 8..udp + usize::from(word(udp + 4)?))?;
    Some((SocketAddr::new(ip, word(udp + 2)?), payload))
}

impl Port for LocalPort {
    fn name(&self) -> &str {
        "local"
    }

    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        if self.rest > 0 {
            self.rest -= 1;
            return 0;
        }
        let mut count = 0;
        while count < limit {
            let Some(mut packet) = pool.take() else { break };
            if !self.receive_one(&mut packet) {
                pool.give(packet);
                break;
            }
            batch.push(packet);
            count += 1;
        }
        self.rest = if count == 0 { REST } else { 0 };
        count
    }

    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        let mut count = 0;
        for packet in packets.drain(..) {
            count += usize::from(self.send_one(packet.bytes()));
            pool.give(packet);
        }
        count
    }

    fn poll_fd(&self) -> Option<RawFd> {
        Some(self.socket.as_raw_fd())
    }

    fn stats(&self) -> DeviceStats {
        self.stats
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use hopwright_dataplane::FrameSize;

    use super::*;
    use crate::UdpClaim;

    fn receive(port: &mut LocalPort, pool: &mut Pool) -> Vec<Vec<u8>> {
        let end = Instant::now() + Duration::from_secs(5);
        let mut batch = Vec::with_capacity(8);
        while batch.is_empty() && Instant::now() < end {
            port.receive(pool, &mut batch, 8);
            std::thread::sleep(Duration::from_millis(1));
        }
        batch
            .into_iter()
            .map(|packet| {
                let bytes = packet.bytes().to_vec();
                pool.give(packet);
                bytes
            })
            .collect()
    }

    /// What a process sends is a frame; the frame with its ends swapped comes to the process.
    fn there_and_back(address: &str) {
        let claim = UdpClaim::new(address.parse().unwrap()).unwrap();
        let mut port = claim.local_port().unwrap();
        let mut pool = Pool::new(4, FrameSize::JUMBO).unwrap();
        let process = UdpSocket::bind(address).unwrap();
        process.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        for payload in [&b"hello"[..], &[7; 5000], b""] {
            process.send_to(payload, claim.address()).unwrap();
            let frames = receive(&mut port, &mut pool);
            let [frame] = &frames[..] else { panic!("{frames:?}") };
            let mut right = frame.clone();
            assert!(checksum::complete(&mut right) && right == *frame);
            let (to, carried) = destination(frame).unwrap();
            assert_eq!((to, carried), (claim.address(), payload));

            let mut back = frame.clone();
            let headers = frame.len() - payload.len();
            write_headers(&mut back[..headers], claim.address(), process.local_addr().unwrap(), payload.len());
            let mut packets = vec![pool.take_filled(&back).unwrap()];
            assert_eq!(port.transmit(&mut pool, &mut packets), 1);
            let mut buffer = [0; 9000];
            let (length, from) = process.recv_from(&mut buffer).unwrap();
            assert_eq!((&buffer[..length], from), (payload, claim.address()));
        }
        assert_eq!(pool.available(), pool.frames() as usize);
        assert_eq!(port.stats(), DeviceStats::default());
    }

    #[test]
    fn over_ipv4() {
        there_and_back("127.0.0.1:0");
    }

    #[test]
    fn over_ipv6() {
        there_and_back("[::1]:0");
    }

    #[test]
    fn what_is_no_datagram_is_counted() {
        let claim = UdpClaim::new("127.0.0.1:0".parse().unwrap()).unwrap();
        let mut port = claim.local_port().unwrap();
        let mut pool = Pool::new(4, FrameSize::JUMBO).unwrap();
        let mut good = vec![0; 42];
        write_headers(&mut good, claim.address(), "127.0.0.1:9".parse().unwrap(), 0);
        for length in 0..good.len() {
            let mut packets = vec![pool.take_filled(&good[..length]).unwrap()];
            assert_eq!(port.transmit(&mut pool, &mut packets), 0);
        }
        let mut to_itself = good.clone();
        write_headers(&mut to_itself, "127.0.0.1:9".parse().unwrap(), claim.address(), 0);
        let mut packets = vec![pool.take_filled(&to_itself).unwrap()];
        assert_eq!(port.transmit(&mut pool, &mut packets), 0);
        assert_eq!(port.stats().tx_error, good.len() as u64 + 1);
        assert_eq!(receive_now(&mut port, &mut pool), 0);
    }

    fn receive_now(port: &mut LocalPort, pool: &mut Pool) -> usize {
        let mut batch = Vec::with_capacity(8);
        port.receive(pool, &mut batch, 8)
    }
}
