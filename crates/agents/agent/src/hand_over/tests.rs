use std::net::UdpSocket;
use std::thread;
use std::time::Instant;

use super::*;

/// A running process and its heir, before either has sent a message.
fn pair(folder: &Path) -> (Conversation, Conversation) {
    let path = folder.join("door");
    let door = open_door(&path).unwrap();
    let heir = Conversation(Channel::connect(&path).unwrap());
    (Conversation(door.accept().unwrap().unwrap()), heir)
}

fn socket() -> (SocketAddr, OwnedFd) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    (socket.local_addr().unwrap(), socket.into())
}

fn ring(slots: u32) -> SharedRing {
    SharedRing { socket: socket().1, size: RingSize { slot: 2048, slots } }
}

/// State of more than one message.
fn state() -> Vec<u8> {
    (0..3 * LONGEST).map(|at| at as u8).collect()
}

#[test]
fn everything_that_is_offered_arrives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("door");
    let door = open_door(&path).unwrap();
    let running = thread::spawn(move || {
        let talk = loop {
            if let Some(channel) = door.accept().unwrap() {
                break Conversation::new(channel);
            }
            thread::sleep(Duration::from_millis(1));
        };
        let hello = talk.receive(PATIENCE).unwrap().unwrap().0;
        assert_eq!(hello, Message::Hello { pid: std::process::id(), name: "router br1".into() });
        let device = |name: &str, rings, urgent, queues, program| SharedDevice {
            name: name.into(),
            index: 3,
            rings,
            urgent,
            queues,
            program,
        };
        let descriptor = || socket().1;
        let (link, program, sockets, keys) = (descriptor(), descriptor(), descriptor(), descriptor());
        let keys = Some(keys);
        let program = SharedProgram { mode: XdpMode::Generic, link, program, sockets, keys, part: (7, 2) };
        let (link, of_all, sockets, keys) = (descriptor(), descriptor(), descriptor(), None);
        let of_all = SharedProgram { mode: XdpMode::Native, link, program: of_all, sockets, keys, part: (0, 2) };
        let queues = vec![SharedQueue { id: 1, socket: descriptor() }, SharedQueue { id: 0, socket: descriptor() }];
        let size = FrameSize { headroom: 256, data: 1792 };
        let offer = Offer {
            door: Some(socket().1),
            watchdog: Some(Duration::from_secs(10)),
            // More than one message carries.
            sockets: (0..300).map(|_| socket()).collect(),
            descriptors: vec![(":30401".into(), socket().1), ("tap".into(), socket().1)],
            devices: vec![
                device("a", vec![ring(64), ring(128)], Some(ring(32)), vec![], None),
                device("b", vec![], None, vec![], Some(program)),
                device("c", vec![], None, queues, Some(of_all)),
            ],
            memory: vec![SharedMemory { file: descriptor(), frames: 9, size, ring: 64 }],
            // Also these.
            state: state(),
        };
        let addresses: Vec<SocketAddr> = offer.sockets.iter().map(|(address, _)| *address).collect();
        talk.offer(&offer).unwrap();
        assert_eq!(talk.receive(PATIENCE).unwrap().unwrap().0, Message::Ready);
        let positions = vec![("a".into(), vec![5, 6, 7]), ("free frames 0".into(), (0..25_000).collect())];
        let stopped = StoppedAt { positions, state: b"changes".to_vec() };
        talk.send_stopped(&stopped).unwrap();
        assert!(talk.is_taken(PATIENCE));
        talk.send_state(&state()).unwrap();
        addresses
    });
    let (talk, mut offer) = Conversation::begin(&path, "router br1").unwrap();
    assert_eq!((offer.watchdog, offer.door.is_some()), (Some(Duration::from_secs(10)), true));
    assert_eq!(offer.descriptors[0].0, ":30401");
    assert!(offer.take_descriptor("tap").is_some() && offer.take_descriptor("tap").is_none());
    let sizes: Vec<u32> = offer.devices[0].rings.iter().map(|ring| ring.size.slots).collect();
    assert_eq!((sizes, offer.devices[0].urgent.as_ref().unwrap().size.slots), (vec![64, 128], 32));
    assert!(offer.devices[1].rings.is_empty() && offer.devices[1].urgent.is_none());
    let program = offer.devices[1].program.as_ref().unwrap();
    assert_eq!((program.mode, program.part, program.keys.is_some()), (XdpMode::Generic, (7, 2), true));
    let of_all = offer.devices[2].program.as_ref().unwrap();
    let ids: Vec<u32> = offer.devices[2].queues.iter().map(|queue| queue.id).collect();
    assert_eq!((of_all.mode, of_all.keys.is_some(), ids), (XdpMode::Native, false, vec![1, 0]));
    let memory = &offer.memory[0];
    assert_eq!((memory.frames, memory.size.headroom, memory.size.data, memory.ring), (9, 256, 1792, 64));
    assert!(offer.state == state());
    let stopped = talk.have_it_stop().unwrap();
    let positions = vec![("a".into(), vec![5, 6, 7]), ("free frames 0".into(), (0..25_000).collect())];
    assert!((stopped.positions, &stopped.state[..]) == (positions, &b"changes"[..]));
    talk.send(&Message::Taken).unwrap();
    let mut last = Vec::new();
    while !talk.has_ended(&mut last) {
        thread::sleep(Duration::from_millis(1));
    }
    assert!(last == state());
    let addresses = running.join().unwrap();
    for ((address, socket), wanted) in offer.sockets.into_iter().zip(addresses) {
        assert_eq!((address, UdpSocket::from(socket).local_addr().unwrap()), (wanted, wanted));
    }
}

#[test]
fn a_process_that_goes_on_cannot_be_taken_over_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let (running, heir) = pair(folder.path());
    assert!(!running.is_taken(Duration::from_millis(10)));
    assert!(heir.send(&Message::Taken).is_err());
    let (running, heir) = pair(folder.path());
    heir.send(&Message::Taken).unwrap();
    drop(heir);
    assert!(running.is_taken(PATIENCE), "it has taken over before it died");
    let (running, heir) = pair(folder.path());
    drop(heir);
    assert!(!running.is_taken(PATIENCE));
}

#[test]
fn an_heir_that_was_too_late_may_try_again_with_the_same_sockets() {
    let folder = tempfile::tempdir().unwrap();
    let (running, heir) = pair(folder.path());
    assert!(!running.is_taken(Duration::from_millis(1)));
    assert!(heir.send(&Message::Taken).unwrap_err().is_broken_off());
    let (running, heir) = pair(folder.path());
    running.channel().hang_up();
    assert!(heir.have_it_stop().unwrap_err().is_broken_off());
    assert!(!HandOverError::Refused("it is busy".into()).is_broken_off());
    assert!(!HandOverError::from(io::Error::from(io::ErrorKind::TimedOut)).is_broken_off());

    let (sockets, rings) = ([socket(), socket()], [ring(64), ring(64)]);
    let offer = |socket: &[usize], ring: &[usize]| {
        let copy = |descriptor: &OwnedFd| descriptor.try_clone().unwrap();
        let rings = ring.iter().map(|i| SharedRing { socket: copy(&rings[*i].socket), size: rings[*i].size });
        let (rings, queues) = (rings.collect(), vec![]);
        let device = SharedDevice { name: "a".into(), index: 1, rings, urgent: None, queues, program: None };
        let sockets = socket.iter().map(|i| (sockets[*i].0, copy(&sockets[*i].1))).collect();
        Offer { sockets, devices: vec![device], ..Offer::default() }.identity().unwrap()
    };
    assert_eq!(offer(&[0, 1], &[0]), offer(&[1, 0], &[0]));
    for (sockets, rings) in [(&[0][..], &[0][..]), (&[0, 1], &[1]), (&[0, 1], &[0, 1])] {
        assert_ne!(offer(&[0, 1], &[0]), offer(sockets, rings));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (running, heir) = pair(folder.path());
    let (address, descriptor) = socket();
    let mut offer = Offer::default();
    for (message, descriptors) in [
        (Message::Sockets(vec![address, address]), vec![descriptor.try_clone().unwrap()]),
        (Message::Descriptors(vec![]), vec![descriptor.try_clone().unwrap()]),
        (
            Message::Device {
                name: "a".into(),
                index: 1,
                rings: vec![(2048, 64)],
                urgent: None,
                queues: vec![],
                program: None,
            },
            vec![],
        ),
        (Message::Memory(vec![]), vec![descriptor.try_clone().unwrap()]),
        (Message::Taken, vec![]),
    ] {
        assert!(offer.add(message, descriptors).is_err());
    }
    assert!(offer.sockets.is_empty() && offer.devices.is_empty());
    running.send(&Message::Refused("it is busy".into())).unwrap();
    assert_eq!(heir.have_it_stop().unwrap_err().to_string(), "the running process refuses: it is busy");
    running.channel().send(b"HWHO\x00\x07whatever", &[]).unwrap();
    assert!(matches!(heir.have_it_stop(), Err(HandOverError::Decode(DecodeError::OtherVersion(7)))));
    assert!(matches!(
        Conversation::begin(&folder.path().join("none"), "router br1"),
        Err(HandOverError::Connect { .. })
    ));
}

/// What a process has left that is `router br1`, with one socket, some state and a device's position.
fn left(at_ms: u64) -> (OwnedFd, SocketAddr) {
    let (ours, kept) = Channel::pair().unwrap();
    let talk = Conversation::new(ours);
    let (address, descriptor) = socket();
    talk.send(&Message::Left { name: "router br1".into(), at_ms }).unwrap();
    talk.offer(&Offer { sockets: vec![(address, descriptor)], state: state(), ..Offer::default() }).unwrap();
    let positions = vec![("a".into(), vec![5, 6, 7])];
    talk.send_stopped(&StoppedAt { state: b"changes".to_vec(), positions }).unwrap();
    talk.send_state(b"counts").unwrap();
    (kept, address)
}

#[test]
fn a_process_goes_on_with_what_another_one_has_left() {
    let (kept, address) = left(since_boot_ms());
    let (talk, offer, stopped) = Conversation::left(kept, "router br1").unwrap();
    assert_eq!((offer.sockets[0].0, offer.state == state()), (address, true));
    assert_eq!((stopped.positions, &stopped.state[..]), (vec![("a".into(), vec![5, 6, 7])], &b"changes"[..]));
    let mut last = Vec::new();
    assert!(talk.has_ended(&mut last));
    assert_eq!(last, b"counts");
}

#[test]
fn nothing_is_taken_of_another_process_or_of_long_ago_or_twice() {
    let why = |kept: OwnedFd, name: &str| Conversation::left(kept, name).unwrap_err().to_string();
    let (kept, address) = left(since_boot_ms());
    let kept_by_manager = kept.try_clone().unwrap();
    assert!(why(kept, "router br2").contains("it was router br1"));
    // Its sockets are closed, although somebody else has the descriptor by which they came. Another test may get the port.
    let begun = Instant::now();
    while UdpSocket::bind(address).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "its sockets are open");
        thread::sleep(Duration::from_millis(10));
    }
    drop(kept_by_manager);
    let long_ago = since_boot_ms().saturating_sub(LEFT_TIME.as_millis() as u64 + 1000);
    assert!(why(left(long_ago).0, "router br1").contains("too old"));
    // The second one has been started after a crash of the first.
    let (kept, _) = left(since_boot_ms());
    let again = kept.try_clone().unwrap();
    drop(Conversation::left(kept, "router br1").unwrap());
    assert!(Conversation::left(again, "router br1").is_err());
    // A process that was killed while it wrote.
    let (ours, kept) = Channel::pair().unwrap();
    let talk = Conversation::new(ours);
    talk.send(&Message::Left { name: "router br1".into(), at_ms: since_boot_ms() }).unwrap();
    talk.offer(&Offer::default()).unwrap();
    drop(talk);
    assert!(Conversation::left(kept, "router br1").is_err());
    let (_, kept) = std::os::unix::net::UnixStream::pair().unwrap();
    assert!(Conversation::left(kept.into(), "router br1").is_err());
}
