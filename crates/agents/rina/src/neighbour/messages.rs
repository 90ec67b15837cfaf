//! What enrollment's messages say.

use super::{FAILED, Local};
use crate::cdap::{AUTH_X25519, AuthValue, EnrollmentInfo, Message, object, op};
use crate::credential::{NONCE, Share};
use crate::identity::Proof;
use crate::name::Name;

pub(super) fn auth(message: &Message) -> Option<&[u8]> {
    message.auth_value.as_ref()?.other.as_deref()
}

pub(super) fn info(local: &Local<'_>, address: u16, proof: &Proof) -> EnrollmentInfo {
    let shown = |bytes: &Vec<u8>| (!bytes.is_empty()).then(|| bytes.clone());
    EnrollmentInfo {
        address: Some(address.into()),
        incarnation: Some(local.incarnation.into()),
        certificate: shown(&proof.certificate),
        signature: shown(&proof.signature),
        encryption: None,
        routing: Some(local.routing.into()),
    }
}

/// The address of M_START or M_START_R (0: none yet), and the sender's incarnation.
pub(super) fn admission(message: &Message) -> Option<(u16, Option<[u8; NONCE]>)> {
    let info = message.value::<EnrollmentInfo>().unwrap_or_default();
    let address = u16::try_from(info.address.unwrap_or_default()).ok()?;
    Some((address, info.incarnation.and_then(|bytes| bytes.try_into().ok())))
}

pub(super) fn start(local: &Local<'_>, proof: &Proof) -> Message {
    Message::about(op::START, object::ENROLLMENT, object::ENROLLMENT_NAME).with_value(&info(
        local,
        local.address,
        proof,
    ))
}

pub(super) fn response(
    local: &Local<'_>,
    initiator_nonce: &[u8; NONCE],
    responder_share: &Share,
    refused: Option<&str>,
) -> Message {
    Message {
        result: refused.map(|_| FAILED),
        result_reason: refused.map(Into::into),
        auth_mech: Some(AUTH_X25519),
        auth_value: Some(AuthValue { other: Some([&initiator_nonce[..], responder_share].concat()) }),
        src_ap_name: Some(local.name.to_string()),
        ..Message::about(op::CONNECT_R, object::ENROLLMENT, object::ENROLLMENT_NAME)
    }
}

/// Whether a neighbour computes paths by the policy that this member has. If not, the log says so: PDUs may go in circles.
pub(super) fn compare_routing(local: &Local<'_>, neighbour: &Name, message: &Message) -> bool {
    let there = message.value::<EnrollmentInfo>().unwrap_or_default().routing;
    let Some(there) = there.filter(|there| there != local.routing) else { return true };
    tracing::warn!(
        dif = %local.dif, %neighbour, here = local.routing, there = %printable(&there),
        "the neighbour has another routing policy"
    );
    false
}

/// What others wrote, for the log.
pub(super) fn printable(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_default).collect()
}
