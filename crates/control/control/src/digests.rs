//! Digests on their way to a control plane: collected into lists, and not sent again while a list with the same data waits for its
//! acknowledgement (P4Runtime 9.8).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hopwright_dataplane::{Control, Digest, VirtualDataPlane};
use num_bigint::BigUint;

use crate::entity::DigestConfig;
use crate::error::{Error, Result, not_found};
use crate::listing;
use crate::schema::Schema;

/// The most lists of one digest that are remembered until they are acknowledged.
const MAX_UNACKED: usize = 1024;
/// The most digests in a list, whatever the configuration.
const MAX_LIST: usize = 1024;

/// The digests that are sent.
#[derive(Debug, Default)]
pub struct Digests {
    /// Enabled digests, by id.
    active: BTreeMap<u32, Active>,
    /// Ids by name.
    known: HashMap<String, u32>,
    /// The number of the next list.
    lists: u64,
    charged: Charged,
}

/// Whose account of memory lists are charged to that wait for an acknowledgement. Not the data plane: it may be replaced by other code.
#[derive(Debug, Default)]
struct Charged(Option<Arc<Control>>);

impl Charged {
    /// Charges more bytes, if there is room for them.
    fn charge(&self, bytes: u64) -> bool {
        self.0.as_ref().is_none_or(|control| control.account().charge(bytes).is_ok())
    }

    fn release(&self, bytes: u64) {
        if let Some(control) = &self.0 {
            control.account().release(bytes);
        }
    }
}

/// The values of a digest, first member first: each with its width in bits.
pub type DigestData = Vec<(BigUint, u32)>;

/// A list of digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestList {
    /// The digest's id.
    pub digest: u32,
    /// The list's number.
    pub list: u64,
    /// The digests.
    pub data: Vec<DigestData>,
}

/// An enabled digest.
#[derive(Debug)]
pub(crate) struct Active {
    config: DigestConfig,
    waiting: Vec<DigestData>,
    since: Instant,
    /// Unacknowledged lists: when they were sent, and their data.
    unacked: BTreeMap<u64, (Instant, Vec<DigestData>)>,
    /// All data of these lists and of the list being filled.
    seen: HashSet<DigestData>,
}

impl Active {
    /// Forgets a list. Returns the bytes that it took.
    fn forget(&mut self, list: u64) -> u64 {
        let Some((_, list)) = self.unacked.remove(&list) else { return 0 };
        for data in &list {
            self.seen.remove(data);
        }
        bytes_of(&list)
    }

    /// The bytes that its lists take.
    fn bytes(&self) -> u64 {
        self.unacked.values().map(|(_, list)| bytes_of(list)).sum()
    }
}

/// The bytes that a list takes which waits for its acknowledgement: its digests, which are also kept to be recognised.
fn bytes_of(list: &[DigestData]) -> u64 {
    const DIGEST: u64 = 160;
    const VALUE: u64 = size_of::<(BigUint, u32)>() as u64 + 32;
    let digest = |data: &DigestData| DIGEST + data.iter().map(|(bits, _)| VALUE + bits.bits() / 8).sum::<u64>();
    2 * list.iter().map(digest).sum::<u64>()
}

impl Digests {
    /// A state with nothing enabled.
    pub(crate) fn new(schema: &Schema, vdp: &Arc<VirtualDataPlane>) -> Digests {
        Digests { known: schema.digests.clone(), charged: Charged(Some(vdp.control().clone())), ..Digests::default() }
    }

    /// The bytes that are charged.
    pub(crate) fn bytes(&self) -> u64 {
        self.active.values().map(Active::bytes).sum()
    }

    /// Checks that there is a digest with this id.
    ///
    /// # Errors
    /// There is none.
    pub fn check_known(&self, id: u32) -> Result<()> {
        if self.known.values().any(|known| *known == id) { Ok(()) } else { Err(self.unknown(id)) }
    }

    fn unknown(&self, id: u32) -> Error {
        let those = listing::numbered(id, self.known.iter().map(|(name, id)| (*id, name.as_str())));
        not_found(format!("the program has no digest with id {id:#x}{those}"))
    }

    /// Whether the program has digests.
    pub fn are_there(&self) -> bool {
        !self.known.is_empty()
    }

    /// The configurations of enabled digests.
    pub fn configs(&self) -> impl Iterator<Item = (u32, DigestConfig)> {
        self.active.iter().map(|(id, a)| (*id, a.config))
    }

    pub(crate) fn is_on(&self, id: u32) -> bool {
        self.active.contains_key(&id)
    }

    /// Adds a digest of the program. Returns the list if it is full.
    pub fn add(&mut self, digest: &Digest, now: Instant) -> Option<DigestList> {
        let id = *self.known.get(&digest.name)?;
        let active = self.active.get_mut(&id)?;
        let data: DigestData = digest.data.iter().map(|v| (v.bits.clone(), v.width)).collect();
        if !active.config.ack_timeout.is_zero() && !active.seen.insert(data.clone()) {
            return None;
        }
        if active.waiting.is_empty() {
            active.since = now;
        }
        active.waiting.push(data);
        let most = usize::try_from(active.config.max_list).unwrap_or(0);
        let most = if most == 0 { MAX_LIST } else { most.min(MAX_LIST) };
        let at_once = active.config.max_timeout.is_zero();
        (at_once || active.waiting.len() >= most).then(|| self.send(id, now)).flatten()
    }

    /// Lists whose timeout has expired. Forgets lists whose acknowledgement is overdue.
    pub fn due(&mut self, now: Instant) -> Vec<DigestList> {
        let mut due = Vec::new();
        for (id, active) in &mut self.active {
            if !active.waiting.is_empty() && now.duration_since(active.since) >= active.config.max_timeout {
                due.push(*id);
            }
            let overdue = |sent: Instant| now.duration_since(sent) >= active.config.ack_timeout;
            let lists: Vec<u64> =
                active.unacked.iter().filter(|(_, (sent, _))| overdue(*sent)).map(|(list, _)| *list).collect();
            for list in lists {
                self.charged.release(active.forget(list));
            }
        }
        due.into_iter().filter_map(|id| self.send(id, now)).collect()
    }

    fn send(&mut self, id: u32, now: Instant) -> Option<DigestList> {
        let Digests { active, lists, charged, .. } = self;
        let active = active.get_mut(&id)?;
        *lists += 1;
        let data = std::mem::take(&mut active.waiting);
        if active.config.ack_timeout > Duration::ZERO {
            let bytes = bytes_of(&data);
            let mut room = active.unacked.len() < MAX_UNACKED && charged.charge(bytes);
            // The oldest make room.
            while !room && let Some(oldest) = active.unacked.keys().next().copied() {
                charged.release(active.forget(oldest));
                room = charged.charge(bytes);
            }
            if room {
                active.unacked.insert(*lists, (now, data.clone()));
            } else {
                for data in &data {
                    active.seen.remove(data);
                }
            }
        }
        Some(DigestList { digest: id, list: *lists, data })
    }

    /// Acknowledges a list. One that is unknown was acknowledged after it was forgotten, which is no error.
    ///
    /// # Errors
    /// The digest is not enabled.
    pub fn acknowledge(&mut self, digest: u32, list: u64) -> Result<()> {
        let active = self.active.get_mut(&digest);
        let bytes = active.ok_or_else(|| not_found(format!("digest {digest:#x} is not on")))?.forget(list);
        self.charged.release(bytes);
        Ok(())
    }

    /// Enables a digest, or changes its configuration. Returns the one before.
    pub(crate) fn configure(&mut self, id: u32, config: DigestConfig) -> Option<DigestConfig> {
        if let Some(active) = self.active.get_mut(&id) {
            return Some(std::mem::replace(&mut active.config, config));
        }
        let active = Active {
            config,
            waiting: Vec::new(),
            since: Instant::now(),
            unacked: BTreeMap::new(),
            seen: HashSet::new(),
        };
        self.active.insert(id, active);
        None
    }

    /// Disables a digest. Returns it as it was, with what waits for an acknowledgement.
    pub(crate) fn disable(&mut self, id: u32) -> Option<Active> {
        let disabled = self.active.remove(&id)?;
        self.charged.release(disabled.bytes());
        Some(disabled)
    }

    /// Enables a digest as it was.
    pub(crate) fn restore(&mut self, id: u32, active: Active) {
        // Undoing is not refused.
        let _ = self.charged.charge(active.bytes());
        self.active.insert(id, active);
    }
}

#[cfg(test)]
mod tests {
    use hopwright_dataplane::EngineKind;
    use hopwright_driver::compile_text;

    use super::*;

    #[test]
    fn lists_are_charged_until_they_are_acknowledged() {
        let compiled = compile_text("objects.p4", include_str!("../tests/it/objects.p4"), &Default::default(), true);
        let vdp = VirtualDataPlane::new(Arc::new(compiled.pipeline.unwrap()), EngineKind::Interp).unwrap();
        let held = || vdp.control().account().held();
        let (before, long, now) = (held(), Duration::from_secs(1000), Instant::now());
        let mut digests = Digests { charged: Charged(Some(vdp.control().clone())), ..Digests::default() };
        digests.configure(1, DigestConfig { max_timeout: long, max_list: 0, ack_timeout: long });
        let send = |digests: &mut Digests, number: u32| {
            let active = digests.active.get_mut(&1).unwrap();
            active.waiting.push(vec![(number.into(), 32)]);
            digests.send(1, now).unwrap().list
        };
        let first = send(&mut digests, 0);
        let each = held() - before;
        assert!(each > 100, "{each}");
        let second = send(&mut digests, 1);
        assert_eq!(held(), before + 2 * each);
        digests.acknowledge(1, first).unwrap();
        digests.acknowledge(1, first).unwrap();
        assert_eq!(held(), before + each);
        let disabled = digests.disable(1).unwrap();
        assert_eq!(held(), before);
        digests.restore(1, disabled);
        digests.acknowledge(1, second).unwrap();
        assert_eq!(held(), before);
        // No more than are kept.
        for number in 0..2 * MAX_UNACKED {
            send(&mut digests, number as u32 % 128);
        }
        assert_eq!((held(), digests.bytes()), (before + MAX_UNACKED as u64 * each, MAX_UNACKED as u64 * each));
        assert!(digests.due(now + 2 * long).is_empty());
        assert_eq!(held(), before);
    }
}
