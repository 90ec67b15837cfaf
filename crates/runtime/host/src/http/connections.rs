//! Open connections, and which of them is closed to make room for a new one.
//!
//! The bound per peer keeps a client from crowding out others; the bound for all peers limits memory and descriptors.
//! Connections from this machine are bounded separately, so that remote clients cannot crowd them out.

use std::net::{IpAddr, Ipv6Addr};

use tokio::task::AbortHandle;

/// Connections of one peer at the same time, of each server.
const OF_ONE_PEER: usize = 8;
/// Connections of all peers on other machines at the same time, of each server.
const OF_OTHERS: usize = 64;

/// The client of a connection. An IPv6 client is assumed to have its whole /64 subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peer {
    ThisMachine,
    Other(IpAddr),
}

impl Peer {
    fn of(address: IpAddr) -> Peer {
        match address.to_canonical() {
            ip if ip.is_loopback() => Peer::ThisMachine,
            IpAddr::V6(ip) => Peer::Other(Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64).into()),
            ip => Peer::Other(ip),
        }
    }
}

/// Open connections, oldest first.
#[derive(Debug, Default)]
pub(super) struct Connections {
    open: Vec<(Peer, AbortHandle)>,
}

impl Connections {
    /// Closes connections so that one more from this address is within the bounds.
    pub(super) fn make_room(&mut self, address: IpAddr) {
        self.open.retain(|(_, task)| !task.is_finished());
        let peer = Peer::of(address);
        if self.count(peer) >= OF_ONE_PEER {
            self.close_oldest(peer);
        }
        let of_others = self.open.len() - self.count(Peer::ThisMachine);
        if peer != Peer::ThisMachine && of_others >= OF_OTHERS {
            let others = self.open.iter().map(|(p, _)| *p).filter(|p| *p != Peer::ThisMachine);
            // `max_by_key` takes the last of several: the peer whose connection is the oldest.
            if let Some(greediest) = others.rev().max_by_key(|p| self.count(*p)) {
                self.close_oldest(greediest);
            }
        }
    }

    /// Adds a connection.
    pub(super) fn add(&mut self, address: IpAddr, task: AbortHandle) {
        self.open.push((Peer::of(address), task));
    }

    fn count(&self, peer: Peer) -> usize {
        self.open.iter().filter(|(p, _)| *p == peer).count()
    }

    fn close_oldest(&mut self, peer: Peer) {
        if let Some(oldest) = self.open.iter().position(|(p, _)| *p == peer) {
            self.open.remove(oldest).1.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connect(connections: &mut Connections, address: &str) -> tokio::task::JoinHandle<()> {
        let address = address.parse().unwrap();
        connections.make_room(address);
        let task = tokio::spawn(std::future::pending());
        connections.add(address, task.abort_handle());
        task
    }

    fn run(test: impl std::future::Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test);
    }

    /// Lets aborted tasks end.
    async fn yield_to_tasks() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn peers_are_addresses_and_subnets() {
        let peer = |text: &str| Peer::of(text.parse().unwrap());
        assert_eq!(peer("::ffff:127.0.0.1"), Peer::ThisMachine);
        assert_eq!(peer("::1"), peer("127.8.8.8"));
        assert_eq!(peer("::ffff:192.0.2.1"), peer("192.0.2.1"));
        assert_eq!(peer("2001:db8::1"), peer("2001:db8::ffff:1"));
        assert_ne!(peer("2001:db8::1"), peer("2001:db8:0:1::1"));
        assert_ne!(peer("192.0.2.1"), peer("192.0.2.2"));
    }

    #[test]
    fn a_peer_makes_room_for_itself() {
        run(async {
            let mut connections = Connections::default();
            let other = connect(&mut connections, "192.0.2.1");
            let tasks: Vec<_> = (0..20).map(|_| connect(&mut connections, "192.0.2.2")).collect();
            yield_to_tasks().await;
            let open = tasks.iter().map(|t| !t.is_finished()).collect::<Vec<_>>();
            assert_eq!(open, [vec![false; 20 - OF_ONE_PEER], vec![true; OF_ONE_PEER]].concat());
            assert!(!other.is_finished());
        });
    }

    #[test]
    fn many_peers_do_not_crowd_out_this_machine_nor_grow_without_bound() {
        run(async {
            let mut connections = Connections::default();
            let local = connect(&mut connections, "127.0.0.1");
            let modest = connect(&mut connections, "198.51.100.1");
            let greedy = |peer: usize| format!("192.0.2.{}", peer % 20);
            let tasks: Vec<_> = (0..1000).map(|i| connect(&mut connections, &greedy(i / 3))).collect();
            yield_to_tasks().await;
            assert!(!local.is_finished() && !modest.is_finished());
            assert_eq!(tasks.iter().filter(|t| !t.is_finished()).count(), OF_OTHERS - 1);
            assert!(!connect(&mut connections, "::1").is_finished());
        });
    }
}
