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
//! A member that gets one more link does the same with its address. IRATI asks for no sign of life; it answers one who does.

use super::messages::{decode, encode};
use super::objects::{self, Constants, EnrollmentInfo, about, name};
use crate::cdap::{Message, op};
use crate::credential;
use crate::name::Name;
use crate::neighbour::{Context, Effect, Local};
use crate::plain::{Enrolment, FAILED, PlainLink};

/// Messages about objects that are kept until enrollment is over.
const MOST_DEFERRED: usize = 64;

/// The state of a link's other end.
pub(crate) type Neighbour = PlainLink<Irati>;

/// Enrollment as IRATI does it.
#[derive(Debug)]
pub(crate) struct Irati;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
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

/// What else an attempt knows.
#[derive(Debug, Default)]
pub(crate) struct Details {
    /// The address that the enrollee has been given.
    address: u16,
    /// What M_STOP is answered with.
    stop: i32,
    token: String,
    /// Whether data transfer constants have come.
    constants: bool,
}

impl Enrolment for Irati {
    type Step = Step;
    type Details = Details;

    const CONNECTING: Step = Step::Connecting;
    const CONNECTED: Step = Step::Connected;
    const INSTANCE: &'static str = name::INSTANCE;
    const NUMBERED: bool = false;

    fn encode(message: &Message) -> Vec<u8> {
        encode(message)
    }

    fn decode(bytes: &[u8]) -> Option<Message> {
        decode(bytes)
    }

    fn parts(text: &str) -> Option<(Name, String)> {
        let mut parts = text.split('|');
        Some((parts.next()?.parse().ok()?, parts.next().unwrap_or_default().to_string()))
    }

    fn full(name: &Name, instance: &str) -> String {
        format!("{name}|{instance}|{}", name::MANAGEMENT)
    }

    fn shim_names(local: &Local<'_>) -> [String; 2] {
        [format!("{}/{}//", local.name, name::INSTANCE), format!("{}///", local.dif)]
    }

    fn keepalive(local: &Local<'_>) -> [Message; 2] {
        let answer = about(op::READ_R, name::WATCHDOG).with_value(&objects::Int { value: local.address.into() });
        [about(op::READ, name::WATCHDOG), answer]
    }

    fn ignores(message: &Message) -> bool {
        matches!(message.op_code, op::READ_R | op::CREATE_R | op::WRITE_R | op::DELETE_R)
    }

    fn releases(_: Step) -> bool {
        true
    }

    fn go_on(link: &mut Neighbour, cx: &mut Context<'_>, message: &Message, answers: bool) -> Option<bool> {
        match link.attempt.as_ref()?.step {
            Step::Connected | Step::Stopping | Step::Confirming => link.enrol(cx, message, answers),
            _ => link.be_enrolled(cx, message, answers),
        }
    }
}

impl Neighbour {
    /// The enroller's next message.
    fn be_enrolled(&mut self, cx: &mut Context<'_>, message: &Message, answers: bool) -> Option<bool> {
        let attempt = self.attempt.as_mut()?;
        let mac = attempt.mac;
        let is = |[class, _]: [&str; 2]| message.is_about(class);
        match (message.op_code, attempt.step) {
            (op::CONNECT_R, Step::Connecting) if answers => {
                (attempt.name, attempt.instance) = Irati::parts(message.src_ap_name.as_deref()?)?;
                if attempt.name == *cx.local.name {
                    self.give_up(cx, "it has the name of this IPC process");
                    return Some(true);
                }
                let info = EnrollmentInfo::new(cx.local.address, String::new());
                self.ask(about(op::START, name::ENROLLMENT).with_value(&info), Step::Starting, cx);
            }
            (op::START_R, Step::Starting) if answers => {
                // Without a value the address is valid.
                let info: EnrollmentInfo = message.value().unwrap_or_default();
                let address = info.address.filter(|address| *address != 0).unwrap_or(cx.local.address.into());
                match u16::try_from(address).ok().filter(|address| *address != 0) {
                    Some(address) => (attempt.details.address, attempt.step) = (address, Step::Started),
                    None => self.give_up(cx, "it gives an address of more than 16 bits, or none"),
                }
            }
            (op::CREATE | op::READ_R, Step::Started | Step::Reading) => {
                if is(name::DATA_TRANSFER) {
                    attempt.details.constants = true;
                    let constants: Constants = message.value().ok()?;
                    if let Some(why) = constants.refuse() {
                        self.give_up(cx, why);
                        return Some(true);
                    }
                } else if is(name::CUBES) {
                    let others = objects::other_cubes(message, cx.local.qos);
                    if !others.is_empty() {
                        let line =
                            format!("QoS cubes of {} are not here, or otherwise: {}", attempt.name, others.join(", "));
                        self.log(cx, line);
                    }
                } else if attempt.deferred.len() < MOST_DEFERRED {
                    attempt.deferred.push(Message { op_code: op::CREATE, ..message.clone() });
                }
                if self.attempt.as_ref().is_some_and(|attempt| attempt.step == Step::Reading) && answers {
                    self.stop(cx);
                }
            }
            (op::STOP, Step::Started) => {
                let info: EnrollmentInfo = message.value().ok()?;
                (attempt.details.token, attempt.details.stop) = (info.token.unwrap_or_default(), message.invoke_id?);
                // A member knows them.
                match attempt.details.constants || cx.local.address != 0 {
                    true => self.stop(cx),
                    false => self.ask(about(op::READ, name::DATA_TRANSFER), Step::Reading, cx),
                }
            }
            (op::START, Step::Stopped) if is(name::STATUS) => {
                let who = objects::Neighbour::new(
                    cx.local.name,
                    attempt.details.address,
                    Some(attempt.details.token.clone()),
                );
                let answer =
                    Message { invoke_id: message.invoke_id, ..about(op::START_R, name::STATUS).with_value(&who) };
                cx.out.push(Effect::Send(mac, encode(&answer)));
                if attempt.details.address != cx.local.address {
                    cx.out.push(Effect::Enrolled(attempt.details.address));
                }
                self.establish(cx);
            }
            (op::RELEASE, _) => self.give_up(cx, "it ends the enrollment"),
            _ => return Some(false),
        }
        Some(true)
    }

    /// Answers M_STOP.
    fn stop(&mut self, cx: &mut Context<'_>) {
        let Some(attempt) = &mut self.attempt else { return };
        attempt.step = Step::Stopped;
        let answer = Message { op_code: op::STOP_R, invoke_id: Some(attempt.details.stop), ..Message::default() };
        cx.out.push(Effect::Send(attempt.mac, encode(&answer)));
    }

    /// The enrollee's next message.
    fn enrol(&mut self, cx: &mut Context<'_>, message: &Message, answers: bool) -> Option<bool> {
        let attempt = self.attempt.as_mut()?;
        let mac = attempt.mac;
        let is = |[class, _]: [&str; 2]| message.is_about(class);
        match (message.op_code, attempt.step) {
            (op::START, Step::Connected) if is(name::ENROLLMENT) => {
                self.start(cx, message)?;
            }
            (op::READ, Step::Stopping) => {
                let answer = match message.obj_class.as_deref()? {
                    class if class == name::DATA_TRANSFER[0] => {
                        about(op::READ_R, name::DATA_TRANSFER).with_value(&Constants::default_widths())
                    }
                    class if class == name::CUBES[0] => objects::cubes(op::READ_R, cx.local.qos),
                    _ => objects::neighbours(op::READ_R, &[(cx.local.name, cx.local.address)]),
                };
                cx.out.push(Effect::Send(mac, encode(&Message { invoke_id: message.invoke_id, ..answer })));
            }
            (op::STOP_R, Step::Stopping) if answers => {
                self.ask(about(op::START, name::STATUS), Step::Confirming, cx);
            }
            (op::START_R, Step::Confirming) if answers => {
                let who: objects::Neighbour = message.value().ok()?;
                let same = who.ap_name.as_deref() == Some(attempt.name.as_str())
                    && who.ap_instance.unwrap_or_default() == attempt.instance
                    && who.ae_instance.unwrap_or_default() == attempt.details.token;
                match same {
                    true => {
                        attempt.deferred =
                            vec![objects::neighbours(op::CREATE, &[(&attempt.name, attempt.details.address)])];
                        self.establish(cx);
                    }
                    false => self.give_up(cx, "it is not who it was"),
                }
            }
            (op::RELEASE, _) => self.attempt = None,
            _ => return Some(false),
        }
        Some(true)
    }

    /// M_START of the enrollee: it is given an address if it has none that is valid, and what a member needs.
    fn start(&mut self, cx: &mut Context<'_>, message: &Message) -> Option<()> {
        let attempt = self.attempt.as_mut()?;
        let asked = u16::try_from(message.value::<EnrollmentInfo>().ok()?.address.unwrap_or_default()).unwrap_or(0);
        let valid = if asked == 0 { None } else { (cx.admit)(&attempt.name, asked, None).ok() };
        let answer = Message { invoke_id: message.invoke_id, ..about(op::START_R, name::ENROLLMENT) };
        let (address, new) = match valid.map_or_else(|| (cx.admit)(&attempt.name, 0, None), Ok) {
            Ok(address) => (address, valid.is_none()),
            Err(reason) => {
                let refusal = Message { result: Some(FAILED), result_reason: Some(reason.into()), ..answer };
                cx.out.push(Effect::Send(attempt.mac, encode(&refusal)));
                self.give_up(cx, reason);
                return Some(());
            }
        };
        // Nobody has to guess it: it tells two answers apart.
        attempt.details.token = u32::from(credential::number()).to_string();
        attempt.details.address = address;
        let (mac, token) = (attempt.mac, attempt.details.token.clone());
        let answer = if new { answer.with_value(&EnrollmentInfo::new(address, String::new())) } else { answer };
        cx.out.push(Effect::Send(mac, encode(&answer)));
        if new {
            let constants = about(op::CREATE, name::DATA_TRANSFER).with_value(&Constants::default_widths());
            cx.out.push(Effect::Send(mac, encode(&constants)));
            cx.out.push(Effect::Send(mac, encode(&objects::cubes(op::CREATE, cx.local.qos))));
        }
        cx.out.push(Effect::Send(mac, encode(&objects::neighbours(op::CREATE, &[(cx.local.name, cx.local.address)]))));
        let stop = about(op::STOP, name::ENROLLMENT).with_value(&EnrollmentInfo::new(address, token));
        self.ask(stop, Step::Stopping, cx);
        Some(())
    }
}
