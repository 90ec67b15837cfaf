//! Two ends of a link.

use super::*;
use crate::credential::Credential;
use crate::identity::Identity;
use crate::identity::tests::Authority;

struct End {
    name: Name,
    dif: Name,
    address: u16,
    credential: Credential,
    identity: Option<Identity>,
    encryption: bool,
    routing: &'static str,
    neighbour: Neighbour,
    effects: Vec<Effect>,
}

impl End {
    fn new(name: &str, address: u16, credential: u8) -> End {
        End {
            name: name.parse().unwrap(),
            dif: "net".parse().unwrap(),
            address,
            credential: Credential::new(&[credential; 16]).unwrap(),
            identity: None,
            encryption: false,
            routing: "shortest",
            neighbour: Neighbour::default(),
            effects: Vec::new(),
        }
    }

    fn with<T>(&mut self, work: impl FnOnce(&mut Neighbour, &Local<'_>, &mut Vec<Effect>) -> T) -> Vec<Effect> {
        let local = Local {
            dif: &self.dif,
            name: &self.name,
            address: self.address,
            credential: Some(&self.credential),
            identity: self.identity.as_ref(),
            encryption: self.encryption,
            incarnation: [self.address as u8; NONCE],
            routing: self.routing,
            qos: &[],
            keepalive: Duration::from_millis(200),
            dead_after: Duration::from_millis(600),
        };
        let mut out = Vec::new();
        work(&mut self.neighbour, &local, &mut out);
        out
    }

    fn take(&mut self, effects: Vec<Effect>) -> Vec<Vec<u8>> {
        let mut sent = Vec::new();
        for one in effects {
            match one {
                Effect::Send(_, sdu) => sent.push(sdu),
                Effect::Enrolled(address) => self.address = address,
                other => self.effects.push(other),
            }
        }
        sent
    }

    fn tick(&mut self, now: Duration) -> Vec<Vec<u8>> {
        let effects = self.with(|neighbour, local, out| neighbour.tick(local, now, out));
        self.take(effects)
    }

    fn receive(&mut self, sdu: &[u8], now: Duration) -> Vec<Vec<u8>> {
        let effects = self.with(|neighbour, local, out| {
            let mut admit = |_: &Name, asked, _| Ok(if asked == 0 { 77 } else { asked });
            neighbour.receive(local, [2; 6], sdu, now, &mut admit, out);
        });
        self.take(effects)
    }

    fn is_up(&self) -> bool {
        self.neighbour.up().is_some()
    }
}

/// Runs both ends until a time, with a link that loses one of `lost` SDUs.
fn run(a: &mut End, b: &mut End, from: u64, to: u64, lost: usize) {
    // Drawn, since with every third SDU lost it could be the same answer each time.
    let mut random = lost as u64;
    for ms in (from..to).step_by(10) {
        let now = Duration::from_millis(ms);
        let mut way: Vec<(bool, Vec<u8>)> = a.tick(now).into_iter().map(|sdu| (true, sdu)).collect();
        way.extend(b.tick(now).into_iter().map(|sdu| (false, sdu)));
        while let Some((to_b, sdu)) = way.pop() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if lost > 0 && (random >> 33).is_multiple_of(lost as u64) {
                continue;
            }
            let answers = if to_b { b.receive(&sdu, now) } else { a.receive(&sdu, now) };
            way.extend(answers.into_iter().map(|sdu| (!to_b, sdu)));
        }
    }
}

#[test]
fn a_new_process_enrols_and_gets_an_address() {
    for lost in [0, 3, 4, 7] {
        let (mut a, mut b) = (End::new("a", 0, 1), End::new("b", 5, 1));
        run(&mut a, &mut b, 0, 6000, lost);
        assert_eq!(a.address, 77, "one of {lost} lost");
        assert!(a.effects.contains(&Effect::Up("b".parse().unwrap())));
        assert!(b.effects.contains(&Effect::Up("a".parse().unwrap())));
    }
}

#[test]
fn members_of_an_authority_show_who_they_are() {
    let (authority, other) = (Authority::new(), Authority::new());
    for lost in [0, 3, 4, 7] {
        let (mut a, mut b) = (End::new("a", 0, 1), End::new("b", 5, 1));
        (a.identity, b.identity) = (Some(authority.member(1, "a")), Some(authority.member(2, "b")));
        run(&mut a, &mut b, 0, 6000, lost);
        assert!(a.is_up() && b.is_up() && a.address == 77, "one of {lost} lost");
    }
    // The credential is not enough, whichever end lacks the certificate, or has one of somebody else.
    for (at_a, at_b) in [
        (None, Some(authority.member(2, "b"))),
        (Some(authority.member(1, "a")), None),
        (Some(other.member(1, "a")), Some(authority.member(2, "b"))),
        (Some(authority.member(1, "c")), Some(authority.member(2, "b"))),
        (Some(authority.member(1, "a")), Some(authority.member(2, "c"))),
    ] {
        let (mut a, mut b) = (End::new("a", 0, 1), End::new("b", 5, 1));
        (a.identity, b.identity) = (at_a, at_b);
        run(&mut a, &mut b, 0, 6000, 0);
        assert!(!a.is_up() && !b.is_up());
        assert!(a.neighbour.counts.refused + b.neighbour.counts.refused > 0);
    }
}

#[test]
fn a_neighbour_whose_certificate_is_revoked_goes() {
    let authority = Authority::new();
    let (mut a, mut b) = (End::new("a", 0, 1), End::new("b", 5, 1));
    (a.identity, b.identity) = (Some(authority.member(1, "a")), Some(authority.member(2, "b")));
    run(&mut a, &mut b, 0, 3000, 0);
    assert!(a.is_up() && b.is_up());
    authority.revoke(1);
    b.identity = Some(authority.member(2, "b"));
    run(&mut a, &mut b, 3000, 8000, 0);
    assert!(!a.is_up() && !b.is_up());
    assert!(b.effects.contains(&Effect::Down("a".parse().unwrap())) && b.neighbour.counts.refused > 1);
}

#[test]
fn members_come_together_whoever_begins() {
    for (one, other) in [("a", "b"), ("b", "a")] {
        let (mut a, mut b) = (End::new(one, 1, 1), End::new(other, 2, 1));
        run(&mut a, &mut b, 0, 3000, 0);
        assert!(a.is_up() && b.is_up());
        assert_eq!((a.neighbour.counts.ups, b.neighbour.counts.ups), (1, 1), "and stay so");
    }
}

/// Members spread through a network as fast as messages do.
#[test]
fn who_hears_a_member_enrols_at_once() {
    let (mut a, mut b) = (End::new("a", 0, 1), End::new("b", 5, 1));
    let first = a.tick(Duration::ZERO).remove(0);
    let connect = b.tick(Duration::ZERO).remove(0);
    let now = Duration::from_millis(10);
    assert!(a.tick(now).is_empty());
    assert!(a.receive(&connect, now).is_empty());
    let again = a.tick(now).remove(0);
    let share = |sdu: &[u8]| auth(&Message::parse(sdu).unwrap()).unwrap().to_vec();
    assert_eq!(share(&again), share(&first), "its first one may be answered yet");
    let start = b.receive(&again, now).into_iter().flat_map(|answer| a.receive(&answer, now)).collect::<Vec<_>>();
    let answers = start.iter().flat_map(|start| b.receive(start, now)).collect::<Vec<_>>();
    answers.iter().for_each(|answer| drop(a.receive(answer, now)));
    assert!(a.is_up() && b.is_up());
    // Not as often as somebody likes.
    let mut c = End::new("c", 0, 1);
    c.tick(Duration::ZERO);
    let sent = (0..20).filter(|_| c.receive(&connect, now).len() + c.tick(now).len() > 0).count();
    assert_eq!(sent, RESPONSES as usize);
}

#[test]
fn two_that_are_no_members_wait() {
    let (mut a, mut b) = (End::new("a", 0, 1), End::new("b", 0, 1));
    run(&mut a, &mut b, 0, 3000, 0);
    assert!(!a.is_up() && !b.is_up());
}

#[test]
fn silence_is_noticed_and_a_restart_survived() {
    let (mut a, mut b) = (End::new("a", 0, 1), End::new("b", 5, 1));
    run(&mut a, &mut b, 0, 2000, 0);
    for ms in (2000..2700).step_by(10) {
        b.tick(Duration::from_millis(ms));
    }
    assert!(b.effects.contains(&Effect::Down("a".parse().unwrap())));
    let mut again = End::new("a", 0, 1);
    run(&mut again, &mut b, 2700, 5000, 0);
    assert!(again.is_up() && b.is_up());
    // Restarted, and the other end has not noticed.
    let mut again = End::new("a", 0, 1);
    run(&mut again, &mut b, 5000, 7000, 0);
    assert!(again.is_up() && b.is_up());
}

#[test]
fn another_credential_is_refused() {
    let (mut a, mut b) = (End::new("a", 0, 1), End::new("b", 5, 2));
    run(&mut a, &mut b, 0, 10_000, 0);
    assert!(!a.is_up() && !b.is_up());
    assert_eq!(a.address, 0);
    assert!(a.neighbour.counts.refused >= 2 && b.neighbour.counts.refused >= 2);
    assert!(a.effects.is_empty() && b.effects.is_empty());
}

#[test]
fn who_has_been_admitted_is_not_refused_again() {
    let (mut a, mut b) = (End::new("a", 0, 1), End::new("b", 5, 1));
    let answer = b.receive(&a.tick(Duration::ZERO)[0], Duration::ZERO).remove(0);
    let start = a.receive(&answer, Duration::ZERO).remove(0);
    b.receive(&start, Duration::ZERO);
    let again = a.tick(START).remove(0);
    let mut admit = |_: &Name, _, incarnation: Option<_>| incarnation.map_or(Ok(77), |_| Err("used"));
    let effects = b.with(|neighbour, local, out| neighbour.receive(local, [2; 6], &again, START, &mut admit, out));
    let answers = b.take(effects);
    assert!(b.is_up());
    a.receive(&answers[0], START);
    assert!(a.is_up());
}

#[test]
fn forged_refusals_delay_nothing() {
    let (mut a, mut b) = (End::new("a", 0, 1), End::new("b", 5, 1));
    let now = Duration::ZERO;
    let connect = a.tick(now).remove(0);
    let message = Message::parse(&connect).unwrap();
    let nonce = *auth(&message).unwrap().first_chunk::<NONCE>().unwrap();
    let mut forged = Vec::new();
    b.with(|_, local, _| forged = response(local, &nonce, &[0; SHARE], Some("go away")).encode_to_vec());
    a.receive(&forged, now);
    for answer in b.receive(&connect, now) {
        for start in a.receive(&answer, now) {
            a.receive(&forged, now);
            for answer in b.receive(&start, now) {
                a.receive(&answer, now);
            }
        }
    }
    assert!(a.is_up() && b.is_up());
}

/// An M_CONNECT that somebody without the credential has written, in the name of somebody.
fn forged_connect(name: &str, address: u16) -> Vec<u8> {
    End::new(name, address, 9).tick(Duration::ZERO).remove(0)
}

/// Members that are down to each other come together however often somebody without the credential writes M_CONNECT to both.
#[test]
fn forged_connects_delay_no_enrollment() {
    let names = ["a", "b", "0", "z"];
    let connects: Vec<_> = names.iter().flat_map(|name| [forged_connect(name, 0), forged_connect(name, 7)]).collect();
    for (every, offset) in [(1000, 0), (1000, 500), (500, 0), (500, 490), (100, 0), (30, 0)] {
        for connect in &connects {
            for member in [0, 1] {
                let (mut a, mut b) = (End::new("a", member, 1), End::new("b", 5, 1));
                for ms in (0..3000).step_by(10) {
                    if ms % every == offset {
                        for end in [&mut a, &mut b] {
                            end.receive(connect, Duration::from_millis(ms));
                        }
                    }
                    run(&mut a, &mut b, ms, ms + 10, 0);
                }
                let forged = Message::parse(connect).unwrap().src_ap_name;
                assert!(a.is_up() && b.is_up(), "{forged:?} each {every} ms to {member}");
                assert_eq!((a.neighbour.counts.ups, b.neighbour.counts.ups), (1, 1), "{forged:?}");
            }
        }
    }
}

/// Somebody who reads on the link answers each message with forged ones, before and after it.
#[test]
fn forged_messages_take_no_candidate_away() {
    let (mut a, mut b) = (End::new("a", 0, 1), End::new("b", 5, 1));
    let now = Duration::ZERO;
    let protected = [&[1][..], &[0; 7], &[1], &[0; 40]].concat();
    let disturb = |b: &mut End| {
        for sdu in [&forged_connect("a", 0), &protected, &forged_connect("z", 9), &protected] {
            b.receive(sdu, now);
        }
    };
    let connect = a.tick(now).remove(0);
    disturb(&mut b);
    let answer = b.receive(&connect, now).remove(0);
    disturb(&mut b);
    let start = a.receive(&answer, now).remove(0);
    disturb(&mut b);
    for answer in b.receive(&start, now) {
        a.receive(&answer, now);
    }
    assert!(a.is_up() && b.is_up());
    assert!(b.neighbour.counts.refused > 0, "the forged ones are counted");
}

/// Where messages take longer than an attempt, an answer is one to the M_CONNECT before.
#[test]
fn a_late_answer_is_taken() {
    let (mut a, mut b) = (End::new("a", 0, 1), End::new("b", 5, 1));
    let first = a.tick(Duration::ZERO).remove(0);
    assert_eq!(a.tick(ATTEMPT).len(), 1, "it tries again");
    let answer = b.receive(&first, ATTEMPT).remove(0);
    let start = a.receive(&answer, ATTEMPT).remove(0);
    let answer = b.receive(&start, ATTEMPT).remove(0);
    a.receive(&answer, ATTEMPT);
    assert!(a.is_up() && b.is_up());
}

#[test]
fn candidates_are_limited() {
    let mut b = End::new("b", 5, 1);
    let mut answers = 0;
    for ms in 0..2000 {
        for number in 0..10 {
            let connect = forged_connect(&format!("evil{number}"), 66);
            answers += b.receive(&connect, Duration::from_millis(ms)).len();
        }
        assert!(b.neighbour.candidates.len() <= CANDIDATES);
    }
    assert!(answers <= 8 + 2000 / 20, "{answers} answers");
}

#[test]
fn somebody_without_credential_disturbs_no_session() {
    let (mut a, mut b) = (End::new("a", 0, 1), End::new("b", 5, 1));
    run(&mut a, &mut b, 0, 2000, 0);
    let mut hostile = End::new("a", 0, 9);
    for ms in (2000..4000).step_by(10) {
        let now = Duration::from_millis(ms);
        for sdu in hostile.tick(now) {
            for answer in b.receive(&sdu, now) {
                for start in hostile.receive(&answer, now) {
                    b.receive(&start, now);
                }
            }
        }
        run(&mut a, &mut b, ms, ms + 10, 0);
    }
    assert!(b.neighbour.counts.refused > 0);
    assert_eq!((a.neighbour.counts.downs, b.neighbour.counts.downs), (0, 0));
}

/// A member whose version agrees on no keys sends a nonce alone. It is told why it stays outside, and so is the log here.
#[test]
fn members_without_key_agreement_are_refused() {
    let mut b = End::new("b", 5, 1);
    let mut old = End::new("a", 0, 1);
    let mut message = Message::parse(&old.tick(Duration::ZERO)[0]).unwrap();
    let nonce = auth(&message).unwrap()[..NONCE].to_vec();
    message.auth_mech = Some(AUTH_HMAC);
    message.auth_value = Some(AuthValue { other: Some(nonce.clone()) });
    let answers = b.receive(&message.encode_to_vec(), Duration::ZERO);
    let answer = Message::parse(&answers[0]).unwrap();
    assert_eq!((answers.len(), answer.op_code, answer.result), (1, op::CONNECT_R, Some(FAILED)));
    assert_eq!(auth(&answer).unwrap()[..NONCE], nonce, "an old member looks for its nonce");
    assert!(answer.result_reason.unwrap().contains("X25519"));
    assert!(b.neighbour.candidates.is_empty() && b.neighbour.counts.refused == 1);
    // Nor is an answer without it taken.
    let connect = Message::parse(&old.tick(ATTEMPT)[0]).unwrap();
    let mut answer = Message::parse(&b.receive(&connect.encode_to_vec(), ATTEMPT)[0]).unwrap();
    answer.auth_mech = Some(AUTH_HMAC);
    assert!(old.receive(&answer.encode_to_vec(), ATTEMPT).is_empty());
    answer.auth_mech = Some(AUTH_X25519);
    assert_eq!(old.receive(&answer.encode_to_vec(), ATTEMPT).len(), 1);
}

#[test]
fn both_neighbours_encrypt_or_none_does() {
    for (at_a, at_b) in [(false, false), (true, true), (true, false), (false, true)] {
        let (mut a, mut b) = (End::new("a", 0, 1), End::new("b", 5, 1));
        (a.encryption, b.encryption) = (at_a, at_b);
        run(&mut a, &mut b, 0, 3000, 0);
        assert_eq!((a.is_up(), b.is_up()), (at_a == at_b, at_a == at_b), "{at_a} {at_b}");
        if at_a == at_b {
            let message = Message::about(op::READ, object::KEEPALIVE, object::KEEPALIVE_NAME);
            let (_, sdu) = a.neighbour.prepare(&message).unwrap();
            assert_eq!(sdu.windows(9).any(|bytes| bytes == b"keepalive"), !at_a);
        } else {
            assert!(a.neighbour.counts.refused + b.neighbour.counts.refused > 0);
        }
    }
}

/// One end becomes a member by another link between its M_CONNECT and the other's, so that each end responds to the other, and each sends M_START.
#[test]
fn of_two_that_enrol_with_each_other_one_session_remains() {
    for (greater_first, names) in [(true, ("a", "b")), (false, ("a", "b")), (true, ("b", "a")), (false, ("b", "a"))] {
        let now = Duration::from_millis(1);
        // The first one is a member, the second one is not yet.
        let (mut one, mut other) = (End::new(names.0, 5, 1), End::new(names.1, 0, 1));
        let (connect_one, connect_other) = (one.tick(now).remove(0), other.tick(now).remove(0));
        let to_other = one.receive(&connect_other, now);
        other.address = 6;
        let to_one = other.receive(&connect_one, now);
        // Of two members the greater name responds.
        let starts_other = other.receive(&to_other[0], now);
        let mut way: Vec<(bool, Vec<u8>)> = starts_other.into_iter().map(|sdu| (false, sdu)).collect();
        for sdu in to_one {
            way.extend(one.receive(&sdu, now).into_iter().map(|sdu| (true, sdu)));
        }
        if greater_first == (names.0 < names.1) {
            way.reverse();
        }
        while !way.is_empty() {
            let (to_other, sdu) = way.remove(0);
            let answers = if to_other { other.receive(&sdu, now) } else { one.receive(&sdu, now) };
            way.extend(answers.into_iter().map(|sdu| (!to_other, sdu)));
        }
        assert!(one.is_up() && other.is_up(), "{names:?} {greater_first}");
        run(&mut one, &mut other, 10, 3000, 0);
        let counts = [one.neighbour.counts, other.neighbour.counts].map(|counts| (counts.ups, counts.downs));
        assert_eq!(counts, [(1, 0); 2], "{names:?} {greater_first}");
    }
}

/// Neighbours whose members compute paths by other policies enrol, and each names both.
#[test]
fn another_routing_policy_is_noticed() {
    let (mut a, mut b) = (End::new("a", 0, 1), End::new("b", 5, 1));
    b.routing = "fewest-hops";
    run(&mut a, &mut b, 0, 2000, 0);
    assert!(a.is_up() && b.is_up());
    let same = |end: &mut End, there: Option<&str>| {
        let info = EnrollmentInfo { routing: there.map(Into::into), ..EnrollmentInfo::default() };
        let message = Message::about(op::START, object::ENROLLMENT, object::ENROLLMENT_NAME).with_value(&info);
        let mut same = false;
        end.with(|_, local, _| same = compare_routing(local, local.name, &message));
        same
    };
    let (own, other) =
        ([same(&mut a, Some("shortest")), same(&mut b, Some("fewest-hops"))], same(&mut a, Some(b.routing)));
    assert_eq!((own, other), ([true; 2], false));
    assert!(same(&mut a, None), "a member of a version that does not tell");
}
