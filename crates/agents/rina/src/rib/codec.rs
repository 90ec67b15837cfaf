//! Objects as CDAP messages, each of rlite's class for it.

use std::time::Duration;

use super::{Key, MAX_AGE, Object};
use crate::cdap::{ApName, DirectoryEntry, LowerFlow, Message, NeighborCandidate, object, op};
use crate::credential::NONCE;
use crate::name::Name;

pub(super) fn object_name(key: &Key) -> String {
    match key {
        Key::Member(name) => format!("{}/{name}", object::NEIGHBOURS_NAME),
        Key::LowerFlow(local, remote) => format!("{}/{local}/{remote}", object::LOWER_FLOWS_NAME),
        Key::Application(name, at) => format!("{}/{name}/{at}", object::DIRECTORY_NAME),
    }
}

pub(super) fn write(key: &Key, object: &Object, now: Duration) -> Message {
    let age = Some(now.saturating_sub(object.born).as_secs() as u32);
    let message = |class| Message {
        invoke_id: Some((object.seq & 0x7fff_ffff) as i32),
        version: Some(object.seq.into()),
        ..Message::about(op::WRITE, class, object_name(key))
    };
    match key {
        Key::Member(name) => message(object::NEIGHBOURS).with_value(&NeighborCandidate {
            ap_name: Some(name.to_string()),
            address: Some(object.value.into()),
            seqnum: Some(object.seq),
            age,
            incarnation: Some(object.incarnation.into()),
        }),
        Key::LowerFlow(local, remote) => message(object::LOWER_FLOWS).with_value(&LowerFlow {
            local_node: Some(local.to_string()),
            remote_node: Some(remote.to_string()),
            cost: Some(object.value),
            seqnum: Some(object.seq),
            state: Some(object.present),
            age,
        }),
        Key::Application(name, at) => message(object::DIRECTORY).with_value(&DirectoryEntry {
            appl_name: ApName { ap_name: name.to_string() },
            ipcp_name: at.to_string(),
            seqnum: Some(object.seq.into()),
            state: Some(object.present),
            age,
        }),
    }
}

/// The object of M_WRITE. None if it is none, or older than objects get.
pub(super) fn read(message: &Message, now: Duration) -> Option<(Key, Object)> {
    let name = |text: Option<String>| text?.parse::<Name>().ok();
    let mut incarnation = [0; NONCE];
    let (key, seq, present, value, age) = match message.obj_class.as_deref()? {
        object::NEIGHBOURS => {
            let it: NeighborCandidate = message.value().ok()?;
            let address = u16::try_from(it.address?).ok()?;
            incarnation = it.incarnation.and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
            (Key::Member(name(it.ap_name)?), it.seqnum?, address != 0, address.into(), it.age)
        }
        object::LOWER_FLOWS => {
            let it: LowerFlow = message.value().ok()?;
            let cost = it.cost?.clamp(1, 0xffff);
            (Key::LowerFlow(name(it.local_node)?, name(it.remote_node)?), it.seqnum?, it.state?, cost, it.age)
        }
        object::DIRECTORY => {
            let it: DirectoryEntry = message.value().ok()?;
            let key = Key::Application(name(Some(it.appl_name.ap_name))?, name(Some(it.ipcp_name))?);
            (key, u32::try_from(it.seqnum?).ok()?, it.state.unwrap_or(true), 0, it.age)
        }
        _ => return None,
    };
    let age = Duration::from_secs(age.unwrap_or_default().into());
    // Time 0 is when this process began: what is older counts from then.
    let born = now.saturating_sub(age);
    let id = super::id(&key);
    (age < MAX_AGE).then_some((key, Object { seq, present, value, incarnation, born, id }))
}
