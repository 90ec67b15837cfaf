//! Digests on their way to a control plane: collected into lists, and not sent again while a list with the same data waits for its
//! acknowledgement (P4Runtime 9.8).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use hopwright_dataplane::Digest;
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
    fn forget(&mut self, list: u64) {
        for data in self.unacked.remove(&list).iter().flat_map(|(_, data)| data) {
            self.seen.remove(data);
        }
    }
}

impl Digests {
    /// A state with nothing enabled.
    pub(crate) fn new(schema: &Schema) -> Digests {
        Digests { known: schema.digests.clone(), ..Digests::default() }
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
            lists.into_iter().for_each(|list| active.forget(list));
        }
        due.into_iter().filter_map(|id| self.send(id, now)).collect()
    }

    fn send(&mut self, id: u32, now: Instant) -> Option<DigestList> {
        let active = self.active.get_mut(&id)?;
        self.lists += 1;
        let data = std::mem::take(&mut active.waiting);
        if active.config.ack_timeout > Duration::ZERO {
            if active.unacked.len() >= MAX_UNACKED
                && let Some(oldest) = active.unacked.keys().next().copied()
            {
                active.forget(oldest);
            }
            active.unacked.insert(self.lists, (now, data.clone()));
        }
        Some(DigestList { digest: id, list: self.lists, data })
    }

    /// Acknowledges a list. One that is unknown was acknowledged after it was forgotten, which is no error.
    ///
    /// # Errors
    /// The digest is not enabled.
    pub fn acknowledge(&mut self, digest: u32, list: u64) -> Result<()> {
        let active = self.active.get_mut(&digest);
        active.ok_or_else(|| not_found(format!("digest {digest:#x} is not on")))?.forget(list);
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
        self.active.remove(&id)
    }

    /// Enables a digest as it was.
    pub(crate) fn restore(&mut self, id: u32, active: Active) {
        self.active.insert(id, active);
    }
}
