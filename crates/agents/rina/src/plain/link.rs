//! The neighbour at the other end of a link, in the dialects of others: its station, found by ARP, one session with signs of life, and one
//! enrollment at a time. Nothing is sent again: an attempt in which a message is lost ends after some time, whatever else the neighbour says
//! meanwhile, and the next one begins. Each dialect has its own messages between M_CONNECT_R and the end of an enrollment.

use std::fmt::Debug;
use std::time::Duration;

use super::arp::{Arp, Operation};
use crate::cdap::{Message, op};
use crate::name::Name;
use crate::neighbour::{Admit, BROADCAST, Context, Effect, LinkCounts, LinkEnd, Local, Mac};

/// Time between two attempts.
const ATTEMPT: Duration = Duration::from_secs(1);
/// Time without progress after which an attempt ends. rlite's are 7 s long.
const STUCK: Duration = Duration::from_secs(7);
/// Time between two lines in the log: anybody can write messages that are refused.
const LOGGED: Duration = Duration::from_secs(1);
pub(crate) const FAILED: i32 = -1;

/// How a dialect enrols.
pub(crate) trait Enrolment: Debug + Send + Sized {
    type Step: Copy + Debug + PartialEq + Send;
    /// What else an attempt knows.
    type Details: Debug + Default + Send;

    /// The steps after M_CONNECT and after M_CONNECT_R.
    const CONNECTING: Self::Step;
    const CONNECTED: Self::Step;
    /// The instance that IPC processes here have.
    const INSTANCE: &'static str;
    /// Messages that want no answer have a number, too.
    const NUMBERED: bool;

    fn encode(message: &Message) -> Vec<u8>;
    fn decode(bytes: &[u8]) -> Option<Message>;

    /// A name and its instance, as M_CONNECT has them.
    fn parts(text: &str) -> Option<(Name, String)>;
    fn full(name: &Name, instance: &str) -> String;
    /// This IPC process and its DIF as the shim DIF has them.
    fn shim_names(local: &Local<'_>) -> [String; 2];

    /// The request for a sign of life, and its answer.
    fn keepalive(local: &Local<'_>) -> [Message; 2];
    /// Whether a message of a neighbour that is up says nothing that matters here.
    fn ignores(message: &Message) -> bool;
    /// Whether M_RELEASE is sent to the neighbour when an attempt ends at this step.
    fn releases(step: Self::Step) -> bool;

    /// Takes the next message of an attempt, which answers its last request or not. False: it does not belong there.
    fn go_on(link: &mut PlainLink<Self>, cx: &mut Context<'_>, message: &Message, answers: bool) -> Option<bool>;
}

#[derive(Debug)]
struct Session {
    name: Name,
    mac: Mac,
    heard: Duration,
    kept_alive: Duration,
}

/// An enrollment that goes on.
#[derive(Debug)]
pub(crate) struct Attempt<E: Enrolment> {
    /// The other end's name, and its instance.
    pub name: Name,
    pub instance: String,
    pub mac: Mac,
    pub step: E::Step,
    /// Of the request that waits for its response.
    invoke_id: i32,
    since: Duration,
    /// Messages about objects that came early: they are processed when the neighbour is up.
    pub deferred: Vec<Message>,
    pub details: E::Details,
}

/// The state of a link's other end.
#[derive(Debug)]
pub(crate) struct PlainLink<E: Enrolment> {
    session: Option<Session>,
    pub attempt: Option<Attempt<E>>,
    next_attempt: Duration,
    /// The last line in the log, and when it was written.
    refusal: Option<(String, Duration)>,
    invoke_id: i32,
    pub counts: LinkCounts,
}

impl<E: Enrolment> Default for PlainLink<E> {
    fn default() -> Self {
        PlainLink {
            session: None,
            attempt: None,
            next_attempt: Duration::ZERO,
            refusal: None,
            invoke_id: 0,
            counts: LinkCounts::default(),
        }
    }
}

impl<E: Enrolment> PlainLink<E> {
    fn numbered(&mut self, message: Message) -> Vec<u8> {
        self.invoke_id = self.invoke_id.checked_add(1).unwrap_or(1);
        E::encode(&Message { invoke_id: message.invoke_id.or(Some(self.invoke_id)), ..message })
    }

    /// The SDU of a message that wants no answer, or has a number.
    pub(crate) fn sdu(&mut self, message: Message) -> Vec<u8> {
        if E::NUMBERED { self.numbered(message) } else { E::encode(&message) }
    }

    fn release_sdu(&mut self) -> Vec<u8> {
        self.sdu(Message { op_code: op::RELEASE, ..Message::default() })
    }

    pub(crate) fn log(&mut self, cx: &Context<'_>, line: String) {
        let soon = |(before, at): &(String, Duration)| *before == line || cx.now.saturating_sub(*at) < LOGGED;
        if !self.refusal.as_ref().is_some_and(soon) {
            tracing::warn!(dif = %cx.local.dif, "{line}");
            self.refusal = Some((line, cx.now));
        }
    }

    fn begin(&mut self, (name, instance): (Name, String), mac: Mac, step: E::Step, now: Duration) {
        // Who answers has asked nothing yet; messages have other numbers than 0.
        let invoke_id = if step == E::CONNECTED { 0 } else { self.invoke_id };
        let (since, deferred, details) = (now, Vec::new(), E::Details::default());
        self.attempt = Some(Attempt { name, instance, mac, step, invoke_id, since, deferred, details });
    }

    /// Sends a request of the attempt, which goes on when the response comes.
    pub(crate) fn ask(&mut self, message: Message, step: E::Step, cx: &mut Context<'_>) {
        let sdu = self.numbered(message);
        let invoke_id = self.invoke_id;
        if let Some(attempt) = &mut self.attempt {
            (attempt.step, attempt.invoke_id) = (step, invoke_id);
            cx.out.push(Effect::Send(attempt.mac, sdu));
        }
    }

    /// Ends the attempt without a session.
    pub(crate) fn give_up(&mut self, cx: &Context<'_>, why: &str) {
        let Some(attempt) = self.attempt.take() else { return };
        self.next_attempt = cx.now + ATTEMPT;
        self.counts.refused += 1;
        self.log(cx, format!("no enrollment with {}: {why}", attempt.name));
    }

    /// Ends the attempt with a session.
    pub(crate) fn establish(&mut self, cx: &mut Context<'_>) {
        let Some(Attempt { name, mac, deferred, .. }) = self.attempt.take() else { return };
        self.end(cx.out);
        self.refusal = None;
        self.counts.ups += 1;
        cx.out.push(Effect::Up(name.clone()));
        cx.out.extend(deferred.into_iter().map(Effect::Message));
        self.session = Some(Session { name, mac, heard: cx.now, kept_alive: cx.now });
    }

    /// M_CONNECT.
    fn connect(&mut self, cx: &mut Context<'_>, mac: Mac, message: &Message) -> Option<()> {
        let (name, instance) = E::parts(message.src_ap_name.as_deref()?)?;
        let (to, _) = E::parts(message.dest_ap_name.as_deref()?)?;
        if to != *cx.local.name && to != *cx.local.dif {
            return None;
        }
        // Of two that begin at once the one with the smaller name goes on.
        let mine = self.attempt.as_ref().is_some_and(|attempt| attempt.step == E::CONNECTING) && *cx.local.name < name;
        if cx.local.address == 0 || mine {
            return Some(());
        }
        let refused = match message.auth_mech {
            Some(_) => Some("the DIF has no authentication"),
            None if name == *cx.local.name => Some("the neighbour has this name"),
            None => None,
        };
        let answer = Message {
            op_code: op::CONNECT_R,
            invoke_id: message.invoke_id,
            dest_ap_name: Some(E::full(&name, &instance)),
            src_ap_name: Some(E::full(cx.local.name, E::INSTANCE)),
            result: refused.map(|_| FAILED),
            result_reason: refused.map(Into::into),
            ..Message::default()
        };
        cx.out.push(Effect::Send(mac, E::encode(&answer)));
        match refused {
            Some(why) => {
                self.counts.refused += 1;
                self.log(cx, format!("enrollment of {name} refused: {why}"));
            }
            None => self.begin((name, instance), mac, E::CONNECTED, cx.now),
        }
        Some(())
    }

    /// The next message of an attempt. One that does not belong there is of the session before, if there is one.
    fn go_on(&mut self, cx: &mut Context<'_>, message: Message) -> Option<()> {
        let attempt = self.attempt.as_mut()?;
        // Responses have odd numbers.
        let answers = message.invoke_id == Some(attempt.invoke_id) && message.op_code % 2 == 1;
        if answers && message.result.is_some() {
            self.give_up(cx, &format!("it refuses: {}", message.reason()));
            return Some(());
        }
        let (mac, before) = (attempt.mac, std::mem::replace(&mut attempt.since, cx.now));
        if E::go_on(self, cx, &message, answers)? {
            return Some(());
        }
        // What a session is for is no progress.
        if let Some(attempt) = &mut self.attempt {
            attempt.since = before;
        }
        self.hear(cx, mac, message)
    }

    /// A message of the neighbour that is up.
    fn hear(&mut self, cx: &mut Context<'_>, from: Mac, message: Message) -> Option<()> {
        let session = self.session.as_mut().filter(|session| session.mac == from)?;
        session.heard = cx.now;
        let [request, answer] = E::keepalive(cx.local);
        match message.op_code {
            op::READ if message.obj_class == request.obj_class => {
                cx.out.push(Effect::Send(from, E::encode(&Message { invoke_id: message.invoke_id, ..answer })));
            }
            op::RELEASE => self.end(cx.out),
            _ if E::ignores(&message) => {}
            _ => cx.out.push(Effect::Message(message)),
        }
        Some(())
    }
}

impl<E: Enrolment> LinkEnd for PlainLink<E> {
    fn up(&self) -> Option<(&Name, Mac)> {
        self.session.as_ref().map(|session| (&session.name, session.mac))
    }

    fn counts(&self) -> LinkCounts {
        self.counts
    }

    fn prepare(&mut self, message: &Message) -> Option<(Mac, Vec<u8>)> {
        let mac = self.session.as_ref()?.mac;
        Some((mac, self.sdu(message.clone())))
    }

    fn hurry(&mut self) {
        if self.session.is_none() && self.attempt.is_none() {
            self.next_attempt = Duration::ZERO;
        }
    }

    fn due(&self, keepalive: Duration, dead_after: Duration) -> Duration {
        let session = self.session.as_ref().map(|it| (it.heard + dead_after).min(it.kept_alive + keepalive));
        let attempt = self.attempt.as_ref().map(|attempt| attempt.since + STUCK);
        [session, attempt].into_iter().flatten().min().unwrap_or(self.next_attempt)
    }

    fn end(&mut self, out: &mut Vec<Effect>) {
        self.attempt = None;
        if let Some(session) = self.session.take() {
            self.counts.downs += 1;
            out.push(Effect::Down(session.name));
        }
    }

    fn release(&mut self) -> Option<(Mac, Vec<u8>)> {
        let mac = self.session.as_ref()?.mac;
        Some((mac, self.release_sdu()))
    }

    fn tick(&mut self, local: &Local<'_>, now: Duration, out: &mut Vec<Effect>) {
        if self.session.as_ref().is_some_and(|session| now.saturating_sub(session.heard) >= local.dead_after) {
            self.end(out);
        }
        if let Some(attempt) = self.attempt.take_if(|attempt| now.saturating_sub(attempt.since) >= STUCK) {
            self.next_attempt = now + ATTEMPT;
            if E::releases(attempt.step) {
                out.push(Effect::Send(attempt.mac, self.release_sdu()));
            }
        }
        if let Some(session) = &mut self.session {
            if now.saturating_sub(session.kept_alive) >= local.keepalive {
                session.kept_alive = now;
                let mac = session.mac;
                let [request, _] = E::keepalive(local);
                out.push(Effect::Send(mac, self.numbered(request)));
            }
        } else if self.attempt.is_none() && now >= self.next_attempt {
            self.next_attempt = now + ATTEMPT;
            let [sender, target] = E::shim_names(local).map(|name| ([0; 6], name));
            out.push(Effect::Arp(BROADCAST, Arp { operation: Operation::Request, sender, target }.write()));
        }
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
        let taken = E::decode(sdu).and_then(|message| match message.op_code {
            op::CONNECT => self.connect(cx, from, &message),
            _ if self.attempt.as_ref().is_some_and(|attempt| attempt.mac == from) => self.go_on(cx, message),
            _ => self.hear(cx, from, message),
        });
        if taken.is_none() {
            self.counts.discarded += 1;
        }
    }

    fn receive_arp(&mut self, local: &Local<'_>, packet: &[u8], now: Duration, out: &mut Vec<Effect>) {
        let Some(arp) = Arp::parse(packet) else {
            self.counts.discarded += 1;
            return;
        };
        let (mac, from) = arp.sender;
        let [own, dif] = E::shim_names(local);
        match arp.operation {
            // Who is no member cannot enrol others.
            Operation::Request if arp.target.1 == own || arp.target.1 == dif && local.address != 0 => {
                let (sender, target) = (([0; 6], arp.target.1), (mac, from));
                out.push(Effect::Arp(mac, Arp { operation: Operation::Reply, sender, target }.write()));
            }
            Operation::Request => {}
            Operation::Reply => {
                let asked = arp.target.1 == own && from == dif;
                if !asked || self.session.is_some() || self.attempt.is_some() {
                    return;
                }
                let message = Message {
                    op_code: op::CONNECT,
                    dest_ap_name: Some(E::full(local.dif, "")),
                    src_ap_name: Some(E::full(local.name, E::INSTANCE)),
                    ..Message::default()
                };
                out.push(Effect::Send(mac, self.numbered(message)));
                self.begin((local.dif.clone(), String::new()), mac, E::CONNECTING, now);
            }
        }
    }
}
