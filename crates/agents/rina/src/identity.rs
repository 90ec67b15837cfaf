//! A member's identity: a certificate of the DIF's authority, beside the credential that all members know.
//!
//! Its common name is the member's name. Who enrols, and who admits it, each shows its certificate and proves to have its key: it signs
//!
//! ```text
//! "hopwright rina enrollment" ‖ initiator or responder ‖ DIF ‖ initiator ‖ responder ‖ nonce of the initiator ‖ nonce of the responder
//! ```
//!
//! with a length in front of each part. The nonces are those of the handshake ([`crate::credential`]), so that nobody can show the proof
//! again. Certificates of neighbours are looked at again while they are up: one that expires or is revoked ends the session.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivatePkcs8KeyDer, SignatureVerificationAlgorithm, UnixTime,
};
use webpki::{
    BorrowedCertRevocationList, CertRevocationList, EndEntityCert, Error, KeyUsage, RevocationCheckDepth,
    RevocationOptionsBuilder, UnknownStatusPolicy, anchor_from_trusted_cert,
};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::credential::Handshake;
use crate::name::Name;

/// Keys of members.
const ALGORITHMS: [&dyn SignatureVerificationAlgorithm; 2] = [webpki::ring::ED25519, webpki::ring::ECDSA_P256_SHA256];
/// Keys of authorities.
const OF_AUTHORITIES: [&dyn SignatureVerificationAlgorithm; 4] = [
    webpki::ring::ED25519,
    webpki::ring::ECDSA_P256_SHA256,
    webpki::ring::ECDSA_P384_SHA384,
    webpki::ring::RSA_PKCS1_2048_8192_SHA256,
];
/// Bytes of a certificate: it has to fit into a management SDU.
pub(crate) const LONGEST: usize = 900;

/// A file that gives no identity.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", file.display())]
pub struct IdentityError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub problem: String,
}

/// A member's certificate and key, and what it takes others' for.
pub struct Identity {
    authorities: Vec<CertificateDer<'static>>,
    revoked: Vec<CertRevocationList<'static>>,
    certificate: CertificateDer<'static>,
    key: Key,
}

enum Key {
    Ed25519(Ed25519KeyPair),
    P256(EcdsaKeyPair),
}

/// Files of an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// Certificates of the DIF's authorities.
    pub authority: PathBuf,
    /// The member's certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Revocation lists.
    pub revoked: Option<PathBuf>,
}

/// What one of two that enrol signs.
fn statement(handshake: &Handshake<'_>, by_initiator: bool) -> Vec<u8> {
    let Handshake { dif, initiator, responder, initiator_share, responder_share, .. } = handshake;
    let side = if by_initiator { "initiator" } else { "responder" };
    let names = ["hopwright rina enrollment", side, dif.as_str(), initiator.as_str(), responder.as_str()];
    let parts = names.map(str::as_bytes).into_iter().chain([&initiator_share[..], &responder_share[..]]);
    parts.flat_map(|part| [&(part.len() as u32).to_be_bytes(), part].concat()).collect()
}

/// A certificate, and a signature with its key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Proof {
    pub certificate: Vec<u8>,
    pub signature: Vec<u8>,
}

impl Identity {
    /// Reads the identity of a member: files in PEM form, with a key for Ed25519 or ECDSA on P-256.
    ///
    /// # Errors
    /// A file is not what it should be, the certificate is another's, or it is not valid.
    pub fn read(files: &Files, name: &Name) -> Result<Identity, IdentityError> {
        let wrong =
            |file: &Path, problem: &dyn fmt::Display| IdentityError { file: file.into(), problem: problem.to_string() };
        let authorities: Result<Vec<_>, _> =
            CertificateDer::pem_file_iter(&files.authority).and_then(Iterator::collect);
        let authorities = authorities.map_err(|error| wrong(&files.authority, &error))?;
        for one in &authorities {
            anchor_from_trusted_cert(one).map_err(|error| wrong(&files.authority, &error))?;
        }
        if authorities.is_empty() {
            return Err(wrong(&files.authority, &"there is no certificate"));
        }
        let mut revoked = Vec::new();
        if let Some(file) = &files.revoked {
            let lists: Result<Vec<_>, _> =
                CertificateRevocationListDer::pem_file_iter(file).and_then(Iterator::collect);
            for list in lists.map_err(|error| wrong(file, &error))? {
                let list = BorrowedCertRevocationList::from_der(&list).and_then(|list| list.to_owned());
                revoked.push(CertRevocationList::from(list.map_err(|error| wrong(file, &error))?));
            }
        }
        let certificate =
            CertificateDer::from_pem_file(&files.certificate).map_err(|error| wrong(&files.certificate, &error))?;
        if certificate.len() > LONGEST {
            return Err(wrong(&files.certificate, &"expected 900 bytes at most: one certificate with a short key"));
        }
        let key = PrivatePkcs8KeyDer::from_pem_file(&files.key).map_err(|error| wrong(&files.key, &error))?;
        let key = Key::new(key.secret_pkcs8_der())
            .ok_or_else(|| wrong(&files.key, &"expected a key for Ed25519 or P-256"))?;
        let identity = Identity { authorities, revoked, certificate, key };
        identity.verify(name, &identity.certificate).map_err(|problem| wrong(&files.certificate, &problem))?;
        let end = EndEntityCert::try_from(&identity.certificate).map_err(|error| wrong(&files.certificate, &error))?;
        let signature = identity.key.sign(b"own");
        if !ALGORITHMS.iter().any(|one| end.verify_signature(*one, b"own", &signature).is_ok()) {
            return Err(wrong(&files.key, &"it is the key of another certificate"));
        }
        Ok(identity)
    }

    /// The proof of one of two that enrol.
    pub(crate) fn prove(&self, handshake: &Handshake<'_>, by_initiator: bool) -> Proof {
        let signature = self.key.sign(&statement(handshake, by_initiator));
        Proof { certificate: self.certificate.to_vec(), signature }
    }

    /// Whether a proof is that of the member with this name.
    pub(crate) fn check(
        &self,
        name: &Name,
        proof: &Proof,
        handshake: &Handshake<'_>,
        by_initiator: bool,
    ) -> Result<(), &'static str> {
        self.verify(name, &proof.certificate)?;
        let certificate = CertificateDer::from(proof.certificate.as_slice());
        let end = EndEntityCert::try_from(&certificate).map_err(|_| "its certificate makes no sense")?;
        let signed = statement(handshake, by_initiator);
        let right = ALGORITHMS.iter().any(|one| end.verify_signature(*one, &signed, &proof.signature).is_ok());
        right.then_some(()).ok_or("it does not have the key of its certificate")
    }

    /// Whether a certificate is valid now, and of the member with this name.
    pub(crate) fn verify(&self, name: &Name, certificate: &[u8]) -> Result<(), &'static str> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.verify_at(name, certificate, UnixTime::since_unix_epoch(now))
    }

    fn verify_at(&self, name: &Name, certificate: &[u8], now: UnixTime) -> Result<(), &'static str> {
        if certificate.is_empty() {
            return Err("it shows no certificate");
        }
        let der = CertificateDer::from(certificate);
        let end = EndEntityCert::try_from(&der).map_err(|_| "its certificate makes no sense")?;
        let anchors: Vec<_> = self.authorities.iter().filter_map(|one| anchor_from_trusted_cert(one).ok()).collect();
        let lists: Vec<&CertRevocationList<'_>> = self.revoked.iter().collect();
        let revocation = RevocationOptionsBuilder::new(&lists).ok().map(|options| {
            let options = options.with_depth(RevocationCheckDepth::EndEntity);
            options.with_status_policy(UnknownStatusPolicy::Allow).build()
        });
        let usage = KeyUsage::client_auth();
        let verified = end.verify_for_usage(&OF_AUTHORITIES, &anchors, &[], now, usage, revocation, None);
        verified.map_err(|error| match error {
            Error::CertExpired { .. } => "its certificate has expired",
            Error::CertNotValidYet { .. } => "its certificate is not valid yet",
            Error::CertRevoked => "its certificate is revoked",
            Error::UnknownIssuer | Error::InvalidSignatureForPublicKey => "its certificate is of another authority",
            _ => "its certificate is not one of a member",
        })?;
        let (_, parsed) = X509Certificate::from_der(certificate).map_err(|_| "its certificate makes no sense")?;
        let mut names = parsed.subject().iter_common_name().filter_map(|one| one.as_str().ok());
        names.any(|one| one == name.as_str()).then_some(()).ok_or("its certificate is that of another member")
    }
}

impl Key {
    fn new(pkcs8: &[u8]) -> Option<Key> {
        let p256 = || EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8, &SystemRandom::new());
        let ed25519 = Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8).map(Key::Ed25519);
        ed25519.or_else(|_| p256().map(Key::P256)).ok()
    }

    fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Key::Ed25519(key) => key.sign(bytes).as_ref().to_vec(),
            // The system has random numbers, or nothing works.
            Key::P256(key) => {
                key.sign(&SystemRandom::new(), bytes).expect("the system's random numbers").as_ref().to_vec()
            }
        }
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}

#[cfg(test)]
#[path = "identity_tests.rs"]
pub(crate) mod tests;
