//! Who becomes a member, and with which address.

use std::collections::{BTreeMap, BTreeSet};

use crate::name::Name;
use crate::rib::{Key, Rib};
use crate::routing::Path;

/// Addresses that are given to new members.
const ADDRESSES: std::ops::RangeInclusive<u16> = 1..=0xfffe;

/// Whether other members that can be reached say that a member is their neighbour.
pub(crate) fn is_with_others(rib: &Rib, paths: &BTreeMap<Name, Path>, own: &Name, name: &Name) -> bool {
    rib.iter().any(|(key, _)| match key {
        Key::LowerFlow(other, to) => to == name && other != own && other != name && paths.contains_key(other),
        _ => false,
    })
}

/// The address of a new neighbour: the one it asks for, the one it had, or a free one.
pub(crate) fn admit(
    rib: &Rib,
    paths: &BTreeMap<Name, Path>,
    own: &Name,
    own_address: u16,
    name: &Name,
    asked: u16,
) -> Result<u16, &'static str> {
    if asked != 0 {
        let mut others = rib.members_at(asked).filter(|other| *other != name && *other != own);
        let taken = asked == own_address || others.any(|other| paths.contains_key(other));
        return if taken { Err("another member has this address") } else { Ok(asked) };
    }
    rib.address(name).or_else(|| free_address(rib, name)).ok_or("no address is free")
}

/// A free address, the same for a name wherever possible.
pub(crate) fn free_address(rib: &Rib, name: &Name) -> Option<u16> {
    let hash =
        name.as_str().bytes().fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let taken: BTreeSet<u32> = rib
        .iter()
        .filter_map(|(key, object)| match key {
            Key::Member(other) if other != name => Some(object.value),
            _ => None,
        })
        .collect();
    let count = u32::from(*ADDRESSES.end());
    (0..count)
        .map(|step| 1 + (hash % count + step) % count)
        .find(|address| !taken.contains(address))
        .and_then(|address| u16::try_from(address).ok())
}
