//! Encrypted connections.

use std::path::Path;
use std::sync::Arc;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::config::Tls;

/// Both ends of encrypted connections. Either end shows a certificate.
#[derive(Clone)]
pub(crate) struct Encryption {
    pub connector: TlsConnector,
    pub acceptor: TlsAcceptor,
}

/// Reads keys and certificates. An error says what is wrong with which file.
pub(crate) fn load(files: &Tls) -> Result<Encryption, String> {
    let failed = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let certificates = |path: &Path| -> Result<Vec<CertificateDer<'static>>, String> {
        let found = CertificateDer::pem_file_iter(path).map_err(|e| failed(path, &e))?;
        let found: Vec<_> = found.collect::<Result<_, _>>().map_err(|e| failed(path, &e))?;
        if found.is_empty() { Err(failed(path, &"there is no certificate in it")) } else { Ok(found) }
    };
    let own = certificates(&files.certificate)?;
    let key = || PrivateKeyDer::from_pem_file(&files.private_key).map_err(|e| failed(&files.private_key, &e));
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&files.ca)? {
        roots.add(certificate).map_err(|e| failed(&files.ca, &e))?;
    }
    let roots = Arc::new(roots);
    let provider = Arc::new(ring::default_provider());
    let client = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_root_certificates(roots.clone())
        .with_client_auth_cert(own.clone(), key()?)
        .map_err(|e| failed(&files.certificate, &e))?;
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone())
        .build()
        .map_err(|e| failed(&files.ca, &e))?;
    let server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_client_cert_verifier(verifier)
        .with_single_cert(own, key()?)
        .map_err(|e| failed(&files.certificate, &e))?;
    Ok(Encryption { connector: Arc::new(client).into(), acceptor: Arc::new(server).into() })
}
