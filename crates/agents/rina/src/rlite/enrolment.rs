//! The neighbour at the other end of a link, as rlite enrols it (`user/uipcps/uipcp-normal-enroll.cpp`).
//!
//! ```text
//! initiator                                responder, a member of the DIF
//!   ARP: who is the DIF?                 →
//!                                        ←  ARP: this station
//!   M_CONNECT                            →
//!                                        ←  M_CONNECT_R
//! without an address:                                       a member, for one more lower flow:
//!   M_START enrollment                   →                    M_START lowerflow              →
//!                                        ←  M_START_R (address, data transfer constants)     ←  M_START_R lowerflow
//!                                        ←  M_WRITE of policies and parameters
//!                                        ←  M_STOP
//!   M_STOP_R                             →
//!                                        ←  M_START operational_status
//! ```
//!
//! Nothing is sent again: an attempt in which a message is lost ends after some time, and the next one begins. Nobody is authenticated.

use std::time::Duration;

use super::arp::{Arp, Operation};
use super::messages::{decode, encode};
use super::objects::{Constants, EnrollmentInfo, name};
use crate::cdap::{Message, ObjectValue, object, op};
use crate::name::Name;
use crate::neighbour::{Admit, BROADCAST, Effect, LinkCounts, Local, Mac};

/// Time between two attempts.
const ATTEMPT: Duration = Duration::from_secs(1);
/// Time without progress after which an attempt ends. rlite's are 7 s long.
const STUCK: Duration = Duration::from_secs(7);
const FAILED: i32 = -1;

#[derive(Debug)]
struct Session {
    name: Name,
    mac: Mac,
    heard: Duration,
    kept_alive: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// As initiator: M_CONNECT, M_START, M_START_R were exchanged.
    Connecting,
    Starting,
    /// With the address that the responder has given.
    Started(u16),
    /// As responder: M_CONNECT_R, M_STOP were sent.
    Connected,
    Stopping,
}

/// An enrollment that goes on.
#[derive(Debug)]
struct Attempt {
    name: Name,
    mac: Mac,
    step: Step,
    /// Of the request that waits for its response.
    invoke_id: i32,
    since: Duration,
}

/// The state of a link's other end.
#[derive(Debug, Default)]
pub(crate) struct Neighbour {
    session: Option<Session>,
    attempt: Option<Attempt>,
    next_attempt: Duration,
    refusal: Option<String>,
    invoke_id: i32,
    pub counts: LinkCounts,
}

impl Neighbour {
    /// The neighbour that is up, and its station.
    pub(crate) fn up(&self) -> Option<(&Name, Mac)> {
        self.session.as_ref().map(|session| (&session.name, session.mac))
    }

    /// The bytes of a message, with a number if it is a request. None while the neighbour is not up.
    pub(crate) fn prepare(&mut self, message: &Message) -> Option<(Mac, Vec<u8>)> {
        let mac = self.session.as_ref()?.mac;
        Some((mac, self.numbered(message.clone())))
    }

    fn numbered(&mut self, message: Message) -> Vec<u8> {
        self.invoke_id = self.invoke_id.checked_add(1).unwrap_or(1);
        encode(&Message { invoke_id: message.invoke_id.or(Some(self.invoke_id)), ..message }, true)
    }

    /// Tries to enrol at once if the neighbour is not up.
    pub(crate) fn hurry(&mut self) {
        if self.session.is_none() && self.attempt.is_none() {
            self.next_attempt = Duration::ZERO;
        }
    }

    /// When [`Neighbour::tick`] has something to do, if nothing happens before.
    pub(crate) fn due(&self, keepalive: Duration, dead_after: Duration) -> Duration {
        let session = self.session.as_ref().map(|it| (it.heard + dead_after).min(it.kept_alive + keepalive));
        let attempt = self.attempt.as_ref().map(|attempt| attempt.since + STUCK);
        [session, attempt].into_iter().flatten().min().unwrap_or(self.next_attempt)
    }

    fn log(&mut self, local: &Local<'_>, line: String) {
        if self.refusal.as_ref() != Some(&line) {
            tracing::warn!(dif = %local.dif, "{line}");
            self.refusal = Some(line);
        }
    }

    /// Ends the session, because the link is down or the DIF has another configuration.
    pub(crate) fn end(&mut self, out: &mut Vec<Effect>) {
        self.attempt = None;
        if let Some(session) = self.session.take() {
            self.counts.downs += 1;
            out.push(Effect::Down(session.name));
        }
    }

    /// Tells the neighbour that is up that this member leaves it.
    pub(crate) fn release(&mut self) -> Option<(Mac, Vec<u8>)> {
        self.prepare(&Message { op_code: op::RELEASE, ..Message::default() })
    }

    /// Does what is due.
    pub(crate) fn tick(&mut self, local: &Local<'_>, now: Duration, out: &mut Vec<Effect>) {
        if self.session.as_ref().is_some_and(|session| now.saturating_sub(session.heard) >= local.dead_after) {
            self.end(out);
        }
        if let Some(attempt) = self.attempt.take_if(|attempt| now.saturating_sub(attempt.since) >= STUCK) {
            self.next_attempt = now + ATTEMPT;
            // rlite does not answer who was its neighbour before a restart that it has not noticed. A neighbour whose answer to M_STOP was lost
            // counts as enrolled there.
            if matches!(attempt.step, Step::Connecting | Step::Stopping) {
                let release = self.numbered(Message { op_code: op::RELEASE, ..Message::default() });
                out.push(Effect::Send(attempt.mac, release));
            }
        }
        if let Some(session) = &mut self.session {
            if now.saturating_sub(session.kept_alive) >= local.keepalive {
                session.kept_alive = now;
                let message = Message::about(op::READ, object::KEEPALIVE, object::KEEPALIVE_NAME);
                out.extend(self.prepare(&message).map(|(mac, sdu)| Effect::Send(mac, sdu)));
            }
        } else if self.attempt.is_none() && now >= self.next_attempt {
            self.next_attempt = now + ATTEMPT;
            let arp = Arp {
                operation: Operation::Request,
                sender: ([0; 6], local.name.to_string()),
                target: ([0; 6], local.dif.to_string()),
            };
            out.push(Effect::Arp(BROADCAST, arp.write()));
        }
    }

    /// Takes an ARP packet.
    pub(crate) fn receive_arp(&mut self, local: &Local<'_>, bytes: &[u8], now: Duration, out: &mut Vec<Effect>) {
        let Some(arp) = Arp::parse(bytes) else {
            self.counts.discarded += 1;
            return;
        };
        let (mac, from) = arp.sender;
        match arp.operation {
            Operation::Request => {
                // Who is no member cannot enrol others.
                let dif = arp.target.1 == local.dif.as_str() && local.address != 0;
                if dif || arp.target.1 == local.name.as_str() {
                    let sender = ([0; 6], arp.target.1);
                    out.push(Effect::Arp(
                        mac,
                        Arp { operation: Operation::Reply, sender, target: (mac, from) }.write(),
                    ));
                }
            }
            Operation::Reply => {
                let asked = arp.target.1 == local.name.as_str() && from == local.dif.as_str();
                if !asked || self.session.is_some() || self.attempt.is_some() {
                    return;
                }
                let message = Message {
                    op_code: op::CONNECT,
                    dest_ap_name: Some(from),
                    src_ap_name: Some(local.name.to_string()),
                    ..Message::default()
                };
                out.push(Effect::Send(mac, self.numbered(message)));
                let (step, invoke_id) = (Step::Connecting, self.invoke_id);
                self.attempt = Some(Attempt { name: local.dif.clone(), mac, step, invoke_id, since: now });
            }
        }
    }

    /// Takes a management SDU that came from a station.
    pub(crate) fn receive(
        &mut self,
        local: &Local<'_>,
        from: Mac,
        sdu: &[u8],
        now: Duration,
        admit: Admit<'_>,
        out: &mut Vec<Effect>,
    ) {
        let taken = decode(sdu).and_then(|message| match message.op_code {
            op::CONNECT => self.connect(local, from, &message, now, out),
            _ if self.attempt.as_ref().is_some_and(|attempt| attempt.mac == from) => {
                self.go_on(local, message, now, admit, out)
            }
            _ => self.hear(from, message, now, out),
        });
        if taken.is_none() {
            self.counts.discarded += 1;
        }
    }

    /// M_CONNECT.
    fn connect(
        &mut self,
        local: &Local<'_>,
        mac: Mac,
        message: &Message,
        now: Duration,
        out: &mut Vec<Effect>,
    ) -> Option<()> {
        let name: Name = message.src_ap_name.as_deref()?.parse().ok()?;
        let to = message.dest_ap_name.as_deref()?;
        if to != local.name.as_str() && to != local.dif.as_str() {
            return None;
        }
        // Of two that begin at once the one with the smaller name goes on.
        let mine = self.attempt.as_ref().is_some_and(|attempt| attempt.step == Step::Connecting) && *local.name < name;
        if local.address == 0 || mine {
            return Some(());
        }
        let refused = name == *local.name;
        let answer = Message {
            op_code: op::CONNECT_R,
            invoke_id: message.invoke_id,
            dest_ap_name: Some(name.to_string()),
            src_ap_name: Some(local.name.to_string()),
            result: refused.then_some(FAILED),
            result_reason: refused.then(|| "the neighbour has this name".into()),
            ..Message::default()
        };
        out.push(Effect::Send(mac, encode(&answer, true)));
        if !refused {
            self.attempt = Some(Attempt { name, mac, step: Step::Connected, invoke_id: 0, since: now });
        }
        Some(())
    }

    /// The next message of an attempt. One that does not belong there is of the session before, if there is one.
    fn go_on(
        &mut self,
        local: &Local<'_>,
        message: Message,
        now: Duration,
        admit: Admit<'_>,
        out: &mut Vec<Effect>,
    ) -> Option<()> {
        let attempt = self.attempt.as_mut()?;
        let answers = message.invoke_id == Some(attempt.invoke_id);
        if answers && message.result.is_some() {
            let why = message.reason();
            self.attempt = None;
            self.next_attempt = now + ATTEMPT;
            self.counts.refused += 1;
            self.log(local, format!("the neighbour refuses enrollment: {why}"));
            return Some(());
        }
        let before = std::mem::replace(&mut attempt.since, now);
        match (message.op_code, attempt.step) {
            (op::CONNECT_R, Step::Connecting) if answers => {
                attempt.name = message.src_ap_name.as_deref()?.parse().ok()?;
                let (member, mac) = (local.address != 0, attempt.mac);
                let info = EnrollmentInfo { address: Some(0), ..EnrollmentInfo::default() };
                let start = match member {
                    true => Message::about(op::START, name::LOWER_FLOW, name::LOWER_FLOW_NAME),
                    false => Message::about(op::START, object::ENROLLMENT, object::ENROLLMENT_NAME).with_value(&info),
                };
                out.push(Effect::Send(mac, self.numbered(start)));
                let invoke_id = self.invoke_id;
                let attempt = self.attempt.as_mut()?;
                (attempt.step, attempt.invoke_id) = (Step::Starting, invoke_id);
            }
            (op::START_R, Step::Starting) if answers && message.is_about(name::LOWER_FLOW) => self.establish(now, out),
            (op::START_R, Step::Starting) if answers => {
                let info: EnrollmentInfo = message.value().ok()?;
                let address = u16::try_from(info.address.unwrap_or_default()).ok().filter(|address| *address != 0);
                let same = info.constants.is_some_and(|it| it.same_widths(&Constants::of_rlite()));
                match address.filter(|_| same) {
                    Some(address) => attempt.step = Step::Started(address),
                    None => {
                        self.give_up(local, "its addresses or PDUs have other widths", now);
                    }
                }
            }
            (op::WRITE, Step::Started(_)) => {
                let value = message.obj_value.as_ref().and_then(|value| value.text.as_deref());
                let component = message.obj_name.as_deref().unwrap_or_default();
                let wanted =
                    name::POLICIES.iter().find(|(name, _)| message.is_about(name::POLICY) && component == *name);
                // An address is given by the responder, whatever its policy is.
                if let Some((component, policy)) = wanted
                    && value != Some(*policy)
                    && !component.contains("addralloc")
                {
                    let has = value.unwrap_or_default().escape_default();
                    self.give_up(local, &format!("{component} is {has} there, {policy} here"), now);
                }
            }
            (op::STOP, Step::Started(address)) => {
                let answer = Message {
                    invoke_id: message.invoke_id,
                    ..Message::about(op::STOP_R, object::ENROLLMENT, object::ENROLLMENT_NAME)
                };
                out.push(Effect::Send(attempt.mac, encode(&answer, true)));
                if address != local.address {
                    out.push(Effect::Enrolled(address));
                }
                self.establish(now, out);
            }
            (op::START, Step::Connected) => self.start(local, &message, admit, now, out)?,
            (op::STOP_R, Step::Stopping) if answers => {
                let mac = attempt.mac;
                let status = self.numbered(Message::about(op::START, name::STATUS, name::STATUS_NAME));
                out.push(Effect::Send(mac, status));
                self.establish(now, out);
            }
            (op::RELEASE, _) => self.attempt = None,
            // What a session is for is no progress.
            _ => {
                let mac = attempt.mac;
                attempt.since = before;
                return self.hear(mac, message, now, out);
            }
        }
        Some(())
    }

    fn give_up(&mut self, local: &Local<'_>, why: &str, now: Duration) {
        self.attempt = None;
        self.next_attempt = now + ATTEMPT;
        self.counts.refused += 1;
        self.log(local, format!("no enrollment with this neighbour: {why}"));
    }

    /// M_START of the initiator: for enrollment, or for one more lower flow.
    fn start(
        &mut self,
        local: &Local<'_>,
        message: &Message,
        admit: Admit<'_>,
        now: Duration,
        out: &mut Vec<Effect>,
    ) -> Option<()> {
        let (mac, name) = self.attempt.as_ref().map(|attempt| (attempt.mac, attempt.name.clone()))?;
        let response = |class, object: &str| Message {
            invoke_id: message.invoke_id,
            ..Message::about(op::START_R, class, object)
        };
        if message.is_about(name::LOWER_FLOW) {
            out.push(Effect::Send(mac, encode(&response(name::LOWER_FLOW, name::LOWER_FLOW_NAME), true)));
            self.establish(now, out);
            return Some(());
        }
        let info: EnrollmentInfo = message.value().ok().filter(|_| message.is_about(object::ENROLLMENT))?;
        let answer = response(object::ENROLLMENT, object::ENROLLMENT_NAME);
        let address = match admit(&name, 0, None) {
            Ok(address) => address,
            Err(reason) => {
                let refusal = Message { result: Some(FAILED), result_reason: Some(reason.into()), ..answer };
                out.push(Effect::Send(mac, encode(&refusal, true)));
                self.attempt = None;
                self.counts.refused += 1;
                self.log(local, format!("enrollment of {name} refused: {reason}"));
                return Some(());
            }
        };
        let constants = Some(Constants::of_rlite());
        let info = EnrollmentInfo { address: Some(address.into()), constants, ..info };
        out.push(Effect::Send(mac, encode(&answer.with_value(&info), true)));
        for (component, policy) in name::POLICIES {
            let text = Some(Box::new(ObjectValue { text: Some(policy.into()), bytes: None }));
            let write = Message { obj_value: text, ..Message::about(op::WRITE, name::POLICY, component) };
            out.push(Effect::Send(mac, self.numbered(write)));
        }
        let info = EnrollmentInfo { start_early: Some(true), ..EnrollmentInfo::default() };
        let stop = Message::about(op::STOP, object::ENROLLMENT, object::ENROLLMENT_NAME).with_value(&info);
        out.push(Effect::Send(mac, self.numbered(stop)));
        let invoke_id = self.invoke_id;
        let attempt = self.attempt.as_mut()?;
        (attempt.step, attempt.invoke_id, attempt.since) = (Step::Stopping, invoke_id, now);
        Some(())
    }

    fn establish(&mut self, now: Duration, out: &mut Vec<Effect>) {
        let Some(Attempt { name, mac, .. }) = self.attempt.take() else { return };
        self.end(out);
        self.refusal = None;
        self.counts.ups += 1;
        out.push(Effect::Up(name.clone()));
        self.session = Some(Session { name, mac, heard: now, kept_alive: now });
    }

    /// A message of the neighbour that is up.
    fn hear(&mut self, from: Mac, message: Message, now: Duration, out: &mut Vec<Effect>) -> Option<()> {
        let session = self.session.as_mut().filter(|session| session.mac == from)?;
        session.heard = now;
        match message.op_code {
            op::READ if message.is_about(object::KEEPALIVE) => {
                let about = Message::about(op::READ_R, object::KEEPALIVE, object::KEEPALIVE_NAME);
                let answer = Message { invoke_id: message.invoke_id, ..about };
                out.push(Effect::Send(from, encode(&answer, true)));
            }
            op::READ_R => {}
            // It is a member from now on; it has been one here before.
            op::START if message.is_about(name::STATUS) => {}
            op::RELEASE => self.end(out),
            _ => out.push(Effect::Message(message)),
        }
        Some(())
    }
}
