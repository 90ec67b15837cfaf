//! The neighbour at the other end of a link: enrollment, authentication and keep-alive, as a state machine.
//!
//! ```text
//! initiator                                 responder, a member of the DIF
//!   M_CONNECT (name, DIF, share, address) →
//!                                          ← M_CONNECT_R (name, the initiator's nonce, share)
//!   protected from here on (credential.rs)
//!   M_START enrollment (address or 0)     →
//!                                          ← M_START_R enrollment (address)
//! ```
//!
//! A share is a nonce and a public key that is used once. Neighbours without key agreement (`AUTH_HMAC`) are refused: if the two
//! negotiated, somebody on the link could have them do without.
//!
//! Whoever has no neighbour sends M_CONNECT again and again. Only members respond; of two members that try at once the one with
//! the greater name responds, also if each has got as far as M_START, because one of them became a member in between. An IPC process without address gets one from the responder and is a member then. A
//! neighbour is up from M_START or M_START_R on, and down when nothing is heard from it for some time. The state is of
//! limited size, whatever the neighbour sends: one session, one attempt as initiator, [`CANDIDATES`] as responder. M_CONNECT proves nothing:
//! it adds a candidate, and neither ends nor delays this end's attempts. What proves that it comes from a member, M_START or
//! M_START_R, replaces session, attempt and candidates.
//!
//! Where the DIF has an authority, M_START and M_START_R carry a proof of who sends them ([`crate::identity`]).

mod link_end;
mod local;
mod messages;

use std::collections::VecDeque;
use std::time::Duration;

use prost::Message as _;

use crate::agreement::KeyPair;
use crate::cdap::{self, AUTH_HMAC, AUTH_X25519, AuthValue, EnrollmentInfo, LONGEST, Message, object, op};
use crate::credential::{self, NONCE, Protection, SHARE, Share};
use crate::identity::Proof;
use crate::name::Name;
pub(crate) use link_end::LinkEnd;
pub(crate) use local::{Context, Local};
use messages::{admission, auth, compare_routing, info, printable, response, start};

/// An Ethernet address.
pub type Mac = [u8; 6];
pub(crate) const BROADCAST: Mac = [0xff; 6];

/// Time between two attempts.
const ATTEMPT: Duration = Duration::from_millis(500);
/// Time between two M_STARTs of an attempt, and their number.
const START: Duration = Duration::from_millis(200);
const STARTS: u32 = 5;
/// Responses to M_CONNECT, or other messages because of it, that may be sent at once, and time after which there may be another one. More than a few, so that whoever forges some
/// leaves enough for the neighbour.
const RESPONSES: u32 = 8;
const RESPONSE: Duration = Duration::from_millis(20);
/// Initiators whose M_START is waited for, and for how long. More than [`RESPONSES`], so that a flood takes 160 ms to push one out.
const CANDIDATES: usize = 16;
const CANDIDACY: Duration = Duration::from_secs(2);
/// Time without attempts after the neighbour has refused a session.
const COURTESY: Duration = Duration::from_secs(1);
/// Time between two lines in the log for the same reason of refusals.
const LOGGED: Duration = Duration::from_secs(10);
/// The same for any two reasons.
const LOGGED_ANYWAY: Duration = Duration::from_secs(1);
/// Time after which a neighbour's certificate is looked at again.
const RECHECK: Duration = Duration::from_secs(1);
const FAILED: i32 = -1;

/// What the state machine wants done.
#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    /// Send a management SDU to this station.
    Send(Mac, Vec<u8>),
    /// Send an ARP packet to this station; it lacks the sender's own.
    Arp(Mac, Vec<u8>),
    /// This IPC process has been given an address.
    Enrolled(u16),
    /// The neighbour is up.
    Up(Name),
    /// It is down.
    Down(Name),
    /// It says this.
    Message(Message),
}

/// Gives an IPC process its address, or confirms the one it has.
pub(crate) type Admit<'a> = &'a mut dyn FnMut(&Name, u16, Option<[u8; NONCE]>) -> Result<u16, &'static str>;

/// Counts of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Neighbours that came up.
    pub ups: u64,
    /// Neighbours that went down.
    pub downs: u64,
    /// Enrollments that failed for a wrong credential, here or there.
    pub refused: u64,
    /// Management SDUs that were no message, or had a wrong tag.
    pub discarded: u64,
}

#[derive(Debug)]
struct Session {
    name: Name,
    mac: Mac,
    protection: Protection,
    heard: Duration,
    kept_alive: Duration,
    /// The neighbour's certificate, which was valid at this time, and what it was shown. Empty in DIFs without an authority.
    certificate: Vec<u8>,
    valid: Duration,
    proof: Proof,
}

impl Session {
    fn new(name: Name, mac: Mac, protection: Protection, proofs: (Vec<u8>, Proof), now: Duration) -> Session {
        let (certificate, proof) = proofs;
        Session { name, mac, protection, heard: now, kept_alive: now, certificate, valid: now, proof }
    }
}

#[derive(Debug)]
struct Attempt {
    share: Share,
    /// Until M_CONNECT_R. M_CONNECT is sent again with the same share, so that a late answer is one, too.
    pair: Option<KeyPair>,
    sent: Duration,
    tries: u32,
    /// Since M_CONNECT_R.
    started: Option<Started>,
}

#[derive(Debug)]
struct Started {
    name: Name,
    mac: Mac,
    protection: Protection,
    responder_share: Share,
    /// What is shown to the responder.
    proof: Proof,
}

#[derive(Debug)]
struct Candidate {
    name: Name,
    mac: Mac,
    since: Duration,
    initiator_share: Share,
    responder_share: Share,
    protection: Protection,
    /// An SDU has come from its station that it has not protected.
    refused: bool,
}

/// The state of a link's other end.
#[derive(Debug, Default)]
pub(crate) struct Neighbour {
    session: Option<Session>,
    attempt: Option<Attempt>,
    candidates: VecDeque<Candidate>,
    next_attempt: Duration,
    /// When there are [`RESPONSES`] again.
    responses: Duration,
    /// Why enrollment was refused last, and when the log said so.
    refusal: Option<(String, Duration)>,
    invoke_id: i32,
    pub counts: LinkCounts,
}

impl Neighbour {
    /// A number for a request.
    pub(crate) fn invoke_id(&mut self) -> i32 {
        self.invoke_id = self.invoke_id.checked_add(1).unwrap_or(1);
        self.invoke_id
    }

    /// Says in the log why enrollment is refused, of a neighbour or by the neighbour, but not again and again.
    fn log_refusal(&mut self, cx: &Context<'_>, of: Option<&Name>, reason: &str) {
        let reason = printable(reason);
        let line = match of {
            Some(name) => format!("enrollment of {name} refused: {reason}"),
            None => format!("the neighbour refuses enrollment: {reason}"),
        };
        // Anybody can have written a name, or the neighbour's reason.
        let what = if of.is_some() { reason } else { String::new() };
        let soon = |(before, at): &(String, Duration)| {
            cx.now.saturating_sub(*at) < if *before == what { LOGGED } else { LOGGED_ANYWAY }
        };
        if !self.refusal.as_ref().is_some_and(soon) {
            tracing::warn!(dif = %cx.local.dif, "{line}");
            self.refusal = Some((what, cx.now));
        }
    }

    /// Ends the session of a neighbour whose certificate is not valid any more.
    fn recheck(&mut self, local: &Local<'_>, now: Duration, out: &mut Vec<Effect>) {
        let Some((session, identity)) = self.session.as_mut().zip(local.identity) else { return };
        if now.saturating_sub(session.valid) < RECHECK {
            return;
        }
        match identity.verify(&session.name, &session.certificate) {
            Ok(()) => session.valid = now,
            Err(reason) => {
                tracing::warn!(dif = %local.dif, name = %local.name, neighbour = %session.name, "the neighbour goes: {reason}");
                self.counts.refused += 1;
                self.end(out);
            }
        }
    }

    /// M_CONNECT. None if it makes no sense.
    fn connect(&mut self, cx: &mut Context<'_>, from: Mac, message: &Message) -> Option<()> {
        let initiator: Name = message.src_ap_name.as_deref()?.parse().ok()?;
        let share = auth(message)?;
        let initiator_nonce = *share.first_chunk::<NONCE>()?;
        let info: EnrollmentInfo = message.value().ok()?;
        if message.dest_ap_name.as_deref() != Some(cx.local.dif.as_str()) {
            return None;
        }
        let refusal = match message.auth_mech? {
            AUTH_X25519 if initiator == *cx.local.name && cx.local.address != 0 => {
                Some(("it has the name of this IPC process", "the neighbour has this name"))
            }
            AUTH_X25519 if initiator == *cx.local.name => return Some(()),
            AUTH_X25519 if info.encryption.unwrap_or_default() != cx.local.encryption => {
                Some(match cx.local.encryption {
                    true => ("it has no encryption", "the DIF has encryption = true"),
                    false => ("it has encryption", "the DIF has no encryption"),
                })
            }
            AUTH_X25519 => None,
            AUTH_HMAC => Some((
                "its version has no key agreement: update it",
                "this DIF's members agree on keys by X25519: update to a version that does",
            )),
            _ => return None,
        };
        if let Some((here, there)) = refusal {
            if self.may_respond(cx.now) {
                self.counts.refused += 1;
                self.log_refusal(cx, Some(&initiator), here);
                let refusal = response(cx.local, &initiator_nonce, &[0; SHARE], Some(there));
                cx.out.push(Effect::Send(from, refusal.encode_to_vec()));
            }
            return Some(());
        }
        let initiator_share: Share = share.try_into().ok()?;
        if cx.local.address == 0 {
            // Somebody is there who can have this IPC process enrol. An answer that is on its way is taken as well: M_CONNECT is sent again with
            // the same share.
            if info.address.unwrap_or_default() != 0 && self.may_respond(cx.now) {
                self.hurry();
            }
            return Some(());
        }
        let mine = self.attempt.is_some() && info.address.unwrap_or_default() != 0 && initiator > *cx.local.name;
        if mine || !self.may_respond(cx.now) {
            return Some(());
        }
        let (pair, responder_share) = credential::share()?;
        let handshake = cx.local.handshake((&initiator, initiator_share), (cx.local.name, responder_share));
        let protection = handshake.responder(cx.local.credential?, pair)?;
        self.candidates.truncate(CANDIDATES - 1);
        let (name, mac, since) = (initiator, from, cx.now);
        let refused = false;
        let candidate = Candidate { name, mac, since, initiator_share, responder_share, protection, refused };
        self.candidates.push_front(candidate);
        cx.out.push(Effect::Send(from, response(cx.local, &initiator_nonce, &responder_share, None).encode_to_vec()));
        Some(())
    }

    /// Whether something may be sent because of M_CONNECT now, which is counted then.
    fn may_respond(&mut self, now: Duration) -> bool {
        let after = self.responses.max(now) + RESPONSE;
        let may = after <= now + RESPONSES * RESPONSE;
        if may {
            self.responses = after;
        }
        may
    }

    /// M_CONNECT_R.
    fn connected(&mut self, cx: &mut Context<'_>, from: Mac, message: &Message) -> Option<()> {
        let (mine, theirs) = auth(message)?.split_first_chunk::<NONCE>()?;
        if self.attempt.as_ref().is_none_or(|attempt| credential::nonce_of(&attempt.share) != *mine) {
            return None;
        }
        if message.result.unwrap_or_default() != 0 {
            // Anybody can have written this: it ends no attempt.
            let reason = message.result_reason.as_deref().unwrap_or_default();
            self.log_refusal(cx, None, reason);
            self.counts.refused += 1;
            return Some(());
        }
        let attempt = self.attempt.as_mut()?;
        let responder: Name = message.src_ap_name.as_deref()?.parse().ok()?;
        if attempt.started.is_some() || responder == *cx.local.name {
            return Some(());
        }
        if message.auth_mech != Some(AUTH_X25519) {
            return None;
        }
        let responder_share: Share = theirs.try_into().ok()?;
        let handshake = cx.local.handshake((cx.local.name, attempt.share), (&responder, responder_share));
        let mut protection = handshake.initiator(cx.local.credential?, attempt.pair.take()?)?;
        let proof = cx.local.prove(&handshake, true);
        cx.out.push(Effect::Send(from, protection.protect(&start(cx.local, &proof).encode_to_vec())));
        let started = Started { name: responder, mac: from, protection, responder_share, proof };
        (attempt.sent, attempt.tries, attempt.started) = (cx.now, 1, Some(started));
        Some(())
    }

    fn receive_protected(&mut self, cx: &mut Context<'_>, from: Mac, sdu: &[u8]) -> Option<()> {
        if let Some(session) = &mut self.session
            && let Some(message) = session.protection.open(sdu)
        {
            (session.heard, session.mac) = (cx.now, from);
            let message = Message::parse(&message).ok()?;
            self.hear(cx, message);
            return Some(());
        }
        self.candidates.retain(|candidate| cx.now.saturating_sub(candidate.since) < CANDIDACY);
        let candidates = self.candidates.iter_mut().enumerate();
        let mut candidates = candidates.filter(|(_, candidate)| candidate.mac == from);
        if let Some((at, message)) = candidates.find_map(|(at, candidate)| Some((at, candidate.protection.open(sdu)?)))
        {
            let message = Message::parse(&message).ok().filter(|message| message.op_code == op::START)?;
            if self.goes_on_with(&self.candidates[at].name, cx.local.name) {
                return Some(());
            }
            let candidate = self.candidates.remove(at)?;
            return self.admit_candidate(cx, candidate, &message);
        }
        let started = self.attempt.as_mut().and_then(|attempt| attempt.started.as_mut());
        let Some(message) = started.and_then(|started| started.protection.open(sdu)) else {
            return self.refuse_candidate(cx, from, sdu);
        };
        let message = Message::parse(&message).ok().filter(|message| message.op_code == op::START_R)?;
        if message.result.unwrap_or_default() != 0 {
            self.attempt = None;
            self.next_attempt = cx.now + ATTEMPT;
            self.log_refusal(cx, None, message.result_reason.as_deref().unwrap_or_default());
            return Some(());
        }
        self.join(cx, from, &message)
    }

    /// Whether both ends have sent M_START to each other, and it is this one's attempt that goes on: that of the smaller name, as for M_CONNECT. Otherwise
    /// each end could take the other's, and have a session that the other does not know.
    fn goes_on_with(&self, name: &Name, own: &Name) -> bool {
        let started = self.attempt.as_ref().and_then(|attempt| attempt.started.as_ref());
        own < name && started.is_some_and(|started| started.name == *name)
    }

    /// An SDU that nobody here can open, perhaps of a candidate with another credential, which gets one refusal. It stays a candidate: anybody
    /// can have written the SDU.
    fn refuse_candidate(&mut self, cx: &mut Context<'_>, from: Mac, sdu: &[u8]) -> Option<()> {
        // Its first SDUs: not one of a session before.
        sdu.get(1..9).filter(|number| number[..7] == [0; 7] && number[7] <= STARTS as u8)?;
        let mut candidates = self.candidates.iter_mut();
        let candidate = candidates.find(|candidate| candidate.mac == from && !candidate.refused)?;
        candidate.refused = true;
        let (name, nonce) = (candidate.name.clone(), credential::nonce_of(&candidate.initiator_share));
        self.log_refusal(cx, Some(&name), "it has another credential");
        self.counts.refused += 1;
        let refusal = response(cx.local, &nonce, &[0; SHARE], Some("another credential"));
        cx.out.push(Effect::Send(from, refusal.encode_to_vec()));
        Some(())
    }

    /// M_START of a candidate, which is who it says and admitted, or not.
    fn admit_candidate(&mut self, cx: &mut Context<'_>, candidate: Candidate, message: &Message) -> Option<()> {
        let Candidate { name, mac, protection, initiator_share, responder_share, .. } = candidate;
        let handshake = cx.local.handshake((&name, initiator_share), (cx.local.name, responder_share));
        let asked = admission(message);
        let (checked, proof) = (cx.local.check(message, &handshake, true), cx.local.prove(&handshake, false));
        let answer = Message {
            invoke_id: message.invoke_id,
            ..Message::about(op::START_R, object::ENROLLMENT, object::ENROLLMENT_NAME)
        };
        self.counts.refused += u64::from(checked.is_err());
        let admitted = checked.and_then(|certificate| {
            let (asked, life) = asked.ok_or("not an address")?;
            Ok(((cx.admit)(&name, asked, life)?, certificate))
        });
        match admitted {
            Ok((address, certificate)) => {
                compare_routing(cx.local, &name, message);
                let answer = answer.with_value(&info(cx.local, address, &proof));
                self.establish(Session::new(name, mac, protection, (certificate, proof), cx.now), cx.out);
                cx.out.extend(self.prepare(&answer).map(|(mac, sdu)| Effect::Send(mac, sdu)));
            }
            Err(reason) => {
                // Whoever is up at this link stays so.
                self.log_refusal(cx, Some(&name), reason);
                let mut protection = protection;
                let refusal = Message { result: Some(FAILED), result_reason: Some(reason.into()), ..answer };
                cx.out.push(Effect::Send(mac, protection.protect(&refusal.encode_to_vec())));
            }
        }
        Some(())
    }

    /// M_START_R of the responder, which is who it says, or not.
    fn join(&mut self, cx: &mut Context<'_>, from: Mac, message: &Message) -> Option<()> {
        let (address, incarnation) = admission(message).filter(|(address, _)| *address != 0)?;
        let Attempt { share: initiator_share, started, .. } = self.attempt.take()?;
        let Started { name, mac, mut protection, responder_share, proof } = started?;
        let handshake = cx.local.handshake((cx.local.name, initiator_share), (&name, responder_share));
        // A member that has the name of another is none.
        let checked = cx.local.check(message, &handshake, false);
        self.counts.refused += u64::from(checked.is_err());
        let checked = checked.and_then(|certificate| (cx.admit)(&name, 0, incarnation).map(|_| certificate));
        let certificate = match checked {
            Ok(certificate) => certificate,
            Err(reason) => {
                self.next_attempt = cx.now + ATTEMPT;
                self.log_refusal(cx, Some(&name), reason);
                let about = Message::about(op::START_R, object::ENROLLMENT, object::ENROLLMENT_NAME);
                let refusal = Message { result: Some(FAILED), result_reason: Some(reason.into()), ..about };
                cx.out.push(Effect::Send(mac, protection.protect(&refusal.encode_to_vec())));
                return Some(());
            }
        };
        compare_routing(cx.local, &name, message);
        if address != cx.local.address {
            cx.out.push(Effect::Enrolled(address));
        }
        self.establish(Session::new(name, from, protection, (certificate, proof), cx.now), cx.out);
        Some(())
    }

    fn establish(&mut self, session: Session, out: &mut Vec<Effect>) {
        self.end(out);
        self.refusal = None;
        self.counts.ups += 1;
        out.push(Effect::Up(session.name.clone()));
        self.session = Some(session);
    }

    /// Takes a message of the neighbour that is up.
    fn hear(&mut self, cx: &mut Context<'_>, message: Message) {
        let answer = match message.op_code {
            op::READ if message.is_about(object::KEEPALIVE) => Message {
                invoke_id: message.invoke_id,
                ..Message::about(op::READ_R, object::KEEPALIVE, object::KEEPALIVE_NAME)
            },
            op::READ_R => return,
            op::START_R if message.result.unwrap_or_default() != 0 => {
                self.log_refusal(cx, None, message.result_reason.as_deref().unwrap_or_default());
                self.next_attempt = cx.now + COURTESY;
                return self.end(cx.out);
            }
            // Sent again: the answer was lost.
            op::START => {
                let Some(session) = &self.session else { return };
                let (name, proof) = (session.name.clone(), session.proof.clone());
                let about = Message::about(op::START_R, object::ENROLLMENT, object::ENROLLMENT_NAME);
                let answer = Message { invoke_id: message.invoke_id, ..about };
                let asked = admission(&message).ok_or("not an address");
                // The name has been checked: the RIB may have it in an earlier life until it is in sync.
                match asked.and_then(|(asked, _)| (cx.admit)(&name, asked, None)) {
                    Ok(address) => answer.with_value(&info(cx.local, address, &proof)),
                    Err(reason) => {
                        self.log_refusal(cx, Some(&name), reason);
                        let refusal = Message { result: Some(FAILED), result_reason: Some(reason.into()), ..answer };
                        cx.out.extend(self.prepare(&refusal).map(|(mac, sdu)| Effect::Send(mac, sdu)));
                        self.end(cx.out);
                        return;
                    }
                }
            }
            _ => return cx.out.push(Effect::Message(message)),
        };
        cx.out.extend(self.prepare(&answer).map(|(mac, sdu)| Effect::Send(mac, sdu)));
    }
}

impl LinkEnd for Neighbour {
    fn up(&self) -> Option<(&Name, Mac)> {
        self.session.as_ref().map(|session| (&session.name, session.mac))
    }

    fn counts(&self) -> LinkCounts {
        self.counts
    }

    fn prepare(&mut self, message: &Message) -> Option<(Mac, Vec<u8>)> {
        let session = self.session.as_mut()?;
        Some((session.mac, session.protection.protect(&message.encode_to_vec())))
    }

    fn hurry(&mut self) {
        if self.session.is_none() && self.attempt.as_ref().is_none_or(|attempt| attempt.started.is_none()) {
            self.next_attempt = Duration::ZERO;
        }
    }

    fn due(&self, keepalive: Duration, dead_after: Duration) -> Duration {
        if let Some(session) = &self.session {
            let due = (session.heard + dead_after).min(session.kept_alive + keepalive);
            return if session.certificate.is_empty() { due } else { due.min(session.valid + RECHECK) };
        }
        match &self.attempt {
            Some(attempt) if attempt.started.is_some() => attempt.sent + START,
            _ => self.next_attempt,
        }
    }

    fn end(&mut self, out: &mut Vec<Effect>) {
        self.attempt = None;
        self.candidates.clear();
        if let Some(session) = self.session.take() {
            self.counts.downs += 1;
            out.push(Effect::Down(session.name));
        }
    }

    fn tick(&mut self, local: &Local<'_>, now: Duration, out: &mut Vec<Effect>) {
        if self.session.as_ref().is_some_and(|session| now.saturating_sub(session.heard) >= local.dead_after) {
            self.end(out);
        }
        self.recheck(local, now, out);
        if let Some(session) = &mut self.session {
            if now.saturating_sub(session.kept_alive) >= local.keepalive {
                session.kept_alive = now;
                let mut message = Message::about(op::READ, object::KEEPALIVE, object::KEEPALIVE_NAME);
                message.invoke_id = Some(self.invoke_id());
                out.extend(self.prepare(&message).map(|(mac, sdu)| Effect::Send(mac, sdu)));
            }
            return;
        }
        if let Some(attempt) = &mut self.attempt
            && let Some(Started { mac, protection, proof, .. }) = &mut attempt.started
        {
            if now.saturating_sub(attempt.sent) < START {
                return;
            }
            if attempt.tries < STARTS {
                attempt.tries += 1;
                attempt.sent = now;
                out.push(Effect::Send(*mac, protection.protect(&start(local, proof).encode_to_vec())));
                return;
            }
            self.attempt = None;
            self.next_attempt = now + ATTEMPT;
        }
        if now < self.next_attempt {
            return;
        }
        self.next_attempt = now + ATTEMPT;
        let attempt = match self.attempt.take() {
            Some(before) if before.pair.is_some() => Attempt { sent: now, ..before },
            _ => {
                let Some((pair, share)) = credential::share() else { return };
                Attempt { share, pair: Some(pair), sent: now, tries: 1, started: None }
            }
        };
        let info = EnrollmentInfo {
            address: Some(local.address.into()),
            encryption: local.encryption.then_some(true),
            ..EnrollmentInfo::default()
        };
        let message = Message {
            invoke_id: Some(self.invoke_id()),
            auth_mech: Some(AUTH_X25519),
            auth_value: Some(AuthValue { other: Some(attempt.share.into()) }),
            dest_ap_name: Some(local.dif.to_string()),
            src_ap_name: Some(local.name.to_string()),
            ..Message::about(op::CONNECT, object::ENROLLMENT, object::ENROLLMENT_NAME).with_value(&info)
        };
        self.attempt = Some(attempt);
        out.push(Effect::Send(BROADCAST, message.encode_to_vec()));
    }

    fn receive(
        &mut self,
        local: &Local<'_>,
        from: Mac,
        sdu: &[u8],
        now: Duration,
        admit: Admit<'_>,
        out: &mut Vec<Effect>,
    ) {
        let cx = &mut Context { local, now, admit, out };
        let taken = match credential::is_protected(sdu) {
            true => self.receive_protected(cx, from, sdu),
            false => match Message::parse(sdu) {
                Ok(message) if message.op_code == op::CONNECT => self.connect(cx, from, &message),
                Ok(message) if message.op_code == op::CONNECT_R => self.connected(cx, from, &message),
                _ => None,
            },
        };
        if taken.is_none() {
            self.counts.discarded += 1;
        }
    }

    fn protect_bytes(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        Some(self.session.as_mut()?.protection.protect(bytes))
    }
}

/// Bytes of a management SDU, at most.
pub(crate) const LONGEST_SDU: usize = credential::OVERHEAD + cdap::LONGEST;
const _: () = assert!(LONGEST_SDU + 20 < 1500 && LONGEST < 1400);

#[cfg(test)]
#[path = "neighbour_tests.rs"]
mod tests;
