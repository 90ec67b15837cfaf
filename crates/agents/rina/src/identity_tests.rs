//! Authorities and members.

use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer, KeyIdMethod, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, RevokedCertParams, SerialNumber,
    SignatureAlgorithm, date_time_ymd,
};

use super::*;
use crate::credential::SHARE;

/// An authority, with the files of its members.
pub(crate) struct Authority {
    folder: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        Authority { folder, issuer: Issuer::new(params, key) }
    }

    fn files(&self, file: &str) -> Files {
        let path = |name: &str| self.folder.path().join(name);
        let revoked = path("revoked.pem");
        Files {
            authority: path("ca.pem"),
            certificate: path(&format!("{file}.pem")),
            key: path(&format!("{file}.key")),
            revoked: revoked.exists().then_some(revoked),
        }
    }

    /// Issues a certificate; its serial number is that of its file.
    fn issue(&self, file: u8, name: &str, until: i32, algorithm: &'static SignatureAlgorithm) -> Files {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.serial_number = Some(SerialNumber::from_slice(&[file]));
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(until, 1, 1));
        let key = KeyPair::generate_for(algorithm).unwrap();
        let files = self.files(&file.to_string());
        std::fs::write(&files.certificate, params.signed_by(&key, &self.issuer).unwrap().pem()).unwrap();
        std::fs::write(&files.key, key.serialize_pem()).unwrap();
        files
    }

    /// The identity of a member, by the serial number of its certificate.
    pub(crate) fn member(&self, number: u8, name: &str) -> Identity {
        let files = self.issue(number, name, 2090, &PKCS_ED25519);
        Identity::read(&files, &name.parse().unwrap()).unwrap()
    }

    /// Revokes a certificate. Identities that are read before do not know it.
    pub(crate) fn revoke(&self, number: u8) {
        let one = RevokedCertParams {
            serial_number: SerialNumber::from_slice(&[number]),
            revocation_time: date_time_ymd(2021, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2021, 1, 1),
            next_update: date_time_ymd(2090, 1, 1),
            crl_number: SerialNumber::from_slice(&[1]),
            issuing_distribution_point: None,
            revoked_certs: vec![one],
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = list.signed_by(&self.issuer).unwrap().pem().unwrap();
        std::fs::write(self.folder.path().join("revoked.pem"), list).unwrap();
    }
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

#[test]
fn who_has_the_key_is_the_member() {
    let authority = Authority::new();
    let (dif, a, b) = (name("net"), name("a"), name("b"));
    let handshake = |number| Handshake {
        dif: &dif,
        initiator: &a,
        responder: &b,
        initiator_share: [1; SHARE],
        responder_share: [number; SHARE],
        encryption: false,
    };
    let p256 = authority.issue(9, "a", 2090, &PKCS_ECDSA_P256_SHA256);
    let p256 = Identity::read(&p256, &a).unwrap();
    let at_b = authority.member(2, "b");
    for at_a in [authority.member(1, "a"), p256] {
        let proof = at_a.prove(&handshake(2), true);
        assert_eq!(at_b.check(&a, &proof, &handshake(2), true), Ok(()));
        let no_key = Err("it does not have the key of its certificate");
        assert_eq!(at_b.check(&a, &proof, &handshake(3), true), no_key, "of another handshake");
        assert_eq!(at_b.check(&a, &proof, &handshake(2), false), no_key, "reflected");
        assert_eq!(at_b.check(&b, &proof, &handshake(2), true), Err("its certificate is that of another member"));
        let stolen = Proof { certificate: proof.certificate, ..at_b.prove(&handshake(2), true) };
        assert_eq!(at_b.check(&a, &stolen, &handshake(2), true), no_key);
    }
    assert_eq!(at_b.check(&a, &Proof::default(), &handshake(2), true), Err("it shows no certificate"));
    let elsewhere = Authority::new().member(1, "a").prove(&handshake(2), true);
    assert_eq!(at_b.check(&a, &elsewhere, &handshake(2), true), Err("its certificate is of another authority"));
}

#[test]
fn certificates_expire_and_are_revoked() {
    let authority = Authority::new();
    let (a, certificate) = (name("a"), authority.member(1, "a").certificate);
    let year = |year: u64| UnixTime::since_unix_epoch(Duration::from_secs((year - 1970) * 31_557_600));
    let b = authority.member(2, "b");
    assert_eq!(b.verify_at(&a, &certificate, year(2080)), Ok(()));
    assert_eq!(b.verify_at(&a, &certificate, year(2095)), Err("its certificate has expired"));
    assert_eq!(b.verify_at(&a, &certificate, year(2019)), Err("its certificate is not valid yet"));
    authority.revoke(1);
    assert_eq!(b.verify(&a, &certificate), Ok(()), "it has not read the list");
    let b = authority.member(2, "b");
    assert_eq!(b.verify(&a, &certificate), Err("its certificate is revoked"));
    assert_eq!(b.verify(&a, &certificate[1..]), Err("its certificate makes no sense"));
}

#[test]
fn files_that_give_no_identity_are_refused() {
    let authority = Authority::new();
    let wrong = |files: &Files, name: &str| Identity::read(files, &name.parse().unwrap()).unwrap_err().to_string();
    let files = authority.issue(1, "a", 2090, &PKCS_ED25519);
    assert!(wrong(&files, "b").ends_with("1.pem: its certificate is that of another member"));
    let expired = authority.issue(2, "a", 2021, &PKCS_ED25519);
    assert!(wrong(&expired, "a").ends_with("2.pem: its certificate has expired"));
    let mixed = Files { key: expired.key, ..files.clone() };
    assert!(wrong(&mixed, "a").ends_with("2.key: it is the key of another certificate"));
    let long = authority.issue(3, "a", 2090, &PKCS_ECDSA_P384_SHA384);
    assert!(wrong(&long, "a").ends_with("expected a key for Ed25519 or P-256"));
    let swapped = Files { certificate: files.key.clone(), ..files.clone() };
    assert!(wrong(&swapped, "a").contains("1.key: "));
    let none = Files { revoked: Some("/nowhere.pem".into()), ..files };
    assert!(wrong(&none, "a").starts_with("/nowhere.pem: "));
}
