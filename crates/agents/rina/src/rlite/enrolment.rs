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

use super::messages::{decode, encode};
use super::objects::{Constants, EnrollmentInfo, name};
use crate::cdap::{Message, ObjectValue, object, op};
use crate::name::Name;
use crate::neighbour::{Context, Effect, Local};
use crate::plain::{Enrolment, FAILED, PlainLink};

/// The state of a link's other end.
pub(crate) type Neighbour = PlainLink<Rlite>;

/// Enrollment as rlite does it.
#[derive(Debug)]
pub(crate) struct Rlite;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// As initiator: M_CONNECT, M_START, M_START_R were exchanged.
    Connecting,
    Starting,
    /// With the address that the responder has given.
    Started(u16),
    /// As responder: M_CONNECT_R, M_STOP were sent.
    Connected,
    Stopping,
}

impl Enrolment for Rlite {
    type Step = Step;
    type Details = ();

    const CONNECTING: Step = Step::Connecting;
    const CONNECTED: Step = Step::Connected;
    const INSTANCE: &'static str = "";
    const NUMBERED: bool = true;

    fn encode(message: &Message) -> Vec<u8> {
        encode(message, true)
    }

    fn decode(bytes: &[u8]) -> Option<Message> {
        decode(bytes)
    }

    fn parts(text: &str) -> Option<(Name, String)> {
        Some((text.parse().ok()?, String::new()))
    }

    fn full(name: &Name, _: &str) -> String {
        name.to_string()
    }

    fn shim_names(local: &Local<'_>) -> [String; 2] {
        [local.name, local.dif].map(Name::to_string)
    }

    fn keepalive(_: &Local<'_>) -> [Message; 2] {
        [op::READ, op::READ_R].map(|op_code| Message::about(op_code, object::KEEPALIVE, object::KEEPALIVE_NAME))
    }

    fn ignores(message: &Message) -> bool {
        // Who says its status is a member from now on; it has been one here before.
        message.op_code == op::READ_R || message.op_code == op::START && message.is_about(name::STATUS)
    }

    fn releases(step: Step) -> bool {
        // rlite does not answer who was its neighbour before a restart that it has not noticed. A neighbour whose answer to M_STOP was lost
        // counts as enrolled there.
        matches!(step, Step::Connecting | Step::Stopping)
    }

    fn go_on(link: &mut Neighbour, cx: &mut Context<'_>, message: &Message, answers: bool) -> Option<bool> {
        let attempt = link.attempt.as_mut()?;
        match (message.op_code, attempt.step) {
            (op::CONNECT_R, Step::Connecting) if answers => {
                attempt.name = message.src_ap_name.as_deref()?.parse().ok()?;
                let info = EnrollmentInfo { address: Some(0), ..EnrollmentInfo::default() };
                let start = match cx.local.address {
                    0 => Message::about(op::START, object::ENROLLMENT, object::ENROLLMENT_NAME).with_value(&info),
                    _ => Message::about(op::START, name::LOWER_FLOW, name::LOWER_FLOW_NAME),
                };
                link.ask(start, Step::Starting, cx);
            }
            (op::START_R, Step::Starting) if answers && message.is_about(name::LOWER_FLOW) => link.establish(cx),
            (op::START_R, Step::Starting) if answers => {
                let info: EnrollmentInfo = message.value().ok()?;
                let address = u16::try_from(info.address.unwrap_or_default()).ok().filter(|address| *address != 0);
                let same = info.constants.is_some_and(|it| it.same_widths(&Constants::of_rlite()));
                match address.filter(|_| same) {
                    Some(address) => attempt.step = Step::Started(address),
                    None => link.give_up(cx, "its addresses or PDUs have other widths"),
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
                    link.give_up(cx, &format!("{component} is {has} there, {policy} here"));
                }
            }
            (op::STOP, Step::Started(address)) => {
                let answer = Message {
                    invoke_id: message.invoke_id,
                    ..Message::about(op::STOP_R, object::ENROLLMENT, object::ENROLLMENT_NAME)
                };
                cx.out.push(Effect::Send(attempt.mac, encode(&answer, true)));
                if address != cx.local.address {
                    cx.out.push(Effect::Enrolled(address));
                }
                link.establish(cx);
            }
            (op::START, Step::Connected) => start(link, cx, message)?,
            (op::STOP_R, Step::Stopping) if answers => {
                let mac = attempt.mac;
                let status = link.sdu(Message::about(op::START, name::STATUS, name::STATUS_NAME));
                cx.out.push(Effect::Send(mac, status));
                link.establish(cx);
            }
            (op::RELEASE, _) => link.attempt = None,
            _ => return Some(false),
        }
        Some(true)
    }
}

/// M_START of the initiator: for enrollment, or for one more lower flow.
fn start(link: &mut Neighbour, cx: &mut Context<'_>, message: &Message) -> Option<()> {
    let attempt = link.attempt.as_ref()?;
    let mac = attempt.mac;
    let response =
        |class, object: &str| Message { invoke_id: message.invoke_id, ..Message::about(op::START_R, class, object) };
    if message.is_about(name::LOWER_FLOW) {
        cx.out.push(Effect::Send(mac, encode(&response(name::LOWER_FLOW, name::LOWER_FLOW_NAME), true)));
        link.establish(cx);
        return Some(());
    }
    let info: EnrollmentInfo = message.value().ok().filter(|_| message.is_about(object::ENROLLMENT))?;
    let answer = response(object::ENROLLMENT, object::ENROLLMENT_NAME);
    let address = match (cx.admit)(&attempt.name, 0, None) {
        Ok(address) => address,
        Err(reason) => {
            let refusal = Message { result: Some(FAILED), result_reason: Some(reason.into()), ..answer };
            cx.out.push(Effect::Send(mac, encode(&refusal, true)));
            link.give_up(cx, reason);
            return Some(());
        }
    };
    let constants = Some(Constants::of_rlite());
    let info = EnrollmentInfo { address: Some(address.into()), constants, ..info };
    cx.out.push(Effect::Send(mac, encode(&answer.with_value(&info), true)));
    for (component, policy) in name::POLICIES {
        let text = Some(Box::new(ObjectValue { text: Some(policy.into()), bytes: None }));
        let write = Message { obj_value: text, ..Message::about(op::WRITE, name::POLICY, component) };
        cx.out.push(Effect::Send(mac, link.sdu(write)));
    }
    let info = EnrollmentInfo { start_early: Some(true), ..EnrollmentInfo::default() };
    let stop = Message::about(op::STOP, object::ENROLLMENT, object::ENROLLMENT_NAME).with_value(&info);
    link.ask(stop, Step::Stopping, cx);
    Some(())
}
