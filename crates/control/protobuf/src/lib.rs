//! Messages and services of P4Runtime, BfRuntime, gNMI and Hopwright's own, generated from the definitions in `proto/`.
//!
//! The generated code is checked in, so that no build needs a compiler of such definitions. `generate/` writes it, and
//! `make unit` checks that it is up to date.

#![allow(missing_docs, clippy::all)]

/// P4Runtime's values and service.
pub mod p4 {
    /// P4Info.
    pub mod config {
        pub mod v1 {
            include!("generated/p4.config.v1.rs");
        }
    }
    pub mod v1 {
        include!("generated/p4.v1.rs");
    }
}

/// The services of this switch beside P4Runtime.
pub mod hopwright {
    pub mod v1 {
        include!("generated/hopwright.v1.rs");
    }
}

/// The configuration of a role.
pub mod stratum {
    include!("generated/stratum.rs");
}

/// gRPC's error model.
pub mod google {
    pub mod rpc {
        include!("generated/google.rpc.rs");
    }
}

/// BfRuntime's values and service.
pub mod bfrt {
    include!("generated/bfrt_proto.rs");
}

/// gNMI's values and service.
pub mod gnmi {
    include!("generated/gnmi.rs");
}

/// gNMI's extensions.
pub mod gnmi_ext {
    include!("generated/gnmi_ext.rs");
}

pub use google::rpc;
pub use hopwright::v1 as trace;
pub use p4::config::v1 as config;
pub use p4::v1;

/// The descriptors of all but BfRuntime's and gNMI's, for the text form of messages.
pub const DESCRIPTORS: &[u8] = include_bytes!("generated/descriptors.bin");
