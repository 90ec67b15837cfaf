//! Objects that neighbours are asked for: of several that offer one, one after the other, so that it comes once. And those that there was no
//! room for, which are asked for when there is.

use std::collections::BTreeMap;
use std::time::Duration;

use super::sync::{AGAIN, Id};
use super::{MOST, MOST_WANTED, SWEEP};
use crate::name::Name;

/// How often an object that had no room is asked for as soon as there may be room, then each [`RARELY`], and how often in all: its origin
/// may have taken it back meanwhile.
const TRIES: usize = 10;
const RARELY: Duration = Duration::from_secs(60);
const MOST_TRIES: usize = 70;

/// A request.
#[derive(Debug)]
struct Asked {
    link: usize,
    at: Duration,
    /// The next one of the other neighbours that offer the object.
    other: Option<usize>,
}

/// An object that had no room.
#[derive(Debug)]
struct Lacking {
    origin: Name,
    link: usize,
    tries: usize,
    /// It is not asked for before.
    after: Duration,
}

#[derive(Debug, Default)]
pub(super) struct Wanted {
    asked: BTreeMap<Id, Asked>,
    lacking: BTreeMap<Id, Lacking>,
    /// When it is seen whether there is room.
    retry: Duration,
}

impl Wanted {
    /// A neighbour offers an object that is lacking here. Returns the neighbour that is to be asked for it now, if any.
    pub(super) fn offer(&mut self, id: Id, link: usize, now: Duration) -> Option<usize> {
        let is_pending = |asked: &Asked| now.saturating_sub(asked.at) < AGAIN;
        if let Some(asked) = self.asked.get_mut(&id) {
            if is_pending(asked) {
                let distance = |other: usize| other.wrapping_sub(asked.link);
                if link != asked.link && asked.other.is_none_or(|other| distance(link) < distance(other)) {
                    asked.other = Some(link);
                }
                return None;
            }
            let next = asked.other.unwrap_or(link);
            *asked = Asked { link: next, at: now, other: None };
            return Some(next);
        }
        if self.asked.len() >= MOST_WANTED {
            self.asked.retain(|_, asked| is_pending(asked));
        }
        if self.asked.len() >= MOST_WANTED {
            return None;
        }
        self.asked.insert(id, Asked { link, at: now, other: None });
        Some(link)
    }

    /// A neighbour is down. Returns which others are to be asked for what it was asked for.
    pub(super) fn end(&mut self, link: usize) -> Vec<(Id, usize)> {
        let mut others = Vec::new();
        self.asked.retain(|id, asked| {
            asked.other = asked.other.filter(|other| *other != link);
            if asked.link == link
                && let Some(other) = asked.other.take()
            {
                asked.link = other;
                others.push((*id, other));
            }
            asked.link != link
        });
        others
    }

    /// An object has come, and is here.
    pub(super) fn come(&mut self, id: Id) {
        self.asked.remove(&id);
        self.lacking.remove(&id);
    }

    /// There is no room for an object that a neighbour has sent. False if there is none for its number either.
    pub(super) fn refuse(&mut self, id: Id, origin: &Name, link: usize, now: Duration) -> bool {
        self.asked.remove(&id);
        if self.lacking.is_empty() {
            self.retry = now + SWEEP;
        }
        let is_kept = self.lacking.len() < MOST || self.lacking.contains_key(&id);
        if is_kept {
            let new = || Lacking { origin: origin.clone(), link, tries: 0, after: now };
            self.lacking.entry(id).or_insert_with(new);
        }
        is_kept
    }

    /// Whether an object had no room.
    pub(super) fn is_lacking(&self, id: Id) -> bool {
        self.lacking.contains_key(&id)
    }

    /// The objects that had no room and may have some now, up to a number, each with one of these neighbours to ask.
    pub(super) fn retry(
        &mut self,
        room: usize,
        links: &[usize],
        has_room: impl Fn(&Name) -> bool,
        now: Duration,
    ) -> Vec<(Id, usize)> {
        self.retry = now + SWEEP;
        if links.is_empty() {
            return Vec::new();
        }
        let mut requests = Vec::new();
        let may_come = self.lacking.iter_mut().filter(|(_, lacking)| lacking.after <= now && has_room(&lacking.origin));
        for (id, lacking) in may_come.take(room.min(MOST_WANTED)) {
            let first = links.iter().position(|link| *link == lacking.link).unwrap_or_default();
            requests.push((*id, links[(first + lacking.tries) % links.len()]));
            lacking.tries += 1;
            if lacking.tries >= TRIES {
                lacking.after = now + RARELY;
            }
        }
        self.lacking.retain(|_, lacking| lacking.tries < MOST_TRIES);
        requests
    }

    /// When [`Wanted::retry`] has something to do.
    pub(super) fn due(&self) -> Option<Duration> {
        (!self.lacking.is_empty()).then_some(self.retry)
    }

    /// Requests that have no answer.
    #[cfg(test)]
    pub(super) fn pending(&self) -> usize {
        self.asked.len()
    }
}
