//! The messages and the service, generated from `proto/`.

#![allow(missing_docs, clippy::all)]

/// Values and the service.
pub mod p4 {
    /// P4Info.
    pub mod config {
        pub mod v1 {
            include!(concat!(env!("OUT_DIR"), "/p4.config.v1.rs"));
        }
    }
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/p4.v1.rs"));
    }
}

/// The services of this switch beside P4Runtime.
pub mod hopwright {
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/hopwright.v1.rs"));
    }
}

/// The configuration of a role.
pub mod stratum {
    include!(concat!(env!("OUT_DIR"), "/stratum.rs"));
}

/// gRPC's error model.
pub mod google {
    pub mod rpc {
        include!(concat!(env!("OUT_DIR"), "/google.rpc.rs"));
    }
}

pub use google::rpc;
pub use hopwright::v1 as trace;
pub use p4::config::v1 as config;
pub use p4::v1;

/// The descriptors of all of these, for their text form.
pub(crate) const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
