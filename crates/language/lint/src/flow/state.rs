//! The data-flow state: facts known at a point of the program, on one of the paths that lead there.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use hopwright_source::Span;
use imbl::OrdMap;

use super::place::PlaceId;

/// A fact about a location. A location without a fact has an unknown value or validity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fact {
    /// A header that is valid.
    Valid,
    /// A header that is not.
    Invalid,
    /// A stack's next index.
    Next(u32),
    /// No value has been assigned.
    Unset,
    /// The value, as its bits or as the position of an enum's member.
    Is(i128),
    /// Values that it does not have.
    Not(Vec<i128>),
    /// A field that was assigned while its header was invalid, by this statement, and its text there.
    Lost(Span, Span),
}

/// The parser states of a path, the last first.
#[derive(Debug)]
pub(super) struct ParserPath {
    pub state: String,
    pub before: Option<Rc<ParserPath>>,
}

/// The data-flow state of one path to a point of the program.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// A persistent map: states of neighbouring points share most of it.
    facts: OrdMap<PlaceId, Fact>,
    /// The combined hash of the facts, updated with each change; distinguishes most states.
    mark: u64,
    /// Too many facts were dropped to claim that this path exists.
    pub vague: bool,
    /// The parser states that lead here. Of paths with equal facts one is kept.
    pub parser_path: Option<Rc<ParserPath>>,
}

impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        self.mark == other.mark
            && self.vague == other.vague
            && (self.facts.ptr_eq(&other.facts) || self.facts == other.facts)
    }
}

impl Eq for State {}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.mark.hash(state);
        self.vague.hash(state);
    }
}

/// The most excluded values that are kept for a location.
const MAX_NOT: usize = 32;

impl State {
    /// A state without facts.
    pub(super) fn new() -> State {
        State { facts: OrdMap::new(), mark: 0, vague: false, parser_path: None }
    }

    pub(super) fn get(&self, place: PlaceId) -> Option<&Fact> {
        self.facts.get(&place)
    }

    pub(super) fn set(&mut self, place: PlaceId, fact: Fact) {
        if self.facts.get(&place) == Some(&fact) {
            return;
        }
        self.mark ^= mark(place, &fact);
        if let Some(old) = self.facts.insert(place, fact) {
            self.mark ^= mark(place, &old);
        }
    }

    pub(super) fn forget(&mut self, place: PlaceId) {
        if self.facts.contains_key(&place)
            && let Some(old) = self.facts.remove(&place)
        {
            self.mark ^= mark(place, &old);
        }
    }

    pub(super) fn forget_all(&mut self) {
        self.keep(|_, _| false);
    }

    fn keep(&mut self, which: impl Fn(PlaceId, &Fact) -> bool) {
        self.facts = self.facts.iter().filter(|(p, f)| which(**p, f)).map(|(p, f)| (*p, f.clone())).collect();
        self.mark = self.facts.iter().fold(0, |all, (p, f)| all ^ mark(*p, f));
    }

    /// Adds the fact that the place has the value or, with `equal` false, does not have it; `None` if that contradicts a fact.
    pub(super) fn when(mut self, place: PlaceId, value: i128, equal: bool, one_bit: bool) -> Option<State> {
        let fact = match (self.get(place), equal) {
            (Some(Fact::Is(v)), _) => return ((*v == value) == equal).then_some(self),
            (Some(Fact::Not(list)), true) if list.contains(&value) => return None,
            (_, true) => Fact::Is(value),
            (_, false) if one_bit => Fact::Is(1 - value),
            (Some(Fact::Not(list)), false) => {
                let mut list = list.clone();
                if !list.contains(&value) && list.len() < MAX_NOT {
                    list.push(value);
                    list.sort_unstable();
                }
                Fact::Not(list)
            }
            (_, false) => Fact::Not(vec![value]),
        };
        self.set(place, fact);
        Some(self)
    }

    /// Drops all facts about values.
    pub(super) fn forget_values(&mut self) {
        self.keep(|_, f| !matches!(f, Fact::Is(_) | Fact::Not(_)));
        self.vague = true;
    }

    /// The meet of two states: the facts that hold in both.
    pub(super) fn meet(&mut self, other: &State) {
        self.keep(|p, f| other.facts.get(&p) == Some(f));
        self.vague = true;
    }
}

fn mark(place: PlaceId, fact: &Fact) -> u64 {
    let mut hasher = DefaultHasher::new();
    (place, fact).hash(&mut hasher);
    hasher.finish()
}

/// Merges equal states. More than `most` states are replaced by their meet.
pub(super) fn tidy(most: usize, states: Vec<State>) -> Vec<State> {
    if states.len() < 2 {
        return states;
    }
    let mut states = distinct(states);
    if states.len() > most {
        states.iter_mut().for_each(State::forget_values);
        states = distinct(states);
    }
    if states.len() > most {
        let mut rest = states.split_off(1).into_iter();
        rest.by_ref().for_each(|s| states[0].meet(&s));
    }
    states
}

fn distinct(states: Vec<State>) -> Vec<State> {
    let mut seen: HashSet<State> = HashSet::new();
    states.into_iter().filter(|s| seen.insert(s.clone())).collect()
}
