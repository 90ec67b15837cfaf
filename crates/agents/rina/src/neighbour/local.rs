//! How an IPC process presents itself to a neighbour.

use std::time::Duration;

use super::{Admit, Effect};
use crate::cdap::{EnrollmentInfo, Message};
use crate::credential::{Credential, Handshake, NONCE, Share};
use crate::efcp::Qos;
use crate::identity::{Identity, Proof};
use crate::name::Name;

/// How an IPC process presents itself.
pub(crate) struct Local<'a> {
    pub dif: &'a Name,
    pub name: &'a Name,
    /// 0: not a member yet.
    pub address: u16,
    /// None in dialects without.
    pub credential: Option<&'a Credential>,
    /// None in DIFs without an authority.
    pub identity: Option<&'a Identity>,
    /// Layer management is encrypted.
    pub encryption: bool,
    /// The routing policy's name, and the QoS cubes.
    pub routing: &'a str,
    pub qos: &'a [Qos],
    pub incarnation: [u8; NONCE],
    /// Time between two keep-alives, and silence after which a neighbour is down.
    pub keepalive: Duration,
    pub dead_after: Duration,
}

/// What a message meets.
pub(crate) struct Context<'a> {
    pub local: &'a Local<'a>,
    pub now: Duration,
    pub admit: Admit<'a>,
    /// What comes of it.
    pub out: &'a mut Vec<Effect>,
}

impl Local<'_> {
    /// The handshake of an initiator and a responder.
    pub(super) fn handshake<'a>(&'a self, initiator: (&'a Name, Share), responder: (&'a Name, Share)) -> Handshake<'a> {
        Handshake {
            dif: self.dif,
            initiator: initiator.0,
            responder: responder.0,
            initiator_share: initiator.1,
            responder_share: responder.1,
            encryption: self.encryption,
        }
    }

    /// The proof of who this is; empty without an identity.
    pub(super) fn prove(&self, handshake: &Handshake<'_>, by_initiator: bool) -> Proof {
        self.identity.map_or_else(Proof::default, |identity| identity.prove(handshake, by_initiator))
    }

    /// Whether the other end of a handshake is who it says.
    pub(super) fn check(
        &self,
        message: &Message,
        handshake: &Handshake<'_>,
        by_initiator: bool,
    ) -> Result<Vec<u8>, &'static str> {
        let Some(identity) = self.identity else { return Ok(Vec::new()) };
        let info = message.value::<EnrollmentInfo>().unwrap_or_default();
        let (certificate, signature) = (info.certificate.unwrap_or_default(), info.signature.unwrap_or_default());
        let proof = Proof { certificate, signature };
        let name = if by_initiator { handshake.initiator } else { handshake.responder };
        identity.check(name, &proof, handshake, by_initiator)?;
        Ok(proof.certificate)
    }
}
