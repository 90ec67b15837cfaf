//! What the members of a DIF say to each other: the dialect of this implementation, or that of others.

use crate::credential::Credential;
use crate::neighbour::{LinkEnd, Neighbour};
use crate::plain::Exchange;
use crate::rib::Plain;
use crate::{irati, rlite};

/// A DIF's dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// That of this implementation: members know a credential.
    Hopwright(Credential),
    /// rlite's, in which nobody is authenticated.
    Rlite,
    /// IRATI's, without authentication.
    Irati,
}

impl Dialect {
    /// What the members know and nobody else.
    pub(crate) fn credential(&self) -> Option<&Credential> {
        match self {
            Dialect::Hopwright(credential) => Some(credential),
            Dialect::Rlite | Dialect::Irati => None,
        }
    }

    /// A link's other end, where nobody is yet.
    pub(crate) fn link_end(&self) -> Box<dyn LinkEnd> {
        match self {
            Dialect::Hopwright(_) => Box::<Neighbour>::default(),
            Dialect::Rlite => Box::<rlite::enrolment::Neighbour>::default(),
            Dialect::Irati => Box::<irati::enrolment::Neighbour>::default(),
        }
    }

    /// What a DIF needs beyond the messages here. None in this implementation's own dialect.
    pub(crate) fn exchange(&self) -> Option<(Box<dyn Exchange>, &'static Plain)> {
        match self {
            Dialect::Hopwright(_) => None,
            Dialect::Rlite => Some((Box::<rlite::flows::Exchange>::default(), &rlite::objects::PLAIN)),
            Dialect::Irati => Some((Box::<irati::flows::Exchange>::default(), &irati::objects::PLAIN)),
        }
    }
}
