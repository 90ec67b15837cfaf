//! Options of the commands that make files for controllers, and of the server.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hopwright_p4runtime::Tls;

use super::program::Source;

#[derive(Args, Debug)]
pub(crate) struct P4infoArgs {
    #[command(flatten)]
    pub source: Source,
    /// Format
    #[arg(long, value_enum, default_value_t = P4infoFormat::Text)]
    pub format: P4infoFormat,
    /// File to write to, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct BundleArgs {
    #[command(flatten)]
    pub source: Source,
    /// File to write to, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum P4infoFormat {
    /// Protocol buffers' text form (.p4info.txtpb)
    Text,
    /// Protocol buffers' wire form
    Binary,
    /// Protocol buffers' JSON form
    Json,
    #[cfg(feature = "bfruntime")]
    /// bf-rt.json, which BfRuntime's controllers read: not P4Info, but the tables that they find
    BfRt,
}

/// How `hopwright run` serves P4Runtime, and gNMI beside it.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Where to serve P4Runtime, and gNMI
    #[arg(long, value_name = "ADDRESS:PORT", default_value = hopwright_p4runtime::DEFAULT_ADDRESS)]
    pub p4runtime: std::net::SocketAddr,
    /// Do not serve P4Runtime and gNMI
    #[arg(long, conflicts_with = "p4runtime")]
    pub no_p4runtime: bool,
    /// The switch's P4Runtime device id
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub device_id: u64,
    /// Whether bytes of counters and meters are those of packets with their frame check sequence, of four bytes; true for
    /// programs of Tofino, whose devices count it, and false for others if it is not given
    #[arg(long, value_name = "BOOL")]
    pub count_fcs: Option<bool>,
    #[command(flatten)]
    pub tls: TlsArgs,
}

/// How a gRPC server is encrypted, and whom it serves.
#[derive(Args, Debug)]
pub(crate) struct TlsArgs {
    /// Encrypt connections with this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Accept only clients with a certificate of these authorities (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_client_ca: Option<PathBuf>,
}

impl TlsArgs {
    /// The settings of a server; `None`: without encryption.
    pub(crate) fn settings(&self) -> Option<Tls> {
        let (certificate, key) = (self.tls_cert.clone()?, self.tls_key.clone()?);
        Some(Tls { certificate, key, client_ca: self.tls_client_ca.clone() })
    }
}

/// What a server with these settings says of its clients.
pub(crate) fn clients(tls: Option<&Tls>) -> &'static str {
    match tls {
        None => "without encryption",
        Some(Tls { client_ca: None, .. }) => "encrypted, for any client",
        Some(_) => "encrypted, for clients with a certificate",
    }
}
