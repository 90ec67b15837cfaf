//! Two RIBs, or one.

use super::sync::AGAIN;
use super::*;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn member(text: &str) -> Key {
    Key::Member(name(text))
}

/// An object as a message of its own.
fn message(rib: &Rib, key: &Key) -> Message {
    codec::write(key, &rib.objects.by_key[key], Duration::ZERO)
}

/// Moves messages between two RIBs until nothing is left; one in `lost` of them is lost. Returns how many objects were sent.
fn exchange(a: &mut Rib, b: &mut Rib, now: &mut Duration, lost: usize) -> usize {
    let (mut random, mut objects) = (lost as u64, 0);
    // Drawn, since with every third message lost the answers would always be.
    let mut is_lost = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        lost > 0 && (random >> 33).is_multiple_of(lost as u64)
    };
    for _ in 0..200 {
        *now += AGAIN;
        for to_b in [true, false] {
            let (from, to) = if to_b { (&mut *a, &mut *b) } else { (&mut *b, &mut *a) };
            for (_, message) in from.tick(*now) {
                objects += message.value::<RibExchange>().unwrap().objects.len();
                if !is_lost() {
                    to.receive(0, &message, *now).expect("a message");
                }
            }
        }
        if a.in_sync() && b.in_sync() {
            return objects;
        }
    }
    panic!("they never have the same");
}

#[test]
fn neighbours_have_the_same_objects() {
    for lost in [0, 3, 5, 7] {
        let mut now = Duration::ZERO;
        let (mut a, mut b) = (Rib::new(name("a"), 1000), Rib::new(name("b"), 2000));
        for number in 0..100 {
            a.set(Key::Application(name(&format!("app{number}")), name("a")), true, 0, now);
        }
        b.set(member("b"), true, 7, now);
        b.set(Key::LowerFlow(name("b"), name("a")), true, 3, now);
        a.begin(0);
        b.begin(0);
        exchange(&mut a, &mut b, &mut now, lost);
        assert_eq!(a.iter().collect::<Vec<_>>().len(), 102);
        assert!(a.iter().map(|(k, o)| (k, o.seq, o.value)).eq(b.iter().map(|(k, o)| (k, o.seq, o.value))));
        a.set(Key::Application(name("app5"), name("a")), false, 0, now);
        exchange(&mut a, &mut b, &mut now, lost);
        assert_eq!(b.hosts_of(&name("app5")).count(), 0);
        assert_eq!(b.hosts_of(&name("app6")).collect::<Vec<_>>(), [&name("a")]);
    }
}

/// By a link outside the flooding tree objects are offered: the other end has most of them by another link.
#[test]
fn offers_bring_what_is_lacking_and_nothing_else() {
    let app = |number: usize| Key::Application(name(&format!("app{number}")), name("a"));
    for lost in [0, 3, 5, 7] {
        let mut now = Duration::ZERO;
        let (mut a, mut b) = (Rib::new(name("a"), 1000), Rib::new(name("b"), 2000));
        a.set(member("a"), true, 5, now);
        a.begin(0);
        b.begin(0);
        exchange(&mut a, &mut b, &mut now, 0);
        a.set_flooding(|_| false);
        b.set_flooding(|_| false);
        for number in 0..100 {
            a.set(app(number), true, 0, now);
            if number % 2 == 0 {
                b.begin(1);
                b.receive(1, &message(&a, &app(number)), now).unwrap();
                b.end(1);
            }
        }
        let sent = exchange(&mut a, &mut b, &mut now, lost);
        assert!(sent == 50 || lost > 0 && sent > 50, "{sent} objects were sent");
        assert!(a.iter().map(|(k, o)| (k, o.seq, o.value)).eq(b.iter().map(|(k, o)| (k, o.seq, o.value))));
        // A new neighbour that has everything is sent nothing.
        for rib in [&mut a, &mut b] {
            rib.end(0);
            rib.begin(0);
        }
        assert_eq!(exchange(&mut a, &mut b, &mut now, 0), 0);
    }
}

/// Of what a member may send no field is taken for granted.
#[test]
fn exchanges_of_any_content_are_survived() {
    let mut rib = Rib::new(name("a"), 0);
    rib.set(member("a"), true, 1, Duration::ZERO);
    rib.begin(0);
    let about =
        |value: &RibExchange| Message::about(crate::cdap::op::WRITE, object::RIB, object::RIB_NAME).with_value(value);
    for length in [1, 7, 8, 15, 16, 17, 1200] {
        let bytes = Some(vec![7; length]);
        for value in [
            RibExchange { offers: bytes.clone(), ..RibExchange::default() },
            RibExchange { have: bytes.clone(), ..RibExchange::default() },
            RibExchange { wants: bytes.clone(), ..RibExchange::default() },
            RibExchange { objects: vec![vec![7; length]], ..RibExchange::default() },
        ] {
            rib.receive(0, &about(&value), Duration::ZERO);
        }
    }
    for number in 0..2 * MOST_WANTED as u64 {
        let offers = Some([number.to_be_bytes(), number.to_be_bytes()].concat());
        rib.receive(0, &about(&RibExchange { offers, ..RibExchange::default() }), Duration::ZERO);
    }
    assert!(rib.wanted.pending() <= MOST_WANTED);
    let asked: usize = rib
        .tick(Duration::ZERO)
        .iter()
        .map(|(_, message)| message.value::<RibExchange>().unwrap().wants.map_or(0, |ids| ids.len()))
        .sum();
    assert!(asked / 8 <= MOST_WANTED, "{asked} bytes");
    assert_eq!(rib.iter().count(), 1);
}

#[test]
fn a_process_that_restarts_is_believed() {
    let mut now = Duration::ZERO;
    let (mut a, mut b) = (Rib::new(name("a"), 1000), Rib::new(name("b"), 1000));
    a.set(member("a"), true, 5, now);
    a.set(Key::Application(name("gone"), name("a")), true, 0, now);
    a.begin(0);
    b.begin(0);
    exchange(&mut a, &mut b, &mut now, 0);
    // Its clock is far behind.
    let mut again = Rib::new(name("a"), 10);
    again.set(member("a"), true, 6, now);
    again.begin(0);
    b.end(0);
    b.begin(0);
    exchange(&mut again, &mut b, &mut now, 0);
    assert_eq!(b.address(&name("a")), Some(6));
    assert_eq!(b.hosts_of(&name("gone")).count(), 0, "what it does not have any more is taken back");
}

#[test]
fn a_restart_within_a_second_is_noticed() {
    let mut now = Duration::ZERO;
    let (mut a, mut b) = (Rib::new(name("a"), 1000), Rib::new(name("b"), 1000));
    a.set(member("a"), true, 5, now);
    a.begin(0);
    b.begin(0);
    exchange(&mut a, &mut b, &mut now, 0);
    assert_eq!(b.incarnation(&name("a")), a.incarnation(&name("a")));
    let mut again = Rib::new(name("a"), 1000);
    again.set(member("a"), true, 5, Duration::ZERO);
    assert_ne!(again.incarnation(&name("a")), a.incarnation(&name("a")));
    for _ in 0..2 {
        again.begin(0);
        b.end(0);
        b.begin(0);
        exchange(&mut again, &mut b, &mut now, 0);
        assert_eq!(b.incarnation(&name("a")), again.incarnation(&name("a")));
        again.reincarnate(now);
    }
}

#[test]
fn objects_grow_old() {
    let mut rib = Rib::new(name("a"), 0);
    let mut other = Rib::new(name("b"), 0);
    other.set(member("b"), true, 5, Duration::ZERO);
    rib.receive(0, &message(&other, &member("b")), Duration::ZERO);
    rib.set(member("a"), true, 1, Duration::ZERO);
    let mut now = Duration::ZERO;
    while now < MAX_AGE {
        assert_eq!(rib.iter().count(), 2);
        now += Duration::from_secs(100);
        rib.tick(now);
    }
    assert_eq!(rib.iter().map(|(key, _)| key).collect::<Vec<_>>(), [&member("a")], "its own are renewed");
}

#[test]
fn memory_is_bounded() {
    let mut rib = Rib::new(name("a"), 0);
    for number in 0..2 * MOST {
        let origin = name(&format!("n{}", number % 40));
        let mut hostile = Rib::new(origin.clone(), 0);
        let key = Key::Application(name(&format!("app{number}")), origin);
        hostile.set(key.clone(), true, 0, Duration::ZERO);
        rib.receive(0, &message(&hostile, &key), Duration::ZERO);
    }
    assert!(rib.iter().count() <= MOST);
    assert!(rib.refused() >= MOST as u64);
}

/// What comes again has not been acknowledged: there was no room for it, nor for its number.
#[test]
fn what_cannot_be_remembered_is_not_acknowledged() {
    let mut rib = Rib::new(name("a"), 0);
    rib.begin(0);
    let mut acknowledged = 0;
    for number in 0..2 * MOST + 10 {
        let origin = name(&format!("n{}", number % 40));
        let mut other = Rib::new(origin.clone(), 0);
        let key = Key::Application(name(&format!("app{number}")), origin);
        other.set(key.clone(), true, 0, Duration::ZERO);
        rib.receive(0, &message(&other, &key), Duration::ZERO).unwrap();
        for (_, message) in rib.tick(Duration::ZERO) {
            let value: RibExchange = message.value().unwrap();
            acknowledged += value.have.map_or(0, |entries| entries.len() / super::sync::ENTRY);
        }
    }
    assert_eq!((acknowledged, rib.iter().count()), (2 * MOST, MOST));
}

/// A neighbour that does not send what it is asked for is asked rarely in the end, and for some time.
#[test]
fn what_does_not_come_is_asked_for_rarely() {
    let mut wanted = Wanted::default();
    assert!(wanted.refuse(7, &name("c"), 0, Duration::ZERO));
    let mut asked = Vec::new();
    for second in 1..7200 {
        if !wanted.retry(1, &[0], |_| true, Duration::from_secs(second)).is_empty() {
            asked.push(second);
        }
    }
    assert_eq!(asked[..12], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 70, 130]);
    assert_eq!((asked.len(), wanted.due()), (70, None));
}

/// What a neighbour has, and there was no room for, comes as soon as there is.
#[test]
fn what_had_no_room_is_asked_for_when_there_is() {
    let mut now = Duration::ZERO;
    let (mut a, mut b) = (Rib::new(name("a"), 1000), Rib::new(name("b"), 2000));
    let app =
        |origin: usize, number: usize| Key::Application(name(&format!("app{number}")), name(&format!("n{origin}")));
    // Of five members as much as there can be of each, and then everything is full.
    let mut origins: Vec<Rib> = (0..5).map(|origin| Rib::new(name(&format!("n{origin}")), 1000)).collect();
    for (origin, rib) in origins.iter_mut().enumerate() {
        for number in 0..MOST / 5 {
            rib.set(app(origin, number), true, 0, now);
            b.receive(9, &message(rib, &app(origin, number)), now);
        }
    }
    assert_eq!(b.objects.by_key.len(), MOST);
    a.set(member("a"), true, 5, now);
    a.begin(0);
    b.begin(0);
    let mut exchange = |a: &mut Rib, b: &mut Rib, time: Duration| {
        let end = now + time;
        let mut objects = 0;
        while now < end {
            now += Duration::from_millis(50);
            for (_, message) in a.tick(now) {
                objects += message.value::<RibExchange>().unwrap().objects.len();
                b.receive(0, &message, now).unwrap();
            }
            // What b has needs no room at a.
            for (_, message) in b.tick(now) {
                let value: RibExchange = message.value().unwrap();
                let value = RibExchange { objects: Vec::new(), offers: None, ..value };
                a.receive(0, &message.with_value(&value), now).unwrap();
            }
        }
        objects
    };
    let sent = exchange(&mut a, &mut b, Duration::from_secs(30));
    assert_eq!((sent, b.address(&name("a")), b.refused()), (1, None, 1), "it is not sent again and again");
    b.remove(&app(3, 3));
    exchange(&mut a, &mut b, Duration::from_secs(3));
    assert_eq!(b.address(&name("a")), Some(5));
    assert_eq!(b.wanted.due(), None, "nothing is lacking");
}

/// A member has more than there can be of one; others are not kept waiting by that, nor is it asked for these again and again.
#[test]
fn what_has_no_room_is_not_asked_for() {
    let mut now = Duration::ZERO;
    let (mut a, mut b) = (Rib::new(name("a"), 1000), Rib::new(name("b"), 2000));
    let app = |number: usize| Key::Application(name(&format!("app{number}")), name("c"));
    let mut hostile = Rib::new(name("c"), 1000);
    a.begin(0);
    b.begin(0);
    for number in 0..MOST_OF_ONE + 20 {
        hostile.issue(app(number), true, 0, None, now);
        b.receive(0, &message(&hostile, &app(number)), now).unwrap();
    }
    assert_eq!(b.refused(), 20);
    let mut asked = 0;
    for _ in 0..100 {
        now += Duration::from_millis(500);
        for (_, message) in b.tick(now) {
            asked += message.value::<RibExchange>().unwrap().wants.map_or(0, |ids| ids.len());
        }
    }
    assert_eq!(asked, 0);
    b.remove(&app(0));
    now += Duration::from_millis(1500);
    let wants = |(_, message): &(usize, Message)| message.value::<RibExchange>().unwrap().wants.is_some();
    assert!(b.tick(now).iter().any(wants));
    a.set(member("a"), true, 5, now);
    exchange(&mut a, &mut b, &mut now, 0);
    assert_eq!(b.address(&name("a")), Some(5));
}

/// Two neighbours offer an object, and all that is sent to the first one is lost.
#[test]
fn another_neighbour_is_asked_if_one_does_not_answer() {
    let offer = |rib: &mut Rib, link: usize, now: Duration| {
        let offers = Some([7u64.to_be_bytes(), 7u64.to_be_bytes()].concat());
        let value = RibExchange { offers, ..RibExchange::default() };
        let message = Message::about(crate::cdap::op::WRITE, object::RIB, object::RIB_NAME).with_value(&value);
        rib.receive(link, &message, now).unwrap();
    };
    let asked = |rib: &mut Rib, now: Duration| -> Vec<usize> {
        let wants = |message: &Message| message.value::<RibExchange>().unwrap().wants.is_some();
        rib.tick(now).iter().filter(|(_, message)| wants(message)).map(|(link, _)| *link).collect()
    };
    let mut rib = Rib::new(name("a"), 0);
    (0..4).for_each(|link| rib.begin(link));
    let mut all = Vec::new();
    for round in 0..4 {
        for link in 0..4 {
            let now = round * AGAIN + Duration::from_millis(link as u64);
            offer(&mut rib, link, now);
            all.extend(asked(&mut rib, now));
        }
    }
    assert_eq!(all, [0, 1, 2, 3], "one at a time, each in its turn");
    // The one that was asked goes down.
    let now = 4 * AGAIN + Duration::from_millis(10);
    offer(&mut rib, 1, now);
    offer(&mut rib, 2, now);
    assert_eq!(asked(&mut rib, now), [1]);
    rib.end(1);
    assert_eq!(asked(&mut rib, now), [2]);
    rib.end(2);
    rib.end(3);
    assert!(asked(&mut rib, now).is_empty());
    offer(&mut rib, 0, now);
    assert_eq!(asked(&mut rib, now), [0], "nothing waits for who is down");
}

#[test]
fn names_come_and_go_without_end() {
    let app = |number: usize| Key::Application(name(&format!("app{number}")), name("a"));
    let mut now = Duration::ZERO;
    let (mut a, mut b) = (Rib::new(name("a"), 1000), Rib::new(name("b"), 2000));
    a.begin(0);
    b.begin(0);
    for number in 0..5 * MOST_NAMES {
        assert!(a.set(app(number), true, 0, now), "name {number}");
        exchange(&mut a, &mut b, &mut now, 0);
        assert_eq!(b.hosts_of(&name(&format!("app{number}"))).count(), 1);
        a.set(app(number), false, 0, now);
        exchange(&mut a, &mut b, &mut now, 0);
    }
    assert!(b.objects.by_key.len() <= MOST_OF_ONE);
    now += TOMBSTONE;
    a.tick(now);
    b.tick(now);
    assert_eq!((a.objects.by_key.len(), b.objects.by_key.len()), (0, 0));
    for number in 0..MOST_NAMES {
        assert!(a.set(app(number), true, 0, now));
    }
    assert!(!a.set(app(MOST_NAMES), true, 0, now), "more at a time are refused");
    exchange(&mut a, &mut b, &mut now, 0);
    assert_eq!(b.iter().count(), MOST_NAMES);
}

#[test]
fn an_old_object_does_not_come_back() {
    let mut now = Duration::ZERO;
    let (mut a, mut b) = (Rib::new(name("a"), 1000), Rib::new(name("b"), 2000));
    let app = Key::Application(name("app"), name("a"));
    a.set(app.clone(), true, 0, now);
    a.begin(0);
    b.begin(0);
    exchange(&mut a, &mut b, &mut now, 0);
    // It goes while they do not hear each other, and is forgotten.
    a.end(0);
    b.end(0);
    a.set(app, false, 0, now);
    now += TOMBSTONE;
    a.tick(now);
    assert_eq!((a.objects.by_key.len(), b.iter().count()), (0, 1));
    a.begin(0);
    b.begin(0);
    exchange(&mut a, &mut b, &mut now, 0);
    assert_eq!((a.iter().count(), b.iter().count()), (0, 0));
}

#[test]
fn no_sequence_number_is_the_last() {
    for ahead in [1, 0x7fff_ffff, 0x8000_0000, u32::MAX - 1000] {
        let mut now = Duration::ZERO;
        let (mut a, mut b) = (Rib::new(name("a"), 1000), Rib::new(name("b"), 2000));
        a.set(member("a"), true, 5, now);
        a.begin(0);
        b.begin(0);
        exchange(&mut a, &mut b, &mut now, 0);
        let mut forged = a.objects.by_key[&member("a")].clone();
        (forged.seq, forged.value) = (forged.seq.wrapping_add(ahead), 666);
        b.receive(9, &codec::write(&member("a"), &forged, now), now);
        exchange(&mut a, &mut b, &mut now, 0);
        assert_eq!((a.address(&name("a")), b.address(&name("a"))), (Some(5), Some(5)), "{ahead}");
    }
}

#[test]
fn one_of_two_processes_with_a_name_has_to_leave() {
    let mut now = Duration::ZERO;
    let (mut one, mut other) = (Rib::new(name("a"), 1000), Rib::new(name("a"), 1000));
    one.set(member("a"), true, 5, now);
    other.set(member("a"), true, 6, now);
    one.begin(0);
    other.begin(0);
    for _ in 0..10 {
        now += AGAIN;
        for (_, message) in one.tick(now) {
            other.receive(0, &message, now);
        }
        for (_, message) in other.tick(now) {
            one.receive(0, &message, now);
        }
    }
    assert!(one.is_rivalled() != other.is_rivalled());
}
