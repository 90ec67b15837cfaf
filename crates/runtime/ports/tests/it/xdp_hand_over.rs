//! One process takes AF_XDP sockets over from another under traffic, with the memory of their frames: here, a user from another one.

use std::time::Instant;

use hopwright_dataplane::{Packet, Pool, Port};
use hopwright_ports::{AfPacket, FrameMatch, Opener, PortChoice, Wanted, closing};

use crate::devices::{PATIENCE, with_devices};

/// How often another one takes over.
const TIMES: u32 = 20;
/// Frames that are sent before another one takes over, while it prepares, and when the first has stopped.
const BURST: u32 = 40;

/// A frame from `va` to `vb` with a number in it, of a protocol that the kernel does not know. Some need several pieces.
fn frame(number: u32) -> Vec<u8> {
    let length = [60, 1514, 3900, 9014][number as usize % 4];
    let mut f = vec![2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 0x0a, 0x88, 0xb5];
    f.extend(number.to_be_bytes());
    f.resize(length, number as u8);
    f
}

/// What has the device `vb`.
struct User {
    opener: Opener,
    pool: Pool,
    port: Box<dyn Port>,
}

impl User {
    fn wanted() -> Wanted<'static> {
        Wanted { choice: PortChoice::AfXdp, mtu: 9000, ..Wanted::default() }
    }

    fn new() -> User {
        let (opener, mut pools) = Opener::new(&User::wanted()).unwrap();
        let port = opener.open("vb", &FrameMatch::Everything).unwrap().ports.remove(0);
        User { opener, pool: pools.remove(0), port }
    }

    /// Takes over from another one, which still runs.
    fn heir(before: &User) -> User {
        let memory = before.opener.share_memory().unwrap();
        let (opener, mut pools) = Opener::new(&Wanted { memory: &memory, ..User::wanted() }).unwrap();
        opener.inherit(before.opener.share().unwrap());
        assert!(!opener.is_occupied("vb"));
        let opened = opener.open("vb", &FrameMatch::Everything).unwrap();
        assert_eq!(opened.kind, "AF_XDP");
        User { opener, pool: pools.remove(0), port: opened.ports.into_iter().next().unwrap() }
    }

    /// Receives what is there, adds the frames' numbers, and sends the frames back.
    fn work(&mut self, numbers: &mut Vec<u32>) -> usize {
        let mut batch: Vec<Packet> = Vec::with_capacity(256);
        let count = self.port.receive(&mut self.pool, &mut batch, 32);
        for packet in &batch {
            let number = u32::from_be_bytes(packet.bytes()[14..18].try_into().unwrap());
            assert!(packet.bytes() == frame(number), "{number}");
            numbers.push(number);
        }
        assert_eq!(self.port.transmit(&mut self.pool, &mut batch), count);
        self.port.flush();
        count
    }

    /// Works until this many frames have come.
    fn work_until(&mut self, total: u32, numbers: &mut Vec<u32>) {
        let end = Instant::now() + PATIENCE;
        while numbers.len() < total as usize && Instant::now() < end {
            self.work(numbers);
        }
        assert!(numbers.len() >= total as usize, "{} of {total}: {:?}", numbers.len(), self.port.stats());
    }

    /// Stops for an heir, which goes on.
    fn hand_over(mut self, heir: &User, numbers: &mut Vec<u32>) {
        self.port.set_intake(false);
        let end = Instant::now() + PATIENCE;
        while self.work(numbers) > 0 || self.port.pending() {
            assert!(Instant::now() < end, "{:?}", self.port.stats());
        }
        heir.opener.begin_with(0, self.pool.free_frames());
        self.opener.leave();
        heir.opener.take_charge().unwrap();
        drop(self);
        assert!(closing::finish(PATIENCE));
        heir.opener.predecessor_has_gone();
        heir.opener.forget_predecessor();
    }
}

#[test]
fn xdp_sockets_are_taken_over_with_their_rings_and_frames() {
    with_devices(|| {
        let mut peer = AfPacket::open("va", None).unwrap();
        let mut peer_pool = Pool::new(600, hopwright_dataplane::FrameSize::JUMBO).unwrap();
        let (mut numbers, mut returned, mut sent) = (Vec::new(), Vec::new(), 0);
        let mut user = User::new();
        let end = Instant::now() + PATIENCE;
        while user.port.is_up() != Some(true) {
            assert!(Instant::now() < end);
            user.port.stats();
        }
        // From now on the kernel has frames to receive into.
        user.work(&mut numbers);
        let mut burst = |returned: &mut Vec<u32>| {
            let mut batch: Vec<Packet> =
                (sent..sent + BURST).map(|number| peer_pool.take_filled(&frame(number)).unwrap()).collect();
            assert_eq!(peer.transmit(&mut peer_pool, &mut batch), BURST as usize);
            peer.flush();
            sent += BURST;
            let mut back = Vec::with_capacity(256);
            peer.receive(&mut peer_pool, &mut back, 256);
            for packet in back {
                returned.push(u32::from_be_bytes(packet.bytes()[14..18].try_into().unwrap()));
                peer_pool.give(packet);
            }
            sent
        };
        for _ in 0..TIMES {
            let total = burst(&mut returned);
            user.work_until(total, &mut numbers);
            let heir = User::heir(&user);
            let total = burst(&mut returned);
            user.work_until(total, &mut numbers);
            // These wait in the ring, and the heir gets them.
            burst(&mut returned);
            user.hand_over(&heir, &mut numbers);
            user = heir;
        }
        // One that does not take over after all leaves the sockets to the one that runs.
        drop(User::heir(&user));
        assert!(closing::finish(PATIENCE));
        let total = burst(&mut returned);
        user.work_until(total, &mut numbers);
        user.work(&mut numbers);
        assert!(numbers == (0..total).collect::<Vec<_>>(), "{} of {total}", numbers.len());
        let end = Instant::now() + PATIENCE;
        while returned.len() < total as usize && Instant::now() < end {
            let mut back = Vec::with_capacity(256);
            peer.receive(&mut peer_pool, &mut back, 256);
            for packet in back {
                returned.push(u32::from_be_bytes(packet.bytes()[14..18].try_into().unwrap()));
                peer_pool.give(packet);
            }
            user.work(&mut numbers);
        }
        assert!(returned == (0..total).collect::<Vec<_>>(), "{} of {total} sent", returned.len());
        // No frame is lost: they are free, or in the ring of empty ones.
        let ring = user.opener.share_memory().unwrap()[0].ring;
        let end = Instant::now() + PATIENCE;
        while user.pool.available() + (ring as usize) < user.pool.frames() as usize && Instant::now() < end {
            user.work(&mut numbers);
        }
        assert_eq!(user.pool.available() + ring as usize, user.pool.frames() as usize);
    });
}

#[test]
fn xdp_sockets_that_do_not_fit_are_not_taken_over() {
    with_devices(|| {
        let user = User::new();
        let heir = |wanted: &Wanted<'_>| {
            let opener = Opener::new(wanted).unwrap().0;
            opener.inherit(user.opener.share().unwrap());
            opener
        };
        let memory = user.opener.share_memory().unwrap();
        let good = Wanted { memory: &memory, ..User::wanted() };
        for wanted in [
            Wanted { memory: &[], ..good.clone() },
            Wanted { mtu: 1500, ..good.clone() },
            Wanted { headroom: 1000, ..good.clone() },
            Wanted { workers: 2, ..good.clone() },
            Wanted { choice: PortChoice::AfPacket, ..good.clone() },
        ] {
            let opener = heir(&wanted);
            assert!(opener.is_occupied("vb"), "{wanted:?}");
            assert_eq!(opener.give_up_others(), ["vb"]);
            assert!(!opener.is_occupied("vb"));
        }
        assert!(heir(&good).give_up_others().is_empty());
        // What has no program cannot be used.
        let opener = Opener::new(&good).unwrap().0;
        let mut shared = user.opener.share().unwrap();
        shared[0].program = None;
        opener.inherit(shared);
        assert!(opener.open("vb", &FrameMatch::Everything).is_err());
    });
}
