//! A port of one's own: frames in datagrams over UDP, as tunnels carry them. The program sends back what it receives; a client sends a
//! frame through the switch and waits for it.
//!
//! `receive` and `transmit` move bursts of packets in buffers of the switch's pool. They must not wait: a worker serves all ports. A port
//! needs these two and a name. Optional are:
//!
//! - `poll_fd`, and `urgent_poll_fd` for a second descriptor: what wakes the switch. It sleeps only if all its ports have one.
//! - `flush`, `pending` and `discard`, for ports that keep packets after `transmit`.
//! - `backlog`, `depths` and `has_queues`: the queue lengths that programs see.
//! - `finished`: nothing will be received any more. A switch ends when all its ports are finished.
//! - `stats`, `is_up` and `info`: what the port counts, and what is known of it.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use hopwright::port::{DeviceStats, Packet, Pool, Port};

const P4: &str = r#"
    #include <v1model.p4>
    struct headers_t { }
    struct metadata_t { }
    parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
        state start { transition accept; }
    }
    control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
        apply { s.egress_spec = s.ingress_port; }
    }
    control C(inout headers_t h, inout metadata_t m) { apply { } }
    control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
    control D(packet_out p, in headers_t h) { apply { } }
    V1Switch(P(), C(), I(), E(), C(), D()) main;
"#;

/// Frames to and from one peer.
struct Tunnel {
    socket: UdpSocket,
    peer: SocketAddr,
    stats: DeviceStats,
}

impl Tunnel {
    fn new(socket: UdpSocket, peer: SocketAddr) -> std::io::Result<Tunnel> {
        socket.set_nonblocking(true)?;
        Ok(Tunnel { socket, peer, stats: DeviceStats::default() })
    }
}

impl Port for Tunnel {
    fn name(&self) -> &str {
        "tunnel"
    }

    /// Receives what has come, into buffers of the pool: `limit` packets at most, for which `batch` has room. It may not grow.
    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        let mut count = 0;
        while count < limit {
            let Some(mut packet) = pool.take() else { break };
            // The room behind the headroom is the packet's.
            let size = pool.frame_size();
            let (start, end) = (size.headroom, size.headroom + size.data);
            let received = if packet.set_bounds(start, end) {
                self.socket.recv_from(packet.bytes_mut())
            } else {
                Err(ErrorKind::OutOfMemory.into())
            };
            match received {
                Ok((bytes, from)) if from == self.peer && packet.set_bounds(start, start + bytes as u32) => {
                    batch.push(packet);
                    count += 1;
                }
                // From somebody else.
                Ok(_) => pool.give(packet),
                Err(_) => {
                    pool.give(packet);
                    break;
                }
            }
        }
        count
    }

    /// Sends all packets, and gives their buffers back.
    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        let mut count = 0;
        for packet in packets.drain(..) {
            match self.socket.send_to(packet.bytes(), self.peer) {
                Ok(_) => count += 1,
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.stats.tx_busy += 1,
                Err(_) => self.stats.tx_error += 1,
            }
            pool.give(packet);
        }
        count
    }

    /// The switch sleeps until the socket has something.
    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn stats(&self) -> DeviceStats {
        self.stats
    }
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = UdpSocket::bind("127.0.0.1:0")?;
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let address = socket.local_addr()?;
    let switch = hopwright::compile(P4)?.switch().port(1, Tunnel::new(socket, client.local_addr()?)?).run()?;

    client.set_read_timeout(Some(Duration::from_secs(60)))?;
    client.send_to(b"a frame", address)?;
    let mut buffer = [0; 2048];
    let (length, _) = client.recv_from(&mut buffer)?;
    assert_eq!(&buffer[..length], b"a frame");
    println!("{length} bytes came back through the switch; {} packets received", switch.stats().ports[0].rx_packets);
    switch.stop();
    Ok(())
}
