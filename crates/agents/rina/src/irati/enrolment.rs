//! The neighbour at the other end of a link, as IRATI enrols it (`rinad/src/ipcp/plugins/default/enrollment-task-ps.cc`).
//!
//! ```text
//! enrollee                                 enroller, a member of the DIF
//!   ARP: who is the DIF?                 →
//!                                        ←  ARP: this station
//!   M_CONNECT                            →
//!                                        ←  M_CONNECT_R
//!   M_START enrollment (address or 0)    →
//!                                        ←  M_START_R enrollment (an address, if it has none that is valid)
//!                                        ←  in that case M_CREATE of data transfer constants and QoS cubes
//!                                        ←  M_CREATE of directory and neighbours
//!                                        ←  M_STOP enrollment (token)
//!   M_READ of what was not there         →
//!                                        ←  M_READ_R
//!   M_STOP_R                             →
//!                                        ←  M_START operational status
//!   M_START_R (name, token)              →
//! ```
//!
//! A member that gets one more link does the same with its address. Nothing is sent again: an attempt in which a message is lost ends after some
//! time, whatever else the neighbour says meanwhile, and the next one begins. Nobody is authenticated. IRATI asks for no sign of life; it
//! answers one who does.

use std::time::Duration;

use super::messages::{OTHER_AUTHENTICATION, decode, encode};
use super::objects::{self, Constants, EnrollmentInfo, about, name};
use crate::cdap::{Message, op};
use crate::credential;
use crate::name::Name;
use crate::neighbour::{Admit, BROADCAST, Effect, LinkCounts, Local, Mac};
use crate::rlite::arp::{Arp, Operation};

/// Time between two attempts.
const ATTEMPT: Duration = Duration::from_secs(1);
/// Time without progress after which an attempt ends.
const STUCK: Duration = Duration::from_secs(7);
/// Time between two lines in the log: anybody can write messages that are refused.
const LOGGED: Duration = Duration::from_secs(1);
const FAILED: i32 = -1;
/// Messages about objects that are kept until enrollment is over.
const MOST_TOLD: usize = 64;

#[derive(Debug)]
struct Session {
    name: Name,
    mac: Mac,
    heard: Duration,
    kept_alive: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// As enrollee: M_CONNECT, M_START, M_START_R were exchanged; what is lacking is read; M_STOP_R was sent.
    Connecting,
    Starting,
    Started,
    Reading,
    Stopped,
    /// As enroller: M_CONNECT_R, M_STOP, M_START of the status were sent.
    Connected,
    Stopping,
    Confirming,
}

/// An enrollment that goes on.
#[derive(Debug)]
struct Attempt {
    /// The other end's name, and its instance.
    name: Name,
    instance: String,
    mac: Mac,
    step: Step,
    /// Of the request that waits for its response.
    invoke_id: i32,
    since: Duration,
    /// The address that the enrollee has been given.
    address: u16,
    /// What M_STOP is answered with.
    stop: i32,
    token: String,
    /// Whether data transfer constants have come.
    constants: bool,
    /// The enroller's messages about objects.
    told: Vec<Message>,
}

/// The state of a link's other end.
#[derive(Debug, Default)]
pub(crate) struct Neighbour {
    session: Option<Session>,
    attempt: Option<Attempt>,
    next_attempt: Duration,
    /// The last line in the log, and when it was written.
    refusal: Option<(String, Duration)>,
    invoke_id: i32,
    pub counts: LinkCounts,
}

/// A name and its instance, of a text with parts that `|` separates.
fn parts(text: &str) -> Option<(Name, String)> {
    let mut parts = text.split('|');
    Some((parts.next()?.parse().ok()?, parts.next().unwrap_or_default().to_string()))
}

/// An IPC process as M_CONNECT names it.
fn full(name: &Name, instance: &str) -> String {
    format!("{name}|{instance}|{}", name::MANAGEMENT)
}

/// Names as the shim DIF has them.
fn shim_member(name: &Name) -> String {
    format!("{name}/{}//", name::INSTANCE)
}

fn shim_dif(dif: &Name) -> String {
    format!("{dif}///")
}

impl Neighbour {
    /// The neighbour that is up, and its station.
    pub(crate) fn up(&self) -> Option<(&Name, Mac)> {
        self.session.as_ref().map(|session| (&session.name, session.mac))
    }

    /// The bytes of a message. None while the neighbour is not up.
    pub(crate) fn prepare(&mut self, message: &Message) -> Option<(Mac, Vec<u8>)> {
        Some((self.session.as_ref()?.mac, encode(message)))
    }

    fn numbered(&mut self, message: Message) -> Vec<u8> {
        self.invoke_id = self.invoke_id.checked_add(1).unwrap_or(1);
        encode(&Message { invoke_id: Some(self.invoke_id), ..message })
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

    fn log(&mut self, local: &Local<'_>, line: String, now: Duration) {
        let soon = |(before, at): &(String, Duration)| *before == line || now.saturating_sub(*at) < LOGGED;
        if !self.refusal.as_ref().is_some_and(soon) {
            tracing::warn!(dif = %local.dif, "{line}");
            self.refusal = Some((line, now));
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
            out.push(Effect::Send(attempt.mac, encode(&Message { op_code: op::RELEASE, ..Message::default() })));
        }
        if let Some(session) = &mut self.session {
            if now.saturating_sub(session.kept_alive) >= local.keepalive {
                session.kept_alive = now;
                let mac = session.mac;
                out.push(Effect::Send(mac, self.numbered(about(op::READ, name::WATCHDOG))));
            }
        } else if self.attempt.is_none() && now >= self.next_attempt {
            self.next_attempt = now + ATTEMPT;
            let (sender, target) = (([0; 6], shim_member(local.name)), ([0; 6], shim_dif(local.dif)));
            out.push(Effect::Arp(BROADCAST, Arp { operation: Operation::Request, sender, target }.write()));
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
                let dif = arp.target.1 == shim_dif(local.dif) && local.address != 0;
                if dif || arp.target.1 == shim_member(local.name) {
                    let sender = ([0; 6], arp.target.1);
                    let reply = Arp { operation: Operation::Reply, sender, target: (mac, from) };
                    out.push(Effect::Arp(mac, reply.write()));
                }
            }
            Operation::Reply => {
                let asked = arp.target.1 == shim_member(local.name) && from == shim_dif(local.dif);
                if !asked || self.session.is_some() || self.attempt.is_some() {
                    return;
                }
                let message = Message {
                    op_code: op::CONNECT,
                    dest_ap_name: Some(format!("{}||{}", local.dif, name::MANAGEMENT)),
                    src_ap_name: Some(full(local.name, name::INSTANCE)),
                    ..Message::default()
                };
                out.push(Effect::Send(mac, self.numbered(message)));
                self.begin((local.dif.clone(), String::new()), mac, Step::Connecting, now);
            }
        }
    }

    fn begin(&mut self, (name, instance): (Name, String), mac: Mac, step: Step, now: Duration) {
        self.attempt = Some(Attempt {
            name,
            instance,
            mac,
            step,
            invoke_id: self.invoke_id,
            since: now,
            address: 0,
            stop: 0,
            token: String::new(),
            constants: false,
            told: Vec::new(),
        });
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
            _ => match self.attempt.as_ref().map(|attempt| (attempt.mac, attempt.step)) {
                Some((mac, step)) if mac == from => match step {
                    Step::Connected | Step::Stopping | Step::Confirming => self.enrol(local, message, now, admit, out),
                    _ => self.be_enrolled(local, message, now, out),
                },
                _ => self.hear(local, from, message, now, out),
            },
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
        let (name, instance) = parts(message.src_ap_name.as_deref()?)?;
        let (to, _) = parts(message.dest_ap_name.as_deref()?)?;
        if to != *local.name && to != *local.dif {
            return None;
        }
        // Of two that begin at once the one with the smaller name goes on.
        let mine = self.attempt.as_ref().is_some_and(|attempt| attempt.step == Step::Connecting) && *local.name < name;
        if local.address == 0 || mine {
            return Some(());
        }
        let refused = match message.auth_mech {
            Some(OTHER_AUTHENTICATION) => Some("the DIF has no authentication"),
            _ if name == *local.name => Some("the neighbour has this name"),
            _ => None,
        };
        let answer = Message {
            op_code: op::CONNECT_R,
            invoke_id: message.invoke_id,
            dest_ap_name: Some(full(&name, &instance)),
            src_ap_name: Some(full(local.name, name::INSTANCE)),
            result: refused.map(|_| FAILED),
            result_reason: refused.map(Into::into),
            ..Message::default()
        };
        out.push(Effect::Send(mac, encode(&answer)));
        match refused {
            Some(why) => {
                self.counts.refused += 1;
                self.log(local, format!("enrollment of {name} refused: {why}"), now);
            }
            None => self.begin((name, instance), mac, Step::Connected, now),
        }
        Some(())
    }

    /// The enroller's next message.
    fn be_enrolled(&mut self, local: &Local<'_>, message: Message, now: Duration, out: &mut Vec<Effect>) -> Option<()> {
        let attempt = self.attempt.as_mut()?;
        let answers = message.invoke_id == Some(attempt.invoke_id) && message.op_code % 2 == 1;
        if answers && message.result.is_some() {
            let why = message.reason();
            self.give_up(local, &format!("it refuses: {why}"), now);
            return Some(());
        }
        let before = std::mem::replace(&mut attempt.since, now);
        let mac = attempt.mac;
        let is = |[class, _]: [&str; 2]| message.is_about(class);
        match (message.op_code, attempt.step) {
            (op::CONNECT_R, Step::Connecting) if answers => {
                (attempt.name, attempt.instance) = parts(message.src_ap_name.as_deref()?)?;
                if attempt.name == *local.name {
                    self.give_up(local, "it has the name of this IPC process", now);
                    return Some(());
                }
                let info = EnrollmentInfo::new(local.address, String::new());
                self.ask(about(op::START, name::ENROLLMENT).with_value(&info), Step::Starting, out);
            }
            (op::START_R, Step::Starting) if answers => {
                // Without a value the address is valid.
                let info: EnrollmentInfo = message.value().unwrap_or_default();
                let address = info.address.filter(|address| *address != 0).unwrap_or(local.address.into());
                match u16::try_from(address).ok().filter(|address| *address != 0) {
                    Some(address) => (attempt.address, attempt.step) = (address, Step::Started),
                    None => self.give_up(local, "it gives an address of more than 16 bits, or none", now),
                }
            }
            (op::CREATE | op::READ_R, Step::Started | Step::Reading) => {
                if is(name::DATA_TRANSFER) {
                    attempt.constants = true;
                    let constants: Constants = message.value().ok()?;
                    if let Some(why) = constants.refuse() {
                        self.give_up(local, why, now);
                        return Some(());
                    }
                } else if is(name::CUBES) {
                    let others = objects::other_cubes(&message, local.qos);
                    if !others.is_empty() {
                        let line =
                            format!("QoS cubes of {} are not here, or otherwise: {}", attempt.name, others.join(", "));
                        self.log(local, line, now);
                    }
                } else if attempt.told.len() < MOST_TOLD {
                    attempt.told.push(Message { op_code: op::CREATE, ..message });
                }
                if self.attempt.as_ref().is_some_and(|attempt| attempt.step == Step::Reading) && answers {
                    self.stop(out);
                }
            }
            (op::STOP, Step::Started) => {
                let info: EnrollmentInfo = message.value().ok()?;
                (attempt.token, attempt.stop) = (info.token.unwrap_or_default(), message.invoke_id?);
                // A member knows them.
                match attempt.constants || local.address != 0 {
                    true => self.stop(out),
                    false => self.ask(about(op::READ, name::DATA_TRANSFER), Step::Reading, out),
                }
            }
            (op::START, Step::Stopped) if is(name::STATUS) => {
                let who = objects::Neighbour::new(local.name, attempt.address, Some(attempt.token.clone()));
                let answer =
                    Message { invoke_id: message.invoke_id, ..about(op::START_R, name::STATUS).with_value(&who) };
                out.push(Effect::Send(mac, encode(&answer)));
                if attempt.address != local.address {
                    out.push(Effect::Enrolled(attempt.address));
                }
                self.establish(now, out);
            }
            (op::RELEASE, _) => self.give_up(local, "it ends the enrollment", now),
            // What a session is for is no progress.
            _ => {
                attempt.since = before;
                return self.hear(local, mac, message, now, out);
            }
        }
        Some(())
    }

    /// Answers M_STOP.
    fn stop(&mut self, out: &mut Vec<Effect>) {
        let Some(attempt) = &mut self.attempt else { return };
        attempt.step = Step::Stopped;
        let answer = Message { op_code: op::STOP_R, invoke_id: Some(attempt.stop), ..Message::default() };
        out.push(Effect::Send(attempt.mac, encode(&answer)));
    }

    /// Sends a request, and goes on when its response comes.
    fn ask(&mut self, message: Message, step: Step, out: &mut Vec<Effect>) {
        let sdu = self.numbered(message);
        let invoke_id = self.invoke_id;
        if let Some(attempt) = &mut self.attempt {
            (attempt.step, attempt.invoke_id) = (step, invoke_id);
            out.push(Effect::Send(attempt.mac, sdu));
        }
    }

    fn give_up(&mut self, local: &Local<'_>, why: &str, now: Duration) {
        let Some(attempt) = self.attempt.take() else { return };
        self.next_attempt = now + ATTEMPT;
        self.counts.refused += 1;
        self.log(local, format!("no enrollment with {}: {why}", attempt.name), now);
    }

    /// The enrollee's next message.
    fn enrol(
        &mut self,
        local: &Local<'_>,
        message: Message,
        now: Duration,
        admit: Admit<'_>,
        out: &mut Vec<Effect>,
    ) -> Option<()> {
        let attempt = self.attempt.as_mut()?;
        let answers = message.invoke_id == Some(attempt.invoke_id) && message.op_code % 2 == 1;
        if answers && message.result.is_some() {
            self.give_up(local, "it refuses", now);
            return Some(());
        }
        let before = std::mem::replace(&mut attempt.since, now);
        let mac = attempt.mac;
        let is = |[class, _]: [&str; 2]| message.is_about(class);
        match (message.op_code, attempt.step) {
            (op::START, Step::Connected) if is(name::ENROLLMENT) => {
                return self.start(local, &message, admit, now, out);
            }
            (op::READ, Step::Stopping) => {
                let answer = match message.obj_class.as_deref()? {
                    class if class == name::DATA_TRANSFER[0] => {
                        about(op::READ_R, name::DATA_TRANSFER).with_value(&Constants::default_widths())
                    }
                    class if class == name::CUBES[0] => objects::cubes(op::READ_R, local.qos),
                    _ => objects::neighbours(op::READ_R, &[(local.name, local.address)]),
                };
                out.push(Effect::Send(mac, encode(&Message { invoke_id: message.invoke_id, ..answer })));
            }
            (op::STOP_R, Step::Stopping) if answers => {
                self.ask(about(op::START, name::STATUS), Step::Confirming, out);
            }
            (op::START_R, Step::Confirming) if answers => {
                let who: objects::Neighbour = message.value().ok()?;
                let same = who.ap_name.as_deref() == Some(attempt.name.as_str())
                    && who.ap_instance.unwrap_or_default() == attempt.instance
                    && who.ae_instance.unwrap_or_default() == attempt.token;
                match same {
                    true => {
                        attempt.told = vec![objects::neighbours(op::CREATE, &[(&attempt.name, attempt.address)])];
                        self.establish(now, out);
                    }
                    false => self.give_up(local, "it is not who it was", now),
                }
            }
            (op::RELEASE, _) => self.attempt = None,
            // What a session is for is no progress.
            _ => {
                attempt.since = before;
                return self.hear(local, mac, message, now, out);
            }
        }
        Some(())
    }

    /// M_START of the enrollee: it is given an address if it has none that is valid, and what a member needs.
    fn start(
        &mut self,
        local: &Local<'_>,
        message: &Message,
        admit: Admit<'_>,
        now: Duration,
        out: &mut Vec<Effect>,
    ) -> Option<()> {
        let attempt = self.attempt.as_mut()?;
        let asked = u16::try_from(message.value::<EnrollmentInfo>().ok()?.address.unwrap_or_default()).unwrap_or(0);
        let valid = if asked == 0 { None } else { admit(&attempt.name, asked, None).ok() };
        let answer = Message { invoke_id: message.invoke_id, ..about(op::START_R, name::ENROLLMENT) };
        let (address, new) = match valid.map_or_else(|| admit(&attempt.name, 0, None), Ok) {
            Ok(address) => (address, valid.is_none()),
            Err(reason) => {
                let refusal = Message { result: Some(FAILED), result_reason: Some(reason.into()), ..answer };
                out.push(Effect::Send(attempt.mac, encode(&refusal)));
                self.give_up(local, reason, now);
                return Some(());
            }
        };
        // Nobody has to guess it: it tells two answers apart.
        attempt.token = u32::from(credential::number()).to_string();
        attempt.address = address;
        let (mac, token) = (attempt.mac, attempt.token.clone());
        let answer = if new { answer.with_value(&EnrollmentInfo::new(address, String::new())) } else { answer };
        out.push(Effect::Send(mac, encode(&answer)));
        if new {
            let constants = about(op::CREATE, name::DATA_TRANSFER).with_value(&Constants::default_widths());
            out.push(Effect::Send(mac, encode(&constants)));
            out.push(Effect::Send(mac, encode(&objects::cubes(op::CREATE, local.qos))));
        }
        out.push(Effect::Send(mac, encode(&objects::neighbours(op::CREATE, &[(local.name, local.address)]))));
        let stop = about(op::STOP, name::ENROLLMENT).with_value(&EnrollmentInfo::new(address, token));
        self.ask(stop, Step::Stopping, out);
        Some(())
    }

    fn establish(&mut self, now: Duration, out: &mut Vec<Effect>) {
        let Some(Attempt { name, mac, told, .. }) = self.attempt.take() else { return };
        self.end(out);
        self.refusal = None;
        self.counts.ups += 1;
        out.push(Effect::Up(name.clone()));
        out.extend(told.into_iter().map(Effect::Message));
        self.session = Some(Session { name, mac, heard: now, kept_alive: now });
    }

    /// A message of the neighbour that is up.
    fn hear(
        &mut self,
        local: &Local<'_>,
        from: Mac,
        message: Message,
        now: Duration,
        out: &mut Vec<Effect>,
    ) -> Option<()> {
        let session = self.session.as_mut().filter(|session| session.mac == from)?;
        session.heard = now;
        match message.op_code {
            op::READ if message.is_about(name::WATCHDOG[0]) => {
                let who = about(op::READ_R, name::WATCHDOG).with_value(&objects::Int { value: local.address.into() });
                out.push(Effect::Send(from, encode(&Message { invoke_id: message.invoke_id, ..who })));
            }
            op::READ_R | op::CREATE_R | op::WRITE_R | op::DELETE_R => {}
            op::RELEASE => self.end(out),
            _ => out.push(Effect::Message(message)),
        }
        Some(())
    }
}
