//! Two RIBs, or one.

use super::*;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn member(text: &str) -> Key {
    Key::Member(name(text))
}

/// Moves messages between two RIBs until nothing is left; every `lost`th is lost.
fn exchange(a: &mut Rib, b: &mut Rib, now: &mut Duration, lost: usize) {
    let mut count = 0;
    for _ in 0..200 {
        *now += AGAIN;
        for to_b in [true, false] {
            let (from, to) = if to_b { (&mut *a, &mut *b) } else { (&mut *b, &mut *a) };
            for (_, message) in from.tick(*now) {
                count += 1;
                if lost == 0 || count % lost != 0 {
                    let answer = to.receive(0, &message, *now).expect("an object");
                    count += 1;
                    if lost == 0 || count % lost != 0 {
                        from.acknowledged(0, &answer);
                    }
                }
            }
        }
        if a.in_sync() && b.in_sync() {
            return;
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
    other.begin(0);
    let (_, message) = other.tick(Duration::ZERO).remove(0);
    rib.receive(0, &message, Duration::ZERO);
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
        hostile.set(Key::Application(name(&format!("app{number}")), origin), true, 0, Duration::ZERO);
        hostile.begin(0);
        let (_, message) = hostile.tick(Duration::ZERO).remove(0);
        rib.receive(0, &message, Duration::ZERO);
    }
    assert!(rib.iter().count() <= MOST);
    assert!(rib.refused() >= MOST as u64);
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
    assert!(b.objects.len() <= MOST_OF_ONE);
    now += TOMBSTONE;
    a.tick(now);
    b.tick(now);
    assert_eq!((a.objects.len(), b.objects.len()), (0, 0));
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
    assert_eq!((a.objects.len(), b.iter().count()), (0, 1));
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
        let mut forged = a.objects[&member("a")].clone();
        (forged.seq, forged.value) = (forged.seq.wrapping_add(ahead), 666);
        b.receive(9, &write(&member("a"), &forged, now), now);
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
            if let Some(answer) = other.receive(0, &message, now) {
                one.acknowledged(0, &answer);
            }
        }
        for (_, message) in other.tick(now) {
            if let Some(answer) = one.receive(0, &message, now) {
                other.acknowledged(0, &answer);
            }
        }
    }
    assert!(one.is_rivalled() != other.is_rivalled());
}
